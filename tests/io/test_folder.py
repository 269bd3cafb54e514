"""A folder of notes: passages, ids, and what is left out."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.io.conftest import Put
from vizsla.dataset import Dataset
from vizsla.dataset_warning import DatasetWarning
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
        dataset = Dataset.open(notes)
    assert list(dataset.item_ids) == [
        "a.md", "a.md#fig", "a.md#tree", "a.md#figs", "a.md#tree-2", "c.html#pear", "c.html#tree", "deep/b.txt",
    ]  # fmt: skip
    fig = dataset.items.get("a.md#tree")
    assert (fig.title, fig.text) == ("Fig › Tree", "Tall.")
    assert fig.metadata == {"path": "a.md", "heading": "Tree", "line": 13}
    assert "# no heading" in dataset.items.get("a.md#fig").text
    assert dataset.items.get("c.html#pear").text == "Green & sweet."
    assert dataset.items.get("deep/b.txt").text == "One paragraph.\nAnother one."


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
    found = [item.text.split() for item in Dataset.open(path, passage_words=words, overlap_words=overlap).items]
    fresh = [passage[overlap if number else 0 :] for number, passage in enumerate(found)]
    assert [word for passage in fresh for word in passage] == text.split()
    assert all(len(passage) <= words for passage in found)
    assert not overlap or all(a[-overlap:] == b[:overlap] for a, b in pairwise(found) if len(a) >= overlap)


def test_sizes_and_bytes_that_make_no_sense_raise(put: Put) -> None:
    path = put("bad/a.md", b"# Caf\xe9\n").parent
    put("bad/b.md", "fine")
    with pytest.raises(DataError, match=r"a\.md, line 1: the line is not utf-8"):
        Dataset.open(path)
    with pytest.warns(DatasetWarning, match="1 unreadable documents skipped"):
        assert list(Dataset.open(path, on_error="skip").item_ids) == ["b.md"]
    assert Dataset.open(path, encoding="latin-1").items[0].title == "Café"
    with pytest.raises(InputError, match="`overlap_words` must be from 0 to below `passage_words`"):
        Dataset.open(path, passage_words=5, overlap_words=5)
