"""Query texts as words over a live index, with the weights that BM25 over the live texts gives them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

import numpy as np

from vizsla import _native
from vizsla.engine.word_segments import SegmentLists, list_name
from vizsla.methods.bm25_mixed import OWN_LANGUAGE, PRIOR_ITEMS, MixedQueryReader, QueryWords, word_idf
from vizsla.methods.bm25_statistics import Weighting
from vizsla.text.analyzers import ROOT_WEIGHT, Analyzer
from vizsla.typing import Float64Array, Int64Array

MAX_CACHED_WORDS = 65_536
"""How many words a reader remembers with what they stand for."""
Ways = tuple[tuple[str, float], ...]
"""The terms that a word of a query stands for, each once, and how much each counts."""


class WordReader:
    """Reads queries with a settled analyzer of one language at most, as `BagOfWords.queries` does.

    Parameters
    ----------
    analyzer : Analyzer
        How texts become words.

    Examples
    --------
    >>> from vizsla.text.analyzers import AnyLanguage
    >>> WordReader(AnyLanguage("english")).counts("national nations")
    {'national': 1.0, 'nation': 1.5}
    """

    def __init__(self, analyzer: Analyzer):
        self.analyzer = analyzer
        self._ways: dict[str, Ways] = {}

    def counts(self, text: str) -> dict[str, float]:
        """Return how much each term of a query counts."""
        tokens: list[str] = _native.tokens(text, *self.analyzer.rule)
        known = self._ways
        if missing := [token for token in tokens if token not in known]:
            known = {token: known[token] for token in tokens if token in known} | self._read(missing)
        counts: dict[str, float] = {}
        for token in tokens:
            for term, share in known[token]:
                counts[term] = counts.get(term, 0.0) + share
        return counts

    def _read(self, tokens: list[str]) -> dict[str, Ways]:
        """Return what words stand for, and remember it."""
        analyzer = self.analyzer
        kept = [token for token in dict.fromkeys(tokens) if token not in analyzer.dropped]
        ways = analyzer.folded(kept) if analyzer.languages else [list(kept)]
        new: dict[str, Ways] = dict.fromkeys(tokens, ())
        for word, *terms in zip(kept, *ways, strict=True):
            pairs = enumerate(terms)
            new[word] = tuple(
                (term, ROOT_WEIGHT if place else 1.0) for place, term in pairs if term and term not in terms[:place]
            )
        if len(self._ways) + len(new) > MAX_CACHED_WORDS:
            self._ways = {}  # others may be reading the one that was
        self._ways.update(new)
        return new


class LiveCounts(NamedTuple):
    """What a formula needs to know of the live items: how many there are in each language, and how long they are."""

    documents: Int64Array
    length: Float64Array

    @property
    def everything(self) -> int:
        """The number of items."""
        return int(self.documents.sum())

    @property
    def means(self) -> Float64Array:
        """The mean length in each language, by the arithmetic of `Statistics`."""
        return np.asarray(self.length / np.maximum(self.documents, 1), np.float64)


class AskedWord(NamedTuple):
    """What a word asks for in queries of one language: lists by name and language, weights, and how rare it is."""

    lists: tuple[tuple[str, int], ...]
    weights: tuple[float, ...]
    floor: float
    holders: int
    documents: int
    idf: float


class TermFacts(NamedTuple):
    """A term of a catalog in several languages: how many items of each hold it, and where one is named first."""

    holders: list[int]
    order: int


class LiveMixedWords:
    """What the words of queries ask for in a live catalog in several languages, as `MixedWords` has it.

    Parameters
    ----------
    reader : MixedQueryReader
        The encoder of queries.
    weighting : Weighting
        The variant of BM25.
    counts : LiveCounts
        Of the live items.
    lists : SegmentLists
        The segments.
    """

    def __init__(self, reader: MixedQueryReader, weighting: Weighting, counts: LiveCounts, lists: SegmentLists):
        self.reader, self.weighting, self.counts, self.lists = reader, weighting, counts, lists
        self.facts: dict[str, TermFacts] = {}
        self._words: dict[tuple[str, int], AskedWord] = {}

    def read(self, text: str) -> QueryWords:
        """Return the language of a query, and the words that it asks for."""
        return self.reader.read(text)

    def known(self, words: Iterable[str], language: int) -> list[AskedWord]:
        """Return what words ask for in a query of this language, -1 for none that is clear."""
        words = list(words)
        missing = [word for word in words if (word, language) not in self._words]
        found = {word: self._words[word, language] for word in words if word not in missing}
        if missing:
            ways = list(zip(*self.reader.analyzer.folded(missing), strict=True))
            self._find({term for terms in ways for term in terms if term is not None})
            new = {(word, language): self._asked(terms, language) for word, terms in zip(missing, ways, strict=True)}
            self._words = {**dict(islice(self._words.items(), MAX_CACHED_WORDS)), **new}
            found |= {word: new[word, language] for word in missing}
        return [found[word] for word in words]

    def holders(self, term: str) -> int:
        """Return how many items hold a term, in any language."""
        self._find([term])
        return self._total(term)

    def _find(self, terms: Iterable[str]) -> None:
        """Look up terms in all languages."""
        several = len(self.counts.documents)
        new = [term for term in terms if term not in self.facts]
        names = [list_name(term, language) for term in new for language in range(several + 1)]
        _, holders, orders = self.lists.find(names)
        table = holders.reshape(-1, several + 1)[:, :several].tolist()
        first = orders.reshape(-1, several + 1).min(axis=1).tolist()
        self.facts.update(zip(new, map(TermFacts, table, first), strict=True))

    def _asked(self, ways: tuple[str | None, ...], language: int) -> AskedWord:
        """Return what a word asks for, from its terms in each language and its root at the end, None for none."""
        several = len(self.counts.documents)
        stems = [term for term in dict.fromkeys(ways[:several]) if term is not None]
        own = ways[language] if language >= 0 else None
        union = sum(self._total(term) for term in stems)
        holders, documents, idf = self._rarity(union, own, language)
        weighed = [(term, idf) for term in stems]
        floor = idf if stems else 0.0
        root = ways[-1] if len(ways) > several else None
        if root is not None and root not in ways[:-1]:
            rarity = self._rarity(self._total(root), root if language >= 0 else None, language)
            weighed.append((root, ROOT_WEIGHT * rarity[-1]))
            floor += ROOT_WEIGHT * rarity[-1]
        lists: list[tuple[str, int]] = []
        weights: list[float] = []
        for term, weight in weighed:
            for place, count in enumerate(self.facts[term].holders):
                if count and weight:
                    lists.append((term, place))
                    weights.append(weight * OWN_LANGUAGE if place == language else weight)
        return AskedWord(tuple(lists), tuple(weights), floor, holders, documents, idf)

    def _total(self, term: str) -> int:
        return sum(self.facts[term].holders)

    def _rarity(self, union: int, own: str | None, language: int) -> tuple[int, int, float]:
        """Return holders, items and idf of a word: in the query's language if items there hold it, else in all."""
        everything = self.counts.everything
        union = min(union, everything)
        if own is not None and (holders := self.facts[own].holders[language]):
            documents, prior = int(self.counts.documents[language]), PRIOR_ITEMS * union / everything
            return holders, documents, word_idf(self.weighting, holders + prior, documents + PRIOR_ITEMS)
        return union, everything, word_idf(self.weighting, union, everything)
