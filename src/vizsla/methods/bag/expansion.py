"""Which tokens a token may call to mind: those that clicked items hold when queries hold it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Pattern = tuple[NDArray[np.int64], NDArray[np.int32]]


def strongest_pairs(queries: csr_array, clicked: csr_array, weights: NDArray[np.float32], *, most: int) -> Pattern:
    """Return offsets and targets: for each token the `most` others that it meets most, rare ones counting more.

    Parameters
    ----------
    queries, clicked : csr_array
        A row a click: the tokens of its query, and those of its item.
    weights : float32 array
        What each token weighs: the idf.
    most : int
        How many others a token may have.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> queries, clicked = csr_array([[1.0, 0, 0], [1.0, 0, 0]]), csr_array([[0, 1.0, 0], [1.0, 1.0, 1.0]])
    >>> offsets, targets = strongest_pairs(queries, clicked, np.float32([1, 1, 1]), most=1)
    >>> offsets.tolist(), targets.tolist()
    ([0, 1, 1, 1], [1])
    """
    met = (queries.T.tocsr() @ clicked).tocsr().sorted_indices()
    tokens = np.repeat(np.arange(met.shape[0]), np.diff(met.indptr))
    strength = np.where(tokens == met.indices, 0.0, met.data * weights[met.indices])
    order = np.lexsort((met.indices, -strength, tokens))
    rank = np.arange(len(order)) - met.indptr[tokens[order]]
    kept = np.sort(order[(rank < most) & (strength[order] > 0)])
    counts = np.bincount(tokens[kept], minlength=met.shape[0])
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), met.indices[kept].astype(np.int32)


def items_met(queries: csr_array, clicks: csr_array, items: csr_array, pattern: Pattern) -> NDArray[np.float32]:
    """Return at how many different items each pair of tokens met: the one in the item, the other in a query for it.

    Parameters
    ----------
    queries : csr_array
        Queries × tokens.
    clicks : csr_array
        Queries × items.
    items : csr_array
        Items × tokens.
    pattern : offsets and targets
        The pairs, as `strongest_pairs` gives them.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> queries, clicks = csr_array([[1.0, 0]] * 3), csr_array([[1.0, 0], [2.0, 0], [0, 1.0]])
    >>> items_met(queries, clicks, csr_array([[0, 1.0], [0, 1.0]]), (np.array([0, 1, 1]), np.int32([1]))).tolist()
    [2.0]
    """
    offsets, targets = pattern
    if not len(targets):  # scipy looks up no pair at all in a way of its own
        return np.zeros(0, np.float32)
    chosen = (queries.T.tocsr() @ clicks).tocsr()
    chosen.data = np.ones(len(chosen.data), np.float32)
    met = (chosen @ items).tocsr().sorted_indices()
    tokens = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return np.asarray(met[tokens, targets], np.float32).reshape(-1)
