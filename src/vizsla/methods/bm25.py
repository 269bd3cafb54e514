"""BM25: words that items share with the query, rare ones first, long items discounted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla.candidates import Candidates
from vizsla.checked import checked
from vizsla.errors import InputError
from vizsla.explanation import Explanation
from vizsla.filter import Filter
from vizsla.indexes.inverted import InvertedIndex
from vizsla.methods.bm25_mixed import OWN_LANGUAGE, MixedWords, Reading
from vizsla.methods.bm25_statistics import Statistics
from vizsla.methods.bm25_variants import VARIANTS as VARIANTS
from vizsla.methods.bm25_variants import Floats, Weighting
from vizsla.movable import Movable
from vizsla.progress import progress
from vizsla.queries import Queries
from vizsla.recipe import builds
from vizsla.sparse_rows import SparseRows
from vizsla.strings import Strings
from vizsla.text.analyser import Analyser
from vizsla.text.any_language import AnyLanguage
from vizsla.text.bag import BagOfWords
from vizsla.text.catalogue import TextStream

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter
    from vizsla.dataset import Dataset


class Bm25(Movable):
    """Exact BM25 search over a catalogue of texts. Use `bm25` or `Bm25.build` to make one.

    Parameters
    ----------
    items : Strings
        Item ids.
    statistics : Statistics
        The vocabulary and its counts over the whole catalogue, of which these items may be a shard.
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

    @checked
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
        """The number of items of the whole catalogue that hold each term."""
        return self.statistics.frequencies

    @classmethod
    @checked
    def build(
        cls,
        items: Dataset | Mapping[str, str] | Iterable[Any],
        *,
        ids: Iterable[str] | None = None,
        analyser: Analyser | None = None,
        variant: str = "lucene",
        k1: float = 1.5,
        b: float = 0.75,
        delta: float = 0.5,
        statistics: Statistics | None = None,
    ) -> Self:
        """Read a catalogue once and index it; see `bm25` for the parameters."""
        weighting = Weighting(variant, k1, b, delta)
        analyser = analyser or (AnyLanguage() if statistics is None else statistics.analyser)
        stream = TextStream(items, ids)
        bag, rows, places = BagOfWords.fit_items(progress(stream, what="reading"), analyser)
        if statistics is None:
            statistics = Statistics.of_rows(bag, rows, places)
        else:
            rows = statistics.over(bag, rows)
        return cls(stream.ids, statistics, _invert(rows, places, statistics, weighting), weighting)

    @property
    def nbytes(self) -> int:
        """Bytes of postings, vocabulary and counts: all that searching, scoring and explaining need."""
        return int(super().nbytes + self.frequencies.nbytes)

    def __repr__(self) -> str:
        analyser = self.bag.analyser
        languages = analyser.languages if isinstance(analyser, AnyLanguage) else ()
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
        words = self.bag.analyser.query_counts(text)
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
        return self.bag.analyser.languages[place] if place >= 0 else None

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
        writer.catalogue("items", self.items)
        writer.child("statistics", self.statistics)
        writer.child("index", self.index)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        index = reader.child("index", InvertedIndex)
        items, statistics = reader.catalogue("items"), reader.child("statistics", Statistics)
        numbers = (reader.parameter(name, float) for name in ("k1", "b", "delta"))
        return cls(items, statistics, index, Weighting(reader.parameter("variant", str), *numbers))


@builds("bm25", data="items")
def bm25(
    items: Dataset | Mapping[str, str] | Iterable[Any],
    *,
    ids: Iterable[str] | None = None,
    analyser: Analyser | None = None,
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
    analyser : Analyser, optional
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
        Counts of a whole catalogue, when `items` are a shard of it: the scores are then those of the whole. They must
        have counted these items; a word that they lack raises.

    Examples
    --------
    >>> bm25(["a fig tree", "an apple tree"])("fig").ids
    [['0']]
    """
    return Bm25.build(
        items, ids=ids, analyser=analyser, variant=variant, k1=k1, b=b, delta=delta, statistics=statistics
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


def _absent(encoder: BagOfWords | MixedWords, weighting: Weighting, idf: NDArray[np.float64]) -> Floats | None:
    """Return what each column gives an item without it; with several languages, the one behind the lists does."""
    if isinstance(encoder, BagOfWords):
        return weighting.absent(idf)
    floor = weighting.absent(np.ones(1))
    return None if floor is None else np.append(np.zeros(len(idf) - 1), floor)
