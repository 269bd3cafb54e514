"""The words of an engine's rows, for queries in the web syntax: read in parts, so that a change costs what it adds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from vizsla._internal.forking import ForkLock
from vizsla.text.web_syntax import Clause
from vizsla.text.word_filter import MAX_COMPLETIONS, WordLists
from vizsla.typing import Int32Array, Int64Array

SMALL = 4096
"""So few rows are read again whenever some are new: their words tell best which languages they are in."""
ABSORBED = 2
"""A part that has at most so many times the rows that come is read again with them, so that there are few parts."""


class Part(NamedTuple):
    """Some rows, which never change.

    Attributes
    ----------
    numbers : int64 array
        Their numbers, ascending.
    lists : WordLists
        Their words.
    """

    numbers: Int64Array
    lists: WordLists


class RowTexts(Sequence[str]):
    """Texts of rows, of which some are in memory at a time.

    Parameters
    ----------
    numbers : int64 array
        The numbers of the rows.
    read : function of row numbers
        Returns their texts.
    """

    def __init__(self, numbers: Int64Array, read: Callable[[Int64Array], Sequence[str]]):
        self._numbers, self._read = numbers, read

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, at: Any) -> Any:
        return self._read(self._numbers[at : at + 1])[0]

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), SMALL):
            yield from self._read(self._numbers[start : start + SMALL])


class RowWords:
    """The words of all rows that were live when they were asked for.

    Parameters
    ----------
    read : function of row numbers
        Returns the texts of rows, deleted or not.

    Examples
    --------
    >>> texts = {1: "a fig", 2: "a pear", 5: "figs"}
    >>> words = RowWords(lambda numbers: [texts[number] for number in numbers.tolist()])
    >>> words.over(np.array([1, 2])).matching(Clause("word", "fig")).tolist()
    [0]
    >>> words.over(np.array([2, 5])).matching(Clause("word", "figs")).tolist()
    [1]
    """

    def __init__(self, read: Callable[[Int64Array], Sequence[str]]):
        self._read = read
        self._parts: list[Part] = []
        self._lock = ForkLock()

    def over(self, live: Int64Array) -> LiveLists:
        """Return the lists of these rows, ascending: item `i` is row ``live[i]``."""
        with self._lock:
            new = self._unknown(live)
            if len(new):
                self._parts = self._grown(new, live)
            return LiveLists(self._parts, live)

    def _unknown(self, live: Int64Array) -> Int64Array:
        for part in self._parts:
            live = live[places_of(live, part.numbers) < 0]
        return live

    def _grown(self, new: Int64Array, live: Int64Array) -> list[Part]:
        parts = list(self._parts)
        known = sum(len(part.numbers) for part in parts) + len(new)
        everything = known <= SMALL or known > ABSORBED * max(SMALL, len(live))
        while parts and (everything or len(parts[-1].numbers) <= ABSORBED * len(new)):
            before = parts.pop().numbers
            new = np.sort(np.concatenate([new, before[places_of(before, live) >= 0]]))
        languages = parts[0].lists.analyzer.languages if parts else None
        return [*parts, Part(new, WordLists(RowTexts(new, self._read), languages=languages))]


class LiveLists:
    """The words of the items of one moment.

    Parameters
    ----------
    parts : sequence of Part
        Rows, live or not; every live one is in one of them.
    live : int64 array
        The row of each item, ascending.
    """

    def __init__(self, parts: Sequence[Part], live: Int64Array):
        self._parts, self._live = list(parts), live
        self._whole = len(parts) == 1 and np.array_equal(parts[0].numbers, live)

    def matching(self, clause: Clause) -> Int32Array:
        """Return the items that hold what a clause names, ascending."""
        if self._whole:
            return self._parts[0].lists.matching(clause)
        found = [places_of(numbers[lists.matching(clause)], self._live) for numbers, lists in self._parts]
        items = np.concatenate([np.zeros(0, np.int32), *found])
        return np.sort(items[items >= 0])

    def near(self, word: str, edits: int) -> dict[str, int]:
        """Return the words of the items within this number of edits, and how many edits each is away."""
        found: dict[str, int] = {}
        for numbers, lists in self._parts:
            for one in lists.spelling.near(word, edits):
                if one.word not in found and (self._whole or self._is_alive(numbers[lists.written(one.word)])):
                    found[one.word] = one.edits
        return found

    def _is_alive(self, rows: Int64Array) -> bool:
        return any((places_of(rows[at : at + SMALL], self._live) >= 0).any() for at in range(0, len(rows), SMALL))

    def completed(self, prefix: str, most: int = MAX_COMPLETIONS) -> dict[str, int]:
        """Return as many words that begin so, with how many rows hold each."""
        counts: dict[str, int] = {}
        for part in self._parts:
            for word, count in part.lists.completed(prefix, ABSORBED * most).items():
                counts[word] = counts.get(word, 0) + count
        return dict(sorted(counts.items(), key=lambda pair: -pair[1])[:most])


def places_of(numbers: Int64Array, ascending: Int64Array) -> Int32Array:
    """Return where numbers stand in others, which ascend; -1 for one that is not there.

    Examples
    --------
    >>> places_of(np.array([3, 4]), np.array([1, 3])).tolist()
    [1, -1]
    """
    if not len(ascending):
        return np.full(len(numbers), -1, np.int32)
    places = np.minimum(np.searchsorted(ascending, numbers), len(ascending) - 1)
    return np.where(ascending[places] == numbers, places, -1).astype(np.int32)
