"""Train a small bi-encoder without a transformer: bags of n-grams times a matrix that learns from clicks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vizsla.base.retriever import Retriever
from vizsla.core.linalg import unit_rows
from vizsla.core.validation import ABOVE_0, COUNT, COUNT_FROM_0, COUNT_OR_NONE, SHARE, check_numbers, validate_args
from vizsla.data.dataset import Dataset
from vizsla.encoders.lsa import LsaEncoder
from vizsla.errors import InputError
from vizsla.learning.clicks import ClickLog
from vizsla.learning.loop import Training, TrainingLoop, TrainingState, Watch
from vizsla.learning.losses import contrastive
from vizsla.learning.optimizers import rate_factor
from vizsla.learning.pairs import ContrastiveBatch, HeldOutPool, PairTrainingData, training_data_of
from vizsla.learning.splits import log_splits, too_few
from vizsla.methods.bm25 import bm25
from vizsla.typing import Float32Array, Int64Array

if TYPE_CHECKING:
    from scipy.sparse import csr_array

SETTING_RANGES = {
    **dict.fromkeys(("dim", "epochs", "batch", "depth", "every", "patience", "held_out"), COUNT),
    **dict.fromkeys(("negatives", "seed"), COUNT_FROM_0),
    **dict.fromkeys(("rate", "warm_up", "cold"), SHARE),
    "max_steps": COUNT_OR_NONE,
    "scale": ABOVE_0,
}
POOL = 1 << 30
"""Held-out queries are asked among all items: these vectors cost nothing."""


@dataclass(frozen=True)
class DssmSettings:
    """How the matrix of n-gram vectors is trained.

    Parameters
    ----------
    dim : int
        Dimensions, where no encoder to begin with is given.
    epochs : int
        Passes over the queries that the schedule plans for.
    max_steps : int, optional
        Plan for at most so many steps.
    batch : int
        Queries per step; each one's clicked item is a negative of the others.
    negatives : int
        Hard negatives for each query of a step; 0 leaves those of the batch alone.
    depth : int
        They are drawn from this number of best items of the retriever.
    scale : float
        Factor of the cosines in the loss.
    rate : float
        Adagrad's learning rate.
    warm_up : float
        The share of the steps over which the rate rises.
    every : int
        Steps between two looks at the held-out queries.
    patience : int
        End after so many looks without a better one.
    held_out : int
        Maximum number of held-out queries.
    cold : float in [0, 1]
        The share of them about items without another click.
    seed : int
        The order of the queries, and the negatives.

    Examples
    --------
    >>> DssmSettings(epochs=3).batch
    256
    """

    dim: int = 256
    epochs: int = 20
    max_steps: int | None = None
    batch: int = 256
    negatives: int = 1
    depth: int = 50
    scale: float = 20.0
    rate: float = 0.02
    warm_up: float = 0.05
    every: int = 100
    patience: int = 5
    held_out: int = 1000
    cold: float = 0.5
    seed: int = 0

    def __post_init__(self) -> None:
        check_numbers(self, SETTING_RANGES)


class BagTraining(Training):
    """The matrix of n-gram vectors on its way: Adagrad with one rate a row, and only rows of the step's n-grams move.

    Parameters
    ----------
    encoder : LsaEncoder
        The initial model; it is not changed.
    training_data : PairTrainingData
        What it learns from.
    settings : DssmSettings
        How.
    """

    def __init__(self, encoder: LsaEncoder, training_data: PairTrainingData, settings: DssmSettings):
        super().__init__(settings, len(training_data))
        self.encoder, self.training_data = encoder, training_data
        self.matrix = np.array(encoder.projection, np.float32)
        self.squares = np.zeros(len(self.matrix), np.float32)
        self._asked: csr_array = encoder.ngrams.queries(training_data.queries).to_scipy()
        self._read: csr_array = encoder.ngrams.queries(training_data.texts).to_scipy()
        data = f"{training_data.checksum:016x} {encoder.fingerprint}"
        self.key = f"{json.dumps(asdict(settings), sort_keys=True)} {data}"

    def step(self, numbers: Int64Array) -> float:
        """Learn from these queries; return their loss before the step."""
        settings = self.settings
        random = np.random.default_rng([settings.seed, 1, self.steps_done])
        batch = ContrastiveBatch(numbers, self.training_data.drawn(numbers, settings.negatives, random))
        from scipy.sparse import vstack

        rows = vstack([self._asked[numbers], self._read[batch.columns]], format="csr")
        known, rows.indices = np.unique(rows.indices, return_inverse=True)
        rows = type(rows)((rows.data, rows.indices, rows.indptr), shape=(rows.shape[0], len(known)))
        vectors = np.asarray(rows @ self.matrix[known], np.float32)
        lengths = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.float32(1e-6))
        units, count = vectors / lengths, len(numbers)
        found = contrastive(
            settings.scale * units[:count] @ units[count:].T, batch.excluded(self.training_data.relevant)
        )
        by_unit = settings.scale * np.concatenate([found.by_score @ units[count:], found.by_score.T @ units[:count]])
        by_vector = (by_unit - (by_unit * units).sum(axis=1, keepdims=True) * units) / lengths
        gradient = np.asarray(rows.T @ by_vector.astype(np.float32), np.float32)
        self.squares[known] += np.square(gradient).mean(axis=1)
        rate = settings.rate * rate_factor(self.steps_done, self.steps, warm_up=settings.warm_up)
        self.matrix[known] -= np.float32(rate) * gradient / np.sqrt(self.squares[known] + np.float32(1e-12))[:, None]
        self.steps_done += 1
        return found.loss

    def queries(self, texts: Sequence[str]) -> Float32Array:
        """Encode texts with the matrix as it is."""
        return unit_rows(np.asarray(self.encoder.ngrams.queries(texts).to_scipy() @ self.matrix, np.float32))

    items = queries

    def state(self) -> dict[str, Float32Array]:
        """Return the matrix, and the sums of squared gradients."""
        return {"matrix": self.matrix.reshape(-1).copy(), "squares": self.squares.copy()}

    def resume(self, state: TrainingState) -> None:
        """Take both from a checkpoint."""
        self.matrix = state.array("matrix", self.matrix.shape)
        self.squares = state.array("squares", self.squares.shape)
        self.steps_done = state.steps

    def weights(self) -> dict[str, Float32Array]:
        """Return the matrix."""
        return {"matrix": self.matrix.reshape(-1).copy()}

    def set_weights(self, weights: Mapping[str, Float32Array]) -> None:
        """Take the matrix."""
        self.matrix = np.asarray(weights["matrix"], np.float32).reshape(self.matrix.shape)


@validate_args
def train_dssm(
    dataset: Dataset,
    *,
    encoder: LsaEncoder | None = None,
    retriever: Retriever | None = None,
    checkpoint: str | Path | None = None,
    watch: Watch | None = None,
    threads: int = 1,
    **settings: Any,
) -> LsaEncoder:
    """Train a deep structured semantic model's lightest form on clicks, without torch, in minutes.

    Words, pairs of words and character trigrams have a vector each; a text is their sum by TF-IDF, brought to length 1.
    The vectors begin as those of latent semantic analysis, and learn to bring queries to the items that were clicked
    for them. A part of the clicks is held out, and says which vectors were best. Ctrl-C keeps the best so far.

    Parameters
    ----------
    dataset : Dataset
        Items, and clicks of queries.
    encoder : LsaEncoder, optional
        What to begin with; it is fitted to the texts of items and clicked queries unless given.
    retriever : Retriever, optional
        Over the dataset's items; its best items without clicks are hard negatives. BM25 unless given.
    checkpoint : path, optional
        A folder where the state is kept; a training that was stopped goes on from it.
    watch : callable, optional
        Gets a `TrainingProgress` after every step.
    threads : int
        What the retriever may use.
    **settings
        Of `DssmSettings`: dim, epochs, batch, negatives, rate, seed and others.

    Examples
    --------
    >>> from vizsla.data.dataset import Dataset
    >>> items = {"a": "red fruit of a tree", "b": "a road over water", "c": "wooden chair"}
    >>> clicks = {"apple": ["a"], "bridge": ["b"], "seat": ["c"], "cherry": ["a"], "viaduct": ["b"], "stool": ["c"]}
    >>> data = Dataset.of(items, clicks=clicks)
    >>> learned = train_dssm(data, dim=8, negatives=0, batch=3, epochs=30, rate=0.1)
    >>> (learned.queries(["viaduct", "cherry"]) @ learned.items(list(items.values())).T).argmax(axis=1).tolist()
    [1, 0]
    """
    chosen = DssmSettings(**settings)
    if retriever is not None and retriever.items != dataset.item_ids:
        raise InputError(f"`retriever` must be over the dataset's items, in their order. Got {retriever!r}.")
    texts = [item.default_text() for item in dataset.items]
    log = ClickLog.of(dataset, dataset.item_ids)
    if not len(log):
        raise InputError("`dataset` must have clicks, to learn from. Got none.")
    split = None if too_few(log) else next(log_splits(log, cold=chosen.cold, seed=chosen.seed))
    learns = log if split is None else split.train
    finds = (retriever or bm25(dataset)) if chosen.negatives else None
    taught = training_data_of(learns, texts, finds, None, depth=chosen.depth, threads=threads)
    begun = encoder or LsaEncoder.fit([*texts, *taught.queries], dim=chosen.dim, seed=chosen.seed)
    training = BagTraining(begun, taught, chosen)
    held = None
    if split is not None:
        some = split.held[:: max(1, -(-len(split.held) // chosen.held_out))]
        held = HeldOutPool.of(log, some, texts, pool=POOL, seed=chosen.seed)
    loop = TrainingLoop(
        training, key=training.key, measure=None if held is None else lambda: [held.measured(training)],
        every=chosen.every, patience=chosen.patience, checkpoint=None if checkpoint is None else Path(checkpoint),
        watch=watch,
    )  # fmt: skip
    loop.run()
    return LsaEncoder(begun.ngrams, training.matrix)
