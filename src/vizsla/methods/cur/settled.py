"""Settled: the weights that are left of a query's estimates when its calls are spent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla.candidates import Candidates
from vizsla.methods.cur.factors import Factors

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
PAIRS = 1 << 14
"""Pairs whose factors are read at a time."""


class Settled(NamedTuple):
    """Small enough to be kept for all queries of a call; estimates of any pairs can be made of it.

    Parameters
    ----------
    weights : float32 array, queries × dimensions
        Of the items' factors.
    bias : float32 array
        A number a query.
    own : float32 array, queries × retrievers
        Of the retrievers' scores.
    """

    weights: Floats
    bias: Floats
    own: Floats

    @classmethod
    def joined(cls, parts: Sequence[Settled]) -> Settled:
        """Return the weights of several batches as one."""
        if not parts:
            return cls(np.zeros((0, 0), np.float32), np.zeros(0, np.float32), np.zeros((0, 0), np.float32))
        return cls(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    def pairs(self, factors: Factors, pairs: Candidates) -> Doubles:
        """Return what factors tell of each pair, added in one order: the same in any company.

        Examples
        --------
        >>> one = Settled(np.float32([[2.0]]), np.float32([0.5]), np.zeros((1, 0), np.float32))
        >>> asked = Candidates.matches([np.int32([2, 0])])
        >>> one.pairs(Factors.of(np.float32([[1.0, 2.0, 3.0]])), asked).tolist()
        [6.5, 2.5]
        """
        rows, found = _rows(pairs), np.zeros(len(pairs.items))
        for start in range(0, len(rows), PAIRS):
            some = slice(start, start + PAIRS)
            columns = factors.columns(pairs.items[some])
            found[some] = np.sum(columns * self.weights[rows[some]], axis=1, dtype=np.float64)
        return found + self.bias[rows]

    def told(self, retriever: int, pairs: Candidates, scores: Floats) -> Doubles:
        """Return what a retriever's scores of the pairs add."""
        return np.asarray(self.own[_rows(pairs), retriever] * scores.astype(np.float64))


def _rows(pairs: Candidates) -> NDArray[np.int64]:
    return np.repeat(np.arange(len(pairs)), np.diff(pairs.offsets))
