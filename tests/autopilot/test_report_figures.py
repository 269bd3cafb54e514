"""Slices, regressions, shrinkage and drift on searches whose figures are known."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.sparse import csr_array

from vizsla.autopilot.learning_report import regressions_of, shrinkage, slices_of
from vizsla.autopilot.relearn import _drift
from vizsla.autopilot.searches import Searches
from vizsla.core.candidates import Candidates, Stats
from vizsla.data.dataset import Dataset
from vizsla.learning.query_mix import Mix

ITEMS = Dataset.of({"fig": "a fig", "pear": "a pear", "plum": "a plum"})


def searches(texts, wanted, kinds):
    matrix = csr_array((np.ones(len(wanted), np.float32), (np.arange(len(wanted)), wanted)), shape=(len(wanted), 3))
    shares = [kinds.count(kind) / len(kinds) for kind in ("repeated", "warm", "cold")]
    return Searches(texts, matrix, np.array(kinds), Mix(*shares, "times"))


def answers(rows):
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    items = np.array([item for row in rows for item in row], np.int32)
    return Candidates.unchecked(offsets, items, None, ITEMS.item_ids, Stats())


@pytest.fixture
def asked():
    return searches(
        ["fig", "fig", "sweet pear", "a plum for the pie", "fig"],
        [0, 0, 1, 2, 0],
        ["repeated", "repeated", "warm", "cold", "repeated"],
    )


def test_measured_values_are_ndcg(asked):
    found = answers([[1, 0], [1], [0, 1]])  # of the three different texts
    assert asked.measure(found) == pytest.approx([1 / np.log2(3)] * 2 + [1, 0, 1 / np.log2(3)])


def test_slices_are_means_of_their_searches(asked):
    winner, baseline = np.array([1, 1, 0.5, 0, 1.0]), np.array([0, 0, 1, 0, 0.0])
    rows = {one["slice"]: one for one in slices_of(asked, {"fig": 7.0, "sweet pear": 1.0}, winner, baseline)}
    assert {name: one["searches"] for name, one in rows.items()} == {
        "all": 5, "repeated": 3, "new, item with clicks": 1, "new, item without clicks": 1,
        "head (5 clicks or more)": 3, "tail": 1, "1 word": 3, "2 or 3 words": 1, "4 words or more": 1,
    }  # fmt: skip
    assert rows["all"]["winner"] == pytest.approx(0.7)
    assert rows["all"]["gain"] == pytest.approx(0.5)
    assert rows["repeated"]["gain"] == pytest.approx(1)
    assert rows["new, item with clicks"]["gain"] == pytest.approx(-0.5)


def test_languages_are_slices_where_there_are_several():
    texts = [f"wo ist die {n}. Straße und der Bahnhof" for n in range(12)]
    texts += [f"where is the {n}th street and what is it" for n in range(15)]
    mixed = searches(texts, [0] * 27, ["warm"] * 27)
    values = np.array([1.0] * 12 + [0.0] * 15)
    rows = {one["slice"]: one for one in slices_of(mixed, {}, values, np.zeros(27))}
    assert (rows["in German"]["searches"], rows["in German"]["gain"]) == (12, pytest.approx(1))
    assert (rows["in English"]["searches"], rows["in English"]["gain"]) == (15, pytest.approx(0))
    alone = slices_of(mixed.take(np.arange(12)), {}, values[:12], np.zeros(12))
    assert not any(one["slice"].startswith("in ") for one in alone)


def test_the_worst_regressions_come_first_and_each_text_once(asked):
    winner, baseline = np.array([0.2, 0.2, 0, 0.6, 0.2]), np.array([1, 1, 0.3, 0.6, 1.0])
    rows = regressions_of(asked, ITEMS, (winner, answers([[1, 0], [0], [2]])), (baseline, answers([[0], [1, 2], [2]])))
    assert [(one["query"], one["loss"]) for one in rows] == [
        ("fig", pytest.approx(0.8)),
        ("sweet pear", pytest.approx(0.3)),
    ]
    assert rows[0]["wanted"] == ["fig: a fig"]
    assert rows[0]["winner"] == ["pear: a pear", "fig: a fig"]
    assert rows[0]["baseline"] == ["fig: a fig"]


def test_shrinkage_is_a_difference_with_the_errors_of_both(asked):
    moved = shrinkage(asked, np.ones(5), asked, np.array([1, 1, 0, 1, 1.0]))
    assert moved.mean == pytest.approx(0.2)
    assert moved.error == pytest.approx(asked.interval(np.array([1, 1, 0, 1, 1.0])).error)


def test_drift_is_told_against_the_last_line(tmp_path):
    file = tmp_path / "history.jsonl"
    assert _drift(file, 0.5) == []
    file.write_text("".join(json.dumps({"quality": quality}) + "\n" for quality in (0.9, 0.75)))
    assert _drift(file, 0.6) == ["When it was last measured it had 0.750: it drifted by -0.150."]
