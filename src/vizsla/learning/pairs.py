"""What models of pairs and of two sides learn from: clicked items, hard negatives, batches, held-out queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla.base.queries import Queries
from vizsla.base.retriever import Retriever
from vizsla.errors import InputError
from vizsla.indexes.flat import FlatIndex
from vizsla.learning.clicks import ClickLog
from vizsla.learning.data import Positives
from vizsla.learning.distillation import Teacher
from vizsla.learning.measures import ndcgs
from vizsla.typing import BoolArray, Float64Array, Int32Array, Int64Array

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class PairTrainingData:
    """Training data of a cross-encoder or a bi-encoder.

    Parameters
    ----------
    queries : list of str
        Their texts.
    texts : list of str
        The items'.
    relevant : Positives
        The clicked items.
    confused : int32 array, queries × depth
        A retriever's best items that were not clicked, padded with -1.
    teacher : Teacher or None
        Whose scores are imitated.
    """

    queries: list[str]
    texts: list[str]
    relevant: Positives
    confused: Int32Array
    teacher: Teacher | None = None

    def __len__(self) -> int:
        return len(self.queries)

    @property
    def checksum(self) -> int:
        """A number that tells training data apart: texts, clicks, hard negatives, and what the teacher finds."""
        taught = None if self.teacher is None else self.teacher.checksum
        told = repr((self.queries, self.texts, self.relevant.items.shape, taught))
        seen = _native.checksum(np.frombuffer(told.encode("utf-8", "surrogatepass"), np.uint8))
        for values in (*self.relevant, self.confused):
            seen = _native.checksum(np.ascontiguousarray(values).reshape(-1).view(np.uint8), seen)
        return int(seen)

    def drawn(self, numbers: Int64Array, negatives: int, random: np.random.Generator) -> Int32Array:
        """Return for each query a clicked item, drawn by weight, and negatives after it."""
        rows = np.zeros((len(numbers), 1 + negatives), np.int32)
        for row, number in zip(rows, numbers.tolist(), strict=True):
            weights = self.relevant.weights[number].astype(np.float64)
            clicked = self.relevant.items[number]
            row[0] = clicked[random.choice(len(clicked), p=weights / weights.sum())]
            row[1:] = self._negatives(number, negatives, random)
        return rows

    def _negatives(self, number: int, count: int, random: np.random.Generator) -> Int32Array:
        """Draw hard negatives; items at random where the retriever found too few."""
        hard = self.confused[number][self.confused[number] >= 0]
        chosen = random.permutation(hard)[:count]
        clicked = self.relevant.items[number]
        others = random.integers(0, len(self.texts), 4 * (count + len(clicked)))
        others = others[~np.isin(others, clicked)]
        if len(chosen) + len(others) < count:
            raise InputError("The dataset must have items that were not clicked for a query. Got too few.")
        return np.concatenate([chosen, others])[:count].astype(np.int32)


def training_data_of(
    log: ClickLog,
    texts: list[str],
    retriever: Retriever | None,
    teacher: Retriever | None,
    *,
    depth: int,
    threads: int,
) -> PairTrainingData:
    """Make training data of a log: the retriever, if any, is asked for every query once."""
    asked = Queries(log.take_queries(np.arange(len(log))))
    relevant = Positives.of(log.offsets, log.items, log.units.astype(np.float64))
    taught = None if teacher is None else Teacher(teacher, asked, depth=depth, threads=threads)
    if retriever is None:
        return PairTrainingData(asked.texts, texts, relevant, np.zeros((len(asked), 0), np.int32), taught)
    found = Teacher(retriever, asked, depth=depth, threads=threads).best
    clicked = (found[:, :, None] == relevant.items[:, None, :]).any(axis=2)
    return PairTrainingData(asked.texts, texts, relevant, np.where(clicked, -1, found).astype(np.int32), taught)


class ContrastiveBatch(NamedTuple):
    """A step's queries by number, and each one's items: the clicked one first, then its hard negatives.

    Examples
    --------
    >>> batch = ContrastiveBatch(np.array([4, 9]), np.array([[7, 1, 2], [8, 3, 7]], np.int32))
    >>> batch.columns.tolist(), batch.places.tolist()
    ([7, 8, 1, 2, 3, 7], [[0, 2, 3], [1, 4, 5]])
    """

    numbers: Int64Array
    items: Int32Array

    @property
    def columns(self) -> Int32Array:
        """The items as the loss has them: each query's own, then all hard negatives."""
        return np.concatenate([self.items[:, 0], self.items[:, 1:].reshape(-1)])

    @property
    def places(self) -> Int64Array:
        """Where each query's own list stands among the columns."""
        count, width = self.items.shape
        own = np.arange(count)[:, None]
        return np.concatenate([own, count + own * (width - 1) + np.arange(width - 1)], axis=1)

    def excluded(self, relevant: Positives) -> BoolArray:
        """Say which columns are none of a query's negatives: all that it clicked, but for its own."""
        clicked = relevant.items[self.numbers]
        out = np.asarray((self.columns[None, :, None] == clicked[:, None, :]).any(axis=2), np.bool_)
        own = np.arange(len(clicked))
        out[own, own] = False
        return out


class TwoSides(Protocol):
    """Encoders of queries and of items."""

    def queries(self, texts: list[str]) -> Any:
        """Encode query texts."""

    def items(self, texts: list[str]) -> Any:
        """Encode item texts."""


MEASURED_DEPTH = 10
MEASURE = "nDCG@10"


@dataclass(frozen=True)
class HeldOutPool:
    """Held-out queries, and the pool of items that they are ranked over.

    Parameters
    ----------
    queries_asked, texts : lists of str
        Theirs, and the items'.
    clicks : csr_array
        What was clicked, held-out queries × these items.
    """

    queries_asked: list[str]
    texts: list[str]
    clicks: csr_array

    @classmethod
    def of(cls, log: ClickLog, held: NDArray[np.int64], texts: list[str], *, pool: int, seed: int) -> HeldOutPool:
        """Take the clicked items and as many others, drawn at random, as the pool has room for."""
        clicks = log.matrix[held]
        clicked = np.unique(clicks.indices)
        order = np.random.default_rng([seed, 2]).permutation(len(texts))
        others = order[~np.isin(order, clicked)][: max(0, pool - len(clicked))]
        items = np.sort(np.concatenate([clicked, others]))
        return cls(log.take_queries(held), [texts[item] for item in items.tolist()], clicks[:, items])

    def measured(self, sides: TwoSides) -> Float64Array:
        """Return each query's nDCG@10 by inner products of these vectors."""
        index = FlatIndex.build(sides.items(self.texts))
        found = index.search(sides.queries(self.queries_asked), k=min(MEASURED_DEPTH, len(self.texts)))
        return ndcgs(found, self.clicks, depth=MEASURED_DEPTH)
