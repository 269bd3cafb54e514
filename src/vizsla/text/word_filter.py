"""Which items hold a word, a phrase or the beginning of a word: lists over the texts that a catalog keeps."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakKeyDictionary

import numpy as np

from vizsla import _native
from vizsla._internal.forking import ForkLock
from vizsla._internal.lazy import cached_property
from vizsla.core.catalog import details_of
from vizsla.core.strings import Strings
from vizsla.data.metadata import ItemMetadata
from vizsla.errors import InputError
from vizsla.text.analyzers import MAX_ITEMS_SAMPLED, AnyLanguage, strings_of, surface_of
from vizsla.text.fields import TEXT, TITLE, plain_text
from vizsla.text.spelling import FuzzyDictionary
from vizsla.text.streams import batches, call_with
from vizsla.text.web_syntax import PHRASE, PREFIX, Clause, WebQuery
from vizsla.typing import BoolArray, Int32Array, Int64Array

if TYPE_CHECKING:
    from vizsla.data.columns import Column

MAX_COMPLETIONS = 16
"""So many words that begin with a prefix, the most frequent ones, are searched for in its place."""

SPARSE = 16
"""Lists that hold less than one in this number of items are joined by sorting."""

NONE = np.zeros(0, np.int32)

_KNOWN: WeakKeyDictionary[ItemMetadata, CatalogWords] = WeakKeyDictionary()
_LOCK = ForkLock()


class WordLists:
    """The texts that hold each word, and the words of each text in order, as they are written but for case.

    Parameters
    ----------
    texts : sequence of str
        They are read once.
    languages : tuple of str, optional
        The languages whose forms of a word are one; those of the texts unless given.

    Examples
    --------
    >>> lists = WordLists(["fig trees", "a tree of figs"])
    >>> lists.holding("tree").tolist(), lists.with_phrase("fig trees").tolist(), lists.completions("tr")
    ([0, 1], [0], ['trees', 'tree'])
    """

    def __init__(self, texts: Sequence[str], *, languages: tuple[str, ...] | None = None):
        reader = AnyLanguage()
        stream, sample = _native.WordStream(*reader.rule), _native.BagBuilder(*reader.rule, [])
        asked, at = min(len(texts), MAX_ITEMS_SAMPLED) if languages is None else 0, 0
        sampled = np.arange(asked) * len(texts) // max(1, asked)
        for batch in batches(iter(texts)):
            call_with(stream.add, batch)
            low, high = np.searchsorted(sampled, (at, at + len(batch))).tolist()
            call_with(sample.add, [batch[number - at] for number in sampled[low:high].tolist()])
            at += len(batch)
        self.words = strings_of(*stream.forms())
        if languages is None:
            languages = reader.settled_by(sample, surface_of(sample))[0].languages
        # Every stop word can be required, so none is dropped here.
        self.analyzer = AnyLanguage(languages, drop=False, roots=False)
        self._terms, self._table = self.analyzer.terms_of(self.words)
        self._starts, self._stream = stream.take()
        self._offsets: Int64Array
        self._items: Int32Array
        self._offsets, self._items = _native.word_lists(self._starts, self._stream, len(self.words))

    def __len__(self) -> int:
        return len(self._starts) - 1

    @property
    def nbytes(self) -> int:
        """Bytes of words and lists."""
        arrays = (self.words, self._offsets, self._items, self._starts, self._stream, self._table)
        return sum(int(each.nbytes) for each in arrays)

    def matching(self, clause: Clause) -> Int32Array:
        """Return the texts that hold what a clause names, ascending."""
        if clause.kind == PHRASE:
            return self.with_phrase(clause.text)
        return self.with_prefix(clause.text) if clause.kind == PREFIX else self.holding(clause.text)

    def holding(self, text: str) -> Int32Array:
        """Return the texts that hold any form of every word of a text."""
        return self._common([self._union(self._forms(token)) for token in set(self._tokens(text))])

    def with_prefix(self, prefix: str) -> Int32Array:
        """Return the texts that hold a word that begins so."""
        return self._union(self._beginning(prefix))

    def with_phrase(self, text: str) -> Int32Array:
        """Return the texts that hold these words one after another, as they are written but for case."""
        tokens = self._tokens(text)
        forms = self.words.find_all(tokens).astype(np.int32)
        if (forms < 0).any():
            return NONE
        found = self._common([self._union(form) for form in np.unique(forms)[:, None]])
        if len(tokens) < 2:
            return found
        return np.asarray(_native.with_phrase(self._starts, self._stream, found, forms), np.int32)

    def completions(self, prefix: str) -> list[str]:
        """Return the words that begin so and are in most texts."""
        return list(self.completed(prefix, MAX_COMPLETIONS))

    def completed(self, prefix: str, most: int, sizes: Int64Array | None = None) -> dict[str, int]:
        """Return as many words that begin so, with how many texts hold each; of texts that count more than one each."""
        forms = self._beginning(prefix)
        held = np.diff(self._offsets)[forms]
        if sizes is not None:
            sums = np.append(0, np.cumsum(sizes[ranges(self._items, self._offsets, forms)]))
            ends = np.cumsum(held)
            held = sums[ends] - sums[ends - held]
        order = np.lexsort((forms, -held))[:most]
        return dict(zip(self.words.take(forms[order].astype(np.int32)), held[order].tolist(), strict=True))

    @cached_property
    def spelling(self) -> FuzzyDictionary:
        """All words, with what finds those near another."""
        return FuzzyDictionary(self.words, np.diff(self._offsets))

    def written(self, word: str) -> Int32Array:
        """Return the texts that hold one of the words, in this form."""
        return self._union(self.words.find_all([word]).astype(np.int64))

    def _tokens(self, text: str) -> list[str]:
        tokens: list[str] = _native.tokens(text, *self.analyzer.rule)
        return tokens

    def _beginning(self, prefix: str) -> Int64Array:
        start = "".join(self._tokens(prefix)) or prefix
        words, forms = self._sorted
        return np.sort(forms[bisect_left(words, start) : bisect_left(words, start + chr(0x10FFFF))])

    @cached_property
    def _sorted(self) -> tuple[list[str], Int64Array]:
        """All words in order, and their numbers."""
        pairs = sorted(zip(self.words, range(len(self.words)), strict=True))
        return [word for word, _ in pairs], np.array([form for _, form in pairs], np.int64)

    @cached_property
    def _by_stem(self) -> list[tuple[Int32Array, Int64Array]]:
        """For each language the stems of all forms in order, and the forms."""
        orders = [np.argsort(stems, kind="stable") for stems in self._table.T]
        return [(stems[order], order) for stems, order in zip(self._table.T, orders, strict=True)]

    def _forms(self, token: str) -> Int64Array:
        """Return the forms of a word: those that share its stem in one of the languages."""
        own = self.words.find_all([token]).astype(np.int64)
        found = [own[own >= 0]]
        stems = [self._terms.find(way[0]) if way[0] else -1 for way in self.analyzer.folded([token])]
        for stem, (column, forms) in zip(stems, self._by_stem, strict=False):
            if stem >= 0:
                found.append(forms[np.searchsorted(column, stem) : np.searchsorted(column, stem, side="right")])
        return np.unique(np.concatenate(found))

    def _union(self, forms: Int64Array | Int32Array) -> Int32Array:
        """Return the texts that hold any of these forms, in order."""
        if len(forms) == 1:
            return self._items[self._offsets[forms[0]] : self._offsets[forms[0] + 1]]
        return distinct(ranges(self._items, self._offsets, forms), len(self))

    def _common(self, lists: list[Int32Array]) -> Int32Array:
        return common(lists, len(self))


def ranges(values: Int32Array, offsets: Int64Array, numbers: Int64Array | Int32Array) -> Int32Array:
    """Return some lists, one after another.

    Examples
    --------
    >>> ranges(np.array([5, 6, 7], np.int32), np.array([0, 1, 3]), np.array([1, 0])).tolist()
    [6, 7, 5]
    """
    starts, sizes = offsets[numbers], offsets[numbers + 1] - offsets[numbers]
    ends = np.cumsum(sizes)
    places = np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - (ends - sizes), sizes)
    found: Int32Array = values[places]
    return found


def distinct(numbers: Int32Array, count: int) -> Int32Array:
    """Return numbers below `count` in order, each once."""
    if len(numbers) * SPARSE < count:
        return np.unique(numbers)
    flags = np.zeros(count, np.bool_)
    flags[numbers] = True
    return np.flatnonzero(flags).astype(np.int32)


def common(lists: list[Int32Array], count: int) -> Int32Array:
    """Return what is in all lists; every number below `count` where there is none. The shortest one is looked up."""
    telling = [items for items in lists if len(items) < count]  # the others hold everything
    if not telling:
        return np.arange(count, dtype=np.int32)
    found, *others = sorted(telling, key=len)
    for items in others:
        if not len(found):
            break
        places = np.minimum(np.searchsorted(items, found), len(items) - 1)
        found = found[items[places] == found]
    return found


class Holders(Protocol):
    """The items that hold what a clause names."""

    def matching(self, clause: Clause) -> Int32Array:
        """Return the items, ascending."""

    def completed(self, prefix: str, most: int) -> dict[str, int]:
        """Return as many words that begin so, those of most items first, with how many hold each."""


class ValueLists:
    """The items whose value of a field holds a word: each value is read once, however many items have it.

    Parameters
    ----------
    column : Column
        The values of a field.
    """

    def __init__(self, column: Column):
        values = [column.value(code) for code in range(column.known)]
        self._lists = WordLists([plain_text(value) for value in (*values, *column.odd)])
        order = np.argsort(column.codes, kind="stable").astype(np.int32)
        self._starts = np.searchsorted(column.codes[order], np.arange(len(self._lists) + 1))
        self._items, self._count = order, len(order)

    def matching(self, clause: Clause) -> Int32Array:
        """Return the items that hold what a clause names, ascending."""
        return np.sort(ranges(self._items, self._starts, self._lists.matching(clause)))

    def completed(self, prefix: str, most: int) -> dict[str, int]:
        """Return as many words that begin so, with how many items hold each."""
        return self._lists.completed(prefix, most, np.diff(self._starts))


class CatalogWords:
    """The words of a catalog's texts and of its fields; lists are made when they are first needed.

    Parameters
    ----------
    details : ItemMetadata
        Metadata and texts.
    """

    def __init__(self, details: ItemMetadata):
        # Not the details themselves: they are what this is filed under, and may go when nothing else needs them.
        self._rows, self._columns, self._count = details.row_words, details.columns, details.count
        self._texts: Any = stored_texts(details) if self._rows is None else None
        self._lists: dict[tuple[str, bool], Holders] = {}

    @classmethod
    def of(cls, items: Strings) -> CatalogWords:
        """Return the words of a catalog; one that keeps no texts raises."""
        details = details_of(items)
        if details is None or not keeps_texts(items):
            raise InputError(
                'syntax="web" must know the texts of items, to require, exclude or find phrases. Got items without '
                'texts: build with keep_texts=True (on the command line --keep-texts), or ask with syntax="plain".'
            )
        with _LOCK:
            known = _KNOWN.get(details)
        if known is None:
            known = cls(details)
            with _LOCK:
                _KNOWN[details] = known
        return known

    def lists(self, field: str | None) -> Holders:
        """Return the lists of a field, or of the whole texts."""
        column = "" if field is None else _column_of(field, self._columns)
        key = column or (TEXT if field is None else field.casefold()), bool(column)
        if key not in self._lists:
            self._lists[key] = self._made(*key)
        return self._lists[key]

    def _made(self, name: str, is_column: bool) -> Holders:
        if is_column:
            return ValueLists(self._columns[name])
        return WordLists(self._texts) if self._rows is None else self._rows(name)

    def mask(self, query: WebQuery) -> BoolArray:
        """Return which items hold all that a query requires, and nothing that it excludes."""
        lists: list[Int32Array] = []
        for clause in filter(_says_something, query.required):
            lists.append(self.matching(clause))
            if not len(lists[-1]):
                break
        mask = np.zeros(self._count, np.bool_) if lists else np.ones(self._count, np.bool_)
        if lists:
            mask[common(lists, self._count)] = True
        for clause in filter(_says_something, query.excluded):
            mask[self.matching(clause)] = False
        return mask

    def matching(self, clause: Clause) -> Int32Array:
        """Return the items that hold what a clause names, ascending."""
        return self.lists(clause.field).matching(clause)

    def words(self, query: WebQuery) -> str:
        """Return what is searched for: the words, and those that complete prefixes."""
        prefixes = [clause for clause in query.required if clause.kind == PREFIX]
        more = [word for each in prefixes for word in self.lists(each.field).completed(each.text, MAX_COMPLETIONS)]
        return " ".join([*filter(None, [query.words]), *more])


def _says_something(clause: Clause) -> bool:
    """Return whether a clause has words at all: signs alone neither require nor exclude anything."""
    return bool(_native.tokens(clause.text, *AnyLanguage().rule))


def keeps_texts(items: Strings) -> bool:
    """Return whether queries may require and exclude words: whether the catalog keeps its texts."""
    details = details_of(items)
    return details is not None and stored_texts(details) is not None


def is_field(items: Strings, name: str) -> bool:
    """Return whether a query may name this field of a catalog."""
    details = details_of(items)
    if details is None:
        return False
    titled = TITLE in details.fields and name.casefold() == TITLE
    return name == TEXT or titled or bool(_column_of(name, details.columns))


def _column_of(name: str, columns: Any) -> str:
    if name in columns:
        return name
    return next((column for column in columns if column.casefold() == name.casefold()), "")


class _FetchedTexts:
    """Texts that are read one by one from elsewhere, such as the catalog of an engine."""

    def __init__(self, details: ItemMetadata):
        self._text, self._count = details.text, details.count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[str]:
        return map(self.__getitem__, range(self._count))

    def __getitem__(self, number: int) -> str:
        return self._text(number) or ""


def stored_texts(details: ItemMetadata) -> Any:
    """Return the texts of a catalog by number; None where none are kept."""
    if details.texts is not None:
        return details.texts
    return _FetchedTexts(details) if TEXT in details.fields and TEXT not in details.columns else None
