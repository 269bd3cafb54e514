"""Train a cross-encoder on clicks (extra `neural`)."""

from __future__ import annotations

import json
import warnings
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vizsla.base.queries import Queries
from vizsla.base.retriever import Retriever
from vizsla.core.candidates import Candidates, PairScores, Stats
from vizsla.core.validation import (
    COUNT,
    COUNT_FROM_0,
    COUNT_OR_NONE,
    SHARE,
    check_numbers,
    user_stacklevel,
    validate_args,
)
from vizsla.data.dataset import Dataset
from vizsla.errors import InputError, check_choice
from vizsla.learning.clicks import ClickLog
from vizsla.learning.distillation import TEACHER_LOSSES
from vizsla.learning.loop import TrainingLoop, Watch
from vizsla.learning.losses import LOSSES
from vizsla.learning.measures import ndcgs
from vizsla.learning.optimizers import rate_factor
from vizsla.learning.pairs import PairTrainingData, training_data_of
from vizsla.learning.selection import ChoiceWarning
from vizsla.learning.splits import log_splits, too_few
from vizsla.learning.torch_optimizers import TorchAdamW, TorchTraining
from vizsla.methods.bm25 import bm25
from vizsla.scorers.pair_models import TorchPairModel, checksum_of
from vizsla.typing import Float32Array, Float64Array, Int64Array

if TYPE_CHECKING:
    from scipy.sparse import csr_array

SETTING_RANGES = {
    **dict.fromkeys(("epochs", "batch", "negatives", "depth", "every", "patience", "held_out"), COUNT),
    **dict.fromkeys(("share", "rate", "decay", "warm_up", "cold"), SHARE),
    "max_steps": COUNT_OR_NONE,
    "seed": COUNT_FROM_0,
}


@dataclass(frozen=True)
class CrossEncoderSettings:
    """How a cross-encoder is trained.

    Parameters
    ----------
    epochs : int
        Passes over the queries that the schedule plans for.
    max_steps : int, optional
        Maximum number of steps.
    batch : int
        Queries per step.
    negatives : int
        Hard negatives for each query of a step, drawn from the retriever's best `depth`.
    depth : int
        Depth of the retriever's answers that negatives and held-out candidates are taken from.
    loss : {"softmax", "lambdarank", "ranknet", "hinge"}
        The loss; "softmax" is the cross-entropy of the clicked item among the negatives.
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
    every : int
        Steps between two evaluations on the held-out queries.
    patience : int
        Stop after this number of evaluations without a better one.
    held_out : int
        Maximum number of held-out queries.
    cold : float in [0, 1]
        The share of them about items without another click.
    bfloat16 : bool
        Compute the layers in bfloat16, which some CPUs do several times as fast; weights stay float32.
    seed : int
        The order of the queries, negatives, dropout.

    Examples
    --------
    >>> CrossEncoderSettings(epochs=2).negatives
    7
    """

    epochs: int = 1
    max_steps: int | None = None
    batch: int = 16
    negatives: int = 7
    depth: int = 50
    loss: str = "softmax"
    share: float = 1.0
    teacher_loss: str = "shares"
    rate: float = 5e-5
    decay: float = 0.01
    warm_up: float = 0.1
    every: int = 100
    patience: int = 5
    held_out: int = 100
    cold: float = 0.5
    bfloat16: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        check_choice("loss", self.loss, list(LOSSES))
        check_choice("teacher_loss", self.teacher_loss, list(TEACHER_LOSSES))
        check_numbers(self, SETTING_RANGES)

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers by name."""
        return asdict(self)


MEASURED_DEPTH = 10
MEASURE = "nDCG@10"


@dataclass(frozen=True)
class HeldOutPairs:
    """Held-out queries and the items that a retriever found for them.

    Parameters
    ----------
    queries, texts : lists of str
        A query and an item for each candidate.
    found : Candidates
        The candidates.
    clicks : csr_array
        The clicks, held-out queries × items.
    """

    queries: list[str]
    texts: list[str]
    found: Candidates
    clicks: csr_array

    @classmethod
    def of(
        cls, log: ClickLog, held: NDArray[np.int64], texts: list[str], retriever: Retriever, *, depth: int, threads: int
    ) -> HeldOutPairs:
        """Ask the retriever for the held-out queries of a log."""
        asked = log.take_queries(held)
        found = retriever._search(Queries(asked), min(depth, len(texts)), None, threads)
        rows = found.row_numbers().tolist()
        pairs = [asked[row] for row in rows], [texts[item] for item in found.items.tolist()]
        return cls(*pairs, found, log.matrix[held])

    def measured(self, learner: PairLearner) -> Float64Array:
        """Return each query's nDCG@10 with the weights as they are."""
        scores = learner.measured(self.queries, self.texts)
        return ndcgs(
            self.found.with_scores(PairScores(scores, Stats()), k=MEASURED_DEPTH), self.clicks, depth=MEASURED_DEPTH
        )


class PairLearner:
    """A model that learns by AdamW; the loss and its gradient by the scores come from outside.

    Parameters
    ----------
    model : TorchPairModel
        The model; trained in place.
    rate : float
        The learning rate.
    decay : float
        AdamW's weight decay.
    bfloat16 : bool
        Whether the layers compute in bfloat16; weights stay float32.
    """

    def __init__(self, model: TorchPairModel, *, rate: float, decay: float = 0.01, bfloat16: bool = False):
        self.model, self.bfloat16 = model, bfloat16
        self._torch = model.torch
        weights = [weight for weight in model.model.parameters() if weight.requires_grad]
        self.optimizer = TorchAdamW([("model", weights)], {"model": rate}, decay=decay)
        self._scores: Any = None

    def scores(self, queries: list[str], texts: list[str], *, seed: int) -> Float32Array:
        """Score pairs with dropout, and remember how, so that `step` can follow."""
        self.model.model.train()
        self._torch.manual_seed(seed)  # a resumed run drops what it would have dropped
        with self._cast():
            self._scores = self.model.forward(queries, texts).float()
        return np.asarray(self._scores.detach().cpu().numpy(), np.float32)

    def measured(self, queries: list[str], texts: list[str]) -> Float32Array:
        """Score pairs as the finished model would."""
        self.model.model.eval()
        with self._cast():
            return self.model.scores(queries, texts)

    def step(self, by_score: Float32Array, *, factor: float = 1.0) -> None:
        """Move against the gradient, given by the scores that were computed last."""
        self.optimizer.step([(self._scores, by_score)], factor=factor)

    def _cast(self) -> Any:
        device = self.optimizer.parameters[0].device.type
        return self._torch.autocast(device, dtype=self._torch.bfloat16) if self.bfloat16 else nullcontext()


class CrossEncoderTraining(TorchTraining):
    """A cross-encoder on its way: order, negatives and dropout depend on seed and step alone.

    Parameters
    ----------
    learner : PairLearner
        The model and its optimizer.
    training_data : PairTrainingData
        The training data.
    settings : CrossEncoderSettings
        How.
    """

    def __init__(self, learner: PairLearner, training_data: PairTrainingData, settings: CrossEncoderSettings):
        super().__init__(settings, len(training_data), learner.optimizer)
        self.learner, self.training_data = learner, training_data
        told = (training_data.checksum, learner.model.fingerprint)
        self.key = f"{json.dumps(settings.to_dict(), sort_keys=True)} {checksum_of(told):016x}"

    def step(self, numbers: Int64Array) -> float:
        """Learn from these queries; return their loss before the step."""
        random = np.random.default_rng([self.settings.seed, 1, self.steps_done])
        items = self.training_data.drawn(numbers, self.settings.negatives, random)
        queries = [self.training_data.queries[number] for number in numbers.tolist() for _ in range(items.shape[1])]
        texts = [self.training_data.texts[item] for item in items.reshape(-1).tolist()]
        scores = self.learner.scores(queries, texts, seed=int(random.integers(2**31))).reshape(items.shape)
        loss, by_score = self._loss(numbers, items, scores)
        factor = rate_factor(self.steps_done, self.steps, warm_up=self.settings.warm_up)
        self.learner.step(by_score.reshape(-1), factor=factor)
        self.steps_done += 1
        return loss

    def _loss(self, numbers: Int64Array, items: NDArray[np.int32], scores: Float32Array) -> tuple[float, Float32Array]:
        """Return the loss, and its derivative by each score."""
        share, loss, by_score = self.settings.share, 0.0, np.zeros(scores.shape)
        if share > 0:
            found = LOSSES[self.settings.loss](scores[:, :1], scores[:, 1:], np.ones((len(scores), 1)))
            loss += share * found.loss
            by_score += share * np.concatenate([found.relevant, found.others], axis=1)
        if self.training_data.teacher is not None and share < 1:
            listed = np.ones(items.shape, np.bool_)
            wanted = self.training_data.teacher.scores(numbers, items, listed) / self.training_data.teacher.spread
            taught, gradient = TEACHER_LOSSES[self.settings.teacher_loss](scores, wanted, listed)
            loss, by_score = loss + (1 - share) * taught, by_score + (1 - share) * gradient
        return loss, by_score.astype(np.float32)


@validate_args
def train_cross_encoder(
    dataset: Dataset,
    model: str | Path,
    folder: str | Path,
    *,
    retriever: Retriever | None = None,
    teacher: Retriever | None = None,
    form: str = "head",
    layers: int | None = None,
    max_tokens: int = 128,
    checkpoint: str | Path | None = None,
    watch: Watch | None = None,
    threads: int = 1,
    **settings: Any,
) -> TorchPairModel:
    """Train a cross-encoder on clicks, write it to a folder, and return it (extra `neural`).

    A part of the clicks is held out: it says which weights were best, and when to stop; a training that gains nothing
    on them warns. Ctrl-C stops early and keeps the best so far. With a `checkpoint`, the same call goes on where it was
    stopped, to the same result.

    Parameters
    ----------
    dataset : Dataset
        Items, and clicks of queries.
    model : str or path
        The transformer to begin with: a hub id or a folder, a cross-encoder or not.
    folder : path
        Where the trained model is written; it must be new.
    retriever : Retriever, optional
        Over the dataset's items; its best items without clicks are the hard negatives. BM25 unless given.
    teacher : Retriever, optional
        Over the dataset's items; with ``share`` below 1 its scores are imitated. Several are averaged as a sum.
    form : {"head", "dot"}
        A head over the first token, or the inner product of first and last token ([EMB]-CE).
    layers : int, optional
        Keep only this number of the transformer's first layers: smaller and faster.
    max_tokens : int
        Maximum number of tokens per pair.
    checkpoint : path, optional
        A folder where the state is kept; a training that was stopped goes on from it.
    watch : callable, optional
        Gets a `TrainingProgress` after every step.
    threads : int
        Threads of the retriever.
    **settings
        Fields of `CrossEncoderSettings`: epochs, batch, negatives, loss, rate, seed and others.
    """
    if Path(folder).exists():
        raise InputError(f"`folder` must be new. Got {folder}, which is there.")
    chosen = CrossEncoderSettings(**settings)
    if chosen.share < 1 and teacher is None:
        raise InputError(f"`teacher` must be given where `share` is below 1. Got None, and a share of {chosen.share}.")
    for name, part in (("retriever", retriever), ("teacher", teacher)):
        if part is not None and part.items != dataset.item_ids:
            raise InputError(f"`{name}` must be over the dataset's items, in their order. Got {part!r}.")
    learner = _learner(model, form, layers, max_tokens, chosen)
    training_data, held = _prepared(dataset, retriever or bm25(dataset), teacher, chosen, threads)
    training = CrossEncoderTraining(learner, training_data, chosen)
    loop = TrainingLoop(
        training, key=training.key, measure=None if held is None else lambda: [held.measured(learner)],
        every=chosen.every, patience=chosen.patience, checkpoint=None if checkpoint is None else Path(checkpoint),
        watch=watch,
    )  # fmt: skip
    loop.run()
    _warn_of_nothing_gained(loop.qualities)
    learner.model.model.eval()
    return learner.model.save(folder)


def _warn_of_nothing_gained(means: list[float]) -> None:
    if len(means) > 1 and max(means) <= means[0]:
        remedy = "Take more steps, a higher `rate`, or a larger `depth` for easier negatives."
        problem = f"held-out clicks gained nothing: nDCG@10 was {means[0]:.4f} before training and never above it"
        warnings.warn(f"{problem}. {remedy}", ChoiceWarning, stacklevel=user_stacklevel())


def _learner(
    model: str | Path, form: str, layers: int | None, max_tokens: int, settings: CrossEncoderSettings
) -> PairLearner:
    given: dict[str, Any] = {"form": form, "layers": layers, "max_tokens": max_tokens}
    begun = TorchPairModel(model, untrained=True, seed=settings.seed, **given)
    return PairLearner(begun, rate=settings.rate, decay=settings.decay, bfloat16=settings.bfloat16)


def _prepared(
    dataset: Dataset, retriever: Retriever, teacher: Retriever | None, settings: CrossEncoderSettings, threads: int
) -> tuple[Any, HeldOutPairs | None]:
    """Return training_data, and held-out queries where the log is long enough to spare some."""
    texts = [item.default_text() for item in dataset.items]
    log = ClickLog.of(dataset, dataset.item_ids)
    if not len(log):
        raise InputError("`dataset` must have clicks, to learn from. Got none.")
    options: dict[str, Any] = {"depth": settings.depth, "threads": threads}
    if too_few(log):
        return training_data_of(log, texts, retriever, teacher, **options), None
    split = next(log_splits(log, cold=settings.cold, seed=settings.seed))
    some = split.held[:: max(1, -(-len(split.held) // settings.held_out))]
    held = HeldOutPairs.of(log, some, texts, retriever, **options)
    return training_data_of(split.train, texts, retriever, teacher, **options), held
