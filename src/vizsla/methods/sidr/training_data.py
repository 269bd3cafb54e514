"""What SiDR's training learns from and is judged by: token ids, fold tables and held-out queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from vizsla._internal.lazy import cached_property
from vizsla._internal.terminal import progress
from vizsla.core.sparse import SparseRows, row_numbers
from vizsla.encoders.sidr import sparsified, summed
from vizsla.encoders.token_table import TokenTable
from vizsla.errors import InputError
from vizsla.indexes.tokens import TokenIndex
from vizsla.learning.clicks import ClickLog
from vizsla.learning.data import holds_answer
from vizsla.learning.query_mix import select_entries
from vizsla.learning.splits import item_folds, table_split
from vizsla.learning.torch_vocabulary import VocabularyModel
from vizsla.methods.bm25 import bm25
from vizsla.methods.sidr.settings import SidrSettings
from vizsla.methods.tokens.learner import LearningSettings, new_learner
from vizsla.methods.tokens.model import TokenRetriever
from vizsla.text.wordpiece import WordPiece, sequences
from vizsla.typing import Int64Array

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class SidrTrainingData:
    """Queries, items and clicks.

    Parameters
    ----------
    queries, items : lists of int64 arrays
        Token ids, as the transformer reads them.
    asked : SparseRows
        The tokens that each query holds.
    tables : SparseRows
        Weights of the token table for each query; the transformer's weights are added to them.
    clicks : csr_array
        Queries × items.
    index : TokenIndex
        The items' tokens, where negatives are found.
    answers : list of lists of str, optional
        For each query strings that make an item an answer, so that it is no negative.
    texts : list of str
        The items' texts, where answers are looked for.
    static : list of int64 arrays, optional
        For each query the items that BM25 finds, where these are the negatives.
    whole_vocabulary : bool
        Whether vectors have all of the model's tokens, and not only those that some item holds.
    """

    queries: list[Int64Array]
    items: list[Int64Array]
    asked: SparseRows
    tables: SparseRows
    clicks: csr_array
    index: TokenIndex
    answers: list[list[str]] | None
    texts: list[str]
    static: list[Int64Array] | None = None
    whole_vocabulary: bool = False

    @cached_property
    def pairs(self) -> tuple[Int64Array, Int64Array]:
        """Query and item of every click."""
        rows = row_numbers(self.clicks.indptr)
        return rows, self.clicks.indices.astype(np.int64)

    @cached_property
    def item_tokens(self) -> Any:
        """The items' tokens, as a CSR array of ones."""
        return self.index.item_rows().to_scipy()

    @cached_property
    def held(self) -> Int64Array:
        """The tokens that vectors have, ascending: those that some item holds, unless it is the whole vocabulary."""
        if self.whole_vocabulary:
            return np.arange(self.index.dim)
        return np.unique(self.item_tokens.indices).astype(np.int64)

    @cached_property
    def _keys(self) -> Int64Array:
        rows, items = self.pairs
        return np.sort(rows * np.int64(self.clicks.shape[1]) + items)

    def are_clicks(self, queries: Int64Array, items: Int64Array) -> NDArray[np.bool_]:
        """Return which of queries × items were clicked."""
        keys = queries[:, None] * np.int64(self.clicks.shape[1]) + items
        places = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.asarray(self._keys[places] == keys)

    def are_right(self, queries: Int64Array, items: Int64Array) -> NDArray[np.bool_]:
        """Return which of queries × items were clicked, or hold one of the query's answers."""
        right = self.are_clicks(queries, items)
        if self.answers is not None:
            for row, query in enumerate(queries.tolist()):
                for answer in self.answers[query]:
                    right[row] |= [holds_answer(self.texts[item], answer) for item in items.tolist()]
        return right


QUERIES_PER_BATCH = 64


@dataclass(frozen=True)
class HeldOutQueries:
    """Queries, their clicks, and what the table says of them.

    Parameters
    ----------
    clicked : ClickLog
        Texts and clicks.
    queries : list of int64 arrays
        Token ids, as the transformer reads them.
    tables : SparseRows
        Weights of a token table that was learned without these clicks.
    cold : bool array
        Whose items lost every click.
    """

    clicked: ClickLog
    queries: list[Int64Array]
    tables: SparseRows
    cold: NDArray[np.bool_]

    def some(self, most: int, seed: int) -> Self:
        """Return at most this number of them, warm and cold alike."""
        order = np.random.default_rng(seed).permutation(len(self.queries))
        kinds = [order[self.cold[order] == cold][: most // 2] for cold in (True, False)]
        chosen = np.sort(np.concatenate(kinds))
        texts = [self.queries[number] for number in chosen.tolist()]
        return type(self)(self.clicked.take(chosen), texts, self.tables.take(chosen), self.cold[chosen])

    def measured(self, model: VocabularyModel, index: TokenIndex, held: Int64Array, most: int) -> NDArray[np.float64]:
        """Return the reciprocal rank of each query's first clicked item in beta search."""
        found = index.search(self.weighted(model, held, most), 10)
        return self.clicked.reciprocal_ranks(found)

    def weighted(self, model: VocabularyModel, held: Int64Array, most: int) -> SparseRows:
        """Return the queries' rows: the table's weights and the transformer's."""
        parts = []
        for start in range(0, len(self.queries), QUERIES_PER_BATCH):
            with model.no_gradients():
                encoding = model.encode(self.queries[start : start + QUERIES_PER_BATCH])
            values = model.fixed_values(encoding, held, scale=model.query_scale)
            parts.append(sparsified(values, held, most, self.tables.width))
        return summed(self.tables, SparseRows.stacked(parts, self.tables.width))

    def quality(self, measured: NDArray[np.float64]) -> float:
        """Return the mean over warm and cold queries, each kind counting alike."""
        kinds = [kind for kind in (measured[~self.cold], measured[self.cold]) if len(kind)]
        return float(np.mean([kind.mean() for kind in kinds])) if kinds else 0.0


def learned_table(base: TokenRetriever, clicked: ClickLog, clicks: csr_array, *, epochs: int, seed: int) -> TokenTable:
    """Return the base's table after learning from some of the clicks."""
    learner, rng = new_learner(base, clicked, clicks, LearningSettings()), np.random.default_rng(seed)
    for _ in range(epochs):
        learner.epoch(rng)
    return learner.table


def unseen_rows(
    base: TokenRetriever, clicked: ClickLog, clicks: csr_array, *, folds: int, epochs: int, seed: int
) -> SparseRows:
    """Return every query's row by the table of the clicks that lie in other folds; queries of an item share a fold."""
    rows = base.encoder.words.queries(clicked.texts)
    fold = item_folds(clicks, folds, seed)
    parts: list[SparseRows] = []
    for number in progress(range(folds), what="tables"):
        others = select_entries(clicks, fold[row_numbers(clicks.indptr)] != number)
        table = learned_table(base, clicked, others, epochs=epochs, seed=seed)
        parts.append(table.weighted(rows.take(np.flatnonzero(fold == number))))
    order = np.argsort(np.concatenate([np.flatnonzero(fold == number) for number in range(folds)]))
    return SparseRows.stacked(parts, rows.width).take(order)


Answers = Mapping[str, Sequence[str]]


class Prepared(NamedTuple):
    """What a run needs."""

    training_data: SidrTrainingData
    held: HeldOutQueries | None


def prepared(
    base: TokenRetriever, clicked: ClickLog, texts: list[str], settings: SidrSettings, answers: Answers | None = None
) -> Prepared:
    """Hold out some queries, learn tables from the others' clicks, and cut all texts into token ids."""
    pieces = wordpiece_of(base)
    held = table_split(clicked.clicks, settings.seed)
    left = clicked.clicks if held is None else held.left(clicked.clicks)
    queries = sequences(pieces, clicked.texts, settings.max_tokens)
    items = sequences(pieces, texts, settings.max_tokens)
    asked = base.encoder.words.queries(clicked.texts)
    tables, new = _tables(base, clicked, left, settings)
    found = None if answers is None else [_answers(answers.get(text, ())) for text in clicked.texts]
    lowered = [] if answers is None else [text.lower() for text in texts]
    static = _bm25_items(clicked.texts, texts, settings.retrieved) if settings.static_negatives else None
    training_data = SidrTrainingData(
        queries, items, asked, tables, left, base.index, found, lowered, static, settings.paper
    )
    if held is None:
        return Prepared(training_data, None)
    rows = held.rows
    chosen = [queries[number] for number in rows.tolist()]
    return Prepared(training_data, HeldOutQueries(clicked.take(rows), chosen, new.take(rows), held.is_cold))


def _bm25_items(queries: list[str], texts: list[str], count: int) -> list[Int64Array]:
    """Return the items that BM25 finds for each query."""
    if not count:
        return [np.zeros(0, np.int64)] * len(queries)
    found = bm25(texts)(queries, k=count)
    return [part.astype(np.int64) for part in np.split(found.items, found.offsets[1:-1])]


def _answers(given: Sequence[str]) -> list[str]:
    if isinstance(given, str):
        raise InputError(f"`answers` must hold a list of texts for each query. Got {given!r}: put it into a list.")
    return [answer.lower() for answer in given]


def wordpiece_of(base: TokenRetriever) -> WordPiece:
    """Return the base's WordPiece, or say that it needs one."""
    pieces = base.encoder.words.analyzer
    if not isinstance(pieces, WordPiece):
        raise InputError(
            f"`base` must be made of the model's tokens. Got {base!r}, made of words: "
            "build it with `analyzer=vizsla.text.WordPiece.open(model)`."
        )
    return pieces


def _tables(
    base: TokenRetriever, clicked: ClickLog, left: Any, settings: SidrSettings
) -> tuple[SparseRows, SparseRows]:
    """Return what tables say of the queries that are learned from, and of those that are held out."""
    if not settings.table_epochs:
        count = len(clicked.texts)
        none = SparseRows(np.zeros(count + 1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32), base.index.dim)
        return none, none
    options = {"epochs": settings.table_epochs, "seed": settings.seed}
    seen = unseen_rows(base, clicked, left, folds=settings.folds, **options)
    table = learned_table(base, clicked, left, **options)
    return seen, table.weighted(base.encoder.words.queries(clicked.texts))
