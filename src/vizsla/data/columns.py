"""Metadata of items in typed columns."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

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
    boolean_of,
    date_span,
    json_array,
    list_of,
    number_text,
    text_of,
)
from vizsla.errors import DataError, FormatError, InputError
from vizsla.typing import BoolArray, Int32Array

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter


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


NOTHING = table([])


Value = str | int | float | bool
"""What a condition compares a field with."""


class Column(ABC):
    """A value per item, or none.

    Codes from 0 to `known` stand for values of the column's kind, in ascending order, so that a comparison is a range
    of codes. Codes from `known` on stand for texts that do not parse (`odd`): the item counts as having no value, but
    the text is kept for display and for `=`. -1 is no value at all.
    """

    kind: ClassVar[str]

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

    def equal(self, values: Sequence[Value]) -> BoolArray:
        """Return which items have one of these values."""
        mask = np.zeros(len(self.codes), np.bool_)
        for value in values:
            low, high = self.codes_of(value)
            mask |= (self.codes >= low) & (self.codes < high)
            if (odd := self.odd_code(value)) >= 0:
                mask |= self.codes == odd
        return mask

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
        return self.restricted(used, renamed[codes])

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
        super().__init__(codes, len(keys), NOTHING if len(keys) == len(texts) else table(texts[len(keys) :]))
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

    @staticmethod
    @abstractmethod
    def span(value: Value) -> tuple[Any, Any] | None:
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
    """Numbers.

    Examples
    --------
    >>> prices = NumberColumn(np.array([1, -1, 2, 0], np.int32), np.array([3.0, 7.5]), table(["3", "$7.50", "n/a"]))
    >>> prices.at(0), prices.at(1), prices.at(2), prices.ordered("lt", 5).tolist()
    (7.5, None, 'n/a', [False, False, False, True])
    """

    kind = NUMBER
    dtype = np.float64

    def value(self, code: int) -> float | int:
        """Return a number, a whole one without a point."""
        value = float(self.keys[code])
        return int(value) if value.is_integer() else value

    @staticmethod
    def span(value: Value) -> tuple[float, float] | None:
        """Return a number and the next one; None for a text that is none, or that may be two."""
        number: float | None = None
        if isinstance(value, str):
            read = number_text(value)
            if read is not None and not (read.is_ambiguous and "," in value):
                number = read.comma if read.dot is None else read.dot
        elif not isinstance(value, bool):
            number = float(value)
        return None if number is None else (number, math.nextafter(number, math.inf))


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

    @staticmethod
    def span(value: Value) -> tuple[int, int] | None:
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
        super().__init__(codes, len(texts), NOTHING)
        self.texts = texts

    def value(self, code: int) -> Any:
        """Return a text."""
        return self.texts[code]

    def codes_of(self, value: Value) -> tuple[int, int]:
        """Compare letter by letter."""
        text = text_of(value)
        at = bisect_left(self.texts, text)
        return at, at + int(at < len(self.texts) and self.texts[at] == text)

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

    def __init__(self, codes: Int32Array, odd: Strings = NOTHING):
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
        renamed = np.append(np.where(used < 2, used, np.cumsum(used >= 2) + 1), -1).astype(np.int32)
        return BooleanColumn(renamed[codes], _picked(self.odd, used[used >= 2] - 2))

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


COLUMNS: tuple[type[Column], ...] = (NumberColumn, DateColumn, TextColumn, ListColumn, BooleanColumn)
"""The kinds of columns, by the number that a file has for them."""


def _by_code(flags: Sequence[bool], codes: Int32Array) -> BoolArray:
    return np.array([*flags, False], np.bool_)[codes]  # the last one is for -1


def _picked(texts: Strings, numbers: NDArray[np.int64]) -> Strings:
    return texts if len(numbers) == len(texts) else table(texts.take(numbers.astype(np.int32)))


DATA, PLACES = "columns", "column_places"
MOST_COLUMNS = 10_000
PARTS = 4
"""Arrays of a column at most."""
ALIGNMENT = 8


def write_columns(writer: ArtifactWriter, columns: Mapping[str, Column]) -> None:
    """Store columns as `columns.npy`, all bytes one after another, and `column_places.npy`, a row per column.

    A row holds the number of the column's kind, and where its name and each of its arrays begin and end.
    """
    places = np.zeros((len(columns), 1 + 2 * (1 + PARTS)), np.int64)
    parts: list[NDArray[np.uint8]] = []
    end = 0
    for row, (name, column) in zip(places, columns.items(), strict=True):
        row[0] = COLUMNS.index(type(column))
        for at, segment in enumerate([_encoded(name), *column.segments()]):
            data = np.ascontiguousarray(segment).reshape(-1).view(np.uint8)
            row[1 + 2 * at : 3 + 2 * at] = end, end + len(data)
            padding = -len(data) % ALIGNMENT
            parts += [data, np.zeros(padding, np.uint8)]
            end += len(data) + padding
    writer.array(DATA, np.concatenate(parts) if parts else np.zeros(0, np.uint8))
    writer.array(PLACES, places)


def _encoded(name: str) -> NDArray[np.uint8]:
    try:
        return np.frombuffer(name.encode(), np.uint8)
    except UnicodeEncodeError:
        raise InputError(f"The name of a field must be valid Unicode. Got {name!r:.60}.") from None


def read_columns(reader: ArtifactReader, count: int) -> ColumnFile:
    """Return the columns of a file; names and places are checked now, a column when it is read first."""
    data, places = reader.array(DATA, np.uint8), reader.array(PLACES, np.int64, ndim=2)
    source = str(reader.path / f"{DATA}.npy")
    if places.shape[0] > MOST_COLUMNS or places.shape[1] != 1 + 2 * (1 + PARTS):
        raise FormatError(f"{source}: the places of the columns are not sound.")
    starts, ends = places[:, 1::2], places[:, 2::2]
    kinds = places[:, 0]
    inside = (starts >= 0) & (starts <= ends) & (ends <= len(data)) & (starts % ALIGNMENT == 0)
    if not inside.all() or not ((kinds >= 0) & (kinds < len(COLUMNS))).all():
        raise FormatError(f"{source}: the places of the columns do not fit their bytes.")
    try:
        names = [data[start:end].tobytes().decode() for start, end in zip(starts[:, 0], ends[:, 0], strict=True)]
    except UnicodeDecodeError as error:
        raise FormatError(f"{source}: the name of a field is not valid UTF-8 ({error.reason}).") from error
    if len(set(names)) < len(names):
        raise FormatError(f"{source}: every field must have a name of its own.")
    columns = ColumnFile(data, places, names, count, source)
    if reader.loading.verify:
        columns.check()
    return columns


class ColumnFile(Mapping[str, Column]):
    """Columns by name, in the order of the data; each is made of the file's bytes when it is first asked for."""

    def __init__(self, data: NDArray[np.uint8], places: NDArray[np.int64], names: list[str], count: int, source: str):
        self._data, self._places, self._count, self._source = data, places, count, source
        self._rows = {name: row for row, name in enumerate(names)}
        self._made: dict[str, Column] = {}

    def __getitem__(self, name: str) -> Column:
        made = self._made.get(name)
        if made is None:
            made = self._made[name] = self._read(self._rows[name])
        return made

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, name: Any) -> bool:
        return name in self._rows

    def check(self) -> None:
        """Raise FormatError unless every column is sound and its texts are valid."""
        for row in range(len(self)):
            self._read(row).check_text()

    def _read(self, row: int) -> Column:
        kind, _, _, *bounds = map(int, self._places[row])
        parts = [self._data[start:end] for start, end in zip(bounds[::2], bounds[1::2], strict=True)]
        return COLUMNS[kind].of_segments(Segments(parts, self._count, self._source))
