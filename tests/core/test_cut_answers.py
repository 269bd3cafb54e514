"""What is cut off an answer: bounds that no longer hold, and texts that belong to another query's hits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vizsla import Dataset, bm25
from vizsla.core.candidates import Candidates
from vizsla.core.display import show_blocks

ROWS = st.lists(st.lists(st.integers(0, 9), max_size=6), min_size=1, max_size=4)


@given(ROWS, st.integers(1, 6))
def test_a_bound_of_a_cut_answer_holds_for_what_was_cut(rows, k):
    answers = {f"q{n}": {f"i{at}": float(score) for at, score in enumerate(row)} for n, row in enumerate(rows)}
    found = Candidates.from_dict(answers)
    lowest = [min(row, default=0.0) for row in rows]
    bounded = found.with_upper_bounds(np.array(lowest, np.float32))
    cuts = [
        (bounded.top(k), range(len(rows))),
        (bounded[1:], range(1, len(rows))),
        (bounded[::-1].top(k), range(len(rows))[::-1]),
    ]
    for cut, kept in cuts:
        if cut.upper_bounds is None:
            continue
        assert len(cut.upper_bounds) == len(cut)
        for bound, number, row in zip(cut.upper_bounds.tolist(), kept, cut.to_dict().values(), strict=True):
            gone = [score for item, score in answers[f"q{number}"].items() if item not in row]
            assert all(score <= bound for score in gone)


@pytest.mark.parametrize("k", [1, 2])
def test_each_hit_is_shown_with_its_own_text(k, capsys):
    texts = {"f": "fig trees of the south", "p": "pear trees of the north", "q": "quince and a fig"}
    items = [{"id": id, "text": text} for id, text in texts.items()]
    found = bm25(Dataset.of(items, keep_texts=True))(["fig", "pear", "quince", "fig"])
    show_blocks(found, k=k)
    blocks = capsys.readouterr().out.split("query ")[1:]
    assert len(blocks) == len(found)
    for block, row in zip(blocks, found.ids, strict=True):
        shown = {id for id, text in texts.items() if text in block}
        assert shown == set(row[:k])
