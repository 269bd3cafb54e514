"""Spelling: which words of a vocabulary a misspelled word may stand for, and how likely each is."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np

from vizsla import _native
from vizsla.core.strings import Strings
from vizsla.typing import Int64Array, Uint32Array

ONE_EDIT_LETTERS = 4
"""The shortest word that may have one typo."""
TWO_EDITS_LETTERS = 8
"""The shortest word that may have two."""
MAX_NEIGHBORS = 5
"""How many words a misspelled one stands for at most."""
EDIT_WEIGHTS = (1.0, 0.9, 0.7)
"""The weight of a word by its number of edits, if no other is as near."""
JOINED_WEIGHT = 0.7
"""What each of two neighboring words counts that are one, or each of two that a word is made of."""
MAX_LETTERS = 40
"""Longer words are not in the vocabulary; one of more than twice as many is not split either."""
MAX_RARE_ITEMS = 2
"""A word in at most this number of items may itself be a typo of one in `MIN_COMMON_RATIO` times as many."""
MIN_COMMON_RATIO = 50
MIN_LIKELIHOOD_SHARE = 0.05
"""Words that are less likely than this are left out."""

_WORDS = re.compile(r"\w+")
_WORDS_AND_SIGNS = re.compile(r"""(?<!\S)(?:-|[+-]?[^\s":+-][^\s":]*:)(?:"[^"]*"|[^\s"]+)|\w+\*|\w+""")
"""Words, and what may be neither corrected nor searched for words: excluded words, words of fields, prefixes."""


class Neighbor(NamedTuple):
    """A word near another: the number of edits between them, and of items that hold it."""

    word: str
    edits: int
    holders: int


class Correction(NamedTuple):
    """A word that is searched for beside the words that were typed.

    Attributes
    ----------
    typed : str
        The word or the two words of the query that it stands for.
    word : str
        What is searched for.
    weight : float
        Weight relative to a typed word: below 1 for each word that it stands for.
    edits : int
        Insertions, deletions, substitutions and swaps of neighboring letters; 0 for words that were joined or split.
    meant : bool
        Whether it takes the place of what was typed when a query is suggested.
    """

    typed: str
    word: str
    weight: float
    edits: int
    meant: bool


class Lexicon(Protocol):
    """A vocabulary of words as they are written, with the number of items that hold each."""

    def counts(self, words: Sequence[str]) -> list[int]:
        """Return how many items hold each word; 0 for an unknown one."""

    def near(self, word: str, edits: int) -> list[Neighbor]:
        """Return the words within this number of edits, in any order."""


class FuzzyDictionary:
    """A vocabulary that finds all words within one or two edits of a word: a `Lexicon` of flat arrays.

    Parameters
    ----------
    words : Strings
        The words; those of more than 40 characters are not found.
    holders : int64 array
        How many items hold each.
    arrays : tuple of arrays, optional
        The result of `build` for these words, such as from a file; computed unless given.

    Examples
    --------
    >>> import numpy as np
    >>> words = FuzzyDictionary(Strings.of(["firefox", "fire", "foxes"]), np.array([3, 2, 1]))
    >>> words.near("fierfox", 1)
    [Neighbor(word='firefox', edits=1, holders=3)]
    """

    def __init__(self, words: Strings, holders: Int64Array, arrays: tuple[Uint32Array, ...] | None = None):
        self.words, self.holders = words, holders
        self.arrays = self.build(words) if arrays is None else arrays
        self._native = _native.FuzzyWords(words.data, words.offsets, *self.arrays)

    @staticmethod
    def build(words: Strings) -> tuple[Uint32Array, ...]:
        """Return the letters, the groups, the words by group, and their signatures."""
        built: tuple[Uint32Array, ...] = _native.fuzzy_build(words.data, words.offsets)
        return built

    @property
    def nbytes(self) -> int:
        """Bytes that the vocabulary does not need without typos."""
        return int(self.holders.nbytes + sum(array.nbytes for array in self.arrays))

    @property
    def fingerprint(self) -> str:
        """A checksum of the words and their counts, which decide what a query is corrected to."""
        counts: Any = np.ascontiguousarray(self.holders).view(np.uint8)
        return f"{self.words.fingerprint}-{_native.checksum(counts):016x}"

    def counts(self, words: Sequence[str]) -> list[int]:
        """Return how many items hold each word; 0 for an unknown one."""
        found = self.words.find_all(words).tolist()
        return [int(self.holders[number]) if number >= 0 else 0 for number in found]

    def near(self, word: str, edits: int) -> list[Neighbor]:
        """Return the words of items within this number of edits, the nearest first, then by number."""
        holders, words = self.holders, self.words
        found = ((number, distance, int(holders[number])) for number, distance in self._native.near(word, edits))
        return [Neighbor(words[number], distance, count) for number, distance, count in found if count]


def corrections(
    words: Sequence[str], lexicon: Lexicon, stop_words: Container[str] = (), everything: int | None = None
) -> list[Correction]:
    """Return what the words of a query may stand for, in their order, as a lexicon has it.

    A word that no item holds stands for its neighbors: those one edit away, or two if there are none and it has 8
    letters. A neighbor's weight is that of its distance times its share of the items that hold any of them, so all
    together count less than a word that was typed. A word of at most 2 items stands, beside itself, for neighbors that
    50 times as many items hold. Two neighboring words stand for one that joins them, and a word without neighbors for
    two that it is made of, one of which may have a typo; two stop words are never proposed. With the number of items,
    `everything`, no neighbors are looked for that would have to be in more items than there are.

    Examples
    --------
    >>> import numpy as np
    >>> lexicon = FuzzyDictionary(Strings.of(["firefox", "browser", "office", "libre"]), np.array([9, 5, 2, 1]))
    >>> [(one.typed, one.word, one.weight) for one in corrections(["fire", "fox", "brwoser"], lexicon)]
    [('fire fox', 'firefox', 1.4), ('brwoser', 'browser', 0.9)]
    >>> [(one.typed, one.word) for one in corrections(["libreofice"], lexicon)]
    [('libreofice', 'libre'), ('libreofice', 'office')]
    """
    joined = [one + other for one, other in pairwise(words)]
    counts = lexicon.counts([*words, *joined])
    found: list[Correction] = []
    places: set[int] = set()  # of words that are part of a joined one
    for place, (whole, count) in enumerate(zip(joined, counts[len(words) :], strict=True)):
        if count and len(whole) > ONE_EDIT_LETTERS:
            unknown = not (counts[place] and counts[place + 1])
            # It takes the place of two words where no item holds both.
            weight = 2 * JOINED_WEIGHT if unknown else JOINED_WEIGHT
            found.append(Correction(f"{words[place]} {words[place + 1]}", whole, weight, 0, unknown))
            places |= {place, place + 1} if unknown else set()
    for place, word in enumerate(words):
        if place not in places and may_be_typo(word, counts[place], everything):
            found += _of_word(word, counts[place], lexicon, stop_words)
    return found


def may_be_typo(word: str, holders: int, everything: int | None = None) -> bool:
    """Return whether a word that so many of all items hold is looked for among the words near it.

    Examples
    --------
    >>> may_be_typo("firefx", 0), may_be_typo("firefox", 3), may_be_typo("mp3", 0), may_be_typo("fig", 0)
    (True, False, False, False)
    >>> may_be_typo("firefx", 1, 20)  # none of 20 items is 50 times as frequent
    False
    """
    sized = ONE_EDIT_LETTERS <= len(word) <= 2 * MAX_LETTERS
    enough = everything is None or not holders or everything >= MIN_COMMON_RATIO * holders
    return sized and word.isalpha() and holders <= MAX_RARE_ITEMS and enough


def suggestion(text: str, found: Iterable[Correction], *, signs: bool = False) -> str | None:
    """Return the query that was probably meant; None where nothing would change.

    Parameters
    ----------
    text : str
        The query as it was typed.
    found : iterable of Correction
        Those of its words.
    signs : bool
        Whether it has signs of the web syntax: excluded words, words of fields and prefixes stay as they are.

    Examples
    --------
    >>> firefox = [Correction("firefx", "firefox", 0.8, 1, True)]
    >>> suggestion("Firefx browser", firefox)
    'firefox browser'
    >>> suggestion("+firefx -firefx made:firefx firefx*", firefox, signs=True)
    '+firefox -firefx made:firefx firefx*'
    """
    meant: dict[str, str] = {}
    for one in found:
        if one.meant:
            meant[one.typed] = f"{meant[one.typed]} {one.word}" if one.typed in meant else one.word
    corrected = text
    for typed, word in meant.items():
        if " " in typed:
            first, second = typed.split(" ")
            corrected = re.sub(rf"(?i)\b{re.escape(first)}\W+{re.escape(second)}\b", word, corrected)
    words = _WORDS_AND_SIGNS if signs else _WORDS
    corrected = words.sub(lambda match: meant.get(match[0].lower(), match[0]), corrected)
    return corrected if corrected != text else None


def _of_word(word: str, count: int, lexicon: Lexicon, stop_words: Container[str]) -> list[Correction]:
    near = [one for one in lexicon.near(word, 1) if one.edits]
    if not near and not count and len(word) >= TWO_EDITS_LETTERS:
        near = lexicon.near(word, 2)
    if count:
        near = [one for one in near if one.holders >= MIN_COMMON_RATIO * count]
    if not near:
        return [] if count else _split(word, lexicon, stop_words)
    near = sorted(near, key=lambda one: (-one.holders, one.word))[:MAX_NEIGHBORS]
    total = sum(one.holders for one in near)
    likely = [one for one in near if one.holders >= MIN_LIKELIHOOD_SHARE * total]
    total = sum(one.holders for one in likely)
    return [
        Correction(word, one.word, EDIT_WEIGHTS[one.edits] * one.holders / total, one.edits, not count and not place)
        for place, one in enumerate(likely)
    ]


def _split(word: str, lexicon: Lexicon, stop_words: Container[str]) -> list[Correction]:
    """Return the two words that a word is made of: the rarer of them as frequent as can be, the second with a typo."""
    pairs = [(word[:at], word[at:]) for at in range(2, len(word) - 1)]
    counts = lexicon.counts([part for pair in pairs for part in pair])
    least = [
        0 if one in stop_words and other in stop_words else min(counts[2 * place], counts[2 * place + 1])
        for place, (one, other) in enumerate(pairs)
    ]
    if most := max(least, default=0):
        return [Correction(word, part, JOINED_WEIGHT, 0, True) for part in pairs[least.index(most)]]
    best: tuple[int, list[Correction]] = (0, [])
    for place, pair in enumerate(pairs):
        for part in (0, 1):
            known, typed = pair[1 - part], pair[part]
            count = counts[2 * place + 1 - part]
            if not count or len(typed) < ONE_EDIT_LETTERS or len(known) < ONE_EDIT_LETTERS:
                continue
            for one in sorted(lexicon.near(typed, 1), key=lambda one: one.word):
                if min(count, one.holders) > best[0] and not (known in stop_words and one.word in stop_words):
                    two = (known, one.word) if part else (one.word, known)
                    best = (
                        min(count, one.holders),
                        [Correction(word, text, JOINED_WEIGHT * EDIT_WEIGHTS[1], 1, True) for text in two],
                    )
    return best[1]
