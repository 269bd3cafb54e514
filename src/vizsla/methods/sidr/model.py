"""Sidr: full parametric search, learned queries against learned items; and beta search beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from vizsla._internal.terminal import progress
from vizsla.base.index_retriever import IndexRetriever
from vizsla.base.queries import Queries
from vizsla.base.recipe import builds
from vizsla.core.explanation import Explanation
from vizsla.core.sparse import SparseRows
from vizsla.core.strings import Strings
from vizsla.core.validation import validate_args
from vizsla.data.filter import Filter
from vizsla.encoders.sidr import SidrEncoder
from vizsla.encoders.token_table import token_shares
from vizsla.errors import InputError
from vizsla.indexes.inverted import InvertedIndex
from vizsla.scorers.lazy_vectors import parametric_index
from vizsla.text.streams import TextStream

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter
    from vizsla.data.dataset import Dataset

TEXTS_PER_BATCH = 256


class Sidr(IndexRetriever):
    """Exact search over items that a SidrEncoder has encoded: all of them, before the first query. Use `sidr`.

    Parameters
    ----------
    items : Strings
        Item ids.
    encoder : SidrEncoder
        How texts become weighted tokens.
    index : InvertedIndex
        The items' weighted tokens.
    """

    kind = "sidr"
    scale = "sidr"
    encoder: SidrEncoder
    index: InvertedIndex

    @validate_args
    def __init__(self, items: Strings, encoder: SidrEncoder, index: InvertedIndex):
        super().__init__(items, encoder, index)

    def with_query_form(self, form: str) -> Self:
        """Return the same items, asked by simpler queries: "tokens" is alpha search, for which no model runs."""
        return self._with(encoder=self.encoder.with_forms(queries=form, items=self.encoder.item_form))

    def refit_on(self, dataset: Dataset, *, threads: int = 1) -> Self:
        """Raise: a trained model cannot forget clicks. Give the function that trains it instead."""
        raise InputError(
            "A trained SiDR cannot forget clicks. Give a function in its place, such as "
            "`lambda dataset: vizsla.learning.train_sidr(vizsla.tokens(dataset, epochs=0), dataset, …)`."
        )

    def _explain(self, queries: Queries, item: int, filter: Filter | None) -> Explanation:
        asked = SparseRows.of(self._rows(queries), name="queries")
        given = SparseRows.of(self.index.to_csr()[[item]], name="items")
        parts = token_shares(self.encoder.words, queries.texts[0], asked, given)
        return Explanation(self._score_one(queries, item), "learned tokens, query × item", parts)

    def _write(self, writer: ArtifactWriter) -> None:
        writer.catalog("items", self.items)
        writer.child("encoder", self.encoder)
        writer.child("index", self.index)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        parts = reader.catalog("items"), reader.child("encoder", SidrEncoder), reader.child("index", InvertedIndex)
        return cls(*parts)


@builds("sidr", data="items")
def sidr(items: Any, encoder: SidrEncoder) -> Sidr:
    """Encode every item with SiDR's model, and build the retriever over their vectors: full parametric search.

    `tokens(...).with_table(encoder)` needs no pass over the items (beta search), and `beta >> LateParametric(...)` only
    over those that are found.

    Parameters
    ----------
    items
        A Dataset, a mapping of id to text, texts, or (id, text) pairs; read once, never held.
    encoder : SidrEncoder
        As `train_sidr` leaves it: the `encoder` of what it returns.
    """
    if not isinstance(encoder, SidrEncoder):
        raise InputError(f"`encoder` must be a SidrEncoder. Got {type(encoder).__name__}: see `train_sidr`.")
    stream = TextStream(items, None)
    parts, texts = [], []
    for text in progress(stream, what="encoding"):
        texts.append(text)
        if len(texts) == TEXTS_PER_BATCH:
            parts.append(encoder.items(texts))
            texts = []
    parts.append(encoder.items(texts))
    return Sidr(stream.ids, encoder, parametric_index(SparseRows.stacked(parts, encoder.dim)))
