"""Which items hold a word, a phrase or the beginning of a word: inverted lists over the texts that a catalog keeps."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from vizsla import _native
from vizsla._internal.forking import ForkLock
from vizsla._internal.lazy import cached_property
from vizsla.core.catalog import details_of
from vizsla.core.strings import Strings
from vizsla.data.metadata import ItemMetadata
from vizsla.errors import InputError
from vizsla.text.analyzers import AnyLanguage, surface_of
from vizsla.text.fields import TEXT, plain_text
from vizsla.text.streams import batches, call_with
from vizsla.text.web_syntax import PHRASE, PREFIX, Clause, WebQuery
from vizsla.typing import BoolArray, Int32Array, Int64Array

MAX_COMPLETIONS = 16
"""So many words that begin with a prefix, the most frequent ones, are searched for in its place."""

SPARSE = 16
"""Lists that hold less than one in so many items are joined by sorting."""

_KNOWN: WeakKeyDictionary[ItemMetadata, CatalogWords] = WeakKeyDictionary()
_LOCK = ForkLock()


class WordLists:
    """The items that hold each word of some texts, as words are written but for case.

    Parameters
    ----------
    texts : sequence of str
        One per item; read again where a phrase is verified.

    Examples
    --------
    >>> lists = WordLists(["fig trees", "a tree of figs"])
    >>> lists.holding("tree").tolist(), lists.with_phrase("fig trees").tolist(), lists.completions("tr")
    ([True, True], [True, False], ['trees', 'tree'])
    """

    def __init__(self, texts: Sequence[str]):
        self.texts, analyzer = texts, AnyLanguage()
        builder = _native.BagBuilder(*analyzer.rule, [])
        for batch in batches(texts[number] for number in range(len(texts))):
            call_with(builder.add, batch)
        self.words = surface_of(builder)
        settled = analyzer.settled_by(builder, self.words)[0]
        # Every stop word can be required, so none is dropped here.
        self.analyzer = AnyLanguage(settled.languages, drop=False, roots=False)
        self._terms, self._table = self.analyzer.terms_of(self.words)
        none = np.zeros(0, np.float64)
        offsets, columns, counts = builder.take_rows(np.zeros(0, np.int32), 1, np.zeros(0, np.int32), None)
        self._offsets, self._items, _ = _native.invert(offsets, columns, counts, len(self.words), none, none)

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def nbytes(self) -> int:
        """Bytes of words and lists."""
        return int(self.words.nbytes + self._offsets.nbytes + self._items.nbytes + self._table.nbytes)

    def holding(self, text: str) -> BoolArray:
        """Return which items hold any form of every word of a text."""
        return self._flags(self._common([self._union(self._forms(token)) for token in self._tokens(text)]))

    def with_prefix(self, prefix: str) -> BoolArray:
        """Return which items hold a word that begins so."""
        return self._flags(self._union(self._beginning(prefix)))

    def with_phrase(self, text: str) -> BoolArray:
        """Return which items hold these words one after another, as they are written but for case."""
        tokens = self._tokens(text)
        found = self._common([self._union(self.words.find_all([token])) for token in tokens])
        if len(tokens) < 2:
            return self._flags(found)
        kept = [number for number in found.tolist() if _follow(self._tokens(self.texts[number]), tokens)]
        return self._flags(np.array(kept, np.int32))

    def completions(self, prefix: str) -> list[str]:
        """Return the words that begin so and are in most items."""
        forms = self._beginning(prefix)
        order = np.lexsort((forms, -np.diff(self._offsets)[forms]))[:MAX_COMPLETIONS]
        return self.words.take(forms[order].astype(np.int32))

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

    def _forms(self, token: str) -> Int64Array:
        """Return the forms of a word: those that share its stem in one of the languages."""
        own = self.words.find_all([token]).astype(np.int64)
        stems = [self._terms.find(way[0]) if way[0] else -1 for way in self.analyzer.folded([token])]
        same = np.zeros(len(self.words), np.bool_)
        for column, stem in enumerate(stems[: self._table.shape[1]]):
            if stem >= 0:
                same |= self._table[:, column] == stem
        return np.union1d(own[own >= 0], np.flatnonzero(same))

    def _union(self, forms: Int64Array | Int32Array) -> Int32Array:
        """Return the items that hold any of these forms, in order."""
        bounds = ((self._offsets[form], self._offsets[form + 1]) for form in forms.tolist() if form >= 0)
        lists: list[Int32Array] = [self._items[start:end] for start, end in bounds]
        if len(lists) == 1:
            return lists[0]
        if sum(map(len, lists)) * SPARSE < len(self):
            return np.unique(np.concatenate([np.zeros(0, np.int32), *lists]))
        flags = np.zeros(len(self), np.bool_)
        for items in lists:
            flags[items] = True
        return np.flatnonzero(flags).astype(np.int32)

    def _common(self, lists: list[Int32Array]) -> Int32Array:
        """Return the items that are in all lists; every item where there is none. The shortest one is looked up."""
        if not lists:
            return np.arange(len(self), dtype=np.int32)
        found, *others = sorted(lists, key=len)
        for items in others:
            if not len(found):
                break
            places = np.minimum(np.searchsorted(items, found), len(items) - 1)
            found = found[items[places] == found]
        return found

    def _flags(self, items: Int32Array) -> BoolArray:
        flags = np.zeros(len(self), np.bool_)
        flags[items] = True
        return flags


def _follow(tokens: list[str], wanted: list[str]) -> bool:
    """Return whether a text has these tokens one after another."""
    size = len(wanted)
    return any(tokens[at : at + size] == wanted for at, token in enumerate(tokens) if token == wanted[0])


class CatalogWords:
    """The words of a catalog's texts and of its fields; lists are made when they are first needed.

    Parameters
    ----------
    details : ItemMetadata
        Metadata and texts.
    """

    def __init__(self, details: ItemMetadata):
        # Not the details themselves: they are what this is filed under, and may go when nothing else needs them.
        self._texts, self._columns, self._count = stored_texts(details), details.columns, details.count
        self._lists: dict[str | None, WordLists] = {}

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

    def lists(self, field: str | None) -> WordLists:
        """Return the lists of a field, or of the whole texts."""
        if field not in self._lists:
            self._lists[field] = WordLists(self._field_texts(field))
        return self._lists[field]

    def mask(self, query: WebQuery) -> BoolArray:
        """Return which items hold all that a query requires, and nothing that it excludes."""
        mask = np.ones(self._count, np.bool_)
        for clause in filter(_says_something, query.required):
            mask &= self.matching(clause)
        for clause in filter(_says_something, query.excluded):
            mask &= ~self.matching(clause)
        return mask

    def matching(self, clause: Clause) -> BoolArray:
        """Return which items hold what a clause names."""
        lists = self.lists(clause.field)
        if clause.kind == PHRASE:
            return lists.with_phrase(clause.text)
        return lists.with_prefix(clause.text) if clause.kind == PREFIX else lists.holding(clause.text)

    def words(self, query: WebQuery) -> str:
        """Return what is searched for: the words, and those that complete prefixes."""
        more = [
            word
            for clause in query.required
            if clause.kind == PREFIX
            for word in self.lists(clause.field).completions(clause.text)
        ]
        return " ".join([query.words, *more])

    def _field_texts(self, field: str | None) -> Sequence[str]:
        texts: Any = self._texts
        if field is None or (field == TEXT and field not in self._columns):
            return texts  # type: ignore[no-any-return]
        column = self._columns[_column_of(field, self._columns)]
        return [plain_text(column.at(number)) for number in range(self._count)]


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
    return details is not None and (name == TEXT or bool(_column_of(name, details.columns)))


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

    def __getitem__(self, number: int) -> str:
        return self._text(number) or ""


def stored_texts(details: ItemMetadata) -> Any:
    """Return the texts of a catalog by number; None where none are kept."""
    if details.texts is not None:
        return details.texts
    return _FetchedTexts(details) if TEXT in details.fields and TEXT not in details.columns else None
