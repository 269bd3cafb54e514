"""Train a bi-encoder on clicks (extra `neural`)."""

from __future__ import annotations

import json
import warnings
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from vizsla.base.retriever import Retriever
from vizsla.core.validation import (
    ABOVE_0,
    COUNT,
    COUNT_FROM_0,
    COUNT_OR_NONE,
    SHARE,
    check_numbers,
    user_stacklevel,
    validate_args,
)
from vizsla.data.dataset import Dataset
from vizsla.encoders.adapted import TwoSidedEncoder
from vizsla.encoders.open import open_encoder
from vizsla.encoders.sentence import SentenceEncoder
from vizsla.errors import InputError, check_choice
from vizsla.indexes.flat import FlatIndex
from vizsla.learning.clicks import ClickLog
from vizsla.learning.distillation import TEACHER_LOSSES
from vizsla.learning.loop import TrainingLoop, TrainingState, Watch
from vizsla.learning.losses import contrastive
from vizsla.learning.optimizers import rate_factor
from vizsla.learning.pairs import MEASURE, ContrastiveBatch, HeldOutPool, PairTrainingData, training_data_of
from vizsla.learning.selection import ChoiceWarning
from vizsla.learning.splits import log_splits, too_few
from vizsla.learning.torch_optimizers import TorchTraining
from vizsla.learning.torch_towers import TorchTowers
from vizsla.methods.bm25 import bm25
from vizsla.scorers.pair_models import checksum_of
from vizsla.typing import Float32Array, Float64Array, Int32Array, Int64Array

if TYPE_CHECKING:
    from vizsla.base.encoder import Encoder

SETTING_RANGES = {
    **dict.fromkeys(("epochs", "batch", "depth", "refresh", "every", "patience", "held_out", "pool"), COUNT),
    **dict.fromkeys(("share", "rate", "decay", "warm_up", "cold"), SHARE),
    **dict.fromkeys(("negatives", "frozen_layers", "seed"), COUNT_FROM_0),
    "max_steps": COUNT_OR_NONE,
    "scale": ABOVE_0,
}
MINING = ("retriever", "mined", "live")


@dataclass(frozen=True)
class BiEncoderSettings:
    """How a bi-encoder is trained.

    Parameters
    ----------
    epochs : int
        Passes over the queries that the schedule plans for.
    max_steps : int, optional
        Plan for at most so many steps.
    batch : int
        Queries per step; each one's clicked item is a negative of the others.
    negatives : int
        Hard negatives for each query of a step; 0 leaves those of the batch alone.
    mining : {"retriever", "mined", "live"}
        What finds them: the retriever, once; the model, at every refresh; or the queries' vectors of the step among the
        items' of the last refresh.
    depth : int
        Hard negatives are drawn from this number of best items.
    refresh : int
        Steps between two encodings of all items, where the model finds the negatives.
    scale : float
        Factor of the cosines in the loss.
    share : float
        The click loss's share; the rest is distillation from a teacher.
    teacher_loss : {"shares", "squares"}
        How a teacher is imitated: the divergence of softmax shares, or the squared difference of centered scores.
    rate : float
        The learning rate.
    decay : float
        AdamW's weight decay.
    warm_up : float
        The share of the steps over which the rate rises.
    frozen_layers : int
        Number of lowest layers that are not trained, like the embeddings: a step costs less.
    every : int
        Steps between two looks at the held-out queries.
    patience : int
        End after so many looks without a better one.
    held_out : int
        Maximum number of held-out queries.
    cold : float in [0, 1]
        The share of them about items without another click.
    pool : int
        Size of the pool that held-out queries are ranked over: the clicked items, and random others.
    bfloat16 : bool
        Compute the layers in bfloat16, which some CPUs do several times as fast; weights stay float32.
    seed : int
        The order of the queries, negatives, dropout.

    Examples
    --------
    >>> BiEncoderSettings(negatives=0).batch
    64
    """

    epochs: int = 1
    max_steps: int | None = None
    batch: int = 64
    negatives: int = 1
    mining: str = "retriever"
    depth: int = 50
    refresh: int = 200
    scale: float = 20.0
    share: float = 1.0
    teacher_loss: str = "shares"
    rate: float = 5e-5
    decay: float = 0.01
    warm_up: float = 0.1
    frozen_layers: int = 0
    every: int = 100
    patience: int = 5
    held_out: int = 300
    cold: float = 0.5
    pool: int = 2000
    bfloat16: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        check_choice("mining", self.mining, MINING)
        check_choice("teacher_loss", self.teacher_loss, list(TEACHER_LOSSES))
        check_numbers(self, SETTING_RANGES)

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers by name."""
        return asdict(self)


class BiEncoderTraining(TorchTraining):
    """A bi-encoder on its way: order, negatives and dropout depend on seed and step alone.

    Parameters
    ----------
    towers : TorchTowers
        What learns.
    training_data : PairTrainingData
        What it learns from.
    settings : BiEncoderSettings
        How.
    """

    def __init__(self, towers: TorchTowers, training_data: PairTrainingData, settings: BiEncoderSettings):
        super().__init__(settings, len(training_data), towers.optimizer)
        self.towers, self.training_data = towers, training_data
        told = (training_data.checksum, towers.encoder.fingerprint, towers.towers)
        self.key = f"{json.dumps(settings.to_dict(), sort_keys=True)} {checksum_of(told):016x}"
        self._rows: Float32Array | None = None
        """The vectors of all items: of the last refresh, or for good where items stay."""

    def step(self, numbers: Int64Array) -> float:
        """Learn from these queries; return their loss before the step."""
        settings = self.settings
        random = np.random.default_rng([settings.seed, 1, self.steps_done])
        if settings.negatives and settings.mining != "retriever" and self.steps_done % settings.refresh == 0:
            self._refresh()
        batch = ContrastiveBatch(numbers, self._drawn(numbers, random))
        asked = [self.training_data.queries[number] for number in numbers.tolist()]
        stays = self.towers.towers == "queries"
        read = [] if stays else [self.training_data.texts[item] for item in batch.columns.tolist()]
        queries, rows = self.towers.rows(asked, read, seed=int(random.integers(2**31)))
        if stays:
            rows = self._item_rows()[batch.columns]
        loss, by_score = self._loss(batch, queries, rows)
        factor = rate_factor(self.steps_done, self.steps, warm_up=settings.warm_up)
        by_query = np.asarray(by_score @ rows * settings.scale, np.float32)
        self.towers.step(by_query, np.asarray(by_score.T @ queries * settings.scale, np.float32), factor=factor)
        self.steps_done += 1
        return loss

    def _loss(self, batch: ContrastiveBatch, queries: Float32Array, rows: Float32Array) -> tuple[float, Float64Array]:
        """Return the loss, and its derivative by each scaled score."""
        scores = (queries.astype(np.float64) @ rows.T) * self.settings.scale
        share, loss, by_score = self.settings.share, 0.0, np.zeros(scores.shape)
        if share > 0:
            found = contrastive(scores, batch.excluded(self.training_data.relevant))
            loss, by_score = share * found.loss, share * found.by_score.astype(np.float64)
        teacher = self.training_data.teacher
        if teacher is not None and share < 1:
            listed = np.ones(batch.items.shape, np.bool_)
            wanted = teacher.scores(batch.numbers, batch.items, listed) / teacher.spread
            own = np.take_along_axis(scores, batch.places, axis=1)
            taught, gradient = TEACHER_LOSSES[self.settings.teacher_loss](own, wanted, listed)
            loss += (1 - share) * taught
            np.add.at(by_score, (np.arange(len(own))[:, None], batch.places), (1 - share) * gradient)
        return loss, by_score

    def _drawn(self, numbers: Int64Array, random: np.random.Generator) -> Int32Array:
        """Return for each query a clicked item and its hard negatives."""
        taught, count = self.training_data, self.settings.negatives
        if not count or self.settings.mining != "live":
            return taught.drawn(numbers, count, random)
        asked = [taught.queries[number] for number in numbers.tolist()]
        relevant = taught.relevant.take(numbers)
        found = _confused(self.towers.queries(asked), self._item_rows(), relevant.items, self.settings.depth)
        part = replace(taught, queries=asked, relevant=relevant, confused=found)
        return part.drawn(np.arange(len(numbers)), count, random)

    def _refresh(self) -> None:
        """Encode all items again, and find every query's hard negatives where they are mined."""
        taught = self.training_data
        if self.towers.towers != "queries":
            self._rows = self.towers.items(taught.texts)
        if self.settings.mining == "mined":
            asked = self.towers.queries(taught.queries)
            found = _confused(asked, self._item_rows(), taught.relevant.items, self.settings.depth)
            self.training_data = replace(taught, confused=found)

    def _item_rows(self) -> Float32Array:
        if self._rows is None:
            self._rows = self.towers.items(self.training_data.texts)
        return self._rows

    def state(self) -> dict[str, Float32Array]:
        """Return weights, moments, and what the last refresh found."""
        arrays = super().state()
        if self.settings.mining == "mined":
            arrays["confused"] = self.training_data.confused.astype(np.float32).reshape(-1)
        if self.settings.mining == "live" and self._rows is not None:
            arrays["rows"] = self._rows.reshape(-1)
        return arrays

    def resume(self, state: TrainingState) -> None:
        """Take weights, moments and negatives of a checkpoint."""
        arrays = dict(state.arrays)
        if "confused" in arrays:
            found = arrays.pop("confused").reshape(len(self.training_data), -1)
            self.training_data = replace(self.training_data, confused=found.astype(np.int32))
        if "rows" in arrays:
            self._rows = np.array(arrays.pop("rows"), np.float32).reshape(len(self.training_data.texts), -1)
        self.optimizer.resume(arrays)
        self.steps_done = state.steps


def _confused(queries: Float32Array, rows: Float32Array, clicked: Int32Array, depth: int) -> Int32Array:
    """Return each query's best items that were not clicked, padded with -1."""
    index, parts = FlatIndex.build(rows), []
    for first in range(0, len(queries), 1024):
        found = index.search(queries[first : first + 1024], k=min(depth, len(rows)))
        parts.append(np.asarray(found.items, np.int32).reshape(-1, min(depth, len(rows))))
    items = np.concatenate(parts)
    out = np.zeros(items.shape, np.bool_)
    for column in clicked.T:  # a column at a time: one query may have hundreds
        out |= items == column[:, None]
    return np.where(out, -1, items).astype(np.int32)


@validate_args
def train_bi_encoder(
    dataset: Dataset,
    model: str | Path,
    folder: str | Path,
    *,
    towers: str = "shared",
    retriever: Retriever | None = None,
    teacher: Retriever | None = None,
    query_prompt: str = "",
    item_prompt: str = "",
    max_tokens: int = 128,
    device: str | None = None,
    checkpoint: str | Path | None = None,
    watch: Watch | None = None,
    threads: int = 1,
    **settings: Any,
) -> Encoder:
    """Train a bi-encoder on clicks, write it to a folder, and return it (extra `neural`).

    The model that both sides share is a sentence-transformers folder, for `SentenceEncoder` and any other tool. Two
    models are a saved encoder. `vizsla.encoders.open_encoder` opens both. A part of the clicks is held out: it says
    which weights were best, and when to stop; a training that gains nothing on them warns. Ctrl-C stops early and keeps
    the best so far. With a `checkpoint`, the same call goes on where it was stopped, to the same result.

    Parameters
    ----------
    dataset : Dataset
        Items, and clicks of queries.
    model : str or path
        The encoder to begin with: a hub id or a folder.
    folder : path
        Where the trained encoder is written; it must be new.
    towers : {"shared", "separate", "queries"}
        One model for both sides, one for each, or one for the queries while item vectors stay as they are.
    retriever : Retriever, optional
        Over the dataset's items; its best items without clicks are hard negatives. BM25 unless given.
    teacher : Retriever, optional
        Over the dataset's items, such as a cross-encoder that re-ranks; with ``share`` below 1 its scores are imitated.
        Several are averaged as a sum: ``a + b``.
    query_prompt, item_prompt : str
        Put before every query, or every item text.
    max_tokens : int
        Cut texts after so many tokens.
    device : str, optional
        Where to train.
    checkpoint : path, optional
        A folder where the state is kept; a training that was stopped goes on from it.
    watch : callable, optional
        Gets a `TrainingProgress` after every step.
    threads : int
        What retriever and teacher may use.
    **settings
        Of `BiEncoderSettings`: epochs, batch, negatives, mining, rate, seed and others.
    """
    if Path(folder).exists():
        raise InputError(f"`folder` must be new. Got {folder}, which is there.")
    chosen = BiEncoderSettings(**settings)
    if chosen.share < 1 and (teacher is None or not chosen.negatives):
        got = f"{'None' if teacher is None else 'one'}, {chosen.negatives} negatives and a share of {chosen.share}"
        raise InputError(f"`teacher` must be given, with negatives to rank, where `share` is below 1. Got {got}.")
    for name, part in (("retriever", retriever), ("teacher", teacher)):
        if part is not None and part.items != dataset.item_ids:
            raise InputError(f"`{name}` must be over the dataset's items, in their order. Got {part!r}.")
    prompts: dict[str, Any] = {"query_prompt": query_prompt, "item_prompt": item_prompt}
    encoder = SentenceEncoder(str(model), max_tokens=max_tokens, device=device, **prompts)
    options: dict[str, Any] = {"frozen_layers": chosen.frozen_layers, "bfloat16": chosen.bfloat16}
    learning = TorchTowers(encoder, towers=towers, rate=chosen.rate, decay=chosen.decay, **options)
    training_data, held = _prepared(dataset, retriever, teacher, chosen, threads)
    training = BiEncoderTraining(learning, training_data, chosen)
    loop = TrainingLoop(
        training, key=training.key, measure=None if held is None else lambda: [held.measured(learning)],
        every=chosen.every, patience=chosen.patience, checkpoint=None if checkpoint is None else Path(checkpoint),
        watch=watch,
    )  # fmt: skip
    loop.run()
    _warn_of_nothing_gained(loop.qualities)
    return _saved(learning, Path(folder))


def _saved(towers: TorchTowers, folder: Path) -> Encoder:
    """Write what was trained, and open it."""
    options = {**towers.encoder.options, "download": False, "device": str(towers.encoder.model.device)}
    if towers.towers == "shared":
        towers.save(folder)
        return SentenceEncoder(str(folder), **options)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder.parent) as kept:
        models = Path(kept) / "models"
        towers.save(models)
        sides = [SentenceEncoder(str(models / side), **options) for side in ("queries", "items")]
        TwoSidedEncoder(*sides).save(folder, bundle_models=True)
    return open_encoder(folder)


def _warn_of_nothing_gained(means: list[float]) -> None:
    if len(means) > 1 and max(means) <= means[0]:
        remedy = "Take more steps, a lower `rate`, or other negatives."
        said = f"held-out clicks gained nothing: {MEASURE} was {means[0]:.4f} before training and never above it"
        warnings.warn(f"{said}. {remedy}", ChoiceWarning, stacklevel=user_stacklevel())


def _prepared(
    dataset: Dataset,
    retriever: Retriever | None,
    teacher: Retriever | None,
    settings: BiEncoderSettings,
    threads: int,
) -> tuple[PairTrainingData, HeldOutPool | None]:
    """Return training data, and held-out queries where the log is long enough to spare some."""
    texts = [item.default_text() for item in dataset.items]
    log = ClickLog.of(dataset, dataset.item_ids)
    if not len(log):
        raise InputError("`dataset` must have clicks, to learn from. Got none.")
    asks = settings.negatives > 0 and settings.mining == "retriever"
    finds = (retriever or bm25(dataset)) if asks else None
    options: dict[str, Any] = {"depth": settings.depth, "threads": threads}
    if too_few(log):
        return training_data_of(log, texts, finds, teacher, **options), None
    split = next(log_splits(log, cold=settings.cold, seed=settings.seed))
    some = split.held[:: max(1, -(-len(split.held) // settings.held_out))]
    held = HeldOutPool.of(log, some, texts, pool=settings.pool, seed=settings.seed)
    return training_data_of(split.train, texts, finds, teacher, **options), held
