"""Answers as pages, notebooks, frames and terminals show them, word by word."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from vizsla import Dataset, bm25
from vizsla.core.candidates import Candidates
from vizsla.core.display import SNIPPET_LINES, fitted, show_answers, show_blocks, snippet
from vizsla.core.hits import (
    MAX_HITS_SHOWN,
    MAX_VALUE_CHARS,
    Hit,
    Snippet,
    answer_columns,
    answers_html,
    hits_html,
    hits_of,
    marked_html,
)

ITEMS = [
    {"id": "a<b", "title": "Fig & Co", "text": "a small fig tree", "price": 3},
    {"id": "c", "title": "", "text": "fig <b>jam</b>", "brand": "Oak"},
    {"id": "d", "title": "Pear", "text": "a pear"},
]


@pytest.fixture(scope="module")
def found():
    return bm25(Dataset.of(ITEMS, keep_texts=True, text="text"))(["fig", "plum", "pear"]).with_query_ids(
        ["q<1", "q2", "q3"]
    )


def hit_of(found, id):
    return next(hit for row in found for hit in row if hit.id == id)


def test_a_hit_as_json_has_what_is_known_and_nothing_else(found):
    hit = hit_of(found, "a<b")
    plain = {"id": "a<b", "score": hit.score, "rank": hit.rank}
    assert hit.to_dict() == plain | {"text": "Fig & Co a small fig tree", "metadata": {"title": "Fig & Co", "price": 3}}
    assert hit.to_dict(["price", "brand"]) == plain | {"metadata": {"price": 3}}
    assert hit.to_dict(["text", "price"]) == plain | {"text": "Fig & Co a small fig tree", "metadata": {"price": 3}}
    assert hit.to_dict([]) == plain | {"metadata": {}}
    assert Hit("x", None).to_dict() == {"id": "x", "score": None, "rank": 1}
    full = Hit("x", 1.0, 3, {"text": [(0, 3)]}, Snippet("fig", 5, [(0, 3)]), 0.5, 0)
    assert full.to_dict() == {
        "id": "x", "score": 1.0, "rank": 3, "highlights": {"text": [[0, 3]]},
        "snippet": {"text": "fig", "start": 5, "spans": [[0, 3]]}, "confidence": 0.5, "more": 0,
    }  # fmt: skip
    assert list(full) == ["x", 1.0] and len({full, Hit("x", 1.0, 9), Hit("x", 2.0)}) == 2
    kept = pickle.loads(pickle.dumps(hit))
    assert kept == hit and (kept.rank, kept.text, kept.metadata) == (hit.rank, hit.text, hit.metadata)
    assert Hit("x", None).text is None and Hit("x", None).metadata == {} and Hit("x", None).value("price") is None


def test_hits_of_a_later_query_have_their_own_ranks_scores_and_confidences():
    found = Candidates([0, 1, 3], [0, 2, 1], [5.0, 4.0, 3.0]).with_confidences(np.array([0.5, 0.25, 0.125], np.float32))
    assert [(hit.id, hit.score, hit.rank, hit.confidence) for hit in hits_of(found, 1)] == [
        ("2", 4.0, 1, 0.25), ("1", 3.0, 2, 0.125),
    ]  # fmt: skip
    assert [hit.score for hit in hits_of(Candidates([0, 1], [4], None), 0)] == [None]


def test_frames_have_a_row_per_hit(found):
    columns = answer_columns(found, ["price", "title"])
    assert list(columns) == ["query", "rank", "score", "id", "price", "title"]
    assert columns["query"] == ["q<1", "q<1", "q3"] and columns["rank"].tolist() == [1, 2, 1]
    assert columns["id"] == [id for row in found.ids for id in row] and len(columns["score"]) == 3
    prices = dict(zip(columns["id"], columns["price"], strict=True))
    assert prices == {"a<b": 3, "c": None, "d": None}
    bare = answer_columns(Candidates([0, 1], [4], None), None)
    assert list(bare) == ["query", "rank", "id"]
    sure = answer_columns(Candidates([0, 1], [4], [1.0]).with_confidences(np.ones(1, np.float32)), None)
    assert list(sure) == ["query", "rank", "score", "id", "confidence"]


def test_a_notebook_shows_hits_with_everything_escaped(found):
    page = hits_html("<title>", list(found[0]))
    assert "<caption>&lt;title&gt;</caption>" in page and "a&lt;b" in page and "Fig &amp; Co" in page
    assert page.count("<tr><td>") == 2 and "<b>jam" not in page and "fig &lt;b&gt;jam&lt;/b&gt;" in page
    first = page.splitlines()[2]
    assert first.startswith("<tr><th>rank</th><th>score</th><th>id</th><th>") and first.endswith("<th>text</th></tr>")
    assert {"<th>price</th>", "<th>brand</th>"} <= set(first.replace("</th>", "</th> ").split())
    hit = hit_of(found, "c")
    cells = next(line for line in page.splitlines() if "<td>c</td>" in line)
    assert cells.startswith(f"<tr><td>{hit.rank}</td><td>{hit.score:.4f}</td><td>c</td><td>")
    short = Hit("x", None, 7, None, Snippet("a <fig>", 0, [(2, 7)]))
    assert "<td>7</td><td></td><td>x</td>" in hits_html("t", [short])
    assert marked_html("ab<c>d", [(0, 1), (2, 5)]) == "<mark>a</mark>b<mark>&lt;c&gt;</mark>d"
    many = [Hit(f"i{n}" + "x" * 300, 1.0) for n in range(MAX_HITS_SHOWN + 2)]
    long = hits_html("t", many)
    assert long.count("<tr><td>1</td>") == MAX_HITS_SHOWN and "<tr><td>+2 more</td></tr>" in long
    assert "x" * (MAX_VALUE_CHARS - 2) in long and "x" * (MAX_VALUE_CHARS - 1) not in long
    assert "more</td>" not in hits_html("t", many[:MAX_HITS_SHOWN])
    whole = answers_html(found)
    assert whole.count("<table>") == 3 and "query q&lt;1" in whole and "more queries" not in whole
    several = Candidates.from_dict({f"q{n}": {"a": 1.0} for n in range(MAX_HITS_SHOWN + 3)})
    assert answers_html(several).count("<table>") == MAX_HITS_SHOWN and "<p>+3 more queries</p>" in answers_html(
        several
    )


@pytest.mark.parametrize(
    ("text", "query", "width", "shown"),
    [
        ("one fig", "fig", 7, "one fig"),
        ("one fig two", "fig", 10, "…fig two"),
        ("aaa bbb ccc dddd eee fig", "fig", 12, "…eee fig"),
        ("aaa bbb cc fig ddd eee fff ggg", "fig", 16, "…cc fig ddd eee…"),
        ("fig aaa bbb ccc ddd eee fig tree fig", "fig tree", 16, "…fig tree fig"),  # where most words stand
        ("fig aaa bbb ccc ddd eee fff ggg fig", "fig", 12, "fig aaa bbb…"),  # of equals the first
        ("a  b\n c", "", 9, "a b c"),
        ("one fig two", "fig", 4, "one…"),
        ("one", "", 0, "…"),
    ],
)
def test_a_snippet_begins_a_quarter_of_its_width_before_the_words(text, query, width, shown):
    assert snippet(text, query, width=width) == shown


def test_a_text_of_wide_characters_is_cut_to_columns():
    assert fitted("寿司屋寿司屋寿司屋", "", 8) == "寿司屋…" and fitted("abc", "", 8) == "abc"


def blocks_of(found, capsys, monkeypatch, **options):
    monkeypatch.setenv("COLUMNS", "60")
    show_blocks(found, k=9, **options)
    return capsys.readouterr().out.splitlines()


def test_a_block_has_a_title_an_id_and_a_snippet_that_does_not_repeat_the_title(capsys, monkeypatch):
    rows = [
        {"id": "one", "title": "Fig tree", "text": "it grows " + "in the sun and " * 20 + "fig"},
        {"id": "two", "title": "", "heading": "Trees", "text": "fig short"},
        {"id": "three", "title": "", "name": "Named", "text": "fig"},
        {"id": "four", "title": "", "text": "fig alone"},
    ]
    found = bm25(Dataset.of(rows, keep_texts=True, text="text"))("fig").with_query_ids(["fig"])
    lines = blocks_of(found, capsys, monkeypatch, offset=8, others=[2, 0, None, 1])
    assert lines[0] == "query fig" and lines[-1] == ""
    ranks = [line for line in lines if line[:2].strip().isdigit()]
    scores = [f"{hit.score:.4f}" for hit in found[0]]
    heads = {"one": "Fig tree", "two": "Trees", "three": "Named", "four": "four"}
    assert ranks == [f"{9 + at:>2}  {scores[at]}  {heads[id]}" for at, id in enumerate(found.ids[0])]
    for id in ("one", "two", "three"):
        at = next(n for n, line in enumerate(lines) if line.endswith(f"  {heads[id]}"))
        group = lines[at + 1].startswith("    +")
        assert lines[at + 1 + group] == f"    {id}"
    assert [line for line in lines if line.startswith("    +")] == ["    +2 more", "    +1 more"]
    place = next(n for n, line in enumerate(lines) if line == "    one")
    block = lines[place + 1 : place + 1 + SNIPPET_LINES]
    assert all(line.startswith("    ") and len(line) <= 60 for line in block) and "Fig tree" not in " ".join(block)
    assert sum("fig short" in line for line in lines) == 1


def test_tables_have_a_column_of_groups_where_there_are_some(found, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    show_answers(found[:1], k=9, fields=["price"], others=[1234, 0])
    table = capsys.readouterr().out
    assert "group" in table and "+1,234 more" in table and table.count("more") == 1
    show_answers(found[:1], k=9, fields=["price"], others=[0, None])
    assert "group" not in capsys.readouterr().out
    show_answers(found[:1], k=9, texts={"c": "given text"})
    assert "given text" in capsys.readouterr().out


def test_a_table_without_room_becomes_blocks_of_the_same_fields(found, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    show_answers(found[:1], k=9, fields=["price", "brand", "title", "text"])
    lines = capsys.readouterr().out.splitlines()
    assert "    price: 3" in lines and "    brand: Oak" in lines and "    title: Fig & Co" in lines
    assert not any("None" in line for line in lines)
