"""Passages: laws over random documents, and examples made by hand."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vizsla.errors import InputError
from vizsla.io.document_readers import read_code, read_html, read_markdown, read_notebook, read_rst, read_text
from vizsla.io.passages import PassageSizes, passages, sections

PIECES = [
    "# Fig\n", "## Tree trunk\n", "Root\n----\n", "```\n# no heading\n```\n", "\n", "\n\n", "  ", "\t\n", "fig ",
    "Ripe. ",
    "a longer line of words that goes on\n", "无花果树。", "ไทย", "x" * 230, "<b>", "&amp;", "def eat(x):\n",
    "    class A:\n",
    "Pear\n====\n", "…", "\u2028",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)
READ = [read_markdown, read_text, read_rst, read_code, read_html]
SIZES = st.tuples(st.integers(1, 30), st.integers(0, 29), st.integers(0, 29), st.sampled_from(["words", "characters"]))


def tokens(word: str) -> int:
    return len(word) // 3 + 1


@example("# Fig\n# Pear\nGreen.\n\n# Plum", read_markdown, (20, 0, 10, "words"))
@given(TEXTS, st.sampled_from(READ), SIZES)
def test_spans_are_slices_and_no_text_is_lost(text, read, asked):
    size, overlap, least, unit = asked
    document = read(text)
    sizes = PassageSizes(size, overlap % size, least % size, unit)
    found = list(passages(document, sizes))
    covered = bytearray(len(document.text))
    for heading in document.headings:
        assert heading.text.split() == [] or heading.text.split()[0] in document.text[heading.start :]
        covered[heading.start : heading.end] = b"x" * (heading.end - heading.start)
    for passage in found:
        assert document.text[passage.start : passage.end] == passage.text == passage.text.strip()
        assert passage.start_line == 1 + document.text.count("\n", 0, passage.start)
        assert passage.end_line == 1 + document.text.count("\n", 0, passage.end)
        covered[passage.start : passage.end] = b"x" * len(passage.text)
    assert all(covered[at] or character.isspace() for at, character in enumerate(document.text))
    starts = [(passage.start, passage.end) for passage in found]
    assert starts == sorted(starts)
    trails = {heading for passage in found for heading in passage.section.trail}
    texts = "\n".join(passage.text for passage in found)
    assert all(heading.text in trails or heading.text in texts for heading in document.headings)


@given(TEXTS, SIZES)
def test_no_passage_is_larger_than_asked_for(text, asked):
    size, overlap, least, unit = asked
    for passage in passages(read_markdown(text), PassageSizes(size, overlap % size, least % size, unit)):
        if unit == "characters":
            assert len(passage.text) <= size
        else:  # a word of a script without spaces has one character here, or up to four in Thai
            assert len(re.findall("[无花果树。]|[ไทย]{1,4}|[^\\s无花果树。ไทย]{1,100}", passage.text)) <= size


@given(TEXTS, st.integers(40, 60))
def test_tokens_of_an_encoder_are_counted(text, size):
    document = read_text(text)
    found = list(passages(document, PassageSizes(size, unit=tokens)))
    words = re.compile("[无花果树。]|[ไทย]{1,4}|[^\\s无花果树。ไทย]{1,100}")
    assert all(sum(map(tokens, words.findall(passage.text))) <= size for passage in found)


def test_a_chinese_paragraph_is_divided():
    text = "无花果是一种水果。" * 1067
    assert len(text) > 9600
    found = list(passages(read_text(text)))
    assert len(found) == 49 and all(len(passage.text) <= 200 for passage in found)
    assert "".join(passage.text for passage in found) == text
    assert all(passage.text.endswith("。") for passage in found)


def test_small_passages_are_joined():
    chance = random.Random(5)
    parts = [f"## Part {n}\n\n{' '.join(['fig'] * chance.choice([2, 3, 50, 150]))}.\n" for n in range(100)]
    document = read_markdown("# All\n\n" + "\n".join(parts))
    small = [len(passage.text.split()) < 10 for passage in passages(document)]
    apart = [len(passage.text.split()) < 10 for passage in passages(document, PassageSizes(minimum=0))]
    assert sum(apart) > 40 and sum(small) <= 1
    first = next(passages(read_markdown("# Fig\nSweet.\n\n## Tree\nTall.\n")))
    assert (first.text, first.section.trail, first.end_line) == ("Sweet.\n\n## Tree\nTall.", ("Fig",), 5)


def test_the_last_passage_of_a_section_is_not_left_small():
    text = "\n\n".join(["fig " * 19 + "fig."] * 10 + ["A last fig."])
    assert [len(passage.text.split()) for passage in passages(read_text(text))] == [180, 23]


def test_a_heading_alone_is_in_the_trail_of_the_next_or_found_by_itself():
    found = list(passages(read_markdown("# Fig\n## Tree\nTall."), PassageSizes(minimum=0)))
    assert [(passage.section.trail, passage.text) for passage in found] == [(("Fig", "Tree"), "Tall.")]
    found = list(passages(read_markdown("# Fig\n# Pear\nGreen."), PassageSizes(minimum=0)))
    assert [(passage.section.trail, passage.text) for passage in found] == [(("Fig",), ""), (("Pear",), "Green.")]


def test_overlap_in_characters():
    found = list(passages(read_text("one two three four five six"), PassageSizes(12, 5, 0, "characters")))
    assert [passage.text for passage in found] == ["one two", "two three", "four", "four five", "five six"]


def test_sections_of_markdown():
    text = "Hello.\n\n# Fig\nSweet.\n\n### Deep\n## Tree ##\nTall.\n\n# Pear"
    found = [(one.trail, text[one.start : one.end].strip()) for one in sections(read_markdown(text))]
    assert found == [
        ((), "Hello."), (("Fig",), "Sweet."), (("Fig", "Deep"), ""), (("Fig", "Tree"), "Tall."), (("Pear",), ""),
    ]  # fmt: skip


def test_notebooks():
    cells = [("markdown", ["# Fig\n", "Sweet."]), ("code", "# no heading\nx = 1"), ("raw", "left out"), ("code", "")]
    book = {"cells": [{"cell_type": kind, "source": source, "outputs": ["left out"]} for kind, source in cells]}
    document = read_notebook(__import__("json").dumps(book))
    assert document.text == "# Fig\nSweet.\n\n# no heading\nx = 1"
    assert [heading[:2] for heading in document.headings] == [(1, "Fig")]


def test_sections_of_rst():
    text = (
        "=====\nFruit\n=====\n\nFig\n---\nA fig\nis sweet.\n\nTree\n~~~~\nTall.\n\nPear\n----\n\n::\n\n    a\n    -\n\n"
    )
    text += "Too long\n---\n"
    found = [(heading.level, heading.text) for heading in read_rst(text).headings]
    assert found == [(1, "Fruit"), (2, "Fig"), (3, "Tree"), (2, "Pear")]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"size": 0}, "`passage_size` must be"),
        ({"size": 10, "overlap": 10}, "`passage_overlap` must be from 0 to below `passage_size`"),
        ({"size": 10, "minimum": -1}, "`passage_min` must be from 0 to below `passage_size`"),
        ({"unit": "letters"}, "`passage_unit` must be 'words', 'characters', or a function"),
    ],
)
def test_sizes_that_make_no_sense_raise(given, message):
    with pytest.raises(InputError, match=message):
        PassageSizes(**given)
