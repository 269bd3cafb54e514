"""Listwise distillation: scores of a teacher that a student follows."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla.base.queries import Queries
from vizsla.base.retriever import Retriever
from vizsla.core.candidates import Candidates, Stats
from vizsla.errors import InputError, check_positive
from vizsla.typing import Float64Array, Int32Array


def distillation(student: Any, teacher: Any, listed: Any) -> tuple[float, Float64Array]:
    """Return the mean Kullback-Leibler divergence of softmax shares, and its derivative by the student's scores.

    Parameters
    ----------
    student, teacher : float arrays, queries × items
        Scores, on the scale whose softmax is taken.
    listed : bool array, queries × items
        Which entries count; the others are padding.

    Examples
    --------
    >>> loss, gradient = distillation([[0.0, 0.0, 9.0]], [[1.0, 1.0, 0.0]], [[True, True, False]])
    >>> loss, gradient.tolist()
    (0.0, [[0.0, 0.0, 0.0]])
    """
    inside = np.asarray(listed, np.bool_)
    wanted, given = log_shares(teacher, inside), log_shares(student, inside)
    shares = np.where(inside, np.exp(np.where(inside, wanted, 0.0)), 0.0)
    gaps = np.where(inside, wanted - given, 0.0)
    queries = max(1, len(inside))
    gradient = np.where(inside, np.exp(np.where(inside, given, 0.0)) - shares, 0.0) / queries
    return float((shares * gaps).sum() / queries), gradient


def squared_distillation(student: Any, teacher: Any, listed: Any) -> tuple[float, Float64Array]:
    """Return the mean squared difference of scores, each query's centered, and its derivative by the student's scores.

    Parameters
    ----------
    student, teacher : float arrays, queries × items
        Scores on one scale; what is added to all of a query's changes nothing.
    listed : bool array, queries × items
        Which entries count; the others are padding.

    Examples
    --------
    >>> loss, gradient = squared_distillation([[2.0, 0.0]], [[7.0, 7.0]], [[True, True]])
    >>> loss, gradient.tolist()
    (1.0, [[1.0, -1.0]])
    """
    inside = np.asarray(listed, np.bool_)
    counts = np.maximum(1, inside.sum(axis=1, keepdims=True))
    gaps = np.where(inside, np.asarray(student, np.float64) - np.asarray(teacher, np.float64), 0.0)
    gaps = np.where(inside, gaps - gaps.sum(axis=1, keepdims=True) / counts, 0.0)
    queries = max(1, len(inside))
    return float((np.square(gaps) / counts).sum() / queries), 2 * gaps / counts / queries


TEACHER_LOSSES = {"shares": distillation, "squares": squared_distillation}
"""How a teacher is imitated: listwise by shares, or score by score."""


def log_shares(scores: Any, inside: NDArray[np.bool_]) -> Float64Array:
    """Return the logarithm of each entry's share; numbers without meaning where nothing is listed."""
    values = np.asarray(scores, np.float64)
    values = values - np.where(inside, values, -np.inf).max(axis=1, keepdims=True, initial=-1e300)
    total = np.where(inside, np.exp(np.minimum(values, 0.0)), 0.0).sum(axis=1, keepdims=True)
    return np.asarray(values - np.log(np.maximum(total, 1e-300)))


QUERIES_PER_BATCH = 1024


class Teacher:
    """A teacher's best items for the training queries, and its scores of other items.

    Parameters
    ----------
    retriever : Retriever
        Any, over the student's items in their order.
    queries : Queries
        All queries; they are encoded once.
    depth : int
        How many of its best items are kept a query.
    threads : int
        How many queries it answers at a time.
    """

    def __init__(self, retriever: Retriever, queries: Queries, *, depth: int, threads: int = 1):
        if retriever.scale == "none":
            raise InputError("`teacher` must give scores. Got a match set: score it with a Scorer (`>>`).")
        self.retriever, self.queries, self.threads = retriever, queries, threads
        width = min(check_positive("depth", depth), len(retriever.items))
        self.best: Int32Array = np.full((len(queries), width), -1, np.int32)
        spreads = []
        for first in range(0, len(queries), QUERIES_PER_BATCH):
            numbers = np.arange(first, min(first + QUERIES_PER_BATCH, len(queries)))
            found = retriever._search(queries.take(numbers), width, None, threads)
            rows = np.repeat(numbers, np.diff(found.offsets))
            self.best[rows, np.arange(len(found.items)) - found.offsets[rows - first]] = found.items
            spreads += _spreads(found)
        self.spread = float(np.median([spread for spread in spreads if spread > 0] or [1.0]))
        """How far the scores of a query's best items lie apart, typically."""

    @property
    def checksum(self) -> int:
        """A number that tells teachers apart: by their best items and the spread, since the last bits may vary."""
        found = int(_native.checksum(np.ascontiguousarray(self.best).reshape(-1).view(np.uint8)))
        return int(_native.checksum(np.frombuffer(f"{self.spread:.3g}".encode(), np.uint8), found))

    def take(self, numbers: NDArray[np.int64]) -> Teacher:
        """Return the teacher of some of the queries: nothing is searched again."""
        part = copy(self)
        part.queries, part.best = self.queries.take(numbers), self.best[numbers]
        return part

    def scores(self, numbers: NDArray[np.int64], items: Int32Array, listed: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Return the scores of the listed items of some queries; 0 elsewhere."""
        offsets = np.concatenate([[0], np.cumsum(listed.sum(axis=1))]).astype(np.int64)
        asked = Candidates.unchecked(offsets, items[listed], None, self.retriever.items, Stats())
        scores = np.zeros(items.shape, np.float32)
        scores[listed] = self.retriever._score(self.queries.take(numbers), asked, None, self.threads).scores
        return scores


def _spreads(found: Candidates) -> list[float]:
    """Return how far each query's best scores lie apart: their standard deviation."""
    scores = found._required_scores().astype(np.float64)
    lengths = np.diff(found.offsets)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    counts = np.maximum(lengths, 1)
    means = np.bincount(rows, scores, minlength=len(lengths)) / counts
    squares = np.bincount(rows, np.square(scores - means[rows]), minlength=len(lengths)) / counts
    spreads: list[float] = np.sqrt(squares).tolist()
    return spreads
