"""Padded lists of items per query, and queries made from item texts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla.typing import Int32Array


class Positives(NamedTuple):
    """The clicked items of some queries.

    Attributes
    ----------
    items : int32 array, queries × items
        Padded with -1.
    weights : float32 array, queries × items
        Weight of each: 1 per query in total, or 0 for a query without clicks.
    """

    items: Int32Array
    weights: NDArray[np.float32]

    @classmethod
    def of(cls, offsets: NDArray[np.int64], items: Int32Array, weights: NDArray[np.float64]) -> Positives:
        """Pad rows that lie one after the other, and let each query's weights add up to 1.

        Examples
        --------
        >>> found = Positives.of(np.array([0, 2, 3]), np.array([4, 5, 6], np.int32), np.array([1.0, 3.0, 2.0]))
        >>> found.items.tolist(), found.weights.tolist()
        ([[4, 5], [6, -1]], [[0.25, 0.75], [1.0, 0.0]])
        """
        lengths = np.diff(offsets)
        rows = np.repeat(np.arange(len(lengths)), lengths)
        columns = np.arange(len(items)) - offsets[rows]
        shape = (len(lengths), int(lengths.max(initial=1)))
        padded, counted = np.full(shape, -1, np.int32), np.zeros(shape, np.float32)
        padded[rows, columns] = items
        counted[rows, columns] = weights / np.bincount(rows, weights, minlength=len(lengths))[rows]
        return cls(padded, counted)

    def take(self, numbers: NDArray[np.int64]) -> Positives:
        """Return the lists of some queries."""
        return Positives(self.items[numbers], self.weights[numbers])

    def narrowed(self) -> Positives:
        """Return the same lists without the columns that are padding for every query.

        Examples
        --------
        >>> padded = Positives(np.array([[4, 5, -1], [6, -1, -1]]), np.array([[0.5, 0.5, 0], [1, 0, 0]]))
        >>> padded.narrowed().items.tolist()
        [[4, 5], [6, -1]]
        """
        width = int((self.items >= 0).sum(axis=1).max(initial=1))
        return Positives(self.items[:, :width], self.weights[:, :width])


def union(*lists: Int32Array) -> tuple[Int32Array, NDArray[np.bool_]]:
    """Return each query's items of all lists, ascending, and which entries count: every item once, no padding.

    Examples
    --------
    >>> items, listed = union(np.array([[3, 1]]), np.array([[3, -1]]))
    >>> items.tolist(), listed.tolist()
    ([[-1, 1, 3, 3]], [[False, True, True, False]])
    """
    joined = np.sort(np.concatenate(lists, axis=1), axis=1)
    listed = joined >= 0
    listed[:, 1:] &= joined[:, 1:] != joined[:, :-1]
    return joined, listed


MIN_WORDS, MAX_WORDS = 3, 12
"""Words of a piece: about what people type."""


def pseudo_queries(texts: Iterable[str], *, seed: int = 0) -> list[str]:
    """Return one run of words out of every text that has any, each different one once.

    Examples
    --------
    >>> pseudo_queries(["fig tree", "", "a very long walk down to the river and back home again before night"])
    ['fig tree', 'very long walk down to the river and']
    """
    pick = np.random.default_rng(seed)
    pieces = (_piece(text.split(), pick) for text in texts)
    return list(dict.fromkeys(piece for piece in pieces if piece))


def _piece(words: list[str], pick: np.random.Generator) -> str:
    length = int(pick.integers(MIN_WORDS, MAX_WORDS + 1))
    first = int(pick.integers(0, max(1, len(words) - length + 1)))
    return " ".join(words[first : first + length])


def holds_answer(text: str, answer: str) -> bool:
    """Return whether a text holds an answer as whole words, in the same case: what makes a passage right in QA.

    Examples
    --------
    >>> holds_answer("a work of art.", "art"), holds_answer("the party", "art"), holds_answer("x", "")
    (True, False, False)
    """
    if not answer.strip():
        return False
    return re.search(rf"(?<!\w){re.escape(answer.strip())}(?!\w)", text) is not None
