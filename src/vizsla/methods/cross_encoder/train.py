"""train_cross_encoder: fine-tune a transformer to read a query and an item together."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vizsla.checked import caller_level, checked
from vizsla.clicks.choice_warning import ChoiceWarning
from vizsla.clicks.log import ClickLog
from vizsla.clicks.log_split import log_splits, too_few
from vizsla.errors import InputError
from vizsla.methods.bm25 import bm25
from vizsla.methods.cross_encoder.held_out import HeldOutPairs
from vizsla.methods.cross_encoder.lessons import lessons_of, plain_log
from vizsla.methods.cross_encoder.run import CrossEncoderRun
from vizsla.methods.cross_encoder.settings import CrossEncoderSettings
from vizsla.pairs.torch_pairs import TorchPairModel
from vizsla.retriever import Retriever
from vizsla.training.pair_learner import PairLearner
from vizsla.training.watched import Watch

if TYPE_CHECKING:
    from vizsla.dataset import Dataset


@checked
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
        Over the dataset's items; its best items that nobody clicked are the hard negatives. BM25 unless given.
    teacher : Retriever, optional
        Over the dataset's items; with ``share`` below 1 its scores are imitated.
    form : {"head", "dot"}
        A head over the first token, or the inner product of first and last token ([EMB]-CE).
    layers : int, optional
        Keep only so many of the transformer's first layers: smaller and faster.
    max_tokens : int
        Cut pairs after so many tokens.
    checkpoint : path, optional
        Keep the state there.
    watch : callable, optional
        Gets a `Watched` after every step.
    threads : int
        What the retriever may use.
    **settings
        Of `CrossEncoderSettings`: epochs, batch, negatives, loss, rate, seed and others.
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
    state = None if checkpoint is None else Path(checkpoint)
    parts = _prepared(dataset, retriever or bm25(dataset), teacher, chosen, threads)
    run = CrossEncoderRun(learner, *parts, chosen, checkpoint=state, watch=watch)
    try:
        run.run()
    except KeyboardInterrupt:
        if run.best is None or len(run.measured) < 2:  # nothing was learned yet that is known to be any good
            raise
        run.keep_best()
    _warn_of_nothing_gained(run.means)
    learner.model.model.eval()
    return learner.model.save(folder)


def _warn_of_nothing_gained(means: list[float]) -> None:
    if len(means) > 1 and max(means) <= means[0]:
        remedy = "Take more steps, a higher `rate`, or a larger `depth` for easier negatives."
        said = f"held-out clicks gained nothing: nDCG@10 was {means[0]:.4f} before training and never above it"
        warnings.warn(f"{said}. {remedy}", ChoiceWarning, stacklevel=caller_level())


def _learner(
    model: str | Path, form: str, layers: int | None, max_tokens: int, settings: CrossEncoderSettings
) -> PairLearner:
    given: dict[str, Any] = {"form": form, "layers": layers, "max_tokens": max_tokens}
    begun = TorchPairModel(model, untrained=True, seed=settings.seed, **given)
    return PairLearner(begun, rate=settings.rate, decay=settings.decay, bfloat16=settings.bfloat16)


def _prepared(
    dataset: Dataset, retriever: Retriever, teacher: Retriever | None, settings: CrossEncoderSettings, threads: int
) -> tuple[Any, HeldOutPairs | None]:
    """Return lessons, and held-out queries where the log is long enough to spare some."""
    texts = [item.default_text() for item in dataset.items]
    log: ClickLog = plain_log(dataset, dataset.item_ids)
    if not len(log):
        raise InputError("`dataset` must have clicks, to learn from. Got none.")
    options: dict[str, Any] = {"depth": settings.depth, "threads": threads}
    if too_few(log):
        return lessons_of(log, texts, retriever, teacher, **options), None
    split = next(log_splits(log, cold=settings.cold, seed=settings.seed))
    some = split.held[:: max(1, -(-len(split.held) // settings.held_out))]
    held = HeldOutPairs.of(log, some, texts, retriever, **options)
    return lessons_of(split.train, texts, retriever, teacher, **options), held
