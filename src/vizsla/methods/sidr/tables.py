"""Tables of token weights for SiDR to add to: each training query meets one that never saw its clicks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vizsla.encoders.token_table import TokenTable
from vizsla.methods.bag.begin import begun
from vizsla.methods.bag.clicked import Clicked
from vizsla.methods.bag.learner import LearningSettings
from vizsla.methods.bag.model import Bag
from vizsla.progress import progress
from vizsla.sparse_rows import SparseRows

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def learned_table(bag: Bag, clicked: Clicked, clicks: csr_array, *, epochs: int, seed: int) -> TokenTable:
    """Return the bag's table after learning from some of the clicks."""
    learner, rng = begun(bag, clicked, clicks, LearningSettings()), np.random.default_rng(seed)
    for _ in range(epochs):
        learner.epoch(rng)
    return learner.table


def unseen_rows(bag: Bag, clicked: Clicked, clicks: csr_array, *, folds: int, epochs: int, seed: int) -> SparseRows:
    """Return every query's row by the table of the clicks that lie in other folds; queries of an item share a fold."""
    rows = bag.encoder.bag.queries(clicked.texts)
    fold = _folds(clicks, folds, seed)
    parts: list[SparseRows] = []
    for number in progress(range(folds), what="tables"):
        table = learned_table(bag, clicked, _without(clicks, fold == number), epochs=epochs, seed=seed)
        parts.append(table.weighted(rows.take(np.flatnonzero(fold == number))))
    order = np.argsort(np.concatenate([np.flatnonzero(fold == number) for number in range(folds)]))
    return SparseRows.stacked(parts, rows.width).take(order)


def _folds(clicks: csr_array, folds: int, seed: int) -> NDArray[np.int64]:
    """Return the fold of each query: that of the first item it has, or any."""
    drawn = np.random.default_rng(seed).integers(0, folds, clicks.shape[1])
    has = np.diff(clicks.indptr) > 0
    fold = np.arange(clicks.shape[0]) % folds
    fold[has] = drawn[clicks.indices[clicks.indptr[:-1][has]]]
    return fold


def _without(clicks: csr_array, gone: NDArray[np.bool_]) -> csr_array:
    from scipy.sparse import csr_array

    rows = np.repeat(np.arange(clicks.shape[0]), np.diff(clicks.indptr))
    kept = ~gone[rows]
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows[kept], minlength=clicks.shape[0]))])
    return csr_array((clicks.data[kept], clicks.indices[kept], starts), shape=clicks.shape)
