"""Queries held out of clicks, and the clicks that are left."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vizsla.clicks.hold_out import HeldOut, hold_out
from vizsla.clicks.log_split import COLD
from vizsla.errors import InputError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

SHARE, MOST = 0.1, 2000
FEWEST = 20
"""With fewer queries none can be held out."""


def held_out_queries(clicks: csr_array, seed: int) -> HeldOut | None:
    """Choose a tenth of the queries, half of them cold where that is possible; None where there are too few."""
    queries = round(min(SHARE * clicks.shape[0], MOST))
    if clicks.shape[0] < FEWEST:
        return None
    for cold in (COLD, 0.0, 1.0):
        try:
            return hold_out(clicks, queries=max(queries, 2), cold=cold, seed=seed)
        except InputError:
            continue
    return None


def clicks_left(clicks: csr_array, held: HeldOut) -> csr_array:
    """Return the clicks without those of held-out queries and of cold items."""
    from scipy.sparse import csr_array

    gone = np.zeros(clicks.shape[0], np.bool_)
    gone[np.concatenate([held.cold, held.warm])] = True
    rows = np.repeat(np.arange(clicks.shape[0]), np.diff(clicks.indptr))
    kept = ~gone[rows] & ~held.cold_items[clicks.indices]
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows[kept], minlength=clicks.shape[0]))])
    return csr_array((clicks.data[kept], clicks.indices[kept], starts), shape=clicks.shape)
