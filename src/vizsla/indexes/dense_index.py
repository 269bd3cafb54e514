"""Base classes of indexes over dense item vectors."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from vizsla.base.index import Index
from vizsla.core.candidates import Candidates, PairScores, Stats
from vizsla.core.explanation import Explanation
from vizsla.core.validation import as_array
from vizsla.data.filter import Filter
from vizsla.errors import InputError, check_positive
from vizsla.indexes.vectors import ItemVectors, pair_dots
from vizsla.typing import BoolArray, Float32Array, Int32Array

if TYPE_CHECKING:
    from vizsla.base.encoder import Rows
    from vizsla.core.sparse import Matrix


class DenseIndex(Index):
    """Base class of indexes by inner product, over vectors or codes."""

    takes_items: ClassVar[bool] = False
    """Whether items can be added by `with_items` and removed by `without_items`, without training."""

    @property
    @abstractmethod
    def options(self) -> dict[str, Any]:
        """What `build` was given, so that other vectors can be indexed alike."""

    @abstractmethod
    def take(self, items: NDArray[Any] | slice) -> Float32Array:
        """Return these items' vectors, as far as they are kept, in float32."""

    def with_items(self, vectors: Any, *, threads: int = 1) -> Self:
        """Return an index that also holds these vectors, after its own items; nothing is trained."""
        self._stay()

    def without_items(self, items: NDArray[Any]) -> Self:
        """Return an index without the items of these numbers; those after them move up."""
        self._stay()

    def _stay(self) -> NoReturn:
        raise InputError(f"The items of an index of kind {self.kind!r} must stay as they are: build it anew.")

    def explain(self, row: Float32Array, item: int) -> tuple[str, list[Explanation]]:
        """Return what was compared with the query, and the shares of the score where there are some to tell."""
        return "item", []

    def search(
        self, queries: Rows | Matrix, k: int, *, filter: Filter | BoolArray | None = None, threads: int = 1
    ) -> Candidates:
        """Return the `k` items of every row with the largest inner product."""
        rows = self._query_rows(queries)
        check_positive("threads", threads)
        prepared = self._prepared(filter)
        return self._search(rows, min(check_positive("k", k), max(1, len(self))), prepared, threads)

    def scores(self, queries: Rows | Matrix, candidates: Candidates, *, threads: int = 1) -> PairScores:
        """Score the given items for every row, in their order."""
        rows = self._query_rows(queries)
        self._check_candidates(len(rows), candidates)
        return PairScores(
            self._pairs(rows, candidates.row_numbers(), candidates.items), self._cost(len(candidates.items))
        )

    @abstractmethod
    def _search(self, rows: Float32Array, k: int, filter: Filter | None, threads: int) -> Candidates:
        """Answer checked queries."""

    @abstractmethod
    def _pairs(self, rows: Float32Array, numbers: NDArray[np.int64], items: Int32Array) -> Float32Array:
        """Score pairs of a query's row and an item: the same bits as in a search."""

    def _cost(self, pairs: int) -> Stats:
        return Stats(scored=pairs, bytes=pairs * self._row_bytes)

    @property
    @abstractmethod
    def _row_bytes(self) -> int:
        """Bytes that are read to score one item."""

    def _query_rows(self, queries: Rows | Matrix) -> Float32Array:
        dense = queries if isinstance(queries, np.ndarray) else _dense(queries)
        if dense.ndim != 2 or dense.shape[1] != self.dim:
            raise InputError(f"`queries` must have {self.dim} columns. Got shape {dense.shape}.")
        rows = as_array("queries", dense, np.float32)
        if not np.isfinite(rows).all():
            raise InputError("`queries` must hold finite numbers. Got NaN or infinity.")
        return rows


def _dense(queries: Any) -> Any:
    return queries.toarray() if hasattr(queries, "toarray") else as_array("queries", queries, np.float32)


class StoredIndex(DenseIndex):
    """Base class of indexes over stored vectors. Every score is that of `pair_dots`, in any search path.

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

    def take(self, items: NDArray[Any] | slice) -> Float32Array:
        """Return these items' vectors in float32; a slice of float32 vectors is not copied."""
        return self.stored.take(items)

    def _pairs(self, rows: Float32Array, numbers: NDArray[np.int64], items: Int32Array) -> Float32Array:
        return pair_dots(rows, numbers, self.stored, items)

    @property
    def _row_bytes(self) -> int:
        return self.dim * self.stored.rows.itemsize
