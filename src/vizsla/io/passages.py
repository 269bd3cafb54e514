"""Passages: a document's text, divided at its headings, paragraphs and sentences."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from vizsla._internal.lazy import cached_property
from vizsla.errors import InputError, check_positive


class Heading(NamedTuple):
    """A heading of a document.

    Attributes
    ----------
    level : int
        1 for the outermost.
    text : str
        Its words.
    start, end : int
        Where it stands in the document's text; what is under it begins at `end`.
    """

    level: int
    text: str
    start: int
    end: int


class ParsedDocument(NamedTuple):
    """What a reader returns: the text of a document, and its headings in their order.

    Attributes
    ----------
    text : str
        All spans of characters and all numbers of lines refer to it.
    headings : tuple of Heading
        In the order of the text.
    start : int
        Where passages begin: behind settings at the top of a file.
    """

    text: str
    headings: tuple[Heading, ...] = ()
    start: int = 0


class Section(NamedTuple):
    """A heading, with those above it (`trail`), and the span of what stands under it, up to the next heading."""

    heading: str
    trail: tuple[str, ...]
    start: int
    end: int


def sections(document: ParsedDocument) -> Iterator[Section]:
    """Yield the sections of a document; what stands before the first heading has an empty one.

    Examples
    --------
    >>> text = "Hi.\\n# Fig\\nSweet."
    >>> [(one.heading, text[one.start : one.end]) for one in sections(ParsedDocument(text, (Heading(1, "Fig", 4, 9),)))]
    [('', 'Hi.\\n'), ('Fig', '\\nSweet.')]
    """
    trail: dict[int, str] = {}
    heading, start = "", document.start
    for level, text, begin, end in document.headings:
        if heading or document.text[start:begin].strip():
            yield Section(heading, tuple(trail.values()), start, begin)
        for depth in [depth for depth in trail if depth >= level]:
            del trail[depth]
        trail[level] = text
        heading, start = text, end
    yield Section(heading, tuple(trail.values()), start, len(document.text))


class Passage(NamedTuple):
    """A piece of a document.

    Attributes
    ----------
    text : str
        `document.text[start:end]`, without the headings above it.
    section : Section
        Where it begins.
    place : int
        Which of the passages that begin in the section it is, from 1.
    start, end : int
        Its characters in the document's text.
    start_line, end_line : int
        Its first and last line, from 1.
    """

    text: str
    section: Section
    place: int
    start: int
    end: int
    start_line: int
    end_line: int


UNITS = ("words", "characters")
DEFAULT_WORDS = 200
"""Words of a passage at most, unless told otherwise: about what a search engine quotes from."""
SMALL_PASSAGE_RATIO = 20
"""A passage with less than this part of the size is small, unless told otherwise."""
MAX_WORD_CHARS = 100
"""Characters; a longer run without a space counts as several words."""

# Scripts without spaces: a word has up to four letters in Thai, Lao, Tibetan, Burmese and Khmer, and one elsewhere.
_SHORT = "\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff"
_SINGLE = "\u2e80-\ua4cf\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
_UNSPACED = re.compile(f"[{_SHORT}{_SINGLE}]")
_WORD = re.compile(rf"[{_SINGLE}]|[{_SHORT}]{{1,4}}|[^\s{_SHORT}{_SINGLE}]{{1,{MAX_WORD_CHARS}}}")
_PARAGRAPH_END = re.compile(r"\n[^\S\n]*\n\s*")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？｡])\s*|\n\s*")


@dataclass(frozen=True)
class PassageSizes:
    """How large passages are.

    Parameters
    ----------
    size : int
        Units that a passage has at most.
    overlap : int
        Units that a passage shares with the one before it in its section.
    minimum : int, optional
        A passage with fewer units is joined with a neighbor, where both fit into one; a twentieth of `size` unless
        given.
    unit : {"words", "characters"} or function
        What is counted. A function returns the number of tokens of a word, such as an encoder's.
    """

    size: int = DEFAULT_WORDS
    overlap: int = 0
    minimum: int | None = None
    unit: str | Callable[[str], int] = "words"

    def __post_init__(self) -> None:
        check_positive("passage_size", self.size)
        if not callable(self.unit) and self.unit not in UNITS:
            raise InputError(
                f"`passage_unit` must be {', '.join(map(repr, UNITS))}, or a function from a word to its number of "
                f"tokens. Got {self.unit!r:.60}."
            )
        for name, value in (("passage_overlap", self.overlap), ("passage_min", self.least)):
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < self.size:
                raise InputError(f"`{name}` must be from 0 to below `passage_size` ({self.size}). Got {value!r}.")

    @property
    def least(self) -> int:
        """How many units a passage has at least, where it can be joined."""
        return self.size // SMALL_PASSAGE_RATIO if self.minimum is None else self.minimum


DEFAULT_SIZES = PassageSizes()


@dataclass
class _Measure:
    """Counts the units of spans of one text."""

    text: str
    sizes: PassageSizes
    known: dict[str, int] = field(default_factory=dict)

    @cached_property
    def _is_plain(self) -> bool:
        """Whether the words are those of `str.split`."""
        spaced = self.text.isascii() or _UNSPACED.search(self.text) is None
        return spaced and max(map(len, self.text.split()), default=0) <= MAX_WORD_CHARS

    def count(self, start: int, end: int) -> int:
        """Return how many units a span has."""
        if self.sizes.unit == "characters":
            return end - start
        if callable(self.sizes.unit):
            return sum(map(self._tokens, _WORD.findall(self.text, start, end)))
        if self._is_plain:
            return len(self.text[start:end].split())
        return len(_WORD.findall(self.text, start, end))

    def words(self, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """Yield the words of a span, or characters, with their counts."""
        if self.sizes.unit == "characters":
            for found in _WORD.finditer(self.text, start, end):
                step = self.sizes.size - self.sizes.overlap
                for at in range(found.start(), found.end(), step):
                    stop = min(at + step, found.end())
                    yield at, stop, stop - at
            return
        for found in _WORD.finditer(self.text, start, end):
            yield found.start(), found.end(), 1 if self.sizes.unit == "words" else self._tokens(found.group())

    def _tokens(self, word: str) -> int:
        count = self.known.get(word)
        if count is None:
            count = self.known[word] = int(self.sizes.unit(word))  # type: ignore[operator]
        return count


@dataclass
class _Group:
    """Pieces that become one passage."""

    section: Section
    pieces: list[tuple[int, int, int]]
    count: int
    continues: bool = False
    """Whether it goes on in a section that began before it."""

    @property
    def span(self) -> tuple[int, int]:
        return self.pieces[0][0], self.pieces[-1][1]


def passages(document: ParsedDocument, sizes: PassageSizes = DEFAULT_SIZES) -> Iterator[Passage]:
    """Yield the passages of a document; together they hold all of its text but the headings that they begin under.

    Paragraphs stay whole where they fit. A longer one is divided between sentences, and a longer sentence between
    words. Small neighbors are joined, across headings too: these are then part of the text.

    Examples
    --------
    >>> fig = ParsedDocument("A fig is sweet. It grows on trees.\\n\\nPick it ripe.")
    >>> [passage.text for passage in passages(fig, PassageSizes(4, minimum=0))]
    ['A fig is sweet.', 'It grows on trees.', 'Pick it ripe.']
    >>> [passage.text for passage in passages(fig, PassageSizes(6, overlap=2, minimum=0))]
    ['A fig is sweet.', 'is sweet. It grows on trees.', 'on trees.\\n\\nPick it ripe.']
    """
    text, measure = document.text, _Measure(document.text, sizes)
    groups = list[_Group]()
    for section in sections(document):
        if (
            groups
            and not groups[-1].count
            and section.trail[: len(groups[-1].section.trail)] == groups[-1].section.trail
        ):
            groups.pop()  # a heading alone, which the next one's trail repeats
        groups += _groups(section, measure) or [_Group(section, [(section.start, section.start, 0)], 0)]
    if groups and not groups[-1].count and not groups[-1].section.heading:
        groups.pop()
    places: dict[int, int] = {}
    line, at, before = 1, 0, 0
    for group in _joined(groups, measure):
        start, end = group.span
        while start < end and text[start].isspace():  # behind a heading that has nothing under it
            start += 1
        if group.continues and sizes.overlap:
            start = _overlap_start(measure, before, start)
        line, at, before = line + text.count("\n", at, start), start, end
        place = places[group.section.start] = places.get(group.section.start, 0) + 1
        last = line + text.count("\n", start, end)
        yield Passage(text[start:end], group.section, place, start, end, line, last)


def _overlap_start(measure: _Measure, before: int, start: int) -> int:
    """Return where the last `overlap` units before a position begin."""
    characters, wanted, used = measure.sizes.unit == "characters", start, 0
    overlap = measure.sizes.overlap
    window = max(before - (overlap + 1) * (1 if characters else MAX_WORD_CHARS), 0)
    for begin, _, count in reversed(list(measure.words(window, before))):
        used = start - begin if characters else used + count
        if used > overlap:
            break
        wanted = begin
    return wanted


def _groups(section: Section, measure: _Measure) -> list[_Group]:
    """Fill passages with pieces of a section, up to their size."""
    sizes, groups = measure.sizes, list[_Group]()
    start, end = _stripped(measure.text, section.start, section.end)
    if start == end:
        return groups
    limit = sizes.size - sizes.overlap
    count = measure.count(start, end)
    if count <= limit:
        return [_Group(section, [(start, end, count)], count)]
    characters = sizes.unit == "characters"
    for piece in _pieces(measure, start, end, limit):
        if groups:
            gap = piece[0] - groups[-1].span[1] if characters else 0
            if groups[-1].count + gap + piece[2] <= (sizes.size if len(groups) == 1 else limit):
                groups[-1].pieces.append(piece)
                groups[-1].count += gap + piece[2]
                continue
        groups.append(_Group(section, [piece], piece[2], bool(groups)))
    return groups


def _pieces(measure: _Measure, start: int, end: int, limit: int) -> Iterator[tuple[int, int, int]]:
    """Yield paragraphs, or parts of those that are too long."""
    for paragraph in _split(_PARAGRAPH_END, measure.text, start, end):
        count = measure.count(*paragraph)
        if count <= limit:
            yield *paragraph, count
            continue
        for sentence in _split(_SENTENCE_END, measure.text, *paragraph):
            count = measure.count(*sentence)
            if count <= limit:
                yield *sentence, count
                continue
            begin, stop, total = -1, -1, 0
            for first, last, size in measure.words(*sentence):
                gap = first - stop if measure.sizes.unit == "characters" and begin >= 0 else 0
                if begin >= 0 and total + gap + size > limit:
                    yield begin, stop, total
                    begin, total, gap = -1, 0, 0
                begin, stop, total = first if begin < 0 else begin, last, total + gap + size
            if begin >= 0:
                yield begin, stop, total


def _split(pattern: re.Pattern[str], text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the spans between what the pattern finds, without white space at their ends."""
    for found in pattern.finditer(text, start, end):
        last = found.start()
        while last > start and text[last - 1].isspace():
            last -= 1
        if start < last:
            yield start, last
        start = found.end()
    if start < end:
        yield start, end


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    part = text[start:end]
    begin = start + len(part) - len(part.lstrip())
    return begin, max(begin, start + len(part.rstrip()))


def _joined(groups: list[_Group], measure: _Measure) -> Iterator[_Group]:
    """Join groups that are too small with a neighbor; what does not fit takes pieces of the group before it."""
    least, last = measure.sizes.least, None
    limit = measure.sizes.size - measure.sizes.overlap
    for group in groups:
        if last is None:
            last = group
            continue
        if min(last.count, group.count) < least:
            between = measure.count(last.span[1], group.span[0])
            if last.count + between + group.count <= limit:
                last.pieces += group.pieces
                last.count += between + group.count
                continue
            if group.continues and measure.sizes.unit != "characters":
                while group.count < least and len(last.pieces) > 1 and last.count - last.pieces[-1][2] >= least:
                    if group.count + last.pieces[-1][2] > limit:
                        break
                    piece = last.pieces.pop()
                    group.pieces.insert(0, piece)
                    last.count, group.count = last.count - piece[2], group.count + piece[2]
        yield last
        last = group
    if last is not None:
        yield last
