"""How much of some held-out queries' clicks an answer finds, query by query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vizsla.core.sparse import row_numbers
from vizsla.typing import Float64Array

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from vizsla.core.candidates import Candidates
    from vizsla.typing import Int64Array


def recalls(found: Candidates, clicks: csr_array) -> Float64Array:
    """Return the share of each query's clicked items that was found; what a click weighs does not matter.

    Parameters
    ----------
    found : Candidates
        A row a query.
    clicks : csr_array
        Queries × items; every query has clicks.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from vizsla.core.candidates import Candidates
    >>> found = Candidates([0, 2], [1, 0], [2.0, 1.0])
    >>> recalls(found, csr_array([[0.0, 9.0, 1.0]])).tolist()
    [0.5]
    """
    wanted = clicks.astype(bool)
    queries = found.row_numbers()
    hits = np.asarray(wanted[queries, found.items]).ravel()
    shares: Float64Array = np.bincount(queries, hits, minlength=len(found)) / np.diff(wanted.indptr)
    return shares


def ndcgs(found: Candidates, clicks: csr_array, *, depth: int) -> Float64Array:
    """Return each query's nDCG, an item's gain being the weight of its click.

    It is the share of the query's clicks that was found, discounted by rank, of the share that the best order finds:
    1 only for the heaviest first. Every query counts alike, so that no single one with many clicks decides.

    Parameters
    ----------
    found : Candidates
        A row a query, at most `depth` items each.
    clicks : csr_array
        Queries × items: the weights; every query has clicks.
    depth : int
        How many ranks count.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from vizsla.core.candidates import Candidates
    >>> found = Candidates([0, 2, 4], [1, 2, 2, 1], [2.0, 1.0, 2.0, 1.0])
    >>> ndcgs(found, csr_array([[0.0, 9.0, 1.0]] * 2), depth=10).round(2).tolist()
    [1.0, 0.69]
    """
    queries = found.row_numbers()
    ranks = np.arange(len(queries)) - found.offsets[queries]
    gains = np.asarray(clicks[queries, found.items]).ravel().astype(np.float64)
    reached = np.bincount(queries, gains * _discounts(ranks, depth), minlength=len(found))
    return np.asarray(reached / _ideal(clicks, depth))


def reciprocal_ranks(
    offsets: Int64Array, scores: NDArray[np.floating[Any]], relevant: NDArray[np.bool_], *, depth: int = 10
) -> Float64Array:
    """Return 1 / rank of each row's first relevant entry, 0 beyond the depth; ties count against it.

    Parameters
    ----------
    offsets : int64 array
        Where each query's row begins; one more than there are queries.
    scores : float array
        In any order within a row.
    relevant : bool array
        Which entries are clicked items.
    depth : int
        How many ranks count.

    Examples
    --------
    >>> scores, relevant = np.array([3, 2, 2, 1.0]), np.array([False, True, False, True])
    >>> reciprocal_ranks(np.array([0, 4]), scores, relevant).tolist()
    [0.3333333333333333]
    """
    lengths = np.diff(offsets)
    full = np.flatnonzero(lengths)
    starts = offsets[:-1][full]
    found = np.zeros(len(lengths), np.float64)
    if not len(full):
        return found
    best = np.maximum.reduceat(np.where(relevant, scores, -np.inf), starts)
    ahead = (scores >= np.repeat(best, lengths[full])) & ~relevant
    ranks = 1 + np.add.reduceat(ahead, starts, dtype=np.int64)
    found[full] = np.where(np.isfinite(best) & (ranks <= depth), 1 / ranks, 0.0)
    return found


def _ideal(clicks: csr_array, depth: int) -> Float64Array:
    """Return the discounted gain of the heaviest first."""
    rows = row_numbers(clicks.indptr)
    gains = clicks.data[np.lexsort((-clicks.data, rows))].astype(np.float64)
    ranks = np.arange(clicks.nnz) - clicks.indptr[rows]
    return np.asarray(np.bincount(rows, gains * _discounts(ranks, depth), minlength=clicks.shape[0]), np.float64)


def _discounts(ranks: NDArray[np.int64], depth: int) -> Float64Array:
    """Return the discount of each rank, counted from 0; nothing counts beyond the depth."""
    return np.where(ranks < depth, 1 / np.log2(ranks + 2), 0.0)
