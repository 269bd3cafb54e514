"""Export to Qdrant: a collection of dense or sparse vectors, and its search with our query encoder."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import numpy as np

from vizsla._internal.lazy import import_extra, typed_errors
from vizsla._internal.terminal import progress
from vizsla.base.retriever import Retriever
from vizsla.export.item_vectors import ITEMS_PER_BATCH, ExportedItem, ItemVectorSource

SPARSE_NAME = "tokens"
NAMESPACE = uuid.UUID("8f3c8d2e-54f0-5f6b-9d51-0f6f1f2f3a10")
"""Ids of Qdrant are whole numbers or UUIDs: an item's is made of its id, which goes to the payload."""
TIES = 20
"""So many more items are asked for, since Qdrant orders equal scores at random."""


class QdrantCollection:
    """A collection with the items of a retriever, which is asked with the retriever's query vectors.

    A point has a payload with ``id``, ``number`` (the place in the catalog), ``text`` and the fields of the metadata
    under ``metadata``. Vectors are compared by inner product.

    Parameters
    ----------
    retriever : Retriever
        One whose score is an inner product: see `ItemVectorSource`.
    url : str
        A server such as ``http://localhost:6333``, or a folder for the client's local mode.
    name : str
        The collection.
    api_key : str, optional
        The server's key, if it asks for one.
    """

    def __init__(self, retriever: Retriever, url: str, name: str, *, api_key: str | None = None):
        qdrant = import_extra("qdrant_client", "Export to Qdrant", "qdrant")
        self._models, self.source, self.name = qdrant.models, ItemVectorSource(retriever), name
        with typed_errors(f"Qdrant must be reachable at {url}"):
            remote = {"url": url, "api_key": api_key}
            self._client = qdrant.QdrantClient(**remote if "://" in url else {"path": str(Path(url))})

    def export(self, *, overwrite: bool = False) -> int:
        """Make the collection and store all items; return how many.

        Parameters
        ----------
        overwrite : bool
            Replace a collection of this name.
        """
        models = self._models
        with typed_errors(f"Qdrant must take the collection {self.name!r}"):
            if overwrite and self._client.collection_exists(self.name):
                self._client.delete_collection(self.name)
            if self.source.sparse:
                sparse = {SPARSE_NAME: models.SparseVectorParams()}
                self._client.create_collection(self.name, vectors_config={}, sparse_vectors_config=sparse)
            else:
                dense = models.VectorParams(size=self.source.dim, distance=models.Distance.DOT)
                self._client.create_collection(self.name, vectors_config=dense)
            total = -(-len(self.source) // ITEMS_PER_BATCH)
            for batch in progress(self.source.batches(), total=total, what="exporting"):
                self._client.upsert(self.name, [self._point(item) for item in batch])
        return len(self.source)

    def search(self, texts: list[str], k: int = 10) -> list[list[tuple[str, float]]]:
        """Return ids and scores of the best items for each query text, as the collection has them.

        Parameters
        ----------
        texts : list of str
            Queries, which the retriever's encoder reads.
        k : int
            How many items.
        """
        using = SPARSE_NAME if self.source.sparse else None
        rows = []
        for vector in self.source.queries(texts):
            with typed_errors(f"Qdrant must answer for {self.name!r}"):
                found = self._client.query_points(self.name, query=self._vector(vector), using=using, limit=k + TIES)
            hits = [(-point.score, point.payload["number"], point.payload["id"]) for point in found.points]
            rows.append([(id, -score) for score, _, id in sorted(hits)[:k]])
        return rows

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _point(self, item: ExportedItem) -> Any:
        vector = self._vector(item.vector)
        payload = {"id": item.id, "number": item.number, "text": item.text, "metadata": item.metadata}
        return self._models.PointStruct(
            id=str(uuid.uuid5(NAMESPACE, item.id)),
            vector={SPARSE_NAME: vector} if self.source.sparse else vector,
            payload=payload,
        )

    def _vector(self, vector: Any) -> Any:
        if self.source.sparse:
            columns, values = vector
            return self._models.SparseVector(indices=columns.tolist(), values=values.tolist())
        return np.asarray(vector, np.float32).tolist()
