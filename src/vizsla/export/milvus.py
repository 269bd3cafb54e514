"""Export to Milvus: a collection of vectors, or of weights of tokens, and its search with our query encoder."""

from __future__ import annotations

from typing import Any

import numpy as np

from vizsla._internal.lazy import import_extra, typed_errors
from vizsla._internal.terminal import progress
from vizsla.base.retriever import Retriever
from vizsla.export.item_vectors import ITEMS_PER_BATCH, ExportedItem, ItemVectorSource

MAX_ID_BYTES, MAX_TEXT_BYTES = 512, 65_535
DENSE_FIELD, SPARSE_FIELD = "vector", "tokens"


class MilvusCollection:
    """A collection with the items of a retriever, which is asked with the retriever's query vectors.

    Fields: ``id`` (primary key), ``number`` (the place in the catalog), ``text``, ``metadata`` (JSON), and ``vector``
    or, where vectors are sparse, ``tokens``. Both are compared by inner product.

    Parameters
    ----------
    retriever : Retriever
        One whose score is an inner product: see `ItemVectorSource`.
    uri : str
        A server such as ``http://localhost:19530``, or a file ending in ``.db`` for milvus-lite.
    name : str
        The collection.
    token : str
        The server's token, if it asks for one.
    """

    def __init__(self, retriever: Retriever, uri: str, name: str, *, token: str = ""):
        self._milvus = import_extra("pymilvus", "Export to Milvus", "milvus")
        self.source, self.name = ItemVectorSource(retriever), name
        with typed_errors(f"Milvus must be reachable at {uri}"):
            self._client = self._milvus.MilvusClient(uri, token=token)

    @property
    def field(self) -> str:
        """The name of the field with vectors."""
        return SPARSE_FIELD if self.source.sparse else DENSE_FIELD

    def export(self, *, overwrite: bool = False) -> int:
        """Make the collection and store all items; return how many.

        Parameters
        ----------
        overwrite : bool
            Replace a collection of this name.
        """
        with typed_errors(f"Milvus must take the collection {self.name!r}"):
            if overwrite and self._client.has_collection(self.name):
                self._client.drop_collection(self.name)
            self._client.create_collection(self.name, schema=self._schema(), index_params=self._index())
            total = -(-len(self.source) // ITEMS_PER_BATCH)
            for batch in progress(self.source.batches(), total=total, what="exporting"):
                rows = [row for item in batch if (row := self._row(item)) is not None]
                if rows:
                    self._client.insert(self.name, rows)
            self._client.flush(self.name)
            self._client.load_collection(self.name)
        return len(self.source)

    def search(self, texts: list[str], k: int = 10, *, filter: str = "") -> list[list[tuple[str, float]]]:
        """Return ids and scores of the best items for each query text, as the collection has them.

        Parameters
        ----------
        texts : list of str
            Queries, which the retriever's encoder reads.
        k : int
            How many items.
        filter : str
            Milvus's expression, such as ``metadata["price"] < 5``.
        """
        data = [self._vector(vector) for vector in self.source.queries(texts)]
        with typed_errors(f"Milvus must answer for {self.name!r}"):
            found = self._client.search(
                self.name, data=data, limit=k, anns_field=self.field, filter=filter, output_fields=["number"],
                search_params={"metric_type": "IP"},
            )  # fmt: skip
        rows = [sorted(row, key=lambda hit: (-hit["distance"], hit["entity"]["number"])) for row in found]
        return [[(hit["id"], float(hit["distance"])) for hit in row] for row in rows]

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _schema(self) -> Any:
        types = self._milvus.DataType
        schema = self._client.create_schema(auto_id=False, enable_dynamic_field=False)
        schema.add_field("id", types.VARCHAR, is_primary=True, max_length=MAX_ID_BYTES)
        schema.add_field("number", types.INT64)
        schema.add_field("text", types.VARCHAR, max_length=MAX_TEXT_BYTES)
        schema.add_field("metadata", types.JSON)
        if self.source.sparse:
            schema.add_field(SPARSE_FIELD, types.SPARSE_FLOAT_VECTOR)
        else:
            schema.add_field(DENSE_FIELD, types.FLOAT_VECTOR, dim=self.source.dim)
        return schema

    def _index(self) -> Any:
        index = self._client.prepare_index_params()
        kind = "SPARSE_INVERTED_INDEX" if self.source.sparse else "FLAT"
        index.add_index(field_name=self.field, index_type=kind, metric_type="IP")
        return index

    def _row(self, item: ExportedItem) -> dict[str, Any] | None:
        """Return an item as Milvus takes it; None for a sparse one without tokens, which no query finds."""
        if self.source.sparse and not len(item.vector[0]):
            return None
        text = item.text.encode("utf-8", "replace")[:MAX_TEXT_BYTES].decode("utf-8", "ignore")
        known = {"id": item.id, "number": item.number, "text": text, "metadata": _plain(item.metadata)}
        return {**known, self.field: self._vector(item.vector)}

    def _vector(self, vector: Any) -> Any:
        if self.source.sparse:
            return dict(zip(vector[0].tolist(), vector[1].tolist(), strict=True))
        return np.asarray(vector, np.float32).tolist()


def _plain(metadata: dict[str, Any]) -> dict[str, Any]:
    """Return fields as JSON has them: dates as texts."""
    kept = (str, int, float, bool, list)
    return {name: value if isinstance(value, kept) else str(value) for name, value in metadata.items()}
