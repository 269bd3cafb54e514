"""Queries of BM25 over a catalog in several languages: each word has one idf, whichever of its stems an item holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla._internal.lazy import cached_property
from vizsla.base.encoder import Encoder
from vizsla.core.sparse import SparseRows
from vizsla.errors import InputError
from vizsla.methods.bm25_statistics import LanguageCounts, Statistics, Weighting
from vizsla.text.analyzers import ROOT_WEIGHT, Analyzer
from vizsla.text.bag_of_words import BagOfWords
from vizsla.text.highlights import Highlighter
from vizsla.text.languages import clear_language, listed
from vizsla.text.streams import listed as listed_texts

OWN_LANGUAGE = 1.5
"""How much more an item counts that is in the query's language, where that is clear."""
PRIOR_ITEMS = 10.0
"""How many items the whole catalog counts for beside those of the query's language, in the idf of a word."""
MIN_IDF = 0.1
"""What a common word's idf is taken for where a query's row is turned into an item's."""
MAX_CACHED_WORDS = 8192
"""How many words are kept with what they ask for."""


class Word(NamedTuple):
    """Columns and weights of a word in queries of one language, not yet summed.

    `idf` is that of `holders` items among `documents`.
    """

    columns: tuple[int, ...]
    weights: tuple[float, ...]
    holders: int
    documents: int
    idf: float


Words = dict[tuple[str, int], Word]
"""What words ask for, by word and the place of the query's language."""


class QueryWords(NamedTuple):
    """The words of a query and their counts.

    `language` is its language as a place among the analyzer's, -1 where it is not clear.
    """

    language: int
    times: Mapping[str, float]


class MixedQueryReader:
    """Detects the language of a query and looks up its words in a catalog of several languages.

    Parameters
    ----------
    analyzer : Analyzer
        That of the catalog, with its languages.
    """

    def __init__(self, analyzer: Analyzer):
        self.analyzer = analyzer
        self._stop_words = [listed([name] if getattr(analyzer, "drop", False) else []) for name in analyzer.languages]
        # A word that is grammar in one language and worth a search in another (`war`) says nothing.
        self._content = frozenset(getattr(analyzer, "content", ()))

    def read(self, text: str) -> QueryWords:
        """Return the language of a query and its words; stop words are dropped where the language is clear."""
        tokens = _native.tokens(text, *self.analyzer.rule)
        language = clear_language([token for token in tokens if token not in self._content], self.analyzer.languages)
        times: dict[str, int] = Counter(tokens)
        if language >= 0:
            dropped = self._stop_words[language]
            times = {word: count for word, count in times.items() if word not in dropped}
        return QueryWords(language, times)


class MixedWords(Encoder):
    """Query texts as weights of a catalog's lists, each of which holds the items of one language that hold one term.

    A word of a query stands for its stem in every language of the catalog, and has one idf, whichever of these stems an
    item holds:

    - Where the query's language is clear, and items in that language hold the word's stem in it, the idf is that of the
      stem among these items. Few items say little about how common a word is, so `PRIOR_ITEMS` items are added to them,
      of which the share holds the word that does so in the whole catalog.
    - Otherwise it is the idf of the union of the word's stems among all items. The union's frequency is the sum of the
      stems' frequencies, so an item that holds two stems of one word (`run` and `running`, in German) counts twice.

    Where the query's language is clear, its stop words are dropped, and items in it count `OWN_LANGUAGE` times.

    The whole idf is in a query's weights, since it depends on the query's language: the lists hold what BM25 gives a
    word of idf 1. The column behind the lists is held by no item: it carries what BM25's variants with a floor give to
    every item.

    Parameters
    ----------
    statistics : Statistics
        Counts of a catalog in several languages.
    weighting : Weighting
        The variant of BM25.
    words : BagOfWords, optional
        The statistics' terms, grown by words that no item holds: each of their terms gets a column at the end.
    """

    sparse = True

    def __init__(self, statistics: Statistics, weighting: Weighting, words: BagOfWords | None = None):
        if statistics.languages is None:
            raise InputError(
                "`statistics` must count several languages. Got those of one: its BagOfWords reads queries."
            )
        self.statistics, self.weighting = statistics, weighting
        self.counts: LanguageCounts = statistics.languages
        self.words = statistics.words if words is None else words
        self._reader = MixedQueryReader(self.words.analyzer)
        self._has_floor = weighting.absent(np.ones(1)) is not None
        self._words: Words = {}

    @property
    def dim(self) -> int:
        """The number of lists, one, and the number of terms that no item holds."""
        return len(self.counts.keys) + 1 + self.words.dim - self.statistics.words.dim

    @cached_property
    def fingerprint(self) -> str:
        """Changes with the counts, the formula, and the vocabulary."""
        text = repr(
            (self.statistics.fingerprint, self.weighting, self.words.fingerprint, OWN_LANGUAGE, PRIOR_ITEMS)
        ).encode()
        return f"mixed:{_native.checksum(np.frombuffer(text, np.uint8)):016x}"

    @property
    def nbytes(self) -> int:
        """Bytes of the vocabulary and of the counts by language."""
        return int(self.words.nbytes + self.counts.nbytes)

    def __repr__(self) -> str:
        return f"MixedWords({self.words!r}, {len(self.counts.keys):,} lists)"

    @property
    def rarest(self) -> float:
        """The idf of a word that one item holds; it is also that of words that no item holds."""
        return max(word_idf(self.weighting, 1, max(self.statistics.documents, 1)), MIN_IDF)

    @property
    def column_weights(self) -> NDArray[np.float32]:
        """What turns a query's weight of a list into an item's, which has no idf; 0 for the column behind the lists."""
        holders = self.statistics.frequencies[self.counts.terms]
        idf = self.weighting.idf(holders, self.statistics.documents)
        return np.append(1 / np.maximum(idf, MIN_IDF), 0.0).astype(np.float32)

    def queries(self, texts: Sequence[str]) -> SparseRows:
        """Weigh the lists that query texts ask for."""
        return self.rows_of(self.read(listed_texts(texts)))

    def rows_of(self, queries: Sequence[QueryWords]) -> SparseRows:
        """Weigh the lists that the words of queries ask for."""
        words = self._known({(word, query.language) for query in queries for word in query.times})
        return self._rows([self._weights(query.times.items(), query.language, words) for query in queries])

    def highlighter(self, query: str) -> Highlighter:
        """Return what finds words that stand for a term of the query in any of the languages."""
        return self.words.highlighter(query)

    def read(self, texts: Sequence[str]) -> list[QueryWords]:
        """Return the language of each query, and the words that it asks for."""
        found = []
        for position, text in enumerate(texts):
            if not isinstance(text, str):
                raise InputError(f"`texts` must hold str. Got {type(text).__name__} at position {position}.")
            found.append(self._reader.read(text))
        return found

    def word(self, word: str, language: int) -> Word:
        """Return what a word asks for in a query of this language, -1 for none that is clear."""
        return self._known({(word, language)})[word, language]

    def row_of(self, word: str, times: float, language: int) -> SparseRows:
        """Return the part of a query's row that one word makes."""
        return self._rows([self._weights([(word, times)], language, self._known({(word, language)}))])

    def _weights(self, times: Iterable[tuple[str, float]], language: int, words: Words) -> dict[int, float]:
        """Return the weight of each column: those of the words, added up in their order."""
        weights: dict[int, float] = {}
        for word, count in times:
            asked = words[word, language]
            for column, weight in zip(asked.columns, asked.weights, strict=True):
                weights[column] = weights.get(column, 0.0) + count * weight
        return weights

    def _rows(self, rows: list[dict[int, float]]) -> SparseRows:
        offsets, columns, values = [0], list[int](), list[float]()
        for weights in rows:
            ordered = sorted(weights)
            columns += ordered
            values += [weights[column] for column in ordered]
            offsets.append(len(columns))
        return SparseRows(
            np.array(offsets, np.int64), np.array(columns, np.int32), np.array(values, np.float32), self.dim
        )

    def _known(self, asked: set[tuple[str, int]]) -> Words:
        """Return what words ask for; those of the last queries are kept, `MAX_CACHED_WORDS` at most."""
        cache = self._words
        found = {pair: word for pair in asked if (word := cache.get(pair)) is not None}
        if len(found) < len(asked):
            missing = [pair for pair in asked if pair not in found]
            new = dict(zip(missing, self._looked_up(missing), strict=True))
            found |= new
            if len(cache) + len(new) > MAX_CACHED_WORDS:
                self._words = dict(islice(found.items(), MAX_CACHED_WORDS))
            else:
                cache.update(new)
        return found

    def _looked_up(self, pairs: list[tuple[str, int]]) -> list[Word]:
        table = self.words.readings([word for word, _ in pairs])
        keys = np.maximum(table, 0).astype(np.int64) * self.counts.count
        spans = zip(
            table.tolist(),
            np.searchsorted(self.counts.keys, keys).tolist(),
            np.searchsorted(self.counts.keys, keys + self.counts.count).tolist(),
            pairs,
            strict=True,
        )
        return [self._asked(terms, first, last, language) for terms, first, last, (_, language) in spans]

    def _asked(self, terms: list[int], first: list[int], last: list[int], language: int) -> Word:
        """Return what a word asks for: its terms in each language, a root at the end, and the span of each's lists."""
        counts, known = self.counts, self.statistics.words.dim
        stems = range(counts.count)
        ways = [terms.index(term) for term in dict.fromkeys(terms[: len(stems)]) if term >= 0]
        own = (first[language], last[language]) if language >= 0 and terms[language] >= 0 else (0, 0)
        union = sum(self._total(terms[way]) for way in ways)
        holders, documents, idf = self._rarity(union, own, language)
        weighed = [(way, idf) for way in ways]
        floor = idf if ways else 0.0
        if len(terms) > len(stems) and terms[-1] >= 0 and terms[-1] not in terms[:-1]:
            rarity = self._rarity(self._total(terms[-1]), (first[-1], last[-1]), language)
            weighed.append((len(stems), ROOT_WEIGHT * rarity[-1]))
            floor += ROOT_WEIGHT * rarity[-1]
        columns: list[int] = []
        weights: list[float] = []
        for way, weight in weighed:
            if terms[way] >= known:
                columns.append(terms[way] - known + len(counts.keys) + 1)
                weights.append(self.rarest * (ROOT_WEIGHT if way == len(stems) else 1.0))
                continue
            if not weight:  # as robertson has it for a word of most items: it finds nothing
                continue
            spoken = counts.keys[first[way] : last[way]] % counts.count
            columns += range(first[way], last[way])
            weights += [weight * OWN_LANGUAGE if place == language else weight for place in spoken.tolist()]
        if self._has_floor and floor:
            columns.append(len(counts.keys))
            weights.append(floor)
        return Word(tuple(columns), tuple(weights), holders, documents, idf)

    def _total(self, term: int) -> int:
        frequencies = self.statistics.frequencies
        return int(frequencies[term]) if term < len(frequencies) else 0

    def _rarity(self, union: int, own: tuple[int, int], language: int) -> tuple[int, int, float]:
        """Return holders, items and idf of a word: in the query's language if items there hold it, else in all."""
        counts, everything = self.counts, self.statistics.documents
        union = min(union, everything)
        for place in range(*own):
            if int(counts.keys[place]) % counts.count == language:
                holders, documents = int(counts.frequencies[place]), int(counts.documents[language])
                prior = PRIOR_ITEMS * union / everything
                return holders, documents, word_idf(self.weighting, holders + prior, documents + PRIOR_ITEMS)
        return union, everything, word_idf(self.weighting, union, everything)


@lru_cache(maxsize=MAX_CACHED_WORDS)
def word_idf(weighting: Weighting, holders: float, documents: float) -> float:
    """Return the idf of a word by the number of items that hold it and the number of all items."""
    return float(weighting.idf(np.array([holders], np.float64), documents)[0])
