"""BM25: the retriever over weighted posting lists."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla._internal.terminal import progress
from vizsla.base.index_retriever import RowSpaceRetriever
from vizsla.base.queries import Queries
from vizsla.base.recipe import builds
from vizsla.core.candidates import Candidates
from vizsla.core.explanation import Explanation
from vizsla.core.sparse import SparseRows
from vizsla.core.strings import Strings
from vizsla.core.validation import validate_args
from vizsla.data.filter import Filter
from vizsla.errors import FormatError, InputError
from vizsla.indexes.inverted import InvertedIndex
from vizsla.methods.bm25_mixed import OWN_LANGUAGE, MixedWords, QueryWords
from vizsla.methods.bm25_statistics import VARIANTS as VARIANTS
from vizsla.methods.bm25_statistics import Statistics, Weighting
from vizsla.text.analyzers import Analyzer, AnyLanguage
from vizsla.text.bag_of_words import BagOfWords
from vizsla.text.streams import TextStream
from vizsla.typing import Float64Array

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter

LAYOUT = 2
"""Of what is stored: since 2 the lists of a catalog in several languages hold no idf."""


class Bm25(RowSpaceRetriever):
    """Exact BM25 search over a catalog of texts. Use `bm25` or `Bm25.build` to make one.

    Parameters
    ----------
    items : Strings
        Item ids.
    statistics : Statistics
        The vocabulary and its counts over the whole catalog, of which these items may be a shard.
    index : InvertedIndex
        What each term gives each item.
    weighting : Weighting
        The variant and its parameters.

    Examples
    --------
    >>> search = Bm25.build({"a": "a fig tree", "b": "an apple tree", "c": "plums"})
    >>> search("fig tree", k=2).ids
    [['a', 'b']]
    >>> print(search.explain("fig tree", "b"))
    0.1666  bm25 lucene, the sum over the query's words
    ├─ 0.0000  'fig': in 1 of 3 items, idf 0.9808
    └─ 0.1666  'tree': in 2 of 3 items, idf 0.4700
    """

    kind = "bm25"
    scale = "bm25"
    encoder: BagOfWords | MixedWords
    index: InvertedIndex

    @validate_args
    def __init__(self, items: Strings, statistics: Statistics, index: InvertedIndex, weighting: Weighting):
        mixed = statistics.languages is not None
        super().__init__(items, MixedWords(statistics, weighting) if mixed else statistics.words, index)
        self.statistics, self.weighting = statistics, weighting
        if len(items) > statistics.documents:
            raise InputError(f"`statistics` must count all {len(items)} items. Got {statistics.documents}.")

    @property
    def words(self) -> BagOfWords:
        """How a text becomes terms."""
        return self.statistics.words

    @property
    def frequencies(self) -> NDArray[np.int64]:
        """The number of items of the whole catalog that hold each term."""
        return self.statistics.frequencies

    @classmethod
    @validate_args
    def build(
        cls,
        items: Any,
        *,
        ids: Iterable[str] | None = None,
        analyzer: Analyzer | None = None,
        variant: str = "lucene",
        k1: float = 1.5,
        b: float = 0.75,
        delta: float = 0.5,
        statistics: Statistics | None = None,
    ) -> Self:
        """Read a catalog once and index it; see `bm25` for the parameters."""
        weighting = Weighting(variant, k1, b, delta)
        analyzer = analyzer or (AnyLanguage() if statistics is None else statistics.analyzer)
        stream = TextStream(items, ids)
        words, rows, places = BagOfWords.fit_items(progress(stream, what="reading"), analyzer)
        if statistics is None:
            statistics = Statistics.of_rows(words, rows, places)
        else:
            rows = statistics.over(words, rows)
        return cls(stream.ids, statistics, _invert(rows, places, statistics, weighting), weighting)

    @property
    def nbytes(self) -> int:
        """Bytes of postings, vocabulary and counts: all that searching, scoring and explaining need."""
        return int(super().nbytes + self.frequencies.nbytes)

    def _live_parts(self) -> Iterable[Any]:
        return (
            self.encoder,
            self.statistics,
            self.statistics.words,
        )

    def __repr__(self) -> str:
        analyzer = self.words.analyzer
        languages = analyzer.languages if isinstance(analyzer, AnyLanguage) else ()
        spoken = "".join(f", {language}" for language in languages)
        return f"Bm25({len(self.items):,} items, {self.weighting.variant}{spoken})"

    @property
    def column_weights(self) -> NDArray[np.float32]:
        """The idf of each column: a query's row holds counts, an item's rare words above common ones.

        With several languages it is a query's row that holds idf, so each column is divided by it.
        """
        if isinstance(self.encoder, MixedWords):
            return self.encoder.column_weights
        return self._idf.astype(np.float32)

    @property
    def new_column_weight(self) -> float:
        """What a word weighs that no item holds: as much as one that is in a single item."""
        if isinstance(self.encoder, MixedWords):
            return 1 / self.encoder.rarest
        return super().new_column_weight

    def item_rows(self, items: NDArray[np.int64] | slice = slice(None)) -> csr_array:
        """Return what each term gives these items."""
        return self.index.to_csr()[items]

    def grown_encoder(self, texts: Iterable[str]) -> BagOfWords | MixedWords:
        """Return an encoder that also knows the words of these texts."""
        if isinstance(self.encoder, MixedWords):
            return MixedWords(self.statistics, self.weighting, self.words.grown(texts))
        return self.words.grown(texts)

    def index_rows(self, rows: Any) -> InvertedIndex:
        """Index other rows over the same terms, or over a vocabulary that has grown; sums are made as in this one."""
        moved, idf = SparseRows.of(rows, name="rows"), self._idf
        # A word that only the grown vocabulary knows is in no item: it gives an item without it nothing.
        more = np.zeros(max(moved.width - len(idf), 0))
        rest = np.ones(len(more)) if isinstance(self.encoder, MixedWords) else more
        priorities = self.weighting.gains(np.append(idf, rest)).astype(np.float32)
        absent = _absent(self.encoder, self.weighting, idf)
        absent = None if absent is None else np.append(absent, more)
        return InvertedIndex.from_rows(moved, absent=absent, priorities=priorities)

    @property
    def _idf(self) -> NDArray[np.float64]:
        """What each column's impacts hold of its idf: all of it, or nothing where there are several languages."""
        if isinstance(self.encoder, MixedWords):
            return np.ones(self.encoder.dim)
        return self.weighting.idf(self.frequencies, self.statistics.documents)

    def _with(self, **changes: Any) -> Self:
        changes.pop("encoder", None)  # it has the fingerprint of this one, and follows from the statistics
        same = {"items": self.items, "statistics": self.statistics, "index": self.index, "weighting": self.weighting}
        return self._kept(type(self)(**{**same, **changes}))

    def _explain(self, queries: Queries, item: int, filter: Filter | None) -> Explanation:
        score = self._score_one(queries, item)
        text = queries.texts[0]
        what = f"bm25 {self.weighting.variant}, the sum over the query's words"
        if isinstance(self.encoder, MixedWords):
            query = self.encoder.read([text])[0]
            if (language := self._language_of(query)) is not None:
                what += f"; the query is in {language}, whose items count {OWN_LANGUAGE:g} times"
            return Explanation(score, what, self._word_shares(self.encoder, query, item))
        words = self.words.analyzer.query_counts(text)
        return Explanation(score, what, [self._share(word, count, item) for word, count in words.items()])

    def _word_shares(self, encoder: MixedWords, query: QueryWords, item: int) -> list[Explanation]:
        """Return what each word of a query gives an item of a catalog in several languages."""
        shares = []
        for text, times in query.times.items():
            word = encoder.word(text, query.language)
            if not word.holders:
                shares.append(Explanation(0.0, f"{text!r}: in no item"))
                continue
            share = self._scored(encoder.row_of(text, times, query.language), item)
            items = "items" if word.documents == self.statistics.documents else f"{self._language_of(query)} items"
            facts = f"in {word.holders} of {word.documents} {items}, idf {word.idf:.4f}"
            shares.append(Explanation(share, f"{text!r}: {facts}{_times(times)}"))
        return shares

    def _language_of(self, query: QueryWords) -> str | None:
        return self.words.analyzer.languages[query.language] if query.language >= 0 else None

    def _scored(self, row: SparseRows, item: int) -> float:
        one = Candidates.from_rows([np.array([item], np.int32)])
        return float(self.index.scores(row, one).scores[0])

    def _share(self, word: str, count: float, item: int) -> Explanation:
        term = self.words.terms.find(word)
        if term < 0:
            return Explanation(0.0, f"{word!r}: in no item")
        row = SparseRows(np.array([0, 1]), np.array([term], np.int32), np.array([count], np.float32), self.words.dim)
        share = self._scored(row, item)
        counts = self.statistics
        idf = float(self.weighting.idf(counts.frequencies[term : term + 1], counts.documents)[0])
        facts = f"in {counts.frequencies[term]} of {counts.documents} items, idf {idf:.4f}"
        return Explanation(share, f"{word!r}: {facts}{_times(count)}")

    def _write(self, writer: ArtifactWriter) -> None:
        how = self.weighting
        writer.parameters(layout=LAYOUT, variant=how.variant, k1=how.k1, b=how.b, delta=how.delta)
        writer.catalog("items", self.items)
        writer.child("statistics", self.statistics)
        writer.child("index", self.index)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        if (layout := reader.parameter("layout", int)) != LAYOUT:
            raise FormatError(f"{reader.path}: expected layout {LAYOUT}. Got {layout}: build the index anew.")
        index = reader.child("index", InvertedIndex)
        items, statistics = reader.catalog("items"), reader.child("statistics", Statistics)
        numbers = (reader.parameter(name, float) for name in ("k1", "b", "delta"))
        return cls(items, statistics, index, Weighting(reader.parameter("variant", str), *numbers))


@builds("bm25", data="items")
def bm25(
    items: Any,
    *,
    ids: Iterable[str] | None = None,
    analyzer: Analyzer | None = None,
    variant: str = "lucene",
    k1: float = 1.5,
    b: float = 0.75,
    delta: float = 0.5,
    statistics: Statistics | None = None,
) -> Bm25:
    """Build a BM25 retriever.

    Parameters
    ----------
    items
        A Dataset, a mapping of id to text, texts, or (id, text) pairs; read once, never held.
    ids : iterable of str, optional
        Ids for texts that have none; without it an item's id is its number in decimal.
    analyzer : Analyzer, optional
        How texts become words: `AnyLanguage` unless given, which finds out the languages by itself.
    variant : {"lucene", "robertson", "atire", "bm25l", "bm25+"}
        The formula.
    k1 : float
        How slowly repeated words saturate.
    b : float
        How much an item's length counts, from 0 to 1.
    delta : float
        The floor of bm25l and bm25+.
    statistics : Statistics, optional
        Counts of a whole catalog, when `items` are a shard of it: the scores are then those of the whole. They must
        have counted these items; a word that they lack raises.

    Examples
    --------
    >>> bm25(["a fig tree", "an apple tree"])("fig").ids
    [['0']]
    """
    return Bm25.build(
        items, ids=ids, analyzer=analyzer, variant=variant, k1=k1, b=b, delta=delta, statistics=statistics
    )


def _times(count: float) -> str:
    return "" if count == 1 else f", {count:g} times in the query"


def _invert(rows: SparseRows, places: NDArray[np.int32], statistics: Statistics, weighting: Weighting) -> InvertedIndex:
    lengths = _native.row_sums(rows.offsets, rows.values)
    encoder: BagOfWords | MixedWords = statistics.words
    if statistics.languages is None:
        norms = weighting.norms(lengths, statistics.mean_length)
        idf = weighting.idf(statistics.frequencies, statistics.documents)
    else:
        norms = weighting.norms(lengths, statistics.languages.means[places])
        encoder, rows = MixedWords(statistics, weighting), statistics.over_lists(rows, places)
        idf = np.ones(encoder.dim)
    gains = weighting.gains(idf)
    # Sums are made by gains, which all shards share, not by what a shard's own items get at most.
    return InvertedIndex.from_rows(
        rows, gains=gains, norms=norms, absent=_absent(encoder, weighting, idf), priorities=gains.astype(np.float32)
    )


def _absent(encoder: BagOfWords | MixedWords, weighting: Weighting, idf: NDArray[np.float64]) -> Float64Array | None:
    """Return what each column gives an item without it; with several languages, the one behind the lists does."""
    if isinstance(encoder, BagOfWords):
        return weighting.absent(idf)
    floor = weighting.absent(np.ones(1))
    return None if floor is None else np.append(np.zeros(len(idf) - 1), floor)
