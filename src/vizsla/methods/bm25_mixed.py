"""MixedWords: how queries are read in a catalog of several languages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla.cached_property import cached_property
from vizsla.encoder import Encoder
from vizsla.errors import InputError
from vizsla.methods.bm25_languages import Counts, LanguageCounts
from vizsla.methods.bm25_variants import Floats, Weighting
from vizsla.sparse_rows import SparseRows
from vizsla.text.any_language import HALF
from vizsla.text.bag import BagOfWords
from vizsla.text.languages import clear_language, listed
from vizsla.text.texts import call_with
from vizsla.text.texts import listed as listed_texts

if TYPE_CHECKING:
    from vizsla.methods.bm25_statistics import Statistics

OWN_LANGUAGE = 1.5
"""How much more an item counts that is in the query's language, where that is clear."""


@dataclass(frozen=True)
class Rarity:
    """How many items hold each of some words, of how many, and the idf that follows."""

    holders: Counts
    documents: Counts
    idf: Floats


@dataclass(frozen=True)
class Reading:
    """The words of some queries, and the entries of their rows before they are added up.

    `rows` has the query of each word, and `owners` the word of each entry. `languages` has the language of each query
    as its place among the analyser's, -1 where it is not clear.
    """

    languages: list[int]
    words: list[str]
    rows: Counts
    times: Floats
    rarity: Rarity
    owners: Counts
    columns: Counts
    weights: Floats


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
        analyser = self.bag.analyser
        self._stop_words = [listed([name] if getattr(analyser, "drop", False) else []) for name in analyser.languages]

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
    def list_idf(self) -> Floats:
        """The idf of each list's term among the items of its language; 0 for the column behind the lists."""
        counts = self.counts
        return np.append(self.weighting.idf(counts.frequencies, counts.documents[counts.languages]), 0.0)

    @cached_property
    def _totals(self) -> Counts:
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
        if self.bag.analyser.rooted is not None:
            shares[-1], idf[:, -1] = HALF, self._rarity(table[:, -1], spoken, totals[:, -1]).idf
            floor += HALF * fresh[:, -1] * idf[:, -1]
        owners, ways = np.nonzero(fresh)
        weighed = self._weighed(owners, table[owners, ways], times[owners] * shares[ways], idf[owners, ways], spoken)
        return Reading(languages, words, rows, times, rarity, *self._with_floor(weighed, times * floor))

    def _words(self, texts: list[str]) -> tuple[list[int], list[str], Counts, Floats]:
        """Return the language of each query, and the words to look for: of which query, and how often it has them."""
        analyser = self.bag.analyser
        content = frozenset(getattr(analyser, "content", ()))
        languages: list[int] = []
        words: list[str] = []
        rows: list[int] = []
        times: list[int] = []
        for row, text in enumerate(texts):
            tokens = _tokens(text, *analyser.rule)
            # A word that is grammar in one language and worth a search in another (`war`) says nothing.
            language = clear_language([token for token in tokens if token not in content], analyser.languages)
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

    def _rarity(self, terms: NDArray[np.int32], spoken: Counts, totals: Counts) -> Rarity:
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
        self, owners: Counts, terms: NDArray[np.int32], factors: Floats, idf: Floats, spoken: Counts
    ) -> tuple[Counts, Counts, Floats]:
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

    def _with_floor(self, weighed: tuple[Counts, Counts, Floats], floor: Floats) -> tuple[Counts, Counts, Floats]:
        """Add the column behind the lists, where the variant has a floor."""
        if self.weighting.absent(np.ones(1)) is None:
            return weighed
        owners, columns, weights = weighed
        words = np.flatnonzero(floor)
        behind = np.full(len(words), len(self.counts.keys), np.int64)
        return np.append(owners, words), np.append(columns, behind), np.append(weights, floor[words])

    def _summed(self, rows: Counts, columns: Counts, weights: Floats, count: int) -> SparseRows:
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
