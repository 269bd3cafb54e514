"""Parents of passages: the sections and documents that they were cut from, in every interface."""

from __future__ import annotations

import json
import random
import re

import pytest

import vizsla
from vizsla.cli import main
from vizsla.errors import InputError
from vizsla.io.documents import read_document
from vizsla.serve.backend import Backend
from vizsla.serve.schemas import SearchRequest

NOTES = "# Figs\n\nFigs are sweet.\n\n## Care\n\nWater them. Prune the fig in winter.\n\n## Care\n\nOther figs.\n"


def random_document(draw):
    """Return a Markdown document with headings, paragraphs of one or two lines, and text without spaces."""
    blocks = []
    for _ in range(draw.randint(1, 12)):
        if draw.random() < 0.4:
            blocks.append(f"{'#' * draw.randint(1, 3)} {draw.choice(['Care', 'Soil', 'Wind and sun'])}")
        words = [draw.choice(["fig", "tree", "sun.", "无花果树。", "wall,\nwind"]) for _ in range(draw.randint(1, 30))]
        blocks.append(" ".join(words))
    return "\n\n".join(blocks) + "\n"


def without_signs(text):
    """Return a text without the signs of headings and the width of its gaps."""
    return re.sub(r"\s+", " ", re.sub(r"^#+ ", "", text, flags=re.MULTILINE)).strip()


@pytest.mark.parametrize(
    "sizes", [{}, {"passage_size": 7, "passage_overlap": 3}, {"passage_size": 9, "passage_min": 0}]
)
@pytest.mark.parametrize("unit", ["words", "characters"])
def test_a_document_is_put_together_again(tmp_path, sizes, unit):
    draw = random.Random(5)
    for number in range(30):
        (tmp_path / f"{number}.md").write_text(random_document(draw), encoding="utf-8")
    how = {name: value * (4 if unit == "characters" else 1) for name, value in sizes.items()}
    search = vizsla.bm25(vizsla.open_dataset(tmp_path, keep_texts=True, passage_unit=unit, **how))
    for hit in search.page("fig", 1000, parent="document"):
        assert without_signs(hit.parent) == without_signs(read_document(tmp_path / hit.metadata["path"]).text)
        assert hit.parent.endswith(read_document(tmp_path / hit.metadata["path"]).text[-20:].strip())


@pytest.mark.parametrize("size", [200, 4, 2])
def test_a_section_is_what_stands_under_its_heading(tmp_path, size):
    (tmp_path / "figs.md").write_text(NOTES)
    dataset = vizsla.open_dataset(tmp_path, keep_texts=True, passage_size=size, passage_min=0)
    found = {hit.id.split(":")[0]: hit.parent for hit in vizsla.bm25(dataset).page("fig", 50, parent="section")}
    own = {"figs.md#figs": "Figs are sweet.", "figs.md#care": "Water them. Prune the fig in winter."}
    assert found == {**own, "figs.md#care-2": "Other figs."}
    whole = vizsla.bm25(dataset).page("sweet", parent="document")[0].parent
    assert whole == NOTES.replace("# ", "").replace("#", "").strip()


@pytest.fixture
def places(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/figs.md").write_text(NOTES)
    (tmp_path / "notes/pear.txt").write_text("One pear.")
    assert main(["index", "bm25", "notes", "--keep-texts", "--passage-size", "4", "-o", "notes.idx"]) == 0
    assert main(["index", "tfidf", "notes", "--keep-texts", "--passage-size", "4", "-o", "tfidf.idx"]) == 0
    assert main(["engine", "create", "live"]) == 0
    assert main(["engine", "sync", "live", "notes", "--passage-size", "4"]) == 0
    capsys.readouterr()
    return tmp_path


@pytest.mark.parametrize("verb", [("search", "notes.idx"), ("search", "live"), ("engine", "search", "live")])
def test_parents_on_the_command_line(places, capsys, verb):
    assert main([*verb, "winter", "--parent", "section", "--json"]) == 0
    (hit,) = json.loads(capsys.readouterr().out)["hits"]
    assert hit["parent"] == "Water them. Prune the fig in winter." and hit["text"].endswith("winter.")
    assert main([*verb, "water winter", "--parent", "section"]) == 0
    said = capsys.readouterr().out
    assert said.count("Water them. Prune the fig in winter.") == 1  # once, for both passages
    assert "\nfigs.md#care:3\nfigs.md#care\nWater" in said or "\nfigs.md#care\nfigs.md#care:2\nWater" in said


def test_parents_in_compositions_engines_and_the_service(places):
    words, other = vizsla.load("notes.idx"), vizsla.load("tfidf.idx")
    both = words.normalized() + other.normalized()
    wanted = words.page("winter", 1, parent="document")[0].parent
    assert both.page("winter", 1, parent="document")[0].parent == wanted
    both.save("both.idx")
    assert vizsla.load("both.idx").page("winter", 1, parent="document")[0].parent == wanted
    with vizsla.Engine.open("live") as engine:
        assert engine.page("winter", 1, parent="document")[0].parent == wanted
        (places / "notes/figs.md").write_text(NOTES.replace("winter", "autumn"))
        engine.sync("notes", passage_size=4)
        assert engine.page("autumn", 1, parent="document")[0].parent == wanted.replace("winter", "autumn")
        engine.add([{"id": "plum", "text": "no passage"}])
        assert engine.page("no passage", 1, parent="document")[0].parent == "no passage"
    for target in ("live", "notes.idx"):
        backend = Backend.open(target)
        try:
            asked = SearchRequest(query="sweet", k=1, parent="section")
            (hit,) = backend.answer(["sweet"], asked)[0]["results"]
            assert hit["parent"] == backend.parent(hit["id"], "section") == "Figs are sweet."
        finally:
            backend.close(opened_here=True)


def test_what_has_no_parents(places):
    (places / "items.csv").write_text("id,text\na,a fig\n")
    with pytest.raises(InputError, match="must be asked of passages of documents. Got items without `path`"):
        vizsla.bm25(vizsla.open_dataset(places / "items.csv", keep_texts=True)).page("fig", parent="section")
    with pytest.raises(InputError, match="whose texts are kept"):
        vizsla.bm25(vizsla.open_dataset("notes")).page("fig", parent="section")
    with pytest.raises(InputError, match="`parent` must be one of section, document. Got 'all'"):
        vizsla.load("notes.idx").page("fig", parent="all")
