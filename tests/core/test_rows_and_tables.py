"""Sparse rows against dense ones, and what is shown of an answer: words that are marked, snippets, ranks and trees."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vizsla import Dataset, bm25
from vizsla.core.candidates import Candidates
from vizsla.core.display import default_fields, known_fields, middle_cut, show_answers, show_blocks, snippet, word_spans
from vizsla.core.explanation import Explanation
from vizsla.core.sparse import SparseRows, are_offsets, are_rising, row_numbers
from vizsla.errors import InputError

MATRICES = st.tuples(st.integers(0, 4), st.integers(1, 4), st.integers(0, 10**6)).map(
    lambda case: np.random.default_rng(case[2]).integers(0, 3, case[:2]).astype(np.float32)
)


@given(st.lists(MATRICES.filter(lambda m: m.shape[1] == 3), max_size=3), st.integers(0, 10**6))
def test_rows_are_those_of_the_dense_matrix(parts, seed):
    full = np.concatenate([np.zeros((0, 3), np.float32), *parts])
    rows = SparseRows.stacked([SparseRows.of(part) for part in parts], 3)
    assert (rows.toarray() == full).all() and rows.shape == full.shape == (len(rows), 3)
    assert rows == SparseRows.of(full) and rows.row_numbers().tolist() == np.nonzero(full)[0].tolist()
    numbers = np.random.default_rng(seed).integers(0, len(full), 5) if len(full) else np.zeros(0, np.int64)
    assert (rows.take(numbers).toarray() == full[numbers]).all()
    doubled = rows.with_values(rows.values * 2)
    assert (doubled.toarray() == 2 * full).all() and (doubled == rows) == (not full.any())
    assert rows != SparseRows.of(np.concatenate([full, np.zeros((1, 3), np.float32)]))
    assert rows != SparseRows(rows.offsets, rows.columns, rows.values, 4)
    at, columns = np.nonzero(full)
    order = np.random.default_rng(seed).permutation(len(at))
    twice = SparseRows.of_entries(np.tile(at[order], 2), np.tile(columns[order], 2), full.shape)
    assert (twice.toarray() == (full > 0)).all() and (np.diff(twice.offsets) == (full > 0).sum(axis=1)).all()


def test_repeated_entries_are_added_up_in_a_copy():
    from scipy.sparse import csr_array

    given = csr_array((np.array([1.0, 2.0, 4.0]), np.array([1, 1, 0]), np.array([0, 3])), shape=(1, 2))
    assert SparseRows.of(given).toarray().tolist() == [[4.0, 3.0]] and given.data.tolist() == [1.0, 2.0, 4.0]


@given(st.lists(st.integers(-2, 6), max_size=6), st.integers(-1, 6))
@example([0, 2, 2], 2)
@example([-1, 0, 3], 4)
def test_offsets_and_rising_numbers_are_told_from_others(numbers, end):
    array = np.array(numbers, np.int64)
    pairs = list(pairwise(numbers))
    rises = bool(numbers) and numbers[0] == 0 and numbers[-1] == end and all(a <= b for a, b in pairs)
    assert are_offsets(array, end) == rises and not are_offsets(array[None], end)
    assert are_offsets(array, end, rows=len(numbers) - 1) == rises and not are_offsets(array, end, rows=len(numbers))
    assert are_rising(array, end) == (all(0 <= n < end for n in numbers) and all(a < b for a, b in pairs))
    if rises:
        assert row_numbers(array).tolist() == [row for row, (a, b) in enumerate(pairs) for _ in range(b - a)]


WORDS = st.sampled_from(["fig", "figs", "Figs", "configs", "tree", "Trees", "oil", "treetop", "a", "寿司", "x寿司"])


@given(st.lists(WORDS, max_size=9).map(" ".join), st.lists(WORDS, max_size=3).map(" ".join))
@example("figs fig configs trees treetops", "fig tree")
@example("glasses glass bus buses", "glasses bus")
def test_words_of_a_query_are_marked_with_short_endings(text, query):
    def means(asked, found):
        asked, found = asked.casefold(), found.casefold()
        stem = asked[:-1] if len(asked) > 4 and asked.endswith("s") else asked
        short = len(asked) >= 4 or found in (asked, asked + "s")
        return found.startswith(stem) and len(found) - len(stem) <= 2 and short

    spaced = [word for word in query.split() if word.isascii()]
    wanted = [
        found.span() for found in re.finditer(r"[A-Za-z寿司]+", text) if any(means(word, found[0]) for word in spaced)
    ]
    others = [word for word in query.split() if not word.isascii()]
    marked = word_spans(text, query)
    assert set(wanted) <= set(marked) and marked == sorted(marked)
    assert all(text[low:high] in others for low, high in set(marked) - set(wanted))
    if not others:
        assert marked == wanted


@given(st.lists(WORDS, min_size=1, max_size=60), st.sampled_from(["oil", "tree", "nothing", ""]), st.integers(8, 90))
def test_a_snippet_fits_and_shows_the_word_where_there_is_one(words, query, width):
    text = "  ".join(words)
    line = " ".join(text.split())
    shown = snippet(text, query, width=width)
    assert len(shown) <= width and "\n" not in shown
    if len(line) <= width:
        assert shown == line
        return
    inner = shown.removeprefix("…").removesuffix("…")
    assert inner in line and len(shown) > width // 4
    assert shown.startswith("…") != line.startswith(inner) or line.count(inner) > 1
    if query and any(word.casefold() in (query, query + "s") for word in words) and width >= 24:
        assert word_spans(shown, query)


@pytest.mark.parametrize(("k", "offset"), [(1, 0), (2, 0), (9, 0), (2, 5), (2, 98)])
def test_tables_and_blocks_count_ranks_from_the_offset(k, offset, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    items = [{"id": f"i{n}", "text": f"fig number {n}", "price": n, "title": f"Fig {n}"} for n in range(4)]
    search = bm25(Dataset.of(items, keep_texts=True, text="text"))
    found = search(["fig", "plum"], k=4).with_query_ids(["fig", "plum"])
    ids, scores = found.ids[0][:k], [f"{hit.score:.4f}" for hit in found[0][:k]]
    show_answers(found, k=k, fields=["price"], offset=offset)
    table = capsys.readouterr().out
    rows = [line.split() for line in table.splitlines() if re.match(r"\s*\d+\s", line)]
    ranks = [str(offset + at) for at in range(1, len(ids) + 1)]
    assert [tuple(row[:3]) for row in rows] == list(zip(ranks, scores, ids, strict=True))
    assert [row[3] for row in rows] == [id[1:] for id in ids] and table.count("Nothing found") == 1
    show_blocks(found, k=k, offset=offset)
    blocks = capsys.readouterr().out
    assert re.findall(r"^ *(\d+)  \d\.\d{4}  Fig (\d)$", blocks, re.M) == [
        (str(offset + at), id[1:]) for at, id in enumerate(ids, 1)
    ]
    assert blocks.count("Nothing found.") == 1 and "query plum" in blocks
    assert all(f"    {id}\n" in blocks for id in ids)


def test_what_is_known_of_each_hit():
    items = [{"id": "a", "text": "fig", "price": 1}, {"id": "b", "text": "fig fig", "brand": "x"}]
    found = bm25(Dataset.of(items, keep_texts=True))(["plum", "fig"])
    known = dict(zip(found.ids[1], known_fields(found, 1, None), strict=True))
    assert known == {"a": {"price": 1}, "b": {"brand": "x"}} and known_fields(found, 0, None) == []
    chosen = dict(zip(found.ids[1], known_fields(found, 1, ["brand", "text"]), strict=True))
    assert chosen == {"a": {"brand": None, "text": "fig"}, "b": {"brand": "x", "text": "fig fig"}}
    assert known_fields(found, -1, ["price"]) == known_fields(found, 1, ["price"])
    assert default_fields(found) == ["text"] and default_fields(Candidates.from_dict({"q": {"a": 1.0}})) == []
    for wrong in (2, -3):
        with pytest.raises(InputError, match="one of 2 queries"):
            known_fields(found, wrong, None)
    with pytest.raises(InputError, match="color"):
        known_fields(found, 0, ["color"])
    bare = Candidates.from_dict({"q": {"a": 1.0}})
    assert known_fields(bare, 0, None) == [{}] and known_fields(bare, 0, []) == [{}]
    with pytest.raises(InputError, match="only ids"):
        known_fields(bare, 0, ["price"])


@given(st.text("ab/é寿", max_size=30), st.integers(0, 30))
def test_a_text_that_is_cut_in_its_middle_keeps_both_ends(text, width):
    from rich.cells import cell_len

    cut = middle_cut(text, width)
    assert cell_len(cut) <= width or cell_len(text) <= width
    if cell_len(text) <= width:
        assert cut == text
    elif width >= 3:
        head, _, tail = cut.partition("…")
        assert text.startswith(head) and text.endswith(tail)
        assert cell_len(tail) + 1 >= cell_len(head) and cell_len(cut) >= width - 3


def test_reasons_are_a_tree():
    leaf = Explanation(0.25, "leaf")
    tree = Explanation(3, "root", [Explanation(2, "first", [leaf, leaf]), Explanation(1, "second", [leaf])])
    assert str(tree).splitlines() == [
        "3.0000  root",
        "├─ 2.0000  first",
        "│  ├─ 0.2500  leaf",
        "│  └─ 0.2500  leaf",
        "└─ 1.0000  second",
        "   └─ 0.2500  leaf",
    ]
    told = tree.to_dict()
    assert [part["reason"] for part in told["parts"]] == ["first", "second"]
    own = {"score": 0.25, "reason": "leaf", "parts": []}
    assert told["parts"][1] == {"score": 1, "reason": "second", "parts": [own]}
