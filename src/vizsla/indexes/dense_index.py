"""DenseIndex: what all indexes over item vectors share."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from vizsla.candidates import Candidates
from vizsla.errors import InputError, check_positive
from vizsla.index import Index, Mask
from vizsla.indexes.dots import pair_dots
from vizsla.indexes.item_vectors import Floats, ItemVectors
from vizsla.stats import Stats

if TYPE_CHECKING:
    from vizsla.encoder import Matrix


class DenseIndex(Index):
    """Inner products with item vectors. Every score is that of `pair_dots`, whoever found the item.

    Parameters
    ----------
    vectors : ItemVectors
        The items' vectors as they are stored.
    """

    def __init__(self, vectors: ItemVectors):
        self.stored = vectors

    def __len__(self) -> int:
        return len(self.stored)

    @property
    def dim(self) -> int:
        """The length of a vector."""
        return self.stored.dim

    @property
    def vectors(self) -> Any:
        """The stored rows: float32 or float16, memory-mapped after a load; for bytes, the decoded float32 rows."""
        return self.stored.take(slice(None)) if self.stored.storage == "int8" else self.stored.rows

    @property
    def nbytes(self) -> int:
        """Bytes of the stored vectors."""
        return self.stored.nbytes

    @property
    def options(self) -> dict[str, Any]:
        """What `build` was given, so that other vectors can be indexed alike.

        Examples
        --------
        >>> from vizsla.indexes.flat import FlatIndex
        >>> FlatIndex.build([[1.0]], storage="float16").options
        {'storage': 'float16'}
        """
        return {"storage": self.stored.storage}

    def search(self, queries: Matrix, k: int, *, allowed: Mask | None = None, threads: int = 1) -> Candidates:
        """Return the `k` items of every row with the largest inner product."""
        rows = self._query_rows(queries)
        check_positive("threads", threads)
        if allowed is not None and (allowed.dtype != np.bool_ or allowed.shape != (len(self),)):
            raise InputError(f"`allowed` must be {len(self)} booleans. Got {allowed.dtype} of shape {allowed.shape}.")
        return self._search(rows, min(check_positive("k", k), max(1, len(self))), allowed, threads)

    def score(self, queries: Matrix, candidates: Candidates) -> Candidates:
        """Score the given items for every row, and rank them."""
        rows = self._query_rows(queries)
        if len(candidates) != len(rows):
            raise InputError(f"`candidates` must have a row for each of {len(rows)} queries. Got {len(candidates)}.")
        items = candidates.items
        if len(items) and int(items.max()) >= len(self):
            raise InputError(f"Every candidate must be an item below {len(self)}. Got {int(items.max())}.")
        numbers = np.repeat(np.arange(len(rows)), np.diff(candidates.offsets))
        return Candidates.ranked(
            candidates.offsets,
            items,
            pair_dots(rows, numbers, self.stored, items),
            catalogue=candidates.catalogue,
            query_ids=candidates.query_ids,
            stats=self._cost(len(items)),
        )

    @abstractmethod
    def _search(self, rows: Floats, k: int, allowed: Mask | None, threads: int) -> Candidates:
        """Answer checked queries."""

    def _cost(self, pairs: int) -> Stats:
        return Stats(scorer_calls=pairs, bytes=pairs * self._row_bytes)

    @property
    def _row_bytes(self) -> int:
        return self.dim * self.stored.rows.itemsize

    def _query_rows(self, queries: Matrix) -> Floats:
        dense = queries if isinstance(queries, np.ndarray) else _dense(queries)
        if dense.ndim != 2 or dense.shape[1] != self.dim:
            raise InputError(f"`queries` must have {self.dim} columns. Got shape {dense.shape}.")
        rows = np.ascontiguousarray(dense, np.float32)
        if not np.isfinite(rows).all():
            raise InputError("`queries` must hold finite numbers. Got NaN or infinity.")
        return rows


def _dense(queries: Any) -> Any:
    return queries.toarray() if hasattr(queries, "toarray") else np.asarray(queries)
