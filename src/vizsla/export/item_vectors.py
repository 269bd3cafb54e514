"""Items and queries of a retriever as vectors whose inner products are its scores: what other engines take."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from vizsla.base.index_retriever import IndexRetriever
from vizsla.base.queries import Queries
from vizsla.base.retriever import Retriever
from vizsla.core.catalog import details_of
from vizsla.core.sparse import SparseRows
from vizsla.errors import InputError
from vizsla.indexes.dense_index import DenseIndex
from vizsla.indexes.grouped import GroupedIndex
from vizsla.indexes.inverted import InvertedIndex
from vizsla.indexes.tokens import TokenIndex
from vizsla.typing import Float32Array

ITEMS_PER_BATCH = 1_000


class ExportedItem(NamedTuple):
    """One item as other engines store it.

    Attributes
    ----------
    number : int
        Its place in the catalog, which decides between equal scores.
    id, text : str
        Its id, and its text where the catalog has texts.
    metadata : dict
        Its fields.
    vector : array or tuple
        Numbers; or columns and values of a sparse row.
    """

    number: int
    id: str
    text: str
    metadata: dict[str, Any]
    vector: Any


class ItemVectorSource:
    """The vectors of a retriever whose score is one inner product: dense ones, or sparse weights of tokens.

    PQ and JPQ give their reconstructed item vectors, PEFA-XS those that clicks have moved; the queries of an adapted
    encoder are the adapted ones.

    Parameters
    ----------
    retriever : Retriever
        One over an index of vectors, of weights or of tokens.

    Examples
    --------
    >>> from vizsla.methods.tfidf import tfidf
    >>> source = ItemVectorSource(tfidf({"f": "a fig", "p": "a pear"}))
    >>> source.sparse, [item.id for batch in source.batches() for item in batch]
    (True, ['f', 'p'])
    """

    def __init__(self, retriever: Retriever):
        index = retriever.index if isinstance(retriever, IndexRetriever) else None
        floor = isinstance(index, InvertedIndex) and len(index._absent)
        if not isinstance(index, DenseIndex | InvertedIndex | TokenIndex) or isinstance(index, GroupedIndex) or floor:
            raise InputError(
                "`retriever` must score by one inner product: dense, pq, jpq, pefa-xs over vectors, tfidf, bm25, "
                f"tokens. Got {retriever!r:.200}."
            )
        self.retriever: Any = retriever
        self._index = index
        self.sparse = not isinstance(index, DenseIndex)
        self.dim = int(index.dim)
        self._rows = self._sparse_rows() if self.sparse else None

    def __len__(self) -> int:
        return len(self._index)

    @property
    def fingerprint(self) -> str:
        """Of the encoder, whose queries the vectors belong to."""
        return str(self.retriever.encoder.fingerprint)

    def _sparse_rows(self) -> SparseRows:
        if isinstance(self._index, TokenIndex):
            rows = self._index.item_rows()
            return rows.with_values(np.repeat(self._index.norms, np.diff(rows.offsets)).astype(np.float32))
        return SparseRows.of(self._index.to_csr())  # type: ignore[union-attr]

    def batches(self) -> Iterator[list[ExportedItem]]:
        """Yield all items in order, in batches."""
        for start in range(0, len(self), ITEMS_PER_BATCH):
            end = min(start + ITEMS_PER_BATCH, len(self))
            yield [self._item(number, vector) for number, vector in zip(
                range(start, end), self._vectors(start, end), strict=True
            )]  # fmt: skip

    def queries(self, texts: list[str]) -> list[Any]:
        """Return the vectors of query texts, in the form of the items'."""
        rows = self.retriever._rows(Queries.of(texts))
        if not self.sparse:
            return list(np.asarray(rows, np.float32))
        return list(_pairs(SparseRows.of(rows), 0, len(texts)))

    def _vectors(self, start: int, end: int) -> Any:
        if self._rows is None:
            taken: Float32Array = self._index.take(slice(start, end))  # type: ignore[union-attr]
            return np.asarray(taken, np.float32)
        return _pairs(self._rows, start, end)

    def _item(self, number: int, vector: Any) -> ExportedItem:
        details = details_of(self.retriever.items)
        text = None if details is None else details.text(number)
        fields = {} if details is None else details.of(number)
        return ExportedItem(number, self.retriever.items[number], text or "", fields, vector)


def _pairs(rows: SparseRows, start: int, end: int) -> Iterator[tuple[Any, Any]]:
    for low, high in zip(rows.offsets[start:end].tolist(), rows.offsets[start + 1 : end + 1].tolist(), strict=True):
        yield rows.columns[low:high], rows.values[low:high]
