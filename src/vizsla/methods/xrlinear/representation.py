"""What an item looks like to the tree: the queries that chose it, its text, or both (section 3.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vizsla.errors import InputError, check_choice, check_range

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from vizsla.sparse_rows import Matrix

REPRESENTATIONS = ("pifa", "text", "concat", "blend")


def pifa(features: csr_array, clicks: csr_array) -> csr_array:
    """Return the l2-normalised sum of each item's positive instances (Eq. 5); an item without any is a zero row.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> pifa(csr_array([[3.0, 0.0], [0.0, 4.0]]), csr_array([[1.0, 0.0], [1.0, 0.0]])).toarray().tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    return unit_rows((clicks.T.tocsr().astype(np.float32) @ features).tocsr())


def item_vectors(
    how: str | Matrix, features: csr_array, clicks: csr_array, texts: csr_array | None, *, share: float = 0.5
) -> Matrix:
    """Return the vectors that the tree is built from.

    Parameters
    ----------
    how : {"pifa", "text", "concat", "blend"} or matrix
        Clicks, text, both side by side, or their weighted mean; or vectors of the user's own, a row for each item.
    features : csr_array
        Instances × features.
    clicks : csr_array
        Instances × items.
    texts : csr_array, optional
        Items × features, of the items' texts.
    share : float
        The weight of the clicks in "blend" and "concat", from 0 to 1.
    """
    check_range("share", share, 0, 1)
    if not isinstance(how, str):
        return _given(how, clicks.shape[1])
    check_choice("representation", how, REPRESENTATIONS)
    if how == "pifa":
        return pifa(features, clicks)
    if texts is None:
        raise InputError(f"The representation {how!r} must have item texts. Got none: use 'pifa'.")
    return unit_rows(texts) if how == "text" else _both(how, pifa(features, clicks), unit_rows(texts), share)


def _given(vectors: Matrix, items: int) -> Matrix:
    if getattr(vectors, "ndim", 0) != 2 or vectors.shape[0] != items:
        shape = getattr(vectors, "shape", None)
        raise InputError(f"`representation` as a matrix must have {items} rows, one for each item. Got shape {shape}.")
    return vectors


def _both(how: str, learned: csr_array, written: csr_array, share: float) -> csr_array:
    from scipy.sparse import hstack

    learned, written = learned * share, written * (1 - share)
    return unit_rows(hstack([learned, written], format="csr") if how == "concat" else (learned + written).tocsr())


def unit_rows(matrix: csr_array) -> csr_array:
    """Divide every row by its length; an empty row stays empty."""
    from scipy.sparse import csr_array

    sizes = np.diff(matrix.indptr)
    squares = np.zeros(matrix.shape[0])
    squares[sizes > 0] = np.add.reduceat(np.square(matrix.data), matrix.indptr[:-1][sizes > 0], dtype=np.float64)
    lengths = np.sqrt(np.where(squares > 0, squares, 1)).astype(np.float32)
    return csr_array((matrix.data / np.repeat(lengths, sizes), matrix.indices, matrix.indptr), shape=matrix.shape)
