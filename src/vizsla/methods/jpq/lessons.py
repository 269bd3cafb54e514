"""Lessons: the queries that JPQ learns from, with their clicks and their teacher."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla.clicks.log import ClickLog
from vizsla.clicks.log_split import LogSplit
from vizsla.clicks.matrices import says, unit_rows
from vizsla.encoder import Encoder
from vizsla.errors import InputError
from vizsla.methods.jpq.held_out import relevant_of
from vizsla.queries import Queries
from vizsla.retriever import Retriever
from vizsla.strings import Strings
from vizsla.training.code_scores import Floats
from vizsla.training.lists import Relevant
from vizsla.training.teacher import Teacher


@dataclass(frozen=True)
class Lessons:
    """Queries' vectors, what was clicked for them, and whom to imitate.

    Parameters
    ----------
    rows : float32 array, queries × dimensions
        Vectors of length 1.
    relevant : Relevant or None
        Clicks; a query without any has weights of 0.
    teacher : Teacher or None
        Its best items for the same queries.
    texts : list of str
        The queries.
    """

    rows: Floats
    relevant: Relevant | None
    teacher: Teacher | None
    texts: list[str]

    @property
    def labels(self) -> dict[str, Any]:
        """What a training is told of the queries beside their vectors."""
        return {"relevant": self.relevant, "teacher": self.teacher}

    def take(self, numbers: NDArray[np.int64], relevant: Relevant) -> Lessons:
        """Return some of the queries, with other clicks for them."""
        taught = None if self.teacher is None else self.teacher.take(numbers)
        return Lessons(self.rows[numbers], relevant, taught, [self.texts[number] for number in numbers.tolist()])

    def without(self, log: ClickLog, split: LogSplit) -> Lessons:
        """Return what is left when a split of the log holds queries out; queries without clicks all stay."""
        own = log.queries.find_all(split.train.queries) if len(split.train) else np.zeros(0, np.int64)
        others = np.arange(len(log), len(self.rows))
        return self.take(np.concatenate([own, others]), _widened(relevant_of(split.train), len(others)))


def lessons_of(
    log: ClickLog | None, asked: Queries, encoder: Encoder, teacher: Retriever | None, *, depth: int, threads: int
) -> Lessons:
    """Make lessons of a log's queries and, after them in `asked`, of queries without clicks."""
    rows = unit_rows(asked.encoded(encoder))
    relevant = None if log is None else _widened(relevant_of(log), len(asked) - len(log))
    taught = None if teacher is None else Teacher(teacher, asked, depth=depth, threads=threads)
    return Lessons(rows, relevant, taught, asked.texts)


def log_and_queries(
    clicks: Any, queries: Iterable[str] | None, items: Strings, encoder: Encoder
) -> tuple[ClickLog | None, Queries]:
    """Read clicks and query texts, encoding every text once; texts that say nothing are left out."""
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


def _widened(relevant: Relevant, more: int) -> Relevant:
    """Add queries without clicks."""
    width = relevant.items.shape[1]
    items = np.concatenate([relevant.items, np.full((more, width), -1, np.int32)])
    return Relevant(items, np.concatenate([relevant.weights, np.zeros((more, width), np.float32)]))
