"""DenseIndex: what all indexes over item vectors share."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from vizsla.arguments import array_of
from vizsla.candidates import Candidates
from vizsla.errors import InputError, check_positive
from vizsla.filter import Filter
from vizsla.index import Index, Mask
from vizsla.indexes.dots import pair_dots
from vizsla.indexes.item_vectors import Floats, ItemVectors
from vizsla.scored import Scored
from vizsla.stats import Stats

if TYPE_CHECKING:
    from vizsla.encoder import Rows
    from vizsla.sparse_rows import Matrix


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

    def search(
        self, queries: Rows | Matrix, k: int, *, filter: Filter | Mask | None = None, threads: int = 1
    ) -> Candidates:
        """Return the `k` items of every row with the largest inner product."""
        rows = self._query_rows(queries)
        check_positive("threads", threads)
        prepared = self._prepared(filter)
        return self._search(rows, min(check_positive("k", k), max(1, len(self))), prepared, threads)

    def scores(self, queries: Rows | Matrix, candidates: Candidates, *, threads: int = 1) -> Scored:
        """Score the given items for every row, in their order."""
        rows = self._query_rows(queries)
        self._check_candidates(len(rows), candidates)
        numbers = np.repeat(np.arange(len(rows)), np.diff(candidates.offsets))
        return Scored(pair_dots(rows, numbers, self.stored, candidates.items), self._cost(len(candidates.items)))

    @abstractmethod
    def _search(self, rows: Floats, k: int, filter: Filter | None, threads: int) -> Candidates:
        """Answer checked queries."""

    def _cost(self, pairs: int) -> Stats:
        return Stats(scored=pairs, bytes=pairs * self._row_bytes)

    @property
    def _row_bytes(self) -> int:
        return self.dim * self.stored.rows.itemsize

    def _query_rows(self, queries: Rows | Matrix) -> Floats:
        dense = queries if isinstance(queries, np.ndarray) else _dense(queries)
        if dense.ndim != 2 or dense.shape[1] != self.dim:
            raise InputError(f"`queries` must have {self.dim} columns. Got shape {dense.shape}.")
        rows = array_of("queries", dense, np.float32)
        if not np.isfinite(rows).all():
            raise InputError("`queries` must hold finite numbers. Got NaN or infinity.")
        return rows


def _dense(queries: Any) -> Any:
    return queries.toarray() if hasattr(queries, "toarray") else array_of("queries", queries, np.float32)
