"""Which languages texts are in, told from their function words and letters alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla.strings import Strings
from vizsla.text.stemming import UNSPACED
from vizsla.text.stop_words import STOP_WORDS

LANGUAGES = tuple(sorted({*STOP_WORDS, *UNSPACED}))
"""The languages that can be told apart: those with a list of function words, or with a script without spaces."""
UNIT = 240
"""What a function word of one language says for it; a word of n languages says an n-th for each."""
ENOUGH = UNIT
"""What an item must say for its language to count."""
ENOUGH_TO_ASK = UNIT // 4
"""What a query must say: it is short, and only languages of its catalogue are in question."""
CLEARLY = 1.5
"""How many times more it must say for it than for the next."""
SHARE = 0.02
"""What share of the items a further language must have."""
DISTINCT = 3
"""How many different words must speak for a language."""
MANY_AS_CONTENT = 0.1
"""How common a language's stop word must be in another, relative to its own, to be a word that people search there."""
LEANING = 2
"""How many must speak for one to which a catalogue only leans."""
FALLBACK = "english"
"""What a catalogue is taken for that says nothing of its language."""
FEW = 0.1
"""How many words with other letters such a catalogue may have, for each that has none."""

LETTERS = {
    "ß": "german", "ñ": "spanish", "¿": "spanish", "ãõ": "portuguese", "łżśźćń": "polish", "řůě": "czech",
    "őű": "hungarian", "ğı": "turkish", "țșă": "romanian", "œ": "french", "ìò": "italian",
    "ä": "german finnish swedish", "ö": "german finnish hungarian swedish turkish", "ü": "german hungarian turkish",
    "å": "danish norwegian swedish", "øæ": "danish norwegian", "ê": "french portuguese",
    "çâ": "french portuguese turkish",
    "è": "french italian", "à": "french italian portuguese", "ù": "french italian",
    "ş": "turkish", "î": "french romanian",
    "ąę": "polish", "č": "czech", "šž": "czech", "ý": "czech", "ô": "french portuguese",
    "đơưạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹ": "vietnamese",
}  # fmt: skip
"""Letters that tell languages of the Latin script apart."""
TELLING = re.compile(f"[{''.join(LETTERS)}]")
SCRIPTS = {"arabic": (0x600, 0x6FF), "greek": (0x370, 0x3FF), "hindi": (0x900, 0x97F), "russian": (0x400, 0x4FF)}
FOREIGN = frozenset("پچژگکیٹڈڑںےہіїєґўјљњћђџѓќѕळ")
"""Letters of these scripts that these languages do not use: Persian, Urdu, Ukrainian, Serbian and others do."""
CHARACTERS = (
    (0x0E00, 0x0E7F, {"thai": 3}), (0x1100, 0x11FF, {"korean": 3}), (0x3040, 0x30FF, {"japanese": 3}),
    (0x3400, 0x4DBF, {"chinese": 3, "japanese": 2}), (0x4E00, 0x9FFF, {"chinese": 3, "japanese": 2}),
    (0xAC00, 0xD7AF, {"korean": 3}),
)  # fmt: skip
"""Characters of scripts without spaces, and what a token that begins with one says, in eightieths of a function word:
little, for there are many. Chinese characters are written in Japanese too, beside others that are not Chinese."""
MOST = 2**31 - 1

Table = tuple[NDArray[np.int32], NDArray[np.int32]]


def evidence_of(surface: Strings) -> Table:
    """Return the row of weights that each form has (-1 for none), and the weights, a column for each of LANGUAGES.

    Examples
    --------
    >>> rows, weights = evidence_of(Strings.of(["the", "fig"]))
    >>> rows.tolist(), int(weights[0, LANGUAGES.index("english")])
    ([0, -1], 240)
    """
    row_of_form = np.full(len(surface), -1, np.int32)
    words = list(_function_words())
    numbers = surface.find_all(words)
    known = np.flatnonzero(numbers >= 0)
    rows = [_function_words()[words[place]] for place in known.tolist()]
    row_of_form[numbers[known]] = np.arange(len(known), dtype=np.int32)
    row_of_letters: dict[str, int] = {}
    others = _beyond_ascii(surface)
    others = others[row_of_form[others] < 0]
    for number, form in zip(others.tolist(), surface.take(others.astype(np.int32)), strict=True):
        if letters := _telling_letters(form):
            row_of_form[number] = row_of_letters.setdefault(letters, len(known) + len(row_of_letters))
    rows += map(_said_by_letters, row_of_letters)
    starts = _first_characters(surface)
    for first, last, shares in CHARACTERS:
        numbers = np.flatnonzero((starts >= first) & (starts <= last) & (row_of_form < 0))
        if len(numbers):
            row_of_form[numbers] = len(rows)
            rows.append(_said_by_character(shares))
    return row_of_form, np.array(rows, np.int32).reshape(len(rows), len(LANGUAGES))


@lru_cache(maxsize=16_384)
def said_by(word: str) -> NDArray[np.int32]:
    """Return what one word says for each of LANGUAGES, as `evidence_of` has it. The array is shared: do not change it.

    Examples
    --------
    >>> int(said_by("the")[LANGUAGES.index("english")]), int(said_by("fig").max())
    (240, 0)
    """
    if (weights := _function_words().get(word)) is not None:
        return weights
    written = word.encode("utf-8", "replace")
    if written and max(written) >= 0xC3 and written[0] < 0xE1 and (letters := _telling_letters(word)):
        return _said_by_letters(letters)
    start = ord(word[0]) if word else 0
    shares = next((shares for first, last, shares in CHARACTERS if first <= start <= last), {})
    return _said_by_character(shares)


def clear_language(words: Iterable[str], languages: tuple[str, ...]) -> int:
    """Return the place of the language that a query's words clearly speak for, among these; -1 where none is clear.

    Examples
    --------
    >>> both = "german", "english"
    >>> clear_language(["what", "is", "a", "haus"], both), clear_language(["haus"], both)
    (1, -1)
    """
    said = np.sum([said_by(word) for word in words], axis=0, dtype=np.int64).reshape(-1)
    if not said.any():
        return -1
    mine = said[[_place(language) for language in languages]]
    best = int(np.argmax(mine))
    rest = int(np.delete(mine, best).max(initial=0))
    return best if mine[best] >= ENOUGH_TO_ASK and mine[best] >= CLEARLY * rest else -1


def telling_words(table: Table) -> NDArray[np.int64]:
    """Return how many distinct forms speak for each of LANGUAGES, by what `evidence_of` gave.

    Examples
    --------
    >>> int(telling_words(evidence_of(Strings.of(["the", "fig", "and"])))[LANGUAGES.index("english")])
    2
    """
    row_of_form, weights = table
    forms = np.bincount(row_of_form[row_of_form >= 0], minlength=len(weights))
    return np.asarray(forms @ (weights > 0), np.int64)


def languages_of(evidence: NDArray[np.int32], telling: NDArray[np.int64]) -> tuple[str, ...]:
    """Return the languages of a catalogue, the most common first, from what each item says for each of LANGUAGES.

    `telling` counts the distinct words that speak for each: one that is often repeated may be a name.

    Examples
    --------
    >>> said = np.zeros((3, len(LANGUAGES)), np.int32)
    >>> said[0, LANGUAGES.index("german")] = 3 * UNIT
    >>> languages_of(said, np.full(len(LANGUAGES), 5))
    ('german',)
    """
    voters = evidence if len(evidence) else np.zeros((1, len(LANGUAGES)), np.int32)
    best, strength, clear = _clear(voters)
    if not clear.any():
        best, strength, clear = _clear(np.clip(voters.sum(axis=0, dtype=np.int64), -MOST, MOST).astype(np.int32))
    votes = np.bincount(best[clear], minlength=len(LANGUAGES))
    said = np.bincount(best[clear], weights=strength[clear], minlength=len(LANGUAGES))
    found = np.flatnonzero((votes > 0) & (votes >= SHARE * votes.sum()) & (said >= 2 * UNIT) & (telling >= DISTINCT))
    return tuple(LANGUAGES[n] for n in sorted(found.tolist(), key=lambda n: (-votes[n], -said[n], n)))


def leaning(table: Table, surface: Strings) -> str | None:
    """Return the language to which a catalogue leans that says too little for a decision, or None.

    It is the one that most of its distinct forms speak for, two at least, by what `evidence_of` gave. Where none is,
    and next to all letters are ASCII, it is English, whose inflections are few and seldom those of other languages.

    Examples
    --------
    >>> surface = Strings.of(["fig", "trees"])
    >>> leaning(evidence_of(surface), surface)
    'english'
    """
    row_of_form, weights = table
    # A letter of a script says no more than that: Ukrainian would lean to Russian.
    able = (telling_words(table) >= LEANING) & np.array([language not in SCRIPTS for language in LANGUAGES])
    said = weights[row_of_form[row_of_form >= 0]].sum(axis=0, dtype=np.int64) * able
    best, first, second = (n[0] for n in _native.strongest(np.clip(said, -MOST, MOST).astype(np.int32), len(LANGUAGES)))
    if first > 0 and first >= CLEARLY * second:
        return LANGUAGES[int(best)]
    undecided = said[LANGUAGES.index(FALLBACK)] == max(first, 0)
    return FALLBACK if undecided and _written_in_ascii(surface) else None


def _written_in_ascii(surface: Strings) -> bool:
    """Whether there are words in plain Latin letters, and next to no others of scripts with spaces."""
    letters = _native.without_parts(surface.data, surface.offsets)
    plain = len(np.setdiff1d(letters, _owners(surface, 0x80)))
    return plain > 0 and len(_beyond_ascii(surface)) <= FEW * plain


def columns_of(evidence: NDArray[np.int32], languages: tuple[str, ...]) -> NDArray[np.int32]:
    """Return the place of each item's language among these; one that says too little is in the first.

    Examples
    --------
    >>> said = np.zeros((2, len(LANGUAGES)), np.int32)
    >>> said[1, LANGUAGES.index("german")] = UNIT
    >>> columns_of(said, ("english", "german")).tolist()
    [0, 1]
    """
    mine = evidence[:, [LANGUAGES.index(language) for language in languages]]
    return np.where(mine.max(axis=1, initial=0) >= UNIT // 4, np.argmax(mine, axis=1), 0).astype(np.int32)


def content_words(
    builder: _native.BagBuilder, surface: Strings, languages: tuple[str, ...], columns: NDArray[np.int32]
) -> tuple[str, ...]:
    """Return the stop words of one language that are words to search for in another, such as `war` and `man`."""
    lists = [listed([language]) for language in languages]
    disputed = sorted(set().union(*lists) - frozenset.intersection(*lists))
    numbers = surface.find_all(disputed)
    row_of_form = np.full(len(surface), -1, np.int32)
    row_of_form[numbers[numbers >= 0]] = np.flatnonzero(numbers >= 0).astype(np.int32)
    counted = np.asarray(builder.holders(row_of_form, len(disputed), len(languages), columns), np.int64)
    held = counted.reshape(len(disputed), len(languages))
    shares = held / np.maximum(np.bincount(columns, minlength=len(languages)), 1)
    grammar = np.array([[word in words for words in lists] for word in disputed], np.bool_).reshape(shares.shape)
    common = np.where(grammar, shares, 0).max(axis=1, initial=0)
    elsewhere = np.where(grammar, 0, shares).max(axis=1, initial=0)
    searched = np.flatnonzero((elsewhere > 0) & (elsewhere >= MANY_AS_CONTENT * common))
    return tuple(disputed[n] for n in searched.tolist())


def _clear(evidence: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.bool_]]:
    """Return the strongest language of each row, what is said for it, and whether it is clear."""
    best, first, second = _native.strongest(evidence.reshape(-1), len(LANGUAGES))
    return best, first, (first >= ENOUGH) & (first >= CLEARLY * second)


@cache
def _place(language: str) -> int:
    return LANGUAGES.index(language)


@cache
def _function_words() -> dict[str, NDArray[np.int32]]:
    """Return the weights of every function word."""
    speakers: dict[str, list[str]] = {}
    for language in LANGUAGES:
        # A single letter of the Latin alphabet is as likely a part of a number.
        for word in (word for word in STOP_WORDS.get(language, ()) if len(word) > 1 or not word.isascii()):
            speakers.setdefault(word, []).append(language)
    return {word: _weights(named, UNIT) for word, named in speakers.items()}


@cache
def _letters() -> dict[str, NDArray[np.int32]]:
    """Return the weights of every telling letter: less than a function word's, for names travel."""
    return {letter: _weights(named.split(), UNIT // 2) for letters, named in LETTERS.items() for letter in letters}


def _weights(languages: Iterable[str], unit: int) -> NDArray[np.int32]:
    named = list(languages)
    return _weights_of(dict.fromkeys(named, unit // len(named)))


def _weights_of(said: Mapping[str, int]) -> NDArray[np.int32]:
    return np.array([said.get(language, 0) for language in LANGUAGES], np.int32)


def _telling_letters(form: str) -> str:
    """Return a word's telling letters; in a script of one language the first, and a mark if others are foreign."""
    if any(first <= ord(form[0]) <= last for first, last in SCRIPTS.values()):
        return form[0] + "?" * bool(FOREIGN.intersection(form))
    return "".join(sorted(set(TELLING.findall(form))))


def _said_by_letters(letters: str) -> NDArray[np.int32]:
    """Return what the telling letters of a word say."""
    for language, (first, last) in SCRIPTS.items():
        if first <= ord(letters[0]) <= last:
            return _weights([language], UNIT // 4) * np.int32(-1 if len(letters) > 1 else 1)
    said = [_letters()[letter] for letter in letters]
    return np.asarray(np.minimum(np.sum(said, axis=0), UNIT // 2), np.int32)


def _said_by_character(shares: Mapping[str, int]) -> NDArray[np.int32]:
    return _weights_of({language: share * UNIT // 80 for language, share in shares.items()})


def _beyond_ascii(surface: Strings) -> NDArray[np.int64]:
    """Return the numbers of the strings that are not all ASCII and not Chinese, Japanese or Korean at their start."""
    owners = _owners(surface, 0xC3)
    return owners[surface.data[surface.offsets[owners]] < 0xE1]


def _first_characters(surface: Strings) -> NDArray[np.int64]:
    """Return the code of each string's first character where it takes three bytes in UTF-8, else 0."""
    starts = surface.offsets[:-1]
    if not len(surface.data):
        return np.zeros(len(starts), np.int64)
    end = len(surface.data) - 1
    lead, second, third = (surface.data[np.minimum(starts + n, end)].astype(np.int64) for n in range(3))
    return np.where((lead & 0xF0) == 0xE0, (lead & 0x0F) << 12 | (second & 0x3F) << 6 | third & 0x3F, 0)


def _owners(surface: Strings, bound: int) -> NDArray[np.int64]:
    """Return the numbers of the strings that hold a byte of at least `bound`."""
    return np.unique(np.searchsorted(surface.offsets, np.flatnonzero(surface.data >= bound), side="right") - 1)


def listed(languages: Iterable[str]) -> frozenset[str]:
    """Return all stop words of some languages.

    Examples
    --------
    >>> "der" in listed(["german"])
    True
    """
    return frozenset(chain.from_iterable(STOP_WORDS.get(language, ()) for language in languages))
