"""SiDR's objective: learned vectors against learned vectors, and against plain bags of tokens, in both directions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla.training.contrastive import Contrast, contrastive

Floats = NDArray[np.float32]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class BagSide:
    """Learned queries, and passages as bags: what beta search scores.

    Parameters
    ----------
    queries : float32 array, queries × tokens
        Learned vectors.
    bags : csr_array, passages × tokens
        1 where a passage holds a token; each query's own passage first.
    norms : float32 array
        What each passage's score is multiplied by.
    excluded : bool array, queries × passages
        Pairs that count for nothing.
    """

    queries: Floats
    bags: Any
    norms: Floats
    excluded: Mask

    def scores(self) -> Floats:
        """Return what beta search gives each pair."""
        return np.ascontiguousarray((self.bags @ self.queries.T).T * self.norms)

    def by_query(self, by_score: Floats) -> Floats:
        """Return the derivative by the queries' vectors, given that by the scores."""
        return np.ascontiguousarray((self.bags.T @ (by_score * self.norms).T).T)


@dataclass(frozen=True)
class VectorSide:
    """Queries and learned passages: what full parametric search scores, or alpha search where queries are plain bags.

    Parameters
    ----------
    queries, passages : float32 arrays, texts × tokens
        Vectors; each query's own passage first.
    excluded : bool array, queries × passages
        Pairs that count for nothing.
    """

    queries: Floats
    passages: Floats
    excluded: Mask


class Objective(NamedTuple):
    """The loss, and its derivatives by the vectors of both sides."""

    loss: float
    by_query: Floats
    by_passage: Floats


def parametric(side: VectorSide) -> Objective:
    """Return the loss of queries against learned passages (L_para of the paper, and a part of L_semi-para).

    Examples
    --------
    >>> one = np.ones((1, 1), np.float32)
    >>> side = VectorSide(one, np.ones((2, 1), np.float32), np.zeros((1, 2), bool))
    >>> found = parametric(side)
    >>> round(found.loss, 4), found.by_query.tolist(), found.by_passage.tolist()
    (0.6931, [[0.0]], [[-0.5], [0.5]])
    """
    found = contrastive(side.queries @ side.passages.T, side.excluded)
    return Objective(found.loss, found.by_score @ side.passages, found.by_score.T @ side.queries)


def beta(side: BagSide, scores: Floats) -> Contrast:
    """Return the loss of learned queries against plain passages (beta search), by their scores."""
    return contrastive(scores, side.excluded)
