"""A base's rows, with columns for the words that only clicked queries have."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla.clicks.log import ClickLog, Encode, Floats
from vizsla.clicks.matrices import Rows, widened
from vizsla.movable import Movable
from vizsla.queries import Queries
from vizsla.sparse_rows import SparseRows, as_scipy


def grown_log(base: Movable, clicks: Any) -> ClickLog:
    """Read clicks, with rows that hold every word of the queries."""
    return ClickLog.of(clicks, base.items, grown_encode(base))


def grown_encode(base: Movable) -> Encode:
    """Return how all texts of a log become rows: an array, or a CSR array with columns for words new to the base."""

    def encode(texts: list[str]) -> Any:
        rows = Queries(texts).encoded(base.grown_encoder(texts))
        return as_scipy(rows) if base.encoder.sparse else rows

    return encode


def grown_item_rows(base: Movable, log: ClickLog, items: NDArray[np.int64] | slice = slice(None)) -> Rows:
    """Return the base's rows of these items, as wide as the log's."""
    return widened(base.item_rows(items), log.dim)


def grown_column_weights(base: Movable, log: ClickLog) -> Floats | None:
    """Return what each column weighs: a word that no item holds as much as the rarest that one does.

    The formulas of idf say log(N / 0) for it, or the like: infinite in some variants.
    """
    weights = base.column_weights
    if weights is None:
        return None
    rarest = float(weights.max(initial=0.0)) or 1.0
    return np.append(weights, np.full(log.dim - len(weights), rarest, np.float32))


def narrowed(rows: Rows, dim: int) -> Rows:
    """Return queries' rows with the base's columns alone, as they are weighed among the new ones."""
    if not isinstance(rows, SparseRows) or rows.width == dim:
        return rows
    return SparseRows.of(rows.to_scipy()[:, :dim])
