"""Retrievers made of an encoder and an index, and those whose item rows another method may change."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from math import inf
from time import perf_counter
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from vizsla.base.encoder import Encoder, Rows
from vizsla.base.index import Index
from vizsla.base.queries import Queries
from vizsla.base.retriever import Retriever
from vizsla.core.candidates import Candidates, PairScores
from vizsla.core.sparse import SparseRows
from vizsla.core.strings import Strings
from vizsla.core.validation import validate_args
from vizsla.data.filter import Filter, Where
from vizsla.errors import InputError, check_positive
from vizsla.text.highlights import Highlighter
from vizsla.typing import Int32Array

MAX_SIMILAR_TERMS = 50
"""How many of an item's terms, the weightiest ones, ask for similar items."""


class IndexRetriever(Retriever):
    """A retriever made of an encoder and an index, such as BM25, dense search and XR-Linear.

    A query whose row is all zeros finds nothing; items can be scored for it.

    Parameters
    ----------
    items : Strings
        Item ids.
    encoder : Encoder
        How query texts become rows.
    index : Index
        The index.
    """

    encoder: Encoder
    index: Any

    def __init__(self, items: Strings, encoder: Encoder, index: Index):
        self._items, self.encoder, self.index = items, encoder, index
        if len(index) != len(items):
            raise InputError(f"`index` must be over {len(items)} items. Got one over {len(index)}.")
        self._check_dim()

    @property
    def items(self) -> Strings:
        """Item ids by number."""
        return self._items

    @property
    def nbytes(self) -> int:
        """Bytes of the index and of the encoder."""
        return int(self.index.nbytes + self.encoder.nbytes)

    def _byte_counts(self) -> dict[Any, int]:
        parts = {id(self.index): int(self.index.nbytes), **self.encoder._byte_counts()}
        return {**parts, id(self): self.nbytes - sum(parts.values())}

    def _live_parts(self) -> Iterable[Any]:
        return (self.encoder,)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self._items):,} items)"

    def encode(self, texts: str | Sequence[str] | Queries) -> Rows:
        """Return the rows of query texts, as `search_encoded` takes them."""
        return self._rows(Queries.of(texts))

    def search_encoded(self, rows: Rows, k: int = 10, *, where: Where | None = None, threads: int = 1) -> Candidates:
        """Return the best `k` items for rows that `encode` made, or that were made elsewhere."""
        start = perf_counter()
        filter = Filter.prepared(where, self.items)
        found = self._search_rows(rows, check_positive("k", k), filter, check_positive("threads", threads))
        if filter is not None:
            self._check_allowed(found, filter)
        return found.with_ms((perf_counter() - start) * 1e3)

    @validate_args
    def score_encoded(self, rows: Rows, candidates: Candidates, *, threads: int = 1) -> Candidates:
        """Score each row's candidates, and rank them."""
        start = perf_counter()
        scored: PairScores = self.index.scores(
            rows, self._align_ids(candidates), threads=check_positive("threads", threads)
        )
        return candidates.with_scores(scored).with_ms((perf_counter() - start) * 1e3)

    @property
    def effort(self) -> int | None:
        """The effort of a search: beam, `ef` or probes. None where every search is exact."""
        effort: int | None = self.index.effort
        return effort

    def with_effort(self, effort: int) -> Self:
        """Return the same retriever, sharing all arrays, with another effort."""
        made = self._with(index=self.index.with_effort(effort))
        return made._kept(made, effort=effort)

    def with_encoder(self, encoder: Encoder) -> Self:
        """Return the same retriever with the encoder it was built with, when a load could not bring that back.

        An encoder with another fingerprint would give rows that mean something else, so it raises.
        """
        if encoder.fingerprint != self.encoder.fingerprint:
            raise InputError(
                f"`encoder` must be the one that {self!r} was built with ({self.encoder.fingerprint!r}). "
                f"Got {encoder.fingerprint!r}: build anew for another encoder."
            )
        return self._with(encoder=encoder)

    def _given_encoder(self, encoder: Encoder) -> Self:
        return self.with_encoder(encoder)

    def _with(self, **changes: Any) -> Self:
        """Return the same retriever with another encoder or index."""
        same = {"items": self._items, "encoder": self.encoder, "index": self.index}
        return self._kept(type(self)(**{**same, **changes}))

    @property
    def is_plain(self) -> bool:
        """Whether answers are those of an index that native code may ask by itself."""
        kind = type(self)
        ours = kind._search, kind._search_rows, kind._score
        return (
            ours == (IndexRetriever._search, IndexRetriever._search_rows, IndexRetriever._score)
            and self.index.has_native_cursor
        )

    def _check_dim(self) -> None:
        if self.encoder.dim != self.index.dim:
            raise InputError(f"`encoder` must give the index's {self.index.dim} dimensions. Got {self.encoder.dim}.")

    def _rows(self, queries: Queries) -> Rows:
        return queries.encoded(self.encoder)

    def _search(self, queries: Queries, k: int, filter: Filter | None, threads: int) -> Candidates:
        return self._search_rows(self._rows(queries), k, filter, threads)

    def _search_rows(self, rows: Rows, k: int, filter: Filter | None, threads: int) -> Candidates:
        found: Candidates = self.index.search(rows, k, filter=filter, threads=threads)
        if not isinstance(rows, SparseRows) and not (says := np.any(rows, axis=1)).all():
            found = only_rows(found, says)
        return found.with_catalog(self._items)

    def _score(self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int) -> PairScores:
        scored: PairScores = self.index.scores(self._rows(queries), candidates, threads=threads)
        return scored

    def _matches(self, queries: Queries, threads: int) -> Int32Array | None:
        matches: Int32Array | None = self.index.matches(self._rows(queries))
        return matches

    def _steady_depth(self, filter: Filter | None) -> float:
        return inf if filter is None or self.index.exact else 0  # under a filter it looks further for more hits

    def _highlighter(self, query: str) -> Highlighter | None:
        return self.encoder.highlighter(query)


def only_rows(found: Candidates, kept: NDArray[np.bool_]) -> Candidates:
    """Empty the rows that are not kept."""
    lengths = np.where(kept, np.diff(found.offsets), 0)
    inside = np.repeat(kept, np.diff(found.offsets))
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    scores = found._required_scores()[inside]
    return Candidates.unchecked(offsets, found.items[inside], scores, found.catalog, found.stats)


def query_of_item(row: SparseRows, weights: NDArray[np.float32]) -> SparseRows:
    """Return an item's row as a query's: a query's row times the columns' weights stands for an item."""
    divisors = weights[row.columns]
    values = np.where(divisors > 0, row.values / np.where(divisors > 0, divisors, 1), 0).astype(np.float32)
    return SparseRows(row.offsets, row.columns, values, row.width)


def weightiest(row: SparseRows, weights: NDArray[np.float32]) -> SparseRows:
    """Return the terms of the one row that weigh most."""
    kept = np.sort(np.argsort(-row.values * weights[row.columns], kind="stable")[:MAX_SIMILAR_TERMS])
    return SparseRows(np.array([0, len(kept)]), row.columns[kept], row.values[kept], row.width)


class RowSpaceRetriever(IndexRetriever):
    """A retriever whose item rows can be read and re-indexed, as PEFA requires."""

    in_words: ClassVar[str] = "a dense retriever, BM25 or TF-IDF"

    @property
    def column_weights(self) -> NDArray[np.float32] | None:
        """What each column of a query's row weighs when the row stands for an item; None: 1 each."""
        return None

    @property
    def new_column_weight(self) -> float:
        """What a column weighs that `grown_encoder` adds: as much as the heaviest.

        The formulas of idf say log(N / 0) for a word that no item holds, or the like: infinite in some variants.
        """
        weights = self.column_weights
        return 1.0 if weights is None else float(weights.max(initial=0.0)) or 1.0

    @property
    def row_lengths(self) -> tuple[float, ...]:
        """Lengths that are worth a trial for the moved rows; nothing where rows do not all have length 1."""
        return ()

    def _ask_for(self, queries: Queries, item: str, text: str | None) -> bool:
        number = self.items.find(item)
        if number < 0:
            return text is not None
        if not self.encoder.sparse:
            queries.seed(self.encoder, np.ascontiguousarray(self.item_rows(np.array([number])), np.float32))
            return True
        weights = np.ones(self.encoder.dim, np.float32) if self.column_weights is None else self.column_weights
        if text is not None:  # its terms are found faster than those of an item, which all lists have to be read for
            row = SparseRows.of(self.encoder.queries([text]))
        else:
            row = query_of_item(SparseRows.of(self.item_rows(np.array([number]))), weights)
        queries.seed(self.encoder, weightiest(row, weights))
        return True

    @abstractmethod
    def item_rows(self, items: NDArray[np.int64] | slice = slice(None)) -> Any:
        """Return these items' rows: a float32 array, or a CSR array."""

    def grown_encoder(self, texts: Iterable[str]) -> Encoder:
        """Return an encoder with more columns, for words that only these texts have; its own where columns are fixed.

        The first columns are those of the encoder itself, and rows without the others are its own.
        """
        return self.encoder

    @abstractmethod
    def index_rows(self, rows: Any) -> Index:
        """Index other rows as the retriever's own are; they may have more columns, as `grown_encoder` gives them."""
