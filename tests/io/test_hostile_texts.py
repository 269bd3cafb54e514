"""Texts that begin many things and end none are read in one pass: the work grows with their length, not its square."""

from __future__ import annotations

from time import process_time

import pytest

from vizsla.data.conditions import Condition
from vizsla.errors import VizslaError
from vizsla.io.document_readers import READERS, read_html, read_markdown
from vizsla.io.passages import passages
from vizsla.io.trec import read_topics

SOON = 5.0
"""CPU seconds; each of these takes a small part of one, and took minutes."""


@pytest.fixture(autouse=True)
def is_soon_over():
    start = process_time()
    yield
    assert process_time() - start < SOON


@pytest.mark.parametrize("text", [" " * 100_000, " " * 50_000 + "a" + " " * 50_000 + "!", "a" + " =" * 50_000])
def test_conditions(text):
    try:
        Condition.parse(text)
    except VizslaError as error:
        assert "`where` must be like" in str(error) or "at most 100,000 characters" in str(error)


@pytest.mark.parametrize("line", ["# a" + " " * 100_000 + "x", "# a" + " #" * 50_000 + "x", "#" + "\t" * 100_000])
def test_headings(line):
    read_markdown(f"{line}\nwords")


@pytest.mark.parametrize(
    ("line", "heading"),
    [("# Fig", "Fig"), ("## Fig ##  ", "Fig"), ("#   C #", "C"), ("#Fig", ""), ("# ##", ""), ("#######", "")],
)
def test_what_a_heading_is(line, heading):
    assert "".join(found.text for found in read_markdown(f"{line}\nwords").headings) == heading


OPENED = ["<a ", "<!--", "<![CDATA[", "<?", "<!", "</", "<a b='", "<script></", "<div>", "<nav>", "<header>", "<h1>x"]


@pytest.mark.parametrize(
    "begin", [*OPENED, "<header><h1>", "<b><p>", "<table><td>", "&#", "&a", "<pre>\n", "<footer x"]
)
@pytest.mark.parametrize("before", ["", "<p>fig</p>"])
def test_pages(begin, before):
    document = read_html(before + begin * 200_000)
    assert not before or document.text.startswith("fig")


UNITS = [
    "\n",
    " ",
    "a\n",
    "=\n",
    "a\n=\n",
    "``` \n",
    "a.",
    "a. ",
    "。",
    "\n \n",
    "# a\n",
    "def a\n",
    "...\n",
    "\t\n",
    "x",
]


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("suffix", [".md", ".txt", ".rst", ".py", ".html"])
def test_documents(unit, suffix):
    document = READERS[suffix].read(unit * (300_000 // len(unit)))
    assert sum(passage.end - passage.start for passage in passages(document)) <= len(document.text)


@pytest.mark.parametrize(
    "text",
    [
        "<top>" * 200_000,
        "<top " * 200_000,
        "<topic>" * 100_000 + "</top>" * 100_000,
        f"<top><num>{' ' * 200_000}<title>x</title></top>",
        f"<top><num>1</num>{'<title ' * 100_000}</top>",
    ],
)
def test_topics(text, tmp_path):
    (tmp_path / "topics.xml").write_text(text)
    with pytest.raises(VizslaError):
        read_topics(tmp_path / "topics.xml")


def test_many_topics_are_numbered_by_their_lines(tmp_path):
    (tmp_path / "topics.xml").write_text("<top>\n<num>1</num>\n<title>fig</title>\n</top>\n" * 30_000 + "<top></top>")
    with pytest.raises(VizslaError, match="line 120001"):
        read_topics(tmp_path / "topics.xml")
