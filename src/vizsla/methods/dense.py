"""Dense: an encoder and an index over item vectors make a retriever."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla.base.encoder import Encoder
from vizsla.base.index_retriever import RowSpaceRetriever
from vizsla.base.queries import Queries
from vizsla.base.recipe import builds
from vizsla.base.retriever import Retriever
from vizsla.core.explanation import Explanation
from vizsla.core.strings import Strings
from vizsla.core.validation import validate_args
from vizsla.data.filter import Filter
from vizsla.encoders.batching import encode_items
from vizsla.encoders.persistence import read_encoder, write_encoder
from vizsla.errors import InputError
from vizsla.indexes.dense_index import DenseIndex
from vizsla.indexes.factory import make_index
from vizsla.indexes.pq.pq_index import PqIndex
from vizsla.text.streams import TextStream, grown_ids, kept_items, left_ids, new_items

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter


class Dense(RowSpaceRetriever):
    """Search by the inner product of encoded texts. Use `dense` to make one.

    A query that is encoded as zeros finds nothing; every item scores 0.

    Parameters
    ----------
    items : Strings
        Item ids.
    encoder : Encoder
        How query texts become vectors.
    index : DenseIndex
        The items' vectors.

    Examples
    --------
    >>> from vizsla.base.encoder import FunctionEncoder
    >>> letters = FunctionEncoder(lambda texts: [[t.count(c) for c in "aefgpr"] for t in texts], dim=6, name="letters")
    >>> search = dense({"a": "fig", "b": "grape", "c": "pear"}, letters)
    >>> search("ripe fig", k=2).to_dict()
    {'0': {'b': 4.0, 'c': 3.0}}
    >>> print(search.explain("ripe fig", "a"))
    2.0000  inner product of query and item: cosine 0.6325 × lengths 2.2361 and 1.4142
    """

    kind = "dense"
    scale = "inner product"
    index: DenseIndex

    @validate_args
    def __init__(self, items: Strings, encoder: Encoder, index: DenseIndex):
        if encoder.sparse:
            raise InputError("`encoder` must give dense vectors. Got a sparse one: see `InvertedIndex`.")
        super().__init__(items, encoder, index)

    def __repr__(self) -> str:
        return f"Dense({len(self.items):,} items, {self.index.dim} dimensions, {self.index.kind})"

    def item_rows(self, items: NDArray[np.int64] | slice = slice(None)) -> NDArray[np.float32]:
        """Return the vectors of these items."""
        return self.index.take(items)

    def index_rows(self, rows: Any) -> DenseIndex:
        """Index other vectors with the same kind of index and the same options."""
        options = dict(self.index.options)
        # Bytes and codes would be rounded again whenever a row changes: rows of such an index are kept in full.
        if isinstance(self.index, PqIndex):
            return make_index("flat", rows)
        if options["storage"] == "int8":
            options["storage"] = "float32"
        return make_index(self.index.kind, rows, **options)

    @property
    def takes_items(self) -> bool:
        """Whether its index does: one of vectors or of codes; any other is built again."""
        return self.index.takes_items

    def with_items(self, items: Mapping[str, str] | Iterable[tuple[str, str]]) -> Self:
        """Return a retriever that also knows these items, whose ids must be new; nothing is trained.

        Only a flat index and one of codes take new items; any other is built again.
        """
        pairs = new_items(self.items, items)
        if not pairs:
            return self
        vectors = np.asarray(self.encoder.items([text for _, text in pairs]), np.float32)
        ids = grown_ids(self.items, [item for item, _ in pairs], items)
        return self._with(items=ids, index=self.index.with_items(vectors))

    def _without_items(self, ids: list[str], memo: dict[int, Retriever]) -> Self:
        kept = kept_items(self.items, ids)
        index = self.index.without_items(np.delete(np.arange(len(self.items)), kept))
        return self._with(items=left_ids(self.items, kept), index=index)

    def _explain(self, queries: Queries, item: int, filter: Filter | None) -> Explanation:
        return explain_product(self._score_one(queries, item), self._rows(queries), self.index, item)

    def _write(self, writer: ArtifactWriter) -> None:
        writer.catalog("items", self.items)
        write_encoder(writer, self.encoder)
        writer.child("index", self.index)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        index = reader.child("index", DenseIndex)
        return cls(reader.catalog("items"), read_encoder(reader), index)


def explain_product(score: float, row: Any, index: DenseIndex, item: int) -> Explanation:
    """Explain the inner product of a query's row and an item of an index."""
    query_length = float(np.linalg.norm(np.asarray(row, np.float64)))
    item_length = float(np.linalg.norm(index.take(np.array([item])).astype(np.float64)))
    product = query_length * item_length
    cosine = score / product if product else 0.0
    lengths = f"cosine {cosine:.4f} × lengths {query_length:.4f} and {item_length:.4f}"
    what, parts = index.explain(np.asarray(row, np.float32)[0], item)
    return Explanation(score, f"inner product of query and {what}: {lengths}", parts)


@builds("dense", data="items")
@validate_args
def dense(
    items: Any,
    encoder: Encoder,
    *,
    ids: Iterable[str] | None = None,
    index: str | DenseIndex = "flat",
    vectors: NDArray[Any] | None = None,
    **options: Any,
) -> Dense:
    """Build a dense retriever.

    Parameters
    ----------
    items
        A Dataset, a mapping of id to text, texts, or (id, text) pairs; read once, never held.
    encoder : Encoder
        How texts become vectors.
    ids : iterable of str, optional
        Ids for texts that have none; without it an item's id is its number in decimal.
    index : str or DenseIndex
        "flat" (exact), "hnsw", "ivf", or "pq" (codes: small); or an index over the items' vectors.
    vectors : array, optional
        The items' vectors, in the items' order, when they are there already: texts are then not encoded.
    **options
        Options of the index, such as `storage`, `guarded`, `M`, `lists`, or `bytes` of codes.

    Examples
    --------
    >>> from vizsla.base.encoder import FunctionEncoder
    >>> lengths = FunctionEncoder(lambda texts: [[len(t)] for t in texts], dim=1, name="length")
    >>> dense(["fig", "apple"], lengths)("pear").ids
    [['1', '0']]
    """
    stream = TextStream(items, ids)
    if vectors is None and not isinstance(index, DenseIndex):
        vectors = encode_items(encoder, stream)
    else:
        for _ in stream:  # only the ids are wanted
            pass
    built = index if isinstance(index, DenseIndex) else make_index(index, vectors, **options)
    return Dense(stream.ids, encoder, built)
