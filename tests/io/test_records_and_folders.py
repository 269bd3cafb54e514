"""Which fields of a record become what, what is read of a folder and what is left out, each rule by an example."""

from __future__ import annotations

import os

import docx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vizsla import Dataset
from vizsla.core.catalog import Item
from vizsla.errors import DataError, InputError
from vizsla.io.documents import CLOSED, LINK, MAX_TYPES_NAMED, NAME, SPECIAL, KeptItems, documents, read_document
from vizsla.io.fields import Fields, listed, named_meta
from vizsla.io.files import RECORD_SIZE_VARIABLE, max_document_bytes

RECORD = {"sku": "1", "name": "Fig", "title": "Tree", "body": "sweet", "text": "ripe", "maker": "Oak", "price": 3}


@pytest.mark.parametrize(
    ("options", "text", "title", "metadata"),
    [
        ({}, "ripe", "Tree", {"name", "body", "maker", "price"}),
        ({"text": "body"}, "sweet", "Tree", {"name", "text", "maker", "price"}),
        ({"text": "title,body"}, "sweet", "Tree", {"name", "text", "maker", "price"}),
        ({"text": "body,title"}, "sweet Tree", "Tree", {"name", "text", "maker", "price", "body"}),
        ({"text": ["title", "body", "maker"]}, "sweet Oak", "Tree", {"name", "text", "price", "body", "maker"}),
        ({"text": "title"}, "Tree", "", {"name", "text", "body", "maker", "price"}),
        ({"title": "name"}, "ripe", "Fig", {"title", "body", "maker", "price"}),
        ({"title": "name", "text": "title,body"}, "Tree sweet", "Fig", {"title", "body", "text", "maker", "price"}),
        ({"meta": "price,maker"}, "ripe", "Tree", {"price", "maker"}),
        ({"meta": "price:number,title"}, "ripe", "Tree", {"price", "title"}),
        ({"meta": ["gone"]}, "ripe", "Tree", set()),
        ({"meta": {"price": "text", "*": None}}, "ripe", "Tree", {"name", "body", "maker", "price"}),
    ],
)
def test_columns_become_text_title_and_metadata(options, text, title, metadata):
    (item,) = Dataset.of([RECORD], **options).items
    assert (item.id, item.text, item.title, set(item.metadata)) == ("1", text, title, metadata)


def test_what_a_mapping_called_metadata_holds_stands_beside_the_rest_which_wins():
    rows = [{"id": "a", "text": "x", "metadata": {"price": 1, "brand": "b"}, "price": 2}, {"id": "b", "text": "y"}]
    first, second = Dataset.of(rows).items
    assert dict(first.metadata) == {"price": 2, "brand": "b"} and dict(second.metadata) == {}
    (kept,) = Dataset.of([{"id": "a", "text": "x", "metadata": "plain"}]).items
    assert dict(kept.metadata) == {"metadata": "plain"}
    (chosen,) = Dataset.of(rows[:1], meta="brand").items
    assert dict(chosen.metadata) == {"brand": "b"}


@pytest.mark.parametrize(("id", "wanted"), [(7, "7"), (0, "0"), (-3, "-3"), ("x y", "x y")])
def test_ids_are_texts_or_whole_numbers(id, wanted):
    assert [item.id for item in Dataset.of([{"id": id, "text": "x"}]).items] == [wanted]


@pytest.mark.parametrize("id", [True, 1.5, "", None, [1], "\ud800"])
def test_other_ids_are_refused(id):
    with pytest.raises((DataError, InputError)):
        list(Dataset.of([{"id": id, "text": "x"}]).items)


def test_names_are_listed_once_without_spaces():
    assert listed("text", " a , b,,a ") == ("a", "b") and listed("text", None) is None and listed("text", "") == ()
    assert named_meta(None) == (None, {}) and named_meta("") == ((), {})
    assert named_meta("*,a:list") == (None, {"a": "list"})
    assert named_meta("dc:title, a:b:number") == (("dc:title", "a:b"), {"a:b": "number"})
    for wrong in ({"a": "no"}, {3: None}):
        with pytest.raises(InputError, match="one of the kinds"):
            named_meta(wrong)
    with pytest.raises(InputError, match="one field"):
        Fields.named(id="a,b")
    assert Fields.named(title="").title == () and Fields.named(text="a").text == ("a",)


def test_a_line_that_cannot_be_read_is_named(tmp_path):
    file = tmp_path / "a.txt"
    for content, line in {b"\xff": 1, b"one\ntwo\nthr\xffee\nfour\n": 3, b"a\r\n\xff": 2, b"a\nb\0c\nd\0": 2}.items():
        file.write_bytes(content)
        with pytest.raises(DataError, match=f"line {line}\\b"):
            read_document(file)
    file.write_bytes(b"\xef\xbb\xbfone\r\ntwo\rthree\n")
    assert read_document(file).text == "one\ntwo\nthree\n"
    file.write_bytes("é".encode("latin-1"))
    assert read_document(file, encoding="latin-1").text == "é"


def test_a_document_may_have_so_many_bytes_and_no_more(tmp_path, monkeypatch):
    monkeypatch.setenv(RECORD_SIZE_VARIABLE, "1")
    file = tmp_path / "a.txt"
    file.write_bytes(b"a" * max_document_bytes())
    assert len(read_document(file).text) == max_document_bytes()
    file.write_bytes(b"a" * (max_document_bytes() + 1))
    with pytest.raises(DataError, match="more than"):
        read_document(file)


def test_headings_of_a_word_document_have_their_levels(tmp_path):
    made = docx.Document()
    styles = ["Title", "Normal", "Heading 1", "Heading 3", "Normal", "Heading 2"]
    for number, style in enumerate(styles):
        made.add_paragraph(f" block\t{number} ", style=style)
    table = made.add_table(rows=2, cols=3)
    for row, texts in enumerate([["a", "b", "b"], ["c", " d ", "e"]]):
        for column, text in enumerate(texts):
            table.cell(row, column).text = text
    made.save(tmp_path / "a.docx")
    found = read_document(tmp_path / "a.docx")
    assert [(heading.level, heading.text) for heading in found.headings] == [
        (1, "block 0"),
        (1, "block 2"),
        (3, "block 3"),
        (2, "block 5"),
    ]
    assert all(found.text[heading.start : heading.end] == heading.text for heading in found.headings)
    blocks = ["block 0", "block\t1", "block 2", "block 3", "block\t4", "block 5", "a | b\nc | d | e"]
    assert found.text.split("\n\n") == blocks


def test_what_is_left_out_of_a_folder_is_counted_by_its_reason(tmp_path):
    inside, outside = tmp_path / "in", tmp_path / "out"
    names = "in/b.txt in/a/z.MD in/a.txt in/.hid/x.txt in/.x.txt out/o.txt in/p.xyz in/q.xyz in/r"
    for path in names.split():
        (tmp_path / path).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / path).write_text("fig")
    (inside / "own.txt").symlink_to(inside / "a.txt")
    (inside / "far.txt").symlink_to(outside / "o.txt")
    (inside / "gone.txt").symlink_to(inside / "nowhere.txt")
    (inside / "round.txt").symlink_to(inside / "round.txt")
    (inside / "folder").symlink_to(outside)
    os.mkfifo(inside / "pipe.txt")
    with open(os.fsencode(inside) + b"/n\xff.txt", "w") as file:  # noqa: PTH123 - a name that is no UTF-8
        file.write("fig")
    found = documents(inside)
    assert [path.relative_to(inside).as_posix() for path in found.paths] == ["a.txt", "a/z.MD", "b.txt", "own.txt"]
    assert dict(found._types) == {".xyz": 2, "no suffix": 1}
    assert dict(found._reasons) == {NAME: 1, LINK: 4, SPECIAL: 1} and found.left_out() == 9
    said = found.reasons()
    assert "3 of types that are not read (.xyz 2, no suffix 1), such as p.xyz" in said and "n\\xff.txt" in said
    assert found.summary() == "4 documents (.txt 3, .md 1)"
    assert found.summary(unread=found.paths[:1]) == "3 documents (.txt 2, .md 1)"
    found.leave_out("a/closed", CLOSED)
    found.leave_out("b/closed", CLOSED)
    assert f"2 {CLOSED}, such as a/closed" in found.reasons() and found.left_out() == 11


def test_the_commonest_types_are_named_and_others_counted(tmp_path):
    for number in range(MAX_TYPES_NAMED + 2):
        for copy in range(MAX_TYPES_NAMED + 3 - number):
            (tmp_path / f"{copy}.x{number}").write_text("")
    said = documents(tmp_path).reasons()
    assert all(f".x{number} {MAX_TYPES_NAMED + 3 - number}" in said for number in range(MAX_TYPES_NAMED))
    assert f"others {3 + 2})" in said and f".x{MAX_TYPES_NAMED}" not in said


@given(st.lists(st.tuples(st.text("aé\n", max_size=5), st.integers(0, 10**6)), max_size=12), st.integers(1, 60))
def test_kept_items_are_read_back_in_blocks_of_any_size(given, size):
    kept = KeptItems()
    kept.BYTES_PER_READ = size
    items = [
        Item(f"i{n}", text, "t", {"path": "p", "heading": "", "start_line": n, "end_line": at, "start": 0, "end": at})
        for n, (text, at) in enumerate(given)
    ]
    for item in items:
        kept.add(item)
    assert list(kept) == items and [kept[n] for n in range(len(items))] == items and len(kept) == len(items)
