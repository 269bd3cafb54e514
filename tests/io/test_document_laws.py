"""Laws of documents and tables, whatever their headings and columns: distinct ids, joined passages, the same fields."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vizsla import Dataset, open_dataset
from vizsla.io.passages import Heading, ParsedDocument, PassageSizes, passages

HEADINGS = st.lists(st.sampled_from(["Fig", "fig", "Fig 2", "Fig-2", "Fig 2 2", "Fig!", "Pear", "2"]), max_size=7)


@given(HEADINGS)
@example(["Fig", "Fig", "Fig 2"])
@example(["Fig 2", "Fig", "Fig", "Fig 2"])
def test_passages_have_ids_of_their_own_whatever_the_headings(tmp_path_factory, headings):
    folder = tmp_path_factory.mktemp("notes")
    body = " ".join(["word"] * 150)
    (folder / "a.md").write_text("Before.\n" + "".join(f"\n# {heading}\n\n{body}\n" for heading in headings))
    ids = list(open_dataset(folder).item_ids)
    assert len(ids) == len(set(ids)) >= len(headings)


@given(
    st.lists(st.tuples(st.booleans(), st.lists(st.integers(1, 9), min_size=1, max_size=4)), min_size=1, max_size=7),
    st.integers(4, 14),
    st.integers(0, 3),
    st.integers(0, 4),
)
@example([(True, [2]), (False, [9, 9]), (True, [3])], 12, 0, 4)
@example([(True, [9]), (True, [9]), (True, [9])], 9, 2, 0)
def test_small_neighbors_are_joined_where_they_fit_and_overlaps_stay_in_their_section(parts, size, overlap, least):
    text, headings = "", []
    for number, (headed, paragraphs) in enumerate(parts):
        if headed:
            headings.append(Heading(1, f"H{number}", len(text), len(text) + 2 + len(str(number)) - 1))
            text += f"H{number}\n\n"
        text += "".join(" ".join(["w"] * count) + "\n\n" for count in paragraphs)
    document = ParsedDocument(text, tuple(headings))
    found = list(passages(document, PassageSizes(size, overlap, minimum=min(least, size - 1))))
    assert all(one.start >= one.section.start for one in found)
    assert all(len(one.text.split()) <= size for one in found)
    if overlap:
        return
    for one, other in itertools.pairwise(found):
        fewest = min(len(one.text.split()), len(other.text.split()))
        assert fewest >= min(least, size - 1) or len(text[one.start : other.end].split()) > size


@pytest.mark.parametrize("text", ["name,about", "about", ["about", "name", "kind"]])
def test_tables_frames_and_lines_keep_the_same_fields(text, tmp_path):
    rows = [
        {"id": "f", "name": "fig", "about": "a fruit", "kind": "x"},
        {"id": "p", "name": "pear", "about": "b", "kind": "y"},
    ]
    (tmp_path / "a.csv").write_text("\n".join([",".join(rows[0]), *(",".join(row.values()) for row in rows)]) + "\n")
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    pandas = pytest.importorskip("pandas")
    given_rows = [open_dataset(tmp_path / "a.csv", text=text), open_dataset(tmp_path / "a.jsonl", text=text),
                  Dataset.of(pandas.DataFrame(rows), text=text), Dataset.of(rows, text=text)]  # fmt: skip
    fields = [sorted(dataset.item_ids.details.columns) for dataset in given_rows]
    assert fields == [fields[0]] * 4
    assert len({dataset.items[0].default_text() for dataset in given_rows}) == 1
