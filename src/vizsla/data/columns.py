"""Metadata of items in typed columns."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from vizsla._internal.lazy import cached_property
from vizsla.core.strings import Strings
from vizsla.data.values import (
    BOOLEAN,
    DATE,
    LIST,
    NUMBER,
    TEXT,
    NumberStyle,
    boolean_of,
    date_span,
    json_array,
    list_of,
    number_text,
    text_of,
)
from vizsla.errors import DataError, FormatError, InputError
from vizsla.typing import BoolArray, Int32Array

KIND_SAMPLE, MIN_KIND_SAMPLE, NEARLY_SHARE = 200, 5, 0.75
"""Texts of a column that are looked at, and from which share on most of them are numbers or dates."""


class Segments:
    """The arrays of one column in a file, checked as they are read.

    Parameters
    ----------
    parts : sequence of uint8 arrays
        Their bytes.
    count : int
        The number of items.
    source : str
        For messages.
    """

    def __init__(self, parts: Sequence[NDArray[np.uint8]], count: int, source: str):
        self.parts, self.count, self.source = parts, count, source

    def array(self, at: int, dtype: type) -> NDArray[Any]:
        """Return a segment as an array of this type."""
        if len(self.parts[at]) % np.dtype(dtype).itemsize:
            raise self.error("a part of a column has the wrong length")
        return self.parts[at].view(dtype)

    def strings(self, at: int) -> Strings:
        """Return two segments as a table of strings, which is read by number only."""
        try:
            return Strings(self.parts[at], self.array(at + 1, np.int64), NO_SLOTS, source=self.source)
        except ValueError as error:
            raise self.error(str(error)) from error

    def codes(self, at: int, known: int) -> Int32Array:
        """Return a segment as one code per item, each below `known`."""
        codes = self.array(at, np.int32)
        if len(codes) != self.count or (len(codes) and not -1 <= codes.min() <= codes.max() < known):
            raise self.error(f"expected a value's code for each of {self.count} items")
        return codes

    def error(self, problem: str) -> FormatError:
        """Return the error that names the file."""
        return FormatError(f"{self.source}: {problem}.")


GIVEN, WRITTEN, DECIMAL = 0, 1, 2
"""How a number was given: as a number, as a text, or as a decimal number with a text of its own."""
DECIMAL_POINTS = ("", ".", ",")
UNDECIDED_STYLE = NumberStyle()
NO_SLOTS, NO_CODES = np.zeros(0, np.uint32), np.zeros(0, np.int32)


def table(texts: Iterable[str]) -> Strings:
    """Return a table of strings that is read by number only; what is no Unicode raises."""
    given = list(texts)
    try:
        together = "".join(given)
        sizes = list(map(len, given)) if together.isascii() else [len(text.encode()) for text in given]
        data = np.frombuffer(together.encode(), np.uint8)
    except UnicodeEncodeError as error:
        raise DataError(f"metadata must be valid Unicode ({error.reason}).", remedy="Repair the field.") from None
    offsets = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)
    return Strings(data, offsets, NO_SLOTS)


NO_STRINGS = table([])


Value = str | int | float | bool
"""What a condition compares a field with."""


class Column(ABC):
    """A value per item, or none.

    Codes from 0 to `known` stand for values of the column's kind, in ascending order, so that a comparison is a range
    of codes. Codes from `known` on stand for texts that do not parse (`odd`): the item counts as having no value, but
    the text is kept for display and for `=`. -1 is no value at all.
    """

    kind: ClassVar[str]
    declared: bool = False
    """Whether the user said what the kind is: that of such a column wins where catalogs are joined."""

    def __init__(self, codes: Int32Array, known: int, odd: Strings):
        self.codes, self.known, self.odd = codes, known, odd

    def __len__(self) -> int:
        return len(self.codes)

    def at(self, number: int) -> Any:
        """Return an item's value: a text, number, boolean or list; the text of one that does not parse; or None."""
        code = int(self.codes[number])
        if code < 0:
            return None
        return self.value(code) if code < self.known else self.odd[code - self.known]

    def missing(self) -> BoolArray:
        """Return which items have no value, or one that does not parse."""
        return (self.codes < 0) | (self.codes >= self.known)

    def same_codes(self, codes: Int32Array) -> Int32Array:
        """Return codes in which equal values have one code: that of the first of them."""
        return codes

    def equal(self, values: Sequence[Value]) -> BoolArray:
        """Return which items have one of these values."""
        flags = np.zeros(self.known + len(self.odd) + 1, np.bool_)  # by code; the last one is for -1
        for value in values:
            low, high = self.codes_of(value)
            flags[low:high] = True
            if (odd := self.odd_code(value)) >= 0:
                flags[odd] = True
        return flags[self.codes]

    def has(self, value: Value) -> bool:
        """Return whether any item may have this value: whether the dictionary has it."""
        low, high = self.codes_of(value)
        return low < high or self.odd_code(value) >= 0

    def odd_code(self, value: Value) -> int:
        """Return the code of a text that does not parse, -1 where there is none."""
        text = text_of(value)
        at = bisect_left(self.odd, text) if len(self.odd) else 0
        return self.known + at if at < len(self.odd) and self.odd[at] == text else -1

    def ordered(self, operator: str, value: Value) -> BoolArray:
        """Return which items have a value that is "lt", "lte", "gt" or "gte" this one; a missing one is neither."""
        low, high = self.bounds(value)
        if operator in ("lt", "lte"):
            return (self.codes >= 0) & (self.codes < (low if operator == "lt" else high))
        return (self.codes >= (high if operator == "gt" else low)) & (self.codes < self.known)

    def contains(self, text: str) -> BoolArray:
        """Return which items' list has this entry, or which items' text contains this one."""
        raise InputError(f"`contains` must be asked of a field of texts or lists. Got one of kind {self.kind}.")

    def startswith(self, text: str) -> BoolArray:
        """Return which items' text begins with this one."""
        raise InputError(f"`startswith` must be asked of a field of texts. Got one of kind {self.kind}.")

    @property
    def odd_count(self) -> int:
        """How many items have a text that does not parse."""
        return int(np.count_nonzero(self.codes >= self.known)) if len(self.odd) else 0

    @abstractmethod
    def value(self, code: int) -> Any:
        """Return the value of a code below `known`."""

    @abstractmethod
    def codes_of(self, value: Value) -> tuple[int, int]:
        """Return the range of codes that equal a value; an empty one where none does."""

    @abstractmethod
    def bounds(self, value: Value) -> tuple[int, int]:
        """Return the first code that is not below a value, and the first above it; what cannot be compared raises."""

    def raw(self) -> list[Any]:
        """Return the values by code, as they would be given to `column_of`."""
        return [*map(self.value, range(self.known)), *self.odd]

    @abstractmethod
    def restricted(self, used: NDArray[np.int64], codes: Int32Array) -> Column:
        """Return a column with these of the dictionary's entries alone, and such codes."""

    def take(self, numbers: NDArray[np.int64]) -> Column:
        """Return the column of these items, in this order; -1 for an item without a value."""
        codes = np.append(self.codes, np.int32(-1))[numbers]
        used = np.unique(codes[codes >= 0]).astype(np.int64)
        renamed = np.full(self.known + len(self.odd) + 1, -1, np.int32)
        renamed[used] = np.arange(len(used))
        taken = self.restricted(used, renamed[codes])
        taken.declared = self.declared
        return taken

    @classmethod
    @abstractmethod
    def merged(cls, columns: Sequence[Self], codes: Int32Array) -> Column:
        """Return one column of several of this kind; its values are theirs, and none is read again.

        `codes` are numbers in the columns' dictionaries, one after another: all of the first column, then the next.
        """

    @property
    def settings(self) -> int:
        """What a file holds besides the arrays, as a number."""
        return int(self.declared)

    def set(self, settings: int) -> None:
        """Take over what a file holds besides the arrays; what is not known raises ValueError."""
        if settings not in (0, 1):
            raise ValueError("expected settings of a column")
        self.declared = bool(settings)

    @abstractmethod
    def segments(self) -> list[NDArray[Any]]:
        """Return the arrays that a file holds."""

    @classmethod
    @abstractmethod
    def of_segments(cls, parts: Segments) -> Self:
        """Read and check the arrays."""

    def check_text(self) -> None:
        """Raise FormatError unless all texts are valid UTF-8."""
        self.odd.check_text()


class KeyedColumn(Column):
    """Values that are compared by a number each: the texts as they were written, in ascending order of these keys."""

    dtype: ClassVar[type]

    def __init__(self, codes: Int32Array, keys: NDArray[Any], texts: Strings):
        super().__init__(codes, len(keys), NO_STRINGS if len(keys) == len(texts) else table(texts[len(keys) :]))
        self.keys, self.texts = keys, texts

    def codes_of(self, value: Value) -> tuple[int, int]:
        """Compare keys."""
        span = self.span(value)
        return (0, 0) if span is None else self._range(span)

    def bounds(self, value: Value) -> tuple[int, int]:
        """Compare keys."""
        span = self.span(value)
        if span is None:
            raise InputError(f"A condition on a field of {self.kind}s must give a {self.kind}. Got {value!r:.60}.")
        return self._range(span)

    @cached_property
    def _first_codes(self) -> Int32Array | None:
        """The first code with each code's key, -1 at last; None where no two are equal."""
        if (self.keys[1:] > self.keys[:-1]).all():
            return None
        own = np.searchsorted(self.keys, self.keys)
        return np.concatenate([own, np.arange(self.known, len(self.texts)), [-1]]).astype(np.int32)

    def same_codes(self, codes: Int32Array) -> Int32Array:
        """Compare keys: $5 and 5.00 are one value."""
        return codes if self._first_codes is None else self._first_codes[codes]

    @abstractmethod
    def span(self, value: Value) -> tuple[Any, Any] | None:
        """Return the first key that a value stands for, and the first one after it; None for what is no such value."""

    def _range(self, span: tuple[Any, Any]) -> tuple[int, int]:
        low, high = np.searchsorted(self.keys, span)
        return int(low), int(high)

    def raw(self) -> list[Any]:
        """Return the texts as they were written."""
        return self.texts[:]

    def restricted(self, used: NDArray[np.int64], codes: Int32Array) -> Column:
        """Keep some values, and some texts that are none."""
        return type(self)(codes, self.keys[used[used < self.known]], _picked(self.texts, used))

    @classmethod
    def merged(cls, columns: Sequence[Self], codes: Int32Array) -> Column:
        """Merge keys with their texts."""
        keys, texts, own = _merged_keys(
            [(*zip(c.keys.tolist(), c.texts[: c.known], strict=True), *c.odd) for c in columns], codes
        )
        return cls(own, np.array([key for key, _ in keys], cls.dtype), table([text for _, text in keys] + texts))

    def segments(self) -> list[NDArray[Any]]:
        """Give keys, texts, codes."""
        return [self.keys, self.texts.data, self.texts.offsets, self.codes]

    @classmethod
    def of_segments(cls, parts: Segments) -> Self:
        """Read keys that ascend."""
        keys, texts = parts.array(0, cls.dtype), parts.strings(1)
        if len(keys) > len(texts) or not np.isfinite(keys).all() or not (keys[1:] >= keys[:-1]).all():
            raise parts.error(f"expected {cls.kind}s in ascending order")
        return cls(parts.codes(3, len(texts)), keys, texts)

    def check_text(self) -> None:
        """Check the texts."""
        self.texts.check_text()


class NumberColumn(KeyedColumn):
    """Numbers, and how each was given.

    Parameters
    ----------
    codes, keys, texts
        As of every such column.
    forms : uint8 array, optional
        How each number was given: as a number (GIVEN), as a text (WRITTEN) or as a decimal number whose text is kept
        (DECIMAL). The last two are shown as they were written. Told by the texts unless given.
    style : NumberStyle
        How its texts are parsed, as decided when the column was built.

    Examples
    --------
    >>> prices = NumberColumn(np.array([1, -1, 2, 0], np.int32), np.array([3.0, 7.5]), table(["3", "$7.50", "n/a"]))
    >>> prices.at(0), prices.at(1), prices.at(2), prices.ordered("lt", 5).tolist()
    ('$7.50', None, 'n/a', [False, False, False, True])
    """

    kind = NUMBER
    dtype = np.float64

    def __init__(
        self,
        codes: Int32Array,
        keys: NDArray[Any],
        texts: Strings,
        forms: NDArray[np.uint8] | None = None,
        style: NumberStyle = UNDECIDED_STYLE,
    ):
        super().__init__(codes, keys, texts)
        self.forms = np.full(len(keys), WRITTEN, np.uint8) if forms is None else forms
        self.style = style

    def value(self, code: int) -> float | int | str:
        """Return a number, a whole one without a point, or the text that it was given as."""
        return self.number(code) if self.forms[code] == GIVEN else self.texts[code]

    def number(self, code: int) -> float | int:
        """Return a number, a whole one without a point."""
        value = float(self.keys[code])
        return int(value) if value.is_integer() else value

    def span(self, value: Value) -> tuple[float, float] | None:
        """Return a number and the next one; a text is read as the column's own are, and None if it is no number."""
        number: float | None = None
        if isinstance(value, str):
            number = self.style.read(value, declared=self.declared)
        elif not isinstance(value, bool):
            number = float(value)
        return None if number is None else (number, math.nextafter(number, math.inf))

    def raw(self) -> list[Any]:
        """Return the values as they were given."""
        given = [
            self.number(code) if form == GIVEN else text if form == WRITTEN else DecimalText(text)
            for code, (form, text) in enumerate(zip(self.forms.tolist(), self.texts[: self.known], strict=True))
        ]
        return [*given, *self.odd]

    def restricted(self, used: NDArray[np.int64], codes: Int32Array) -> Column:
        """Keep some numbers, and some texts that are none."""
        own = used[used < self.known]
        return NumberColumn(codes, self.keys[own], _picked(self.texts, used), self.forms[own], self.style)

    @classmethod
    def merged(cls, columns: Sequence[Self], codes: Int32Array) -> Column:
        """Merge numbers with their texts; the style is that of the first column that has one."""
        given = [(*zip(c.keys.tolist(), c.forms.tolist(), c.texts[: c.known], strict=True), *c.odd) for c in columns]
        keys, texts, own = _merged_keys(given, codes)
        numbers, forms = np.array([key[0] for key in keys], np.float64), np.array([key[1] for key in keys], np.uint8)
        style = next((column.style for column in columns if column.style.point), columns[0].style)
        return cls(own, numbers, table([key[2] for key in keys] + texts), forms, style)

    def segments(self) -> list[NDArray[Any]]:
        """Give keys, texts, codes, forms."""
        return [*super().segments(), self.forms]

    @classmethod
    def of_segments(cls, parts: Segments) -> Self:
        """Read numbers and how they were given."""
        column, forms = super().of_segments(parts), parts.array(4, np.uint8)
        if len(forms) != column.known or (forms > DECIMAL).any():
            raise parts.error("expected how each number was given")
        column.forms = forms
        return column

    @property
    def settings(self) -> int:
        """Whether it is declared, and its style."""
        return int(self.declared) + 2 * int(self.style.spaced) + 4 * DECIMAL_POINTS.index(self.style.point)

    def set(self, settings: int) -> None:
        """Take over whether it is declared, and its style."""
        if not 0 <= settings < 4 * len(DECIMAL_POINTS):
            raise ValueError("expected settings of a column of numbers")
        self.declared, self.style = bool(settings & 1), NumberStyle(DECIMAL_POINTS[settings >> 2], bool(settings & 2))


class DateColumn(KeyedColumn):
    """Dates, compared by the microseconds since 1970.

    Examples
    --------
    >>> days = DateColumn(np.array([0, -1], np.int32), np.array([0]), table(["1970-01-01"]))
    >>> days.at(0), days.ordered("gte", "1969-12").tolist()
    ('1970-01-01', [True, False])
    """

    kind = DATE
    dtype = np.int64

    def value(self, code: int) -> str:
        """Return a date as it was written."""
        return self.texts[code]

    def span(self, value: Value) -> tuple[int, int] | None:
        """Return when a date begins and ends: a day, a month or a year holds all that lies within."""
        return None if isinstance(value, bool | float) else date_span(str(value))


class TextColumn(Column):
    """Texts, in the order of their characters.

    Examples
    --------
    >>> brands = TextColumn(np.array([1, -1, 0], np.int32), table(["Ace", "Bo"]))
    >>> brands.at(0), brands.at(1), brands.equal(["Ace", "Cy"]).tolist(), brands.ordered("gt", "B").tolist()
    ('Bo', None, [False, False, True], [True, False, False])
    """

    kind = TEXT

    def __init__(self, codes: Int32Array, texts: Strings):
        super().__init__(codes, len(texts), NO_STRINGS)
        self.texts = texts

    def value(self, code: int) -> Any:
        """Return a text."""
        return self.texts[code]

    def codes_of(self, value: Value) -> tuple[int, int]:
        """Compare letter by letter."""
        text = text_of(value)
        at = bisect_left(self.texts, text)
        return at, at + int(at < len(self.texts) and self.texts[at] == text)

    @cached_property
    def nearly(self) -> str:
        """The kind of most texts, though too few for a column of that kind; empty where texts were declared."""
        sample = [self.texts[at] for at in range(0, len(self.texts), 1 + len(self.texts) // KIND_SAMPLE)]
        if self.declared or len(sample) < MIN_KIND_SAMPLE:
            return ""
        if sum(date_span(text, reduced=False) is not None for text in sample) >= NEARLY_SHARE * len(sample):
            return DATE
        numbers = [number for text in sample if (number := number_text(text)) is not None and not number.doubtful]
        padded = any(number.padded for number in numbers)
        return "" if padded or len(numbers) < NEARLY_SHARE * len(sample) else NUMBER

    def bounds(self, value: Value) -> tuple[int, int]:
        """Compare with a text in the order of characters; a number raises."""
        if not isinstance(value, str):
            raise InputError(f"A field of texts must be compared with a text. Got the number {text_of(value)}.")
        return bisect_left(self.texts, value), bisect_right(self.texts, value)

    def contains(self, text: str) -> BoolArray:
        """Return which texts contain this one."""
        return _by_code([text in value for value in self.texts[:]], self.codes)

    def startswith(self, text: str) -> BoolArray:
        """Return which texts begin with this one: those of a range of codes."""
        low, high = bisect_left(self.texts, text), bisect_right(self.texts, text, key=lambda value: value[: len(text)])
        return (self.codes >= low) & (self.codes < high)

    def raw(self) -> list[Any]:
        """Return the texts."""
        return self.texts[:]

    def restricted(self, used: NDArray[np.int64], codes: Int32Array) -> TextColumn:
        """Keep some texts."""
        return type(self)(codes, _picked(self.texts, used))

    @classmethod
    def merged(cls, columns: Sequence[Self], codes: Int32Array) -> Column:
        """Merge texts."""
        texts, places = ranked([text for column in columns for text in column.texts[:]])
        return cls(renamed(places, codes), table(texts))

    def segments(self) -> list[NDArray[Any]]:
        """Give texts and codes."""
        return [self.texts.data, self.texts.offsets, self.codes]

    @classmethod
    def of_segments(cls, parts: Segments) -> Self:
        """Read texts and codes."""
        texts = parts.strings(0)
        return cls(parts.codes(2, len(texts)), texts)

    def check_text(self) -> None:
        """Check the texts."""
        self.texts.check_text()


class BooleanColumn(Column):
    """True or False.

    Examples
    --------
    >>> BooleanColumn(np.array([1, -1, 0], np.int32)).equal([True]).tolist()
    [True, False, False]
    """

    kind = BOOLEAN

    def __init__(self, codes: Int32Array, odd: Strings = NO_STRINGS):
        super().__init__(codes, 2, odd)

    def value(self, code: int) -> bool:
        """Return True or False."""
        return code == 1

    def codes_of(self, value: Value) -> tuple[int, int]:
        """Compare with true and false, or another word for them."""
        found = boolean_of(text_of(value))
        return (0, 0) if found is None else (int(found), int(found) + 1)

    def bounds(self, value: Value) -> tuple[int, int]:
        """Raise: booleans have no order."""
        raise InputError(f"A field of booleans must be compared by = or !=. Got an order with {value!r:.60}.")

    def restricted(self, used: NDArray[np.int64], codes: Int32Array) -> BooleanColumn:
        """Keep some texts that are neither; the codes 0 and 1 stay what they are."""
        own = np.append(np.where(used < 2, used, np.cumsum(used >= 2) + 1), -1).astype(np.int32)
        return BooleanColumn(own[codes], _picked(self.odd, used[used >= 2] - 2))

    @classmethod
    def merged(cls, columns: Sequence[Self], codes: Int32Array) -> Column:
        """Merge the texts that are neither."""
        odd, places = ranked([text for column in columns for text in column.odd])
        given = iter((places + 2).tolist())
        own = [code if code < 2 else next(given) for column in columns for code in range(2 + len(column.odd))]
        return BooleanColumn(renamed(np.array(own, np.int32), codes), table(odd))

    def segments(self) -> list[NDArray[Any]]:
        """Give texts that are neither, and codes."""
        return [self.odd.data, self.odd.offsets, self.codes]

    @classmethod
    def of_segments(cls, parts: Segments) -> Self:
        """Read codes and texts."""
        odd = parts.strings(0)
        return cls(parts.codes(2, 2 + len(odd)), odd)


class ListColumn(TextColumn):
    """Lists, each distinct one once, as JSON or as it was written; `=` and `contains` ask for an entry.

    Examples
    --------
    >>> tags = ListColumn(np.array([0, 1], np.int32), table(['["a", "b"]', "b|c"]))
    >>> tags.at(0), tags.equal(["b"]).tolist(), tags.contains("c").tolist()
    (['a', 'b'], [True, True], [False, True])
    """

    kind = LIST

    def value(self, code: int) -> list[Any]:
        """Return a list."""
        return list_of(self.texts[code])

    @cached_property
    def entries(self) -> dict[str, NDArray[np.int32]]:
        """The distinct entries, and the codes of the lists that have each."""
        found: dict[str, list[int]] = {}
        for code, text in enumerate(self.texts[:]):
            for entry in dict.fromkeys(map(text_of, list_of(text))):
                found.setdefault(entry, []).append(code)
        return {entry: np.array(codes, np.int32) for entry, codes in found.items()}

    @cached_property
    def _entry_rows(self) -> tuple[list[str], Int32Array, NDArray[np.int64]]:
        """The distinct entries in ascending order, the entries of each code, and where each code's begin."""
        names = sorted(self.entries)
        codes = np.concatenate([NO_CODES, *(self.entries[name] for name in names)])
        entries = np.repeat(np.arange(len(names)), [len(self.entries[name]) for name in names])
        order = np.argsort(codes, kind="stable")
        return names, entries[order].astype(np.int32), np.searchsorted(codes[order], np.arange(self.known + 1))

    def entry_counts(
        self, codes: NDArray[np.int64], counts: NDArray[np.int64]
    ) -> tuple[list[str], NDArray[np.int64], NDArray[np.int64]]:
        """Return all entries, the numbers of those in lists with these codes, and how often they occur there."""
        names, entries, starts = self._entry_rows
        sizes = starts[codes + 1] - starts[codes]
        ends = np.cumsum(sizes)
        places = np.arange(int(sizes.sum())) + np.repeat(starts[codes] - ends + sizes, sizes)
        found = np.bincount(entries[places], weights=np.repeat(counts, sizes), minlength=len(names))
        present = np.flatnonzero(found)
        return names, present, found[present].astype(np.int64)

    def equal(self, values: Sequence[Value]) -> BoolArray:
        """Return which lists have one of these entries."""
        flags = np.zeros(self.known + 1, np.bool_)
        for value in values:
            flags[self.entries.get(text_of(value), NO_CODES)] = True
        return flags[self.codes]

    def has(self, value: Value) -> bool:
        """Return whether a list has this entry."""
        return text_of(value) in self.entries

    def bounds(self, value: Value) -> tuple[int, int]:
        """Raise: lists have no order."""
        raise InputError(f"A field of lists must be asked by = or contains. Got an order with {value!r:.60}.")

    def contains(self, text: str) -> BoolArray:
        """Return which lists have this entry."""
        return self.equal([text])

    def startswith(self, text: str) -> BoolArray:
        """Raise: only texts begin with others."""
        return Column.startswith(self, text)

    def raw(self) -> list[Any]:
        """Return the lists."""
        return [ListText(text) if json_array(text) is not None else text for text in self.texts[:]]


class ListText(str):
    """A list that was given as a list, as JSON."""

    __slots__ = ()


class DecimalText(str):
    """The text of a number that was given as one and keeps its digits, such as a Decimal of 1.50."""

    __slots__ = ()


COLUMN_KINDS: tuple[type[Column], ...] = (NumberColumn, DateColumn, TextColumn, ListColumn, BooleanColumn)
"""The kinds of columns, by the number that a file has for them."""


def ranked(texts: Sequence[str]) -> tuple[list[str], NDArray[np.int32]]:
    """Return the distinct texts in the order of their characters, and the place of each text among them."""
    # Sorted by number: a table of millions of texts that are nearly all distinct would take several times the memory.
    order = sorted(range(len(texts)), key=texts.__getitem__)
    distinct: list[str] = []
    places = np.empty(len(texts), np.int32)
    for number in order:
        if not distinct or texts[number] != distinct[-1]:
            distinct.append(texts[number])
        places[number] = len(distinct) - 1
    return distinct, places


def renamed(own: NDArray[np.int32], codes: Int32Array) -> Int32Array:
    """Return codes by the new number of each value; -1 stays what it is."""
    return np.append(own, np.int32(-1)).astype(np.int32)[codes]


def _merged_keys(given: list[tuple[Any, ...]], codes: Int32Array) -> tuple[list[Any], list[str], Int32Array]:
    """Return the distinct keys with their texts, in order; the distinct texts without a key; and the new codes."""
    values = [value for dictionary in given for value in dictionary]
    keys = sorted({value for value in values if value.__class__ is tuple})
    texts = sorted({value for value in values if value.__class__ is not tuple})
    places = dict(zip([*keys, *texts], range(len(keys) + len(texts)), strict=True))
    return keys, texts, renamed(np.fromiter(map(places.__getitem__, values), np.int32, len(values)), codes)


def _by_code(flags: Sequence[bool], codes: Int32Array) -> BoolArray:
    return np.array([*flags, False], np.bool_)[codes]  # the last one is for -1


def _picked(texts: Strings, numbers: NDArray[np.int64]) -> Strings:
    return texts if len(numbers) == len(texts) else table(texts.take(numbers.astype(np.int32)))
