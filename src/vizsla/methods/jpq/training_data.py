"""What JPQ learns from and is judged by: training lists, held-out queries, and a trial search."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla.base.encoder import Encoder
from vizsla.base.queries import Queries
from vizsla.base.retriever import Retriever
from vizsla.core.candidates import Candidates
from vizsla.core.strings import Strings
from vizsla.errors import InputError
from vizsla.indexes.flat import FlatIndex
from vizsla.indexes.pq.pq_index import PqIndex
from vizsla.learning.clicks import WEIGHT_UNITS, ClickLog
from vizsla.learning.data import Positives
from vizsla.learning.distillation import Teacher
from vizsla.learning.matrices import says, unit_rows
from vizsla.learning.splits import LogSplit
from vizsla.methods.jpq.trainer import JpqTraining
from vizsla.typing import Float32Array, Float64Array, Int32Array

QUERIES_PER_BATCH = 256
MEASURED_DEPTH = 10
MEASURE = "MRR@10"


class HeldOutClicks(NamedTuple):
    """Vectors of held-out queries, their clicked items, and which queries are cold.

    Attributes
    ----------
    rows : float32 array
        The queries' vectors.
    relevant : Positives
        Their clicks.
    cold : bool array
        Which queries' items have no click left in training.
    texts : list of str
        The queries.
    """

    rows: Float32Array
    relevant: Positives
    cold: NDArray[np.bool_]
    texts: list[str]

    @classmethod
    def of(cls, log: ClickLog, split: LogSplit) -> HeldOutClicks:
        """Take the queries that a split holds out."""
        relevant, texts = relevant_of(log).take(split.held), log.take_queries(split.held)
        return cls(log.vectors[split.held], relevant, split.is_cold, texts)

    def measured(self, training: JpqTraining, clicked_margins: Sequence[float] = (0.0,)) -> list[Float64Array]:
        """Return each query's reciprocal rank with query side and centroids as they are, for every clicked margin."""
        rows = training.asked_rows(self.rows, self.texts)
        return [self.ranks(partial(_found, training, rows, clicked_margin)) for clicked_margin in clicked_margins]

    def uncompressed(self, vectors: Float32Array) -> Float64Array:
        """Return each query's reciprocal rank where items are whole vectors."""
        index = FlatIndex.build(vectors)
        return self.ranks(lambda part: _rows_of(index.search(self.rows[part], MEASURED_DEPTH)))

    def ranks(self, best: Callable[[slice], Int32Array]) -> Float64Array:
        """Return each query's reciprocal rank, given what finds the best items of some of them."""
        parts = [
            self._ranks(best, slice(at, at + QUERIES_PER_BATCH)) for at in range(0, len(self.rows), QUERIES_PER_BATCH)
        ]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _ranks(self, best: Callable[[slice], Int32Array], part: slice) -> Float64Array:
        hits = (best(part)[:, :, None] == self.relevant.items[part][:, None, :]).any(axis=2)
        return np.where(hits.any(axis=1), 1 / (1 + hits.argmax(axis=1)), 0.0)


def _found(training: JpqTraining, rows: Float32Array, clicked_margin: float, part: slice) -> Int32Array:
    return training.best(rows[part], MEASURED_DEPTH, clicked_margin=clicked_margin)


def _rows_of(found: Candidates) -> Int32Array:
    """Return answers as a matrix, filled up with -2, which is no item."""
    lengths = np.diff(found.offsets)
    rows = np.full((len(lengths), int(lengths.max(initial=1))), -2, np.int32)
    rows[np.arange(rows.shape[1]) < lengths[:, None]] = found.items
    return rows


def relevant_of(log: ClickLog) -> Positives:
    """Return what was clicked for every query of a log, by the clicks' weights."""
    return Positives.of(log.offsets, log.items, log.units.astype(np.float64))


@dataclass(frozen=True)
class JpqTrainingData:
    """Query vectors, their clicked items, and the teacher.

    Parameters
    ----------
    rows : float32 array, queries × dimensions
        Vectors of length 1.
    relevant : Positives or None
        Clicks; a query without any has weights of 0.
    teacher : Teacher or None
        Its best items for the same queries.
    texts : list of str
        The queries.
    """

    rows: Float32Array
    relevant: Positives | None
    teacher: Teacher | None
    texts: list[str]

    @property
    def labels(self) -> dict[str, Any]:
        """What a training is told of the queries beside their vectors."""
        return {"relevant": self.relevant, "teacher": self.teacher}

    def take(self, numbers: NDArray[np.int64], relevant: Positives) -> JpqTrainingData:
        """Return some of the queries, with other clicks for them."""
        taught = None if self.teacher is None else self.teacher.take(numbers)
        return JpqTrainingData(
            self.rows[numbers], relevant, taught, [self.texts[number] for number in numbers.tolist()]
        )

    def without(self, log: ClickLog, split: LogSplit) -> JpqTrainingData:
        """Return what is left when a split of the log holds queries out; queries without clicks all stay."""
        own = log.queries.find_all(split.train.queries) if len(split.train) else np.zeros(0, np.int64)
        others = np.arange(len(log), len(self.rows))
        return self.take(np.concatenate([own, others]), _widened(relevant_of(split.train), len(others)))


def training_data_of(
    log: ClickLog | None,
    asked: Queries,
    encoder: Encoder,
    teacher: Retriever | None,
    *,
    depth: int,
    threads: int,
    unit: bool = True,
) -> JpqTrainingData:
    """Make training_data of a log's queries and, after them in `asked`, of queries without clicks."""
    encoded = asked.encoded(encoder)
    rows = unit_rows(encoded) if unit else np.asarray(encoded, np.float32)
    relevant = None if log is None else _widened(relevant_of(log), len(asked) - len(log))
    taught = None if teacher is None else Teacher(teacher, asked, depth=depth, threads=threads)
    return JpqTrainingData(rows, relevant, taught, asked.texts)


def log_and_queries(
    clicks: Any, queries: Iterable[str] | None, items: Strings, encoder: Encoder
) -> tuple[ClickLog | None, Queries]:
    """Read clicks and query texts, encoding every text once; texts without features are left out."""
    more = [] if queries is None else list(dict.fromkeys(Queries.of(_texts(queries)).texts))
    encoded: dict[str, Queries] = {}

    def encode(names: list[str]) -> Any:
        encoded["log"] = Queries(names)
        return encoded["log"].encoded(encoder)

    log = None if clicks is None else ClickLog.of(clicks, items, encode)
    known = [] if log is None else log.take_queries(np.arange(len(log)))
    new = _that_say_something(Queries([text for text in more if text not in set(known)]), encoder)
    if log is None or not len(log):
        return None, new
    found = Strings.of(encoded["log"].texts).find_all(known)
    return log, encoded["log"].take(found).joined(new)


def _texts(queries: Iterable[str]) -> Sequence[str]:
    if isinstance(queries, str):
        raise InputError("`queries` must hold many texts. Got one str: put it into a list.")
    return list(queries)


def _that_say_something(queries: Queries, encoder: Encoder) -> Queries:
    if not len(queries):
        return queries
    return queries.take(np.flatnonzero(says(np.asarray(queries.encoded(encoder)))))


def _widened(relevant: Positives, more: int) -> Positives:
    """Add queries without clicks."""
    width = relevant.items.shape[1]
    items = np.concatenate([relevant.items, np.full((more, width), -1, np.int32)])
    return Positives(items, np.concatenate([relevant.weights, np.zeros((more, width), np.float32)]))


class JpqTrial(NamedTuple):
    """What is left to learn from when clicks are held out, and what these are measured by.

    Attributes
    ----------
    training_data : JpqTrainingData
        The remaining training data.
    held : HeldOutClicks
        The held-out clicks.
    coded : PqIndex
        The coded items; marked are those that have a click left.
    against : float array, optional
        What the uncompressed items give for each held-out query: the worse of warm and cold is to lose least to it.
    """

    training_data: JpqTrainingData
    held: HeldOutClicks
    coded: PqIndex
    against: Float64Array | None = None


def unspoilt(
    left: JpqTrainingData, teacher: Retriever | None, lost: list[tuple[str, str, float]], depth: int
) -> JpqTrainingData:
    """Return what is left of the training_data with a teacher that has not seen the clicks that are held out, either.

    They are removed from PEFA; any other teacher is not changed.
    """
    if teacher is None or not teacher.forgets_clicks or not lost or left.teacher is None:
        return left
    forgot = teacher.without_clicks(lost)
    return replace(left, teacher=Teacher(forgot, Queries(left.texts), depth=depth, threads=left.teacher.threads))


def lost_clicks(log: ClickLog, split: LogSplit, items: Strings) -> list[tuple[str, str, float]]:
    """Return the clicks that a split holds out: those of held-out queries, and all others on cold items."""
    own = log.queries.find_all(split.train.queries) if len(split.train) else np.zeros(0, np.int64)
    kept = own[split.train.rows] * log.width + split.train.items if len(own) else own
    lost = ~np.isin(log.rows * log.width + log.items, kept)
    texts, weights = log.take_queries(log.rows[lost]), (log.units[lost] / WEIGHT_UNITS).tolist()
    return list(zip(texts, items.take(log.items[lost]), weights, strict=True))
