"""Typo tolerance: a lexical retriever whose queries also find the words that misspelled ones may stand for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from vizsla import _native
from vizsla.base.encoder import Encoder
from vizsla.base.index_retriever import IndexRetriever
from vizsla.base.queries import Queries
from vizsla.base.recipe import builds
from vizsla.core.candidates import Candidates
from vizsla.core.explanation import Explanation
from vizsla.core.sparse import SparseRows
from vizsla.data.filter import Filter
from vizsla.errors import FormatError, InputError
from vizsla.methods.bm25 import Bm25
from vizsla.methods.bm25_mixed import MixedWords, QueryWords
from vizsla.methods.bm25_statistics import Statistics
from vizsla.text.bag_of_words import BagOfWords
from vizsla.text.highlights import Highlighter
from vizsla.text.languages import listed as stop_words_of
from vizsla.text.spelling import Correction, FuzzyDictionary, Lexicon, corrections, suggestion
from vizsla.text.streams import listed
from vizsla.typing import Int64Array

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter
    from vizsla.text.analyzers import Analyzer

ARRAYS = ("letters", "starts", "numbers", "signatures")


def query_words(text: str, analyzer: Analyzer) -> list[str]:
    """Return the words of a query that may have typos, in their order: those that the analyzer takes whole.

    Examples
    --------
    >>> from vizsla.text.analyzers import AnyLanguage
    >>> query_words("Firefx 东京塔观景台", AnyLanguage("english"))
    ['firefx']
    """
    lower, *_ = analyzer.rule
    words: list[str] = _native.tokens(text, lower, 0, 0, False)
    whole = set(_native.tokens(text, *analyzer.rule))
    return [word for word in words if word in whole]


def stop_words(analyzer: Analyzer) -> frozenset[str]:
    """Return the stop words of the analyzer's languages, whether it drops them or not, and any others that it drops.

    Examples
    --------
    >>> from vizsla.text.analyzers import AnyLanguage
    >>> {"so", "no"} <= stop_words(AnyLanguage("english", drop=False))
    True
    """
    return _stop_words(tuple(analyzer.languages), analyzer.dropped)


@cache
def _stop_words(languages: tuple[str, ...], dropped: frozenset[str]) -> frozenset[str]:
    return dropped | stop_words_of(languages)


class TolerantWords(Encoder):
    """Query texts as the rows of another encoder, with the words that misspelled ones may stand for added.

    Parameters
    ----------
    base : BagOfWords or MixedWords
        The encoder of queries without corrections.
    lexicon : Lexicon
        The vocabulary.
    """

    sparse = True

    def __init__(self, base: BagOfWords | MixedWords, lexicon: Lexicon):
        self.base, self.lexicon = base, lexicon
        self.words = base.words if isinstance(base, MixedWords) else base

    @property
    def dim(self) -> int:
        """That of the base."""
        return self.base.dim

    @property
    def fingerprint(self) -> str:
        """That of the base, and that of the lexicon where it is settled."""
        lexicon = f":{self.lexicon.fingerprint}" if isinstance(self.lexicon, FuzzyDictionary) else ""
        return f"typos:{self.base.fingerprint}{lexicon}"

    @property
    def nbytes(self) -> int:
        """Bytes of the base and of what finds neighbors."""
        return self.base.nbytes + int(getattr(self.lexicon, "nbytes", 0))

    def _live_parts(self) -> Iterable[Any]:
        return (self.base, self.words)

    def encoded(self, queries: Queries) -> SparseRows:
        """Encode the queries of a call; what they were corrected by is kept for the hints and the explanation."""
        rows: Any = queries.encoded(self.base)
        return self._expanded(rows, queries.texts, [self.corrections(queries, row) for row in range(len(queries))])

    def queries(self, texts: Sequence[str]) -> SparseRows:
        """Weigh the terms that query texts ask for, and those of the words that they may have meant."""
        return self.encoded(Queries(listed(texts)))

    def items(self, texts: Sequence[str]) -> Any:
        """Encode item texts as the base does: their words are never typos."""
        return self.base.items(texts)

    def highlighter(self, query: str) -> Highlighter:
        """Return what finds the words of the query and those that they may stand for."""
        words = [one.word for one in self.corrections(Queries([query]))]
        return self.base.highlighter(" ".join([query, *words]))

    def corrections(self, queries: Queries, row: int = 0) -> list[Correction]:
        """Return what the words of a query may stand for, found once per call."""
        known: list[Correction] | None = queries.memo((self, row))
        if known is None:
            analyzer = self.words.analyzer
            found = corrections(query_words(queries.texts[row], analyzer), self.lexicon, stop_words(analyzer))
            known = queries.memoize((self, row), found)
        return known

    def word_rows(self, found: list[Correction], text: str) -> SparseRows:
        """Return a row for each correction of a query, without its weight."""
        if isinstance(self.base, BagOfWords):
            return self.base.queries([one.word for one in found])
        language = self.base.read([text])[0].language
        return self.base.rows_of([QueryWords(language, {one.word: 1}) for one in found])

    def _expanded(self, rows: SparseRows, texts: list[str], found: list[list[Correction]]) -> SparseRows:
        if not any(found):
            return rows
        if len(texts) == 1:
            return self._with(rows, texts[0], found[0])
        parts = [
            self._with(rows.take(np.array([row])), text, more) if more else rows.take(np.array([row]))
            for row, (text, more) in enumerate(zip(texts, found, strict=True))
        ]
        return SparseRows.stacked(parts, self.dim)

    def _with(self, row: SparseRows, text: str, found: list[Correction]) -> SparseRows:
        """Return the row of one query with its corrections, added in double precision."""
        if isinstance(self.base, MixedWords):
            query = self.base.read([text])[0]
            times = dict(query.times)
            for one in found:
                times[one.word] = times.get(one.word, 0.0) + one.weight
            return self.base.rows_of([QueryWords(query.language, times)])
        weights = dict(zip(row.columns.tolist(), row.values.tolist(), strict=True))
        added = self.word_rows(found, text)
        values, columns, offsets = added.values.tolist(), added.columns.tolist(), added.offsets.tolist()
        for place, one in enumerate(found):
            for at in range(offsets[place], offsets[place + 1]):
                weights[columns[at]] = weights.get(columns[at], 0.0) + one.weight * values[at]
        ordered = sorted(weights)
        return SparseRows(
            np.array([0, len(ordered)]),
            np.array(ordered, np.int32),
            np.array([weights[column] for column in ordered], np.float32),
            self.dim,
        )


class TypoTolerant(IndexRetriever):
    """A lexical retriever that forgives typos. Use `typo_tolerant` to make one.

    Parameters
    ----------
    base : Bm25
        The BM25 retriever.
    dictionary : FuzzyDictionary, optional
        Over the words of the base, as they are written; built unless given.
    """

    kind = "typo-tolerant"
    encoder: TolerantWords

    def __init__(self, base: Any, dictionary: FuzzyDictionary | None = None):
        words = getattr(base, "words", None)
        lexical = isinstance(base, IndexRetriever) and isinstance(base.encoder, BagOfWords | MixedWords)
        if not lexical or not isinstance(words, BagOfWords) or words.analyzer.vocabulary is not None:
            raise InputError(
                f"`base` must be BM25 over whole words. Got {base!r:.80}: make its lexical part typo-tolerant, and "
                "compose that."
            )
        self.base, self.scale = base, base.scale
        self.dictionary = dictionary or FuzzyDictionary(words.forms, form_counts(words, base.statistics))
        super().__init__(base.items, TolerantWords(base.encoder, self.dictionary), base.index)

    @property
    def nbytes(self) -> int:
        """Bytes of the base and of what finds neighbors."""
        return int(self.base.nbytes + self.dictionary.nbytes)

    def __repr__(self) -> str:
        return f"TypoTolerant({self.base!r})"

    def _byte_counts(self) -> dict[Any, int]:
        return {**self.base._byte_counts(), id(self): self.dictionary.nbytes}

    def _live_parts(self) -> Iterable[Any]:
        return (self.base, *self.base._live_parts())

    def _with(self, **changes: Any) -> Self:
        changes.pop("encoder", None)
        return self._kept(type(self)(self.base._with(**changes), self.dictionary))

    def _search_checked(self, queries: Queries, k: int, filter: Filter | None, threads: int) -> Candidates:
        """Search, and let the hints of a single query say which one was probably meant."""
        found = super()._search_checked(queries, k, filter, threads)
        hints = self._hints(queries) if len(queries) == 1 else ()
        return found.with_hints(hints) if hints else found

    def _hints(self, queries: Queries) -> tuple[str, ...]:
        meant = self._suggestion(queries)
        return () if meant is None else (f"Did you mean {meant!r}?",)

    def did_you_mean(self, query: str) -> str | None:
        """Return the query that was probably meant; None where all its words are known.

        Examples
        --------
        >>> from vizsla.methods.bm25 import bm25
        >>> typo_tolerant(bm25(["the firefox browser", "a red fox"])).did_you_mean("firefx browsr")
        'firefox browser'
        """
        return self._suggestion(Queries.of(query, rows=1))

    def _suggestion(self, queries: Queries) -> str | None:
        found = self.encoder.corrections(queries)
        typed = queries.typed[0]
        return suggestion(typed, found, signs=typed != queries.texts[0]) if found else None

    def _explain(self, queries: Queries, item: int, filter: Filter | None) -> Explanation:
        plain: Explanation = self.base._explain(queries, item, filter)
        found = self.encoder.corrections(queries)
        if not found:
            return plain
        one, shares = self._one(item), []
        for correction in found:
            row = self.encoder.word_rows([correction], queries.texts[0])
            row = SparseRows(row.offsets, row.columns, (row.values * correction.weight).astype(np.float32), row.width)
            share = float(self.index.scores(row, one).scores[0])
            shares.append(Explanation(share, described(correction)))
        return Explanation(self._score_one(queries, item), f"{plain.reason}; misspelled words", [*plain.parts, *shares])

    def _write(self, writer: ArtifactWriter) -> None:
        writer.child("base", self.base)
        for name, array in zip(ARRAYS, self.dictionary.arrays, strict=True):
            writer.array(name, array)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        base: Any = reader.child("base", IndexRetriever)
        arrays = tuple(reader.array(name, np.uint32) for name in ARRAYS)
        try:
            counts = form_counts(base.words, base.statistics)
            return cls(base, FuzzyDictionary(base.words.forms, counts, arrays))
        except (AttributeError, InputError, ValueError) as error:
            raise FormatError(f"{reader.path}: {error}") from error


@builds("typo_tolerant", data=None)
def typo_tolerant(base: Any) -> TypoTolerant:
    """Return a BM25 retriever that also finds what misspelled words stand for.

    Words of the query that no item holds match their neighbors in the vocabulary: words one edit away, or two for words
    of 8 letters and more. An edit inserts, deletes or replaces a letter, or swaps two. Neighbors count less the
    farther and the rarer they are, and less than the words that were typed, so that exact matches come first. Two words
    that the vocabulary has as one are found (``fire fox``), and a word that it has as two. The vocabulary is that of
    the words as they are written, before stemming.

    Parameters
    ----------
    base : Bm25
        BM25 over words, with or without fields. Its arrays are shared; about 9 bytes per word are added.

    Examples
    --------
    >>> from vizsla.methods.bm25 import bm25
    >>> search = typo_tolerant(bm25({"web": "the firefox browser", "zoo": "a red fox"}))
    >>> found = search("firefx")
    >>> found.ids, found.hints
    ([['web']], ("Did you mean 'firefox'?",))
    >>> print(search.explain("firefx", "web"))
    0.2495  bm25 lucene, the sum over the query's words; misspelled words
    ├─ 0.0000  'firefx': in no item
    └─ 0.2495  'firefox' for 'firefx': 1 edit, counts 0.9
    """
    return TypoTolerant(base)


def forgiving(retriever: Any) -> Any:
    """Return BM25 over whole words with typos forgiven, and any other retriever as it is."""
    words = getattr(retriever, "words", None)
    whole = isinstance(words, BagOfWords) and words.analyzer.vocabulary is None
    return typo_tolerant(retriever) if isinstance(retriever, Bm25) and whole else retriever


def described(one: Correction) -> str:
    """Say what a correction adds."""
    how = f"{one.edits} edit{'s' if one.edits > 1 else ''}" if one.edits else "joined or split"
    return f"{one.word!r} for {one.typed!r}: {how}, counts {one.weight:.3g}"


def form_counts(words: BagOfWords, statistics: Statistics) -> Int64Array:
    """Return how many items hold each word as it is written, in any of its forms; all of them for stop words."""
    frequencies = statistics.frequencies
    if words.forms is words.terms:
        return frequencies
    table = words.term_of_form.reshape(len(words.forms), -1)
    known = np.append(frequencies, 0)  # for -1
    return np.where((table < 0).all(axis=1), statistics.documents, known[table].max(axis=1, initial=0)).astype(np.int64)
