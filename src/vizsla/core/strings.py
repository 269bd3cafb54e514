"""An immutable table of strings: UTF-8 bytes, offsets, and a hash table to find a string's number."""

from __future__ import annotations

import codecs
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, islice
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla._internal.lazy import cached_property
from vizsla._internal.terminal import abbreviate
from vizsla.core.validation import as_array, is_iterable
from vizsla.errors import FormatError, InputError

_CHUNK_BYTES = 1 << 20
_STRINGS_PER_BATCH = 1 << 12
_MAX_SHOWN_CHARS = 40


class Strings(Sequence[str]):
    """Strings in three flat arrays, so that millions of ids can be used directly from a memory-mapped file.

    Parameters
    ----------
    data : uint8 array
        All strings' UTF-8 bytes, one after another.
    offsets : int64 array
        Where each string begins; one more than there are strings.
    slots : uint32 array
        The hash table that `Strings.of` builds.
    source : str
        The file that the bytes came from, named if they turn out not to be UTF-8.

    Examples
    --------
    >>> ids = Strings.of(["apple", "pear", "fig"])
    >>> ids[1], ids.find("fig"), ids.find("plum")
    ('pear', 2, -1)
    """

    def __init__(
        self,
        data: NDArray[np.uint8],
        offsets: NDArray[np.int64],
        slots: NDArray[np.uint32],
        *,
        source: str = "string table",
    ):
        self.data, self.offsets, self.slots, self.source = data, offsets, slots, source
        self.size = len(offsets) - 1
        self._table = _native.Strings(data, offsets, slots)

    @classmethod
    def of(cls, strings: Iterable[str]) -> Strings:
        """Build a table; a repeated string is kept, and `find` gives its first number."""
        return cls.with_repeats(strings)[0]

    @classmethod
    def unique(cls, strings: Iterable[str], *, what: str = "id") -> Strings:
        """Build a table of distinct strings; the first repeated one raises.

        Examples
        --------
        >>> Strings.unique(["a", "b", "a"])
        Traceback (most recent call last):
        vizsla.errors.InputError: Every id must be given once. Got 'a' again at position 2.
        """
        table, repeats = cls.with_repeats(strings)
        if len(repeats):
            first = int(repeats[0])
            raise InputError(f"Every {what} must be given once. Got {table[first]!r} again at position {first}.")
        return table

    @classmethod
    def with_repeats(cls, strings: Iterable[str]) -> tuple[Strings, NDArray[np.int64]]:
        """Build a table; also return the positions of strings that came before."""
        buffer, ends = bytearray(), array("q", [0])
        remaining = iter(_iterated(strings))
        while batch := list(islice(remaining, _STRINGS_PER_BATCH)):
            encoded, sizes = _joined(batch)
            ends.extend(islice(accumulate(sizes, initial=len(buffer)), 1, None))
            buffer += encoded
        data, offsets = np.frombuffer(buffer, dtype=np.uint8), np.frombuffer(ends, dtype=np.int64)
        slots, repeats = _native.build_slots(data, offsets)
        return cls(data, offsets, slots), repeats

    def __len__(self) -> int:
        return self.size

    @overload
    def __getitem__(self, number: int) -> str: ...
    @overload
    def __getitem__(self, number: slice) -> list[str]: ...
    def __getitem__(self, number: int | slice) -> str | list[str]:
        if isinstance(number, slice):
            return self.take(np.arange(len(self), dtype=np.int32)[number])
        if not isinstance(number, int | np.integer):
            raise InputError(f"`number` must be a string's number or a slice of them. Got {number!r:.60}.")
        if not -len(self) <= number < len(self):
            raise IndexError(f"string {number} of {len(self)}")
        return self._get(number + len(self) if number < 0 else number)

    def __iter__(self) -> Iterator[str]:
        return (self._get(number) for number in range(len(self)))

    def __contains__(self, string: object) -> bool:
        return isinstance(string, str) and self.find(string) >= 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Strings) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        head = ", ".join(f"{text[:_MAX_SHOWN_CHARS]!r}" for text in self[:3])
        return abbreviate(f"Strings([{head}{', …' if len(self) > 3 else ''}]", f", {len(self)} in all)")

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.data, self.offsets, self.slots, self.source)

    def __copy__(self) -> Strings:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Strings:
        return self

    def take(self, numbers: NDArray[np.int32]) -> list[str]:
        """Return the strings with these numbers; one that is none of theirs is an IndexError."""
        try:
            strings: list[str] = self._table.take(self._numbers(numbers))
        except UnicodeDecodeError as error:
            raise FormatError(f"{self.source}: a string is not valid UTF-8 ({error.reason}).") from error
        return strings

    def find(self, string: str) -> int:
        """Return the number of a string, or -1."""
        try:
            number: int = self._table.find(string)
        except UnicodeEncodeError:
            return -1  # Half a surrogate pair has no UTF-8, so no table holds it.
        except TypeError:
            raise InputError(f"`string` must be a text. Got {type(string).__name__}.") from None
        return number

    def find_all(self, strings: Iterable[str]) -> NDArray[np.int64]:
        """Return the number of each string, -1 where it is not in the table."""
        strings = list(_iterated(strings))
        try:
            numbers: NDArray[np.int64] = self._table.find_all(strings)
        except (UnicodeEncodeError, TypeError):
            numbers = np.fromiter(map(self.find, strings), dtype=np.int64, count=len(strings))
        return numbers

    def number(self, string: str, *, what: str = "item") -> int:
        """Return the number of a string; an unknown one raises."""
        found = self.find(string)
        if found < 0:
            raise InputError(f"`{what}` must be a known id. Got {string!r}.")
        return found

    def check_text(self) -> None:
        """Raise FormatError unless every string is valid UTF-8; one pass over the bytes, at memory speed."""
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            for start in range(0, len(self.data), _CHUNK_BYTES):
                decoder.decode(self.data[start : start + _CHUNK_BYTES].tobytes())
            decoder.decode(b"", final=True)
        except UnicodeDecodeError as error:
            raise FormatError(f"{self.source}: not valid UTF-8 ({error.reason}).") from error
        for start in range(0, len(self), _CHUNK_BYTES):
            # The whole is valid, so a string is too unless it begins inside a character, at a byte 10xxxxxx.
            begins = self.offsets[start : start + _CHUNK_BYTES]
            if np.any(self.data[begins[begins < len(self.data)]] & 0xC0 == 0x80):
                raise FormatError(f"{self.source}: a string begins inside a character.")

    def check_slots(self) -> None:
        """Raise FormatError unless every string can be found; builds the hash table again to compare."""
        if len(self.slots) and not np.array_equal(_native.build_slots(self.data, self.offsets)[0], self.slots):
            raise FormatError(f"{self.source}: the hash table does not match the strings.")

    @cached_property
    def fingerprint(self) -> str:
        """A checksum of the strings and their order: equal tables have equal fingerprints."""
        starts: Any = np.ascontiguousarray(self.offsets).view(np.uint8)
        return f"{_native.checksum(self.data, _native.checksum(starts)):016x}"

    @property
    def nbytes(self) -> int:
        """Memory of the three arrays."""
        return int(self.data.nbytes + self.offsets.nbytes + self.slots.nbytes)

    def _numbers(self, numbers: Any) -> NDArray[np.int32]:
        if isinstance(numbers, np.ndarray) and numbers.dtype == np.int32:
            given: NDArray[Any] = numbers
        else:
            given = as_array("numbers", numbers, np.int64)  # not narrowed before it is known to fit
        if given.ndim > 1:
            raise InputError(f"`numbers` must be in one dimension. Got {given.ndim}.")
        if given.dtype == np.int32:
            return np.ascontiguousarray(given)
        if given.size and (wrong := given[(given < 0) | (given >= len(self))]).size:
            raise IndexError(f"string {wrong[0]} of {len(self)}")
        return np.ascontiguousarray(given, np.int32)

    def _get(self, number: int) -> str:
        try:
            text: str = self._table.get(number)
        except UnicodeDecodeError as error:
            raise FormatError(f"{self.source}: string {number} is not valid UTF-8 ({error.reason}).") from error
        return text


def _restored(data: NDArray[np.uint8], offsets: NDArray[np.int64], slots: NDArray[np.uint32], source: str) -> Strings:
    """Make a pickled table again; the arrays are checked as any others."""
    for array_ in (data, offsets, slots):
        array_.flags.writeable = False
    return Strings(data, offsets, slots, source=source)


def _iterated(strings: Any) -> Iterable[str]:
    if not is_iterable(strings):
        raise InputError(f"`strings` must be several texts. Got {type(strings).__name__}.")
    several: Iterable[str] = strings
    return several


def _joined(batch: list[str]) -> tuple[bytes, Iterable[int]]:
    """Return the bytes of all strings and how many each has; ASCII, which has as many as characters, at once."""
    try:
        together = "".join(batch)
    except TypeError:
        together = "\xff"  # one is no text, and will be named
    if together.isascii():
        return together.encode(), map(len, batch)
    encoded = [_encode(string) for string in batch]
    return b"".join(encoded), map(len, encoded)


def _encode(string: str) -> bytes:
    if not isinstance(string, str):
        raise InputError(f"Every string must be a text. Got {string!r:.60}{_remedy(string)}.")
    try:
        return string.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"Every string must be valid Unicode. Got {string!r}, {error.reason}.") from error


def _remedy(value: object) -> str:
    """Say what to do with something that is often given as an id or a text and is none."""
    if value is None:
        return ": leave it out, or write an empty text"
    return ": ids are texts, so write str(id)" if isinstance(value, int | np.integer) else ""
