"""BM25: the retriever over weighted posting lists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla._internal.lazy import cached_property
from vizsla._internal.terminal import progress
from vizsla.base.encoder import Encoder
from vizsla.base.index_retriever import RowSpaceRetriever
from vizsla.base.queries import Queries
from vizsla.base.recipe import builds
from vizsla.core.candidates import Candidates
from vizsla.core.explanation import Explanation
from vizsla.core.sparse import SparseRows
from vizsla.core.strings import Strings
from vizsla.core.validation import validate_args
from vizsla.data.filter import Filter
from vizsla.errors import InputError
from vizsla.indexes.inverted import InvertedIndex
from vizsla.methods.bm25_statistics import VARIANTS as VARIANTS
from vizsla.methods.bm25_statistics import LanguageCounts, Statistics, Weighting
from vizsla.text.analyzers import HALF, Analyzer, AnyLanguage
from vizsla.text.bag_of_words import BagOfWords
from vizsla.text.languages import clear_language, listed
from vizsla.text.streams import TextStream, call_with
from vizsla.text.streams import listed as listed_texts
from vizsla.typing import Float64Array, Int64Array

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter
    from vizsla.data.dataset import Dataset

OWN_LANGUAGE = 1.5
"""How much more an item counts that is in the query's language, where that is clear."""


@dataclass(frozen=True)
class Rarity:
    """How many items hold each of some words, of how many, and the idf that follows."""

    holders: Int64Array
    documents: Int64Array
    idf: Float64Array


@dataclass(frozen=True)
class Reading:
    """The words of some queries, and the entries of their rows before they are added up.

    `rows` has the query of each word, and `owners` the word of each entry. `languages` has the language of each query
    as its place among the analyzer's, -1 where it is not clear.
    """

    languages: list[int]
    words: list[str]
    rows: Int64Array
    times: Float64Array
    rarity: Rarity
    owners: Int64Array
    columns: Int64Array
    weights: Float64Array


class MixedWords(Encoder):
    """Query texts as weights of a catalog's lists, each of which holds the items of one language that hold one term.

    A word of a query stands for its stem in every language of the catalog, and has one idf, whichever of these stems an
    item holds:

    - Where the query's language is clear, and items in that language hold the word's stem in it, the idf is that of the
      stem among these items, as if there were no others.
    - Otherwise it is the idf of the union of the word's stems among all items. The union's frequency is the sum of the
      stems' frequencies, so an item that holds two stems of one word (`run` and `running`, in German) counts twice.

    Where the query's language is clear, its stop words are dropped, and items in it count `OWN_LANGUAGE` times.

    An item's impacts hold the idf of their own list, so a weight is the word's idf divided by the list's. The column
    behind the lists is held by no item: it carries what BM25's variants with a floor give to every item.

    Parameters
    ----------
    statistics : Statistics
        Counts of a catalog in several languages.
    weighting : Weighting
        The variant of BM25.
    bag : BagOfWords, optional
        The statistics' bag, grown by words that no item holds: each of their terms gets a column at the end.
    """

    sparse = True

    def __init__(self, statistics: Statistics, weighting: Weighting, bag: BagOfWords | None = None):
        if statistics.languages is None:
            raise InputError("`statistics` must count several languages. Got those of one: their bag reads queries.")
        self.statistics, self.weighting = statistics, weighting
        self.counts: LanguageCounts = statistics.languages
        self.bag = statistics.bag if bag is None else bag
        analyzer = self.bag.analyzer
        self._stop_words = [listed([name] if getattr(analyzer, "drop", False) else []) for name in analyzer.languages]

    @property
    def dim(self) -> int:
        """The number of lists, one, and the number of terms that no item holds."""
        return len(self.counts.keys) + 1 + self.bag.dim - self.statistics.bag.dim

    @cached_property
    def fingerprint(self) -> str:
        """Changes with the counts, the formula, and the vocabulary."""
        text = repr((self.statistics.fingerprint, self.weighting, self.bag.fingerprint, OWN_LANGUAGE)).encode()
        return f"mixed:{_native.checksum(np.frombuffer(text, np.uint8)):016x}"

    @property
    def nbytes(self) -> int:
        """Bytes of the vocabulary and of the counts by language."""
        return int(self.bag.nbytes + self.counts.nbytes)

    def __repr__(self) -> str:
        return f"MixedWords({self.bag!r}, {len(self.counts.keys):,} lists)"

    @cached_property
    def list_idf(self) -> Float64Array:
        """The idf of each list's term among the items of its language; 0 for the column behind the lists."""
        counts = self.counts
        return np.append(self.weighting.idf(counts.frequencies, counts.documents[counts.languages]), 0.0)

    @cached_property
    def _totals(self) -> Int64Array:
        """How many items hold each term: 0 for those of the grown bag, and at the end for none (-1)."""
        frequencies = self.statistics.frequencies
        return np.append(frequencies, np.zeros(self.bag.dim - len(frequencies) + 1, np.int64))

    def queries(self, texts: Sequence[str]) -> SparseRows:
        """Weigh the lists that query texts ask for."""
        given = listed_texts(texts)
        found = self.read(given)
        return self._summed(found.rows[found.owners], found.columns, found.weights, len(given))

    def row_of(self, reading: Reading, word: int) -> SparseRows:
        """Return the part of its query's row that one word makes."""
        mine = np.flatnonzero(reading.owners == word)
        return self._summed(np.zeros(len(mine), np.int64), reading.columns[mine], reading.weights[mine], 1)

    def read(self, texts: list[str]) -> Reading:
        """Read queries: their languages, their words, how rare they are, and what they weigh."""
        languages, words, rows, times = self._words(texts)
        spoken = np.array(languages, np.int64)[rows]
        table = self._terms_of(words)
        fresh = _first_places(table)
        totals = np.where(fresh, self._totals[table], 0)
        stems = self.counts.count
        union = np.minimum(totals[:, :stems].sum(axis=1), self.statistics.documents)
        rarity = self._rarity(table[np.arange(len(words)), spoken], spoken, union)
        shares, idf = np.ones(table.shape[1]), np.repeat(rarity.idf[:, None], table.shape[1], axis=1)
        floor = fresh[:, :stems].any(axis=1) * rarity.idf
        if self.bag.analyzer.rooted is not None:
            shares[-1], idf[:, -1] = HALF, self._rarity(table[:, -1], spoken, totals[:, -1]).idf
            floor += HALF * fresh[:, -1] * idf[:, -1]
        owners, ways = np.nonzero(fresh)
        weighed = self._weighed(owners, table[owners, ways], times[owners] * shares[ways], idf[owners, ways], spoken)
        return Reading(languages, words, rows, times, rarity, *self._with_floor(weighed, times * floor))

    def _words(self, texts: list[str]) -> tuple[list[int], list[str], Int64Array, Float64Array]:
        """Return the language of each query, and the words to look for: of which query, and how often it has them."""
        analyzer = self.bag.analyzer
        content = frozenset(getattr(analyzer, "content", ()))
        languages: list[int] = []
        words: list[str] = []
        rows: list[int] = []
        times: list[int] = []
        for row, text in enumerate(texts):
            tokens = _tokens(text, *analyzer.rule)
            # A word that is grammar in one language and worth a search in another (`war`) says nothing.
            language = clear_language([token for token in tokens if token not in content], analyzer.languages)
            stop_words = self._stop_words[language] if language >= 0 else frozenset[str]()
            counted = {word: count for word, count in Counter(tokens).items() if word not in stop_words}
            languages.append(language)
            words += counted
            rows += [row] * len(counted)
            times += counted.values()
        return languages, words, np.array(rows, np.int64), np.array(times, np.float64)

    def _terms_of(self, words: list[str]) -> NDArray[np.int32]:
        """Return the terms of each word; one that several queries hold is looked up once."""
        numbers = {word: number for number, word in enumerate(dict.fromkeys(words))}
        table = self.bag.readings(list(numbers))
        return table if len(numbers) == len(words) else table[[numbers[word] for word in words]]

    def _rarity(self, terms: NDArray[np.int32], spoken: Int64Array, totals: Int64Array) -> Rarity:
        """Return how rare words are: by their terms in their query's language, or else by all items that hold them."""
        documents = np.full(len(terms), self.statistics.documents, np.int64)
        idf = self.weighting.idf(totals, documents)
        lists = self.counts.find(terms, spoken)
        own = np.flatnonzero(lists >= 0)
        holders = totals.copy()
        holders[own], documents[own] = self.counts.frequencies[lists[own]], self.counts.documents[spoken[own]]
        idf[own] = self.list_idf[lists[own]]
        return Rarity(holders, documents, idf)

    def _weighed(
        self, owners: Int64Array, terms: NDArray[np.int32], factors: Float64Array, idf: Float64Array, spoken: Int64Array
    ) -> tuple[Int64Array, Int64Array, Float64Array]:
        """Return owners, columns and weights of the lists of some terms, and of terms that no item holds."""
        counts, known = self.counts, self.statistics.bag.dim
        keys = terms.astype(np.int64) * counts.count
        first, last = np.searchsorted(counts.keys, keys), np.searchsorted(counts.keys, keys + counts.count)
        sizes = last - first
        entries = np.repeat(np.arange(len(terms)), sizes)
        lists = np.arange(len(entries)) + np.repeat(last - np.cumsum(sizes), sizes)
        theirs = self.list_idf[lists]
        ratios = np.divide(idf[entries], theirs, out=np.zeros(len(lists)), where=theirs > 0)
        own = counts.keys[lists] % counts.count == spoken[owners[entries]]
        weights = factors[entries] * ratios * np.where(own, OWN_LANGUAGE, 1.0)
        new = np.flatnonzero(terms >= known)
        columns = np.append(lists, terms[new].astype(np.int64) - known + len(counts.keys) + 1)
        return owners[np.append(entries, new)], columns, np.append(weights, factors[new])

    def _with_floor(
        self, weighed: tuple[Int64Array, Int64Array, Float64Array], floor: Float64Array
    ) -> tuple[Int64Array, Int64Array, Float64Array]:
        """Add the column behind the lists, where the variant has a floor."""
        if self.weighting.absent(np.ones(1)) is None:
            return weighed
        owners, columns, weights = weighed
        words = np.flatnonzero(floor)
        behind = np.full(len(words), len(self.counts.keys), np.int64)
        return np.append(owners, words), np.append(columns, behind), np.append(weights, floor[words])

    def _summed(self, rows: Int64Array, columns: Int64Array, weights: Float64Array, count: int) -> SparseRows:
        """Return rows of entries, those of one column added up in the order of the words."""
        keys, places = np.unique(rows * self.dim + columns, return_inverse=True)
        values = np.bincount(places, weights, len(keys)).astype(np.float32)
        offsets = np.searchsorted(keys, np.arange(count + 1) * self.dim).astype(np.int64)
        return SparseRows(offsets, (keys % self.dim).astype(np.int32), values, self.dim)


def _tokens(text: Any, *rule: Any) -> list[str]:
    found: list[str] = call_with(_native.tokens, text, *rule)
    return found


def _first_places(table: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return where each row's terms stand for the first time; -1 is none."""
    fresh = table >= 0
    for way in range(1, table.shape[1]):
        fresh[:, way] &= (table[:, :way] != table[:, way : way + 1]).all(axis=1)
    return fresh


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
        super().__init__(items, MixedWords(statistics, weighting) if mixed else statistics.bag, index)
        self.statistics, self.weighting = statistics, weighting
        if len(items) > statistics.documents:
            raise InputError(f"`statistics` must count all {len(items)} items. Got {statistics.documents}.")

    @property
    def bag(self) -> BagOfWords:
        """How a text becomes terms."""
        return self.statistics.bag

    @property
    def frequencies(self) -> NDArray[np.int64]:
        """The number of items of the whole catalog that hold each term."""
        return self.statistics.frequencies

    @classmethod
    @validate_args
    def build(
        cls,
        items: Dataset | Mapping[str, str] | Iterable[Any],
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
        bag, rows, places = BagOfWords.fit_items(progress(stream, what="reading"), analyzer)
        if statistics is None:
            statistics = Statistics.of_rows(bag, rows, places)
        else:
            rows = statistics.over(bag, rows)
        return cls(stream.ids, statistics, _invert(rows, places, statistics, weighting), weighting)

    @property
    def nbytes(self) -> int:
        """Bytes of postings, vocabulary and counts: all that searching, scoring and explaining need."""
        return int(super().nbytes + self.frequencies.nbytes)

    def _live_parts(self) -> Iterable[Any]:
        return (
            self.encoder,
            self.statistics,
            self.statistics.bag,
        )

    def __repr__(self) -> str:
        analyzer = self.bag.analyzer
        languages = analyzer.languages if isinstance(analyzer, AnyLanguage) else ()
        spoken = "".join(f", {language}" for language in languages)
        return f"Bm25({len(self.items):,} items, {self.weighting.variant}{spoken})"

    @property
    def column_weights(self) -> NDArray[np.float32]:
        """The idf of each column: a query's row holds counts, an item's rare words above common ones."""
        return self._idf.astype(np.float32)

    def item_rows(self, items: NDArray[np.int64] | slice = slice(None)) -> csr_array:
        """Return what each term gives these items."""
        return self.index.to_csr()[items]

    def grown_encoder(self, texts: Iterable[str]) -> BagOfWords | MixedWords:
        """Return an encoder that also knows the words of these texts."""
        if isinstance(self.encoder, MixedWords):
            return MixedWords(self.statistics, self.weighting, self.bag.grown(texts))
        return self.bag.grown(texts)

    def index_rows(self, rows: Any) -> InvertedIndex:
        """Index other rows over the same terms, or over those of a bag that has grown; sums are made as in this one."""
        moved, idf = SparseRows.of(rows, name="rows"), self._idf
        # A word that only the grown bag knows is in no item: it gives an item without it nothing.
        more = np.zeros(max(moved.width - len(idf), 0))
        priorities = self.weighting.gains(np.append(idf, more)).astype(np.float32)
        absent = _absent(self.encoder, self.weighting, idf)
        absent = None if absent is None else np.append(absent, more)
        return InvertedIndex.from_rows(moved, absent=absent, priorities=priorities)

    @property
    def _idf(self) -> NDArray[np.float64]:
        if isinstance(self.encoder, MixedWords):
            return self.encoder.list_idf
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
            reading = self.encoder.read([text])
            if (language := self._language_of(reading)) is not None:
                what += f"; the query is in {language}, whose items count {OWN_LANGUAGE:g} times"
            return Explanation(score, what, self._word_shares(self.encoder, reading, item))
        words = self.bag.analyzer.query_counts(text)
        return Explanation(score, what, [self._share(word, count, item) for word, count in words.items()])

    def _word_shares(self, encoder: MixedWords, reading: Reading, item: int) -> list[Explanation]:
        """Return what each word of a query gives an item of a catalog in several languages."""
        shares, rarity = [], reading.rarity
        for number, word in enumerate(reading.words):
            if not rarity.holders[number]:
                shares.append(Explanation(0.0, f"{word!r}: in no item"))
                continue
            share = self._scored(encoder.row_of(reading, number), item)
            own = rarity.documents[number] != self.statistics.documents
            items = f"{self._language_of(reading)} items" if own else "items"
            facts = f"in {rarity.holders[number]} of {rarity.documents[number]} {items}, idf {rarity.idf[number]:.4f}"
            shares.append(Explanation(share, f"{word!r}: {facts}{_times(reading.times[number])}"))
        return shares

    def _language_of(self, reading: Reading) -> str | None:
        place = reading.languages[0]
        return self.bag.analyzer.languages[place] if place >= 0 else None

    def _scored(self, row: SparseRows, item: int) -> float:
        one = Candidates.matches([np.array([item], np.int32)])
        return float(self.index.scores(row, one).scores[0])

    def _share(self, word: str, count: float, item: int) -> Explanation:
        term = self.bag.terms.find(word)
        if term < 0:
            return Explanation(0.0, f"{word!r}: in no item")
        row = SparseRows(np.array([0, 1]), np.array([term], np.int32), np.array([count], np.float32), self.bag.dim)
        share = self._scored(row, item)
        counts = self.statistics
        idf = float(self.weighting.idf(counts.frequencies[term : term + 1], counts.documents)[0])
        facts = f"in {counts.frequencies[term]} of {counts.documents} items, idf {idf:.4f}"
        return Explanation(share, f"{word!r}: {facts}{_times(count)}")

    def _write(self, writer: ArtifactWriter) -> None:
        how = self.weighting
        writer.parameters(variant=how.variant, k1=how.k1, b=how.b, delta=how.delta)
        writer.catalog("items", self.items)
        writer.child("statistics", self.statistics)
        writer.child("index", self.index)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        index = reader.child("index", InvertedIndex)
        items, statistics = reader.catalog("items"), reader.child("statistics", Statistics)
        numbers = (reader.parameter(name, float) for name in ("k1", "b", "delta"))
        return cls(items, statistics, index, Weighting(reader.parameter("variant", str), *numbers))


@builds("bm25", data="items")
def bm25(
    items: Dataset | Mapping[str, str] | Iterable[Any],
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
    encoder: BagOfWords | MixedWords = statistics.bag
    if statistics.languages is None:
        norms = weighting.norms(lengths, statistics.mean_length)
        idf = weighting.idf(statistics.frequencies, statistics.documents)
    else:
        norms = weighting.norms(lengths, statistics.languages.means[places])
        encoder, rows = MixedWords(statistics, weighting), statistics.over_lists(rows, places)
        idf = encoder.list_idf
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
