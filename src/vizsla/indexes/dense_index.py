"""DenseIndex: what all indexes share that answer by inner products."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vizsla.arguments import array_of
from vizsla.candidates import Candidates, Numbers, Scores
from vizsla.errors import InputError, check_positive
from vizsla.explanation import Explanation
from vizsla.filter import Filter
from vizsla.index import Index, Mask
from vizsla.indexes.item_vectors import Floats
from vizsla.scored import Scored
from vizsla.stats import Stats

if TYPE_CHECKING:
    from vizsla.encoder import Rows
    from vizsla.sparse_rows import Matrix


class DenseIndex(Index):
    """Inner products with what is kept of item vectors: the vectors themselves, or codes for them."""

    @property
    @abstractmethod
    def options(self) -> dict[str, Any]:
        """What `build` was given, so that other vectors can be indexed alike."""

    @abstractmethod
    def take(self, items: NDArray[Any] | slice) -> Floats:
        """Return these items' vectors, as far as they are kept, in float32."""

    def explain(self, row: Floats, item: int) -> tuple[str, list[Explanation]]:
        """Return what was compared with the query, and the shares of the score where there are some to tell."""
        return "item", []

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
        return Scored(self._pairs(rows, _rows_of(candidates), candidates.items), self._cost(len(candidates.items)))

    @abstractmethod
    def _search(self, rows: Floats, k: int, filter: Filter | None, threads: int) -> Candidates:
        """Answer checked queries."""

    @abstractmethod
    def _pairs(self, rows: Floats, numbers: NDArray[np.int64], items: Numbers) -> Scores:
        """Score pairs of a query's row and an item: the same bits as in a search."""

    def _cost(self, pairs: int) -> Stats:
        return Stats(scored=pairs, bytes=pairs * self._row_bytes)

    @property
    @abstractmethod
    def _row_bytes(self) -> int:
        """Bytes that are read to score one item."""

    def _query_rows(self, queries: Rows | Matrix) -> Floats:
        dense = queries if isinstance(queries, np.ndarray) else _dense(queries)
        if dense.ndim != 2 or dense.shape[1] != self.dim:
            raise InputError(f"`queries` must have {self.dim} columns. Got shape {dense.shape}.")
        rows = array_of("queries", dense, np.float32)
        if not np.isfinite(rows).all():
            raise InputError("`queries` must hold finite numbers. Got NaN or infinity.")
        return rows


def _rows_of(candidates: Candidates) -> NDArray[np.int64]:
    """Return the row of each candidate."""
    if len(candidates) == 1:
        return np.zeros(len(candidates.items), np.int64)  # a single query is short enough to notice the general way
    return np.repeat(np.arange(len(candidates)), np.diff(candidates.offsets))


def _dense(queries: Any) -> Any:
    return queries.toarray() if hasattr(queries, "toarray") else array_of("queries", queries, np.float32)
