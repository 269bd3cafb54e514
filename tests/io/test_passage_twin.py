"""Passages of plain English against a twin that fills them greedily; lines, places and what is small by hand."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vizsla.io.passages import MAX_WORD_CHARS, Heading, ParsedDocument, PassageSizes, passages, sections

SENTENCES = st.lists(st.sampled_from(["fig", "tree", "a", "ripe"]), min_size=1, max_size=9).map(" ".join)
PARAGRAPHS = st.lists(SENTENCES.map(lambda words: words + "."), min_size=1, max_size=4).map(" ".join)
TEXTS = st.lists(PARAGRAPHS, min_size=1, max_size=5).map("\n\n".join)


def filled(text, size):
    """Whole paragraphs as long as they fit, else sentences, else words; each as early as it fits."""
    pieces = []
    for paragraph in text.split("\n\n"):
        if len(paragraph.split()) <= size:
            pieces.append(paragraph.split())
            continue
        for sentence in re.findall(r"[^.]+\.", paragraph):
            words = sentence.split()
            pieces += [words[at : at + size] for at in range(0, len(words), size)]
    found = []
    for piece in pieces:
        if found and len(found[-1]) + len(piece) <= size:
            found[-1] += piece
        else:
            found.append(list(piece))
    return found


@given(TEXTS, st.integers(1, 12))
@example("a a a. a a.\n\na a", 5)
@example("a a a a a a. a a.\n\na a a", 5)
def test_passages_are_filled_as_early_as_pieces_fit(text, size):
    found = list(passages(ParsedDocument(text), PassageSizes(size, minimum=0)))
    assert [passage.text.split() for passage in found] == filled(text, size)
    for place, passage in enumerate(found, 1):
        assert passage.place == place and passage.text == text[passage.start : passage.end]
        assert passage.start_line == 1 + text.count("\n", 0, passage.start)
        assert passage.end_line == 1 + text.count("\n", 0, passage.end)


@given(TEXTS, st.integers(2, 12), st.data())
def test_an_overlap_repeats_the_last_words_and_no_passage_is_too_long(text, size, data):
    overlap = data.draw(st.integers(1, size - 1))
    found = list(passages(ParsedDocument(text), PassageSizes(size, overlap=overlap, minimum=0)))
    words = text.split()
    first = 0
    for number, passage in enumerate(found):
        own = passage.text.split()
        assert len(own) <= size
        repeated = min(overlap, first) if number else 0
        assert own[:repeated] == words[first - repeated : first], "exactly so many words of the one before"
        assert own[repeated:] == words[first : first + len(own) - repeated]
        first += len(own) - repeated
    assert first == len(words)


def test_a_word_without_end_counts_as_several():
    text = "x" * (3 * MAX_WORD_CHARS + 1)
    found = list(passages(ParsedDocument(text), PassageSizes(2, minimum=0)))
    assert [len(passage.text) for passage in found] == [2 * MAX_WORD_CHARS, MAX_WORD_CHARS + 1]
    assert len(list(passages(ParsedDocument("x" * MAX_WORD_CHARS), PassageSizes(1, minimum=0)))) == 1


@pytest.mark.parametrize(
    ("minimum", "wanted"),
    [
        (0, ["a b c d.", "e f.", "g."]),
        (2, ["a b c d.", "e f. # g."]),
        (3, ["a b c d.", "e f. # g."]),
        (4, ["a b c d.", "e f. # g."]),
    ],
)
def test_a_passage_below_the_minimum_is_joined_where_both_fit(minimum, wanted):
    text = "# A\na b c d.\n# B\ne f.\n# C\ng."
    headings = tuple(Heading(1, text[at + 2], at, at + 3) for at in (0, 13, 22))
    found = passages(ParsedDocument(text, headings), PassageSizes(5, minimum=minimum))
    assert [" ".join(re.sub(r"# \w", "#", passage.text).split()) for passage in found] == wanted


def test_the_minimum_is_a_twentieth_unless_told_otherwise():
    assert [PassageSizes(size).least for size in (19, 20, 200, 399)] == [0, 1, 10, 19]
    assert PassageSizes(200, minimum=0).least == 0 and PassageSizes(200, minimum=7).least == 7


def test_a_heading_ends_those_of_its_level_and_below():
    levels = [1, 2, 3, 2, 1, 3, 2]
    text = "".join(f"{'#' * level} h{number}\nbody\n" for number, level in enumerate(levels))
    found = [match.span() for match in re.finditer("#+ h.", text)]
    headings = tuple(
        Heading(level, f"h{number}", *span) for number, (level, span) in enumerate(zip(levels, found, strict=True))
    )
    trails = [section.trail for section in sections(ParsedDocument(text, headings))]
    assert trails == [
        ("h0",), ("h0", "h1"), ("h0", "h1", "h2"), ("h0", "h3"), ("h4",), ("h4", "h5"), ("h4", "h6"),
    ]  # fmt: skip


def test_what_stands_before_the_start_is_no_passage():
    text = "---\nsettings\n---\nbefore\n# A\nbody"
    found = list(passages(ParsedDocument(text, (Heading(1, "A", 24, 27),), start=17), PassageSizes(50, minimum=0)))
    assert [(passage.text, passage.section.heading, passage.place) for passage in found] == [
        ("before", "", 1), ("body", "A", 1),
    ]  # fmt: skip
    assert [passage.start_line for passage in found] == [4, 6]


def test_characters_are_counted_with_the_spaces_between():
    found = list(passages(ParsedDocument("aaa bbb ccc. ddd"), PassageSizes(8, minimum=0, unit="characters")))
    assert all(len(passage.text) <= 8 for passage in found)
    assert [passage.text for passage in found] == ["aaa bbb", "ccc. ddd"]
    tokens = list(passages(ParsedDocument("aaa bb c dddd"), PassageSizes(5, minimum=0, unit=len)))
    assert [passage.text for passage in tokens] == ["aaa bb", "c dddd"]
