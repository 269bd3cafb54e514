"""The items that could be among the best of a blend of sparse rows, with their scores by each part."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla.candidates import Candidates
from vizsla.clicks.log import Floats
from vizsla.clicks.matrices import Rows
from vizsla.indexes.inverted import InvertedIndex
from vizsla.sparse_rows import SparseRows
from vizsla.stats import Stats

Whole = NDArray[np.int64]


def near_sparse(
    queries: Rows, wanted: Any, parts: list[InvertedIndex], *, near: int, lowest: np.float32
) -> tuple[list[Floats], NDArray[np.bool_], Whole]:
    """Return the scores by each part, whether they are relevant, and the numbers of each query's candidates.

    Candidates are the `near` best of each part and what is wanted; a query that has fewer than another is filled up
    with number -1 and the score `lowest`. Inverted lists find them many times as fast as all products would.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> queries, wanted = csr_array([[1.0, 0.0]]), csr_array([[0, 0, 1]])
    >>> part = InvertedIndex.build(csr_array([[2.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
    >>> scores, relevant, numbers = near_sparse(queries, wanted, [part], near=1, lowest=np.float32(-1))
    >>> numbers.tolist(), scores[0].tolist(), relevant.tolist()
    ([[0, 2]], [[2.0, 0.0]], [[False, True]])
    """
    rows, items = SparseRows.of(queries), len(parts[0])
    found = [part.search(rows, near) for part in parts]
    own = _keys(wanted.indptr, wanted.indices, items)
    keys = np.unique(np.concatenate([own, *(_keys(one.offsets, one.items, items) for one in found)]))
    offsets = np.searchsorted(keys, np.arange(len(rows) + 1, dtype=np.int64) * items).astype(np.int64)
    candidates = Candidates.trusted(offsets, (keys % max(items, 1)).astype(np.int32), None, None, Stats())
    scores = [_filled(part.scores(rows, candidates).scores, offsets, lowest) for part in parts]
    numbers: Whole = _filled(keys % max(items, 1), offsets, -1)
    return scores, _filled(np.isin(keys, own), offsets, False), numbers


def _keys(offsets: Any, numbers: Any, items: int) -> Whole:
    """Return a number for each pair of row and item, ascending by row."""
    rows = np.repeat(np.arange(len(offsets) - 1, dtype=np.int64), np.diff(offsets))
    keys: Whole = rows * items + numbers
    return keys


def _filled(values: Any, offsets: Whole, fill: Any) -> Any:
    lengths = np.diff(offsets)
    full = np.full((len(lengths), int(lengths.max(initial=0))), fill, values.dtype)
    full[np.arange(full.shape[1]) < lengths[:, None]] = values
    return full
