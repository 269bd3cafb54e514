"""A folder of notes: passages, ids, and what is left out."""

from __future__ import annotations

import os
from itertools import pairwise

import pytest

from tests.io.conftest import Put
from vizsla.cli import main
from vizsla.core.validation import DatasetWarning
from vizsla.data.dataset import Dataset
from vizsla.errors import DataError, InputError

MARKDOWN = """---
tags: fruit
---
Before any heading.

# Fig
Sweet.

```
# no heading
```

## Tree
Tall.

Figs
----
Again.

## Tree
Another.
"""


@pytest.fixture
def notes(put: Put):
    put("notes/a.md", MARKDOWN)
    put("notes/deep/b.txt", "One paragraph.\n\nAnother one.\n")
    put("notes/c.html", "<title>t</title><h1>Pear</h1><p>Green &amp; sweet.<script>x()</script><h2>Tree</h2>Tall.")
    put("notes/.hidden/d.md", "secret")
    put("notes/e.png", "no text")
    return put("notes/empty.md", "\n").parent


def test_ids_are_paths_and_headings(notes) -> None:
    with pytest.warns(DatasetWarning, match="1 documents without a word"):
        dataset = Dataset.open(notes, passage_min=0)
    assert list(dataset.item_ids) == [
        "a.md", "a.md#fig", "a.md#tree", "a.md#figs", "a.md#tree-2", "c.html#pear", "c.html#tree", "deep/b.txt",
    ]  # fmt: skip
    fig = dataset.items.get("a.md#tree")
    assert (fig.title, fig.text) == ("Fig › Tree", "Tall.")
    where = {"start_line": 14, "end_line": 14, "start": MARKDOWN.index("Tall."), "end": MARKDOWN.index("Tall.") + 5}
    assert fig.metadata == {"path": "a.md", "heading": "Tree", **where}
    assert "# no heading" in dataset.items.get("a.md#fig").text
    assert dataset.items.get("c.html#pear").text == "Green & sweet."
    assert dataset.items.get("deep/b.txt").text == "One paragraph.\n\nAnother one."


def test_an_id_does_not_depend_on_other_documents(notes, put: Put) -> None:
    with pytest.warns(DatasetWarning):
        before = {item.id: item.text for item in Dataset.open(notes).items}
        put("notes/aa.md", "# Fig\nOther.")
        after = {item.id: item.text for item in Dataset.open(notes).items}
    assert before.items() <= after.items() and len(after) == len(before) + 1


@pytest.mark.parametrize(("words", "overlap"), [(7, 0), (7, 3), (1, 0), (50, 49)])
def test_passages_have_the_size_and_overlap_that_is_asked_for(put: Put, words: int, overlap: int) -> None:
    text = "\n\n".join(" ".join(f"w{a}.{b}" for b in range(a)) + "." for a in range(1, 15))
    path = put("long/a.md", f"# Long\n{text}\n").parent
    found = [item.text.split() for item in Dataset.open(path, passage_size=words, passage_overlap=overlap).items]
    fresh = [passage[overlap if number else 0 :] for number, passage in enumerate(found)]
    assert [word for passage in fresh for word in passage] == text.split()
    assert all(len(passage) <= words for passage in found)
    assert not overlap or all(a[-overlap:] == b[:overlap] for a, b in pairwise(found) if len(a) >= overlap)


def test_sizes_and_bytes_that_make_no_sense_raise(put: Put) -> None:
    path = put("bad/a.md", b"# Caf\xe9\n").parent
    put("bad/b.md", "fine")
    with pytest.raises(DataError, match=r"a\.md, line 1: the line is not utf-8"):
        Dataset.open(path, on_error="raise")
    with pytest.raises(DataError, match=r"a\.md, line 1: the line is not utf-8"):
        Dataset.open(path / "a.md")  # there is nothing else to read
    with pytest.warns(DatasetWarning, match="1 unreadable documents skipped"):
        assert list(Dataset.open(path, on_error="skip").item_ids) == ["b.md"]
    assert Dataset.open(path, encoding="latin-1").items[0].title == "Café"
    with pytest.raises(InputError, match="`passage_overlap` must be from 0 to below `passage_size`"):
        Dataset.open(path, passage_size=5, passage_overlap=5)


def test_files_that_are_not_read_are_counted_by_type(put: Put) -> None:
    folder = put("mixed/a.md", "# Fig\nSweet.").parent
    put("mixed/b.rst", "Pear\n====\n\nGreen.\n")
    for name in ("x.png", "y.PNG", "deep/z.zip", "LICENSE"):
        put(f"mixed/{name}", b"\xff\x00")
    with pytest.warns(DatasetWarning) as caught:
        dataset = Dataset.open(folder)
    assert list(dataset.item_ids) == ["a.md#fig", "b.rst#pear"]
    said = "4 files left out of {}: 4 of types that are not read (.png 2, no suffix 1, .zip 1), such as LICENSE"
    assert [str(one.message) for one in caught] == list(dataset.warnings) == [said.format(folder)]
    assert dataset.mapping == f"{folder}: 2 documents (.md 1, .rst 1)"


def test_documents_that_cannot_be_read_are_left_out_and_counted(put: Put) -> None:
    folder = put("odd/a.md", "# Fig\nSweet.").parent
    put("odd/latin.txt", "Café".encode("latin-1"))
    put("odd/wide.txt", "hello".encode("utf-16-le"))  # without a mark, it is valid UTF-8 with NUL bytes
    (folder / os.fsdecode(b"caf\xe9.md")).write_text("Lost.")
    (folder / os.fsdecode(b"d\xe9")).mkdir()
    (folder / os.fsdecode(b"d\xe9") / "e.md").write_text("Lost.")
    os.mkfifo(folder / "pipe.md")
    with pytest.warns(DatasetWarning):
        dataset = Dataset.open(folder)
    assert list(dataset.item_ids) == ["a.md#fig"]
    said = " | ".join(dataset.warnings)
    assert "2 unreadable documents skipped" in said and "latin.txt, line 1: the line is not utf-8" in said
    assert "2 with a name that is not UTF-8, such as caf\\xe9.md" in said
    assert "1 no regular files, such as pipe.md" in said and "3 files left out" in said
    with pytest.raises(DataError, match=r"latin\.txt, line 1: the line is not utf-8"):
        Dataset.open(folder, on_error="raise")
    (folder / "latin.txt").unlink()
    with pytest.raises(DataError, match=r"wide\.txt, line 1: the line has a NUL byte"):
        Dataset.open(folder, on_error="raise")


def test_links_out_of_the_folder_are_not_followed(put: Put, tmp_path) -> None:
    folder = put("inside/a.md", "# Fig\nSweet.").parent
    secret = put("outside/secret.md", "A secret.")
    (folder / "file.md").symlink_to(secret)
    (folder / "whole").symlink_to(secret.parent)
    (folder / "nowhere.md").symlink_to(tmp_path / "nothing.md")
    (folder / "circle.md").symlink_to(folder / "circle.md")
    (folder / "up.md").symlink_to("../outside/secret.md")
    (folder / "loop").symlink_to(folder)
    (folder / "own.md").symlink_to("a.md")
    with pytest.warns(DatasetWarning, match="6 files left out of .*: 6 links, such as"):
        dataset = Dataset.open(folder)
    assert list(dataset.item_ids) == ["a.md#fig", "own.md#fig"]
    assert not any("secret" in item.text for item in dataset.items)
    (tmp_path / "door").symlink_to(folder)  # the folder itself may be reached by a link
    with pytest.warns(DatasetWarning, match="6 links"):
        assert list(Dataset.open(tmp_path / "door").item_ids) == ["a.md#fig", "own.md#fig"]


def test_a_folder_without_documents_says_what_was_expected(put: Put, tmp_path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    wanted = r"documents \(\.md, \.markdown, \.txt, \.rst, \.html, .*, source code\)"
    with pytest.raises(InputError, match=rf"must be a folder with corpus\.jsonl .*{wanted}\. Got .*, which is empty\."):
        Dataset.open(empty)
    folder = put("code/a.exe", "x = 1").parent
    put("code/b.png", b"PNG")
    with pytest.raises(InputError, match=r"has none of them: 2 of types that are not read \(.*\), such as a\.exe"):
        Dataset.open(folder)
    hidden = put("dots/.a.md", "hidden").parent
    with pytest.raises(InputError, match="has none of them: hidden files and folders only"):
        Dataset.open(hidden)
    bad = put("bad2/a.md", b"\xff").parent
    with pytest.raises(DataError, match=r"there are no items: 1 unreadable documents skipped .*Give documents that"):
        Dataset.open(bad)


def test_the_command_says_what_was_read_and_left_out(put: Put, tmp_path, capsys) -> None:
    folder = put("notes2/a.md", "# Fig\nSweet.").parent
    put("notes2/b.png", b"PNG")
    (folder / os.fsdecode(b"caf\xe9.md")).write_text("Lost.")
    assert main(["search", str(folder), "fig"]) == 0
    said = capsys.readouterr().err
    assert f"vizsla: {folder}: 1 documents (.md 1)" in said
    assert "2 files left out of" in said and ".png 1" in said and "caf\\xe9.md" in said
    (tmp_path / "empty").mkdir()
    assert main(["search", str(tmp_path / "empty"), "fig"]) == 2
    said = capsys.readouterr().err
    assert "which is empty" in said and "documents (.md" in said and "artifact" not in said


def test_the_summary_counts_what_was_read(put: Put) -> None:
    folder = put("half/a.md", "# Fig\nSweet.").parent
    put("half/b.txt", b"caf\xe9")
    with pytest.warns(DatasetWarning, match="1 unreadable documents skipped"):
        dataset = Dataset.open(folder)
    assert dataset.mapping == f"{folder}: 1 documents (.md 1)"
