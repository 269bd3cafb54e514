"""Recoding: items get the codes with which a loss would be least, as far as its derivatives can tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from vizsla.core.sparse import row_numbers
from vizsla.typing import Float32Array, Int64Array, Uint8Array

PAIRS_PER_BLOCK = 8192
"""Pairs that are looked at together, or one item's: what they take fits into memory that is used again."""


class CodeGradients(NamedTuple):
    """Derivatives of a loss by the scores of some queries and items, pair by pair.

    Attributes
    ----------
    rotated : float32 array, queries × (parts · width)
        The queries as they meet the centroids: adapted and rotated.
    queries, items : int arrays
        A row of `rotated`, and an item, for each pair.
    slopes, curvatures : float32 arrays
        The loss's first and second derivative by each pair's score; no curvature is below 0.
    """

    rotated: Float32Array
    queries: Int64Array
    items: Int64Array
    slopes: Float32Array
    curvatures: Float32Array

    @classmethod
    def joined(cls, parts: Sequence[CodeGradients]) -> Self:
        """Put what several batches of queries saw together."""
        starts = np.cumsum([0, *(len(part.rotated) for part in parts[:-1])])
        queries = [part.queries + start for part, start in zip(parts, starts, strict=True)]
        rotated, _, items, slopes, curvatures = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        return cls(rotated, np.concatenate(queries), items, slopes, curvatures)


def recoded(
    centroids: Float32Array,
    codes: Uint8Array,
    seen: CodeGradients,
    *,
    damping: float = 1.0,
    allowed: NDArray[np.bool_] | None = None,
) -> Uint8Array:
    """Return the codes of all items, reassigned for those that were seen.

    Where what an item stands for moves by δ, the loss changes by about ``Σ s (u·δ) + h (u·δ)² / 2`` over the queries u
    that saw it, with slopes s and curvatures h. To that comes what none saw: ``δᵀ S δ / 2``, where S is the second
    moment of all queries. A sub-space after the other takes the centroid with which the sum is least.

    Parameters
    ----------
    centroids : float32 array, parts × centroids × width
        The codebook.
    codes : uint8 array, items × parts
        The codes so far.
    seen : CodeGradients
        The loss's derivatives by the scores of pairs.
    damping : float
        Weight of S, in units of an item's mean sum of curvatures: larger values change fewer codes.
    allowed : bool array, parts × centroids, optional
        Which centroids a seen item may take.

    Examples
    --------
    >>> centroids, codes = np.array([[[0.0], [1.0], [9.0]]], np.float32), np.zeros((2, 1), np.uint8)
    >>> once, item = np.ones(1, np.float32), np.array([1])
    >>> liked = CodeGradients(np.ones((1, 1), np.float32), np.array([0]), item, -once, once)
    >>> recoded(centroids, codes, liked, damping=0.1).tolist()
    [[0], [1]]
    """
    codes = codes.copy()
    if not len(seen.items):
        return codes
    order = np.argsort(seen.items, kind="stable")
    items, starts = np.unique(seen.items[order], return_index=True)
    unseen = (damping * float(seen.curvatures.sum()) / len(items) / len(seen.rotated)) * (seen.rotated.T @ seen.rotated)
    barred = np.zeros(centroids.shape[:2], np.float32) if allowed is None else np.where(allowed, 0, np.inf)
    bounds = np.append(starts, len(order))
    unseen = unseen.astype(np.float32)
    choices = [_Choice(each, part, seen.rotated, unseen, barred[part]) for part, each in enumerate(centroids)]
    for first, last in _blocks(bounds):
        pairs = order[bounds[first] : bounds[last]]
        some = _Some(seen, pairs, bounds[first : last + 1] - bounds[first], codes[items[first:last]])
        for choice in choices:
            some.recode(choice)
        codes[items[first:last]] = some.codes
    return codes


def _blocks(bounds: Int64Array) -> Iterator[tuple[int, int]]:
    """Yield from which item to which a block goes, given where each one's pairs begin."""
    first = 0
    while first < len(bounds) - 1:
        last = max(first + 1, int(np.searchsorted(bounds, bounds[first] + PAIRS_PER_BLOCK, side="right")) - 1)
        yield first, last
        first = last


class _Choice:
    """The centroids of one sub-space, the queries there, and what it costs to move: by S, and where it is barred."""

    def __init__(
        self, centroids: Float32Array, part: int, rotated: Float32Array, unseen: Float32Array, barred: Float32Array
    ):
        self.centroids, self.part, self.barred = centroids, part, barred
        self.here = slice(part * centroids.shape[1], (part + 1) * centroids.shape[1])
        self.rotated = np.ascontiguousarray(rotated[:, self.here])
        self.unseen, self.across = unseen[self.here, self.here], np.ascontiguousarray(unseen[:, self.here])
        # A curvature is symmetric: what lies above its diagonal counts twice.
        self.above = np.triu_indices(centroids.shape[1])
        twice = np.where(self.above[0] == self.above[1], np.float32(0.5), np.float32(1))
        self.squares = centroids[:, self.above[0]] * centroids[:, self.above[1]] * twice

    def best(self, slopes: Float32Array, curvatures: Float32Array, codes: Uint8Array) -> Int64Array:
        """Return the code of each item with which its loss is least, given derivatives where it is now."""
        linear = slopes - np.einsum("nij,nj->ni", curvatures, self.centroids[codes])
        losses = linear @ self.centroids.T
        losses += curvatures[:, *self.above] @ self.squares.T + self.barred
        chosen: Int64Array = losses.argmin(axis=1)
        return chosen


class _Some:
    """Some items while their codes change: pairs lie item by item, and slopes follow what was changed."""

    def __init__(self, seen: CodeGradients, pairs: Int64Array, bounds: Int64Array, codes: Uint8Array):
        self.codes, self.bounds = codes, bounds.tolist()
        self.queries, self.curvatures = seen.queries[pairs], seen.curvatures[pairs]
        self.slopes = seen.slopes[pairs].copy()
        self.owners = row_numbers(bounds)
        self.moved = np.zeros((len(codes), seen.rotated.shape[1]), np.float32)

    def recode(self, choice: _Choice) -> None:
        """Choose the codes of one sub-space."""
        rows, codes = choice.rotated[self.queries], self.codes[:, choice.part]
        slopes, curvatures = self._derivatives(rows)
        slopes += self.moved @ choice.across
        curvatures += choice.unseen
        chosen = choice.best(slopes, curvatures, codes)
        step = choice.centroids[chosen] - choice.centroids[codes]
        self.codes[:, choice.part], self.moved[:, choice.here] = chosen, step
        self.slopes += self.curvatures * np.einsum("pj,pj->p", rows, step[self.owners])

    def _derivatives(self, rows: Float32Array) -> tuple[Float32Array, Float32Array]:
        """Return the loss's derivatives by what each item stands for in a sub-space."""
        width = rows.shape[1]
        weighed = np.concatenate([rows * self.curvatures[:, None], self.slopes[:, None]], axis=1)
        found = np.empty((len(self.codes), width + 1, width), np.float32)
        for item, (first, last) in enumerate(zip(self.bounds[:-1], self.bounds[1:], strict=True)):
            np.matmul(weighed[first:last].T, rows[first:last], out=found[item])
        return found[:, width].copy(), np.ascontiguousarray(found[:, :width])
