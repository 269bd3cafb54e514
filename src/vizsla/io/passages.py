"""Splits a document into passages: at headings first, then between paragraphs, so that none is too long."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from vizsla.errors import InputError, check_positive
from vizsla.io.sections import Section

WORDS = 200
"""Of a passage, unless told otherwise: about what an answer of a search engine quotes from."""
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+")


class Passage(NamedTuple):
    """A piece of a document, with the section that it is from and its place there, from 1."""

    section: Section
    place: int
    text: str


def check_sizes(words: int, overlap: int) -> None:
    """Raise unless passages of so many words can overlap by so many."""
    check_positive("passage_words", words)
    if isinstance(overlap, bool) or not isinstance(overlap, int) or not 0 <= overlap < words:
        raise InputError(f"`overlap_words` must be from 0 to below `passage_words` ({words}). Got {overlap!r}.")


def passages(section: Section, *, words: int = WORDS, overlap: int = 0) -> Iterator[Passage]:
    """Yield a section's passages of at most `words` words; each begins with the last `overlap` words of the one before.

    Paragraphs stay whole where they fit; a longer one is split between sentences, and a longer sentence between words.

    Examples
    --------
    >>> fig = Section("", ("Fig",), ("A fig is sweet. It grows on trees.", "Pick it ripe."), 1)
    >>> [passage.text for passage in passages(fig, words=4)]
    ['A fig is sweet.', 'It grows on trees.', 'Pick it ripe.']
    >>> [passage.text for passage in passages(fig, words=6, overlap=2)]
    ['A fig is sweet.', 'is sweet. It grows on trees.', 'on trees. Pick it ripe.']
    """
    place, taken, count, fresh = 1, list[str](), 0, False
    for piece in _pieces(section.paragraphs, words - overlap):
        size = len(piece.split())
        if fresh and count + size > words:
            yield Passage(section, place, "\n".join(taken))
            tail = " ".join("\n".join(taken).split()[-overlap:]) if overlap else ""
            place, taken, count = place + 1, [], len(tail.split())
            if tail:
                piece = f"{tail} {piece}"
        taken.append(piece)
        count, fresh = count + size, True
    if taken:
        yield Passage(section, place, "\n".join(taken))


def _pieces(paragraphs: tuple[str, ...], most: int) -> Iterator[str]:
    for paragraph in paragraphs:
        if len(paragraph.split()) <= most:
            yield paragraph
            continue
        for sentence in _SENTENCE.split(paragraph):
            words = sentence.split()
            yield from (" ".join(words[at : at + most]) for at in range(0, len(words), most))
