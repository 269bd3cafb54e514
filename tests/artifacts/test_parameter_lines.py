"""What `inspect` prints can be read: no line is endless, whatever an artifact's parameters are."""

from __future__ import annotations

import json

import pytest

from vizsla import bm25
from vizsla.artifacts.inspect import MAX_LINE_CHARS, MAX_TABLE_ROWS, inspect, parameter_lines
from vizsla.methods.pefa import pefa_xs

WORDS = ["fig", "pear", "plum", "tree", "leaf", "root", "bark", "seed", "stem", "bud"]


def test_the_trials_of_a_pefa_are_a_table(tmp_path):
    items = {f"i{n}": f"{WORDS[n % 10]} {WORDS[n // 10]}" for n in range(100)}
    clicks = [(f"{WORDS[n % 10]} w{n}", f"i{n}") for n in range(100)]
    moved = pefa_xs(bm25(items), clicks)
    assert moved.choice is not None
    lines = str(inspect(moved.save(tmp_path / "pefa"))).splitlines()
    assert max(map(len, lines[1:])) <= MAX_LINE_CHARS + 20  # the first names the folder, however long its path
    begin = next(number for number, line in enumerate(lines) if line.startswith("  choice: chosen of"))
    chosen = moved.choice.chosen
    assert lines[begin + 1].split()[:2] == list(chosen)[:2]
    assert lines[begin + 2].split()[:3] == ["*", str(chosen["variant"]), f"{chosen['weight']:g}"]


def test_short_ones_stay_as_they_are():
    assert parameter_lines({"k1": 0.9, "names": ["a", "b"], "inner": {"x": None}}) == [
        "k1 = 0.9",
        'names = ["a", "b"]',
        'inner = {"x": null}',
    ]


def test_no_line_is_endless():
    columns = {f"column {n}": n for n in range(200)}
    endless = {
        "text": "x" * 10_000,
        "numbers": list(range(5000)),
        "rows": [columns] * 2,
        "many": [{"name": "a" * 99, "value": n / 3} for n in range(1000)],
        "deep": {"deeper": {"deepest": {str(n): "y" * 80 for n in range(3)}}},
        "uneven": [{"a": "z" * 99}, {"b": json.loads("[1, 2]")}],
    }
    lines = parameter_lines(endless)
    assert max(map(len, lines)) <= MAX_LINE_CHARS
    assert any("(10,000 characters)" in line for line in lines) and any("(5,000 entries)" in line for line in lines)
    assert f"  … and {1000 - MAX_TABLE_ROWS:,} more; JSON has all of them" in lines


CHOICE = {"measure": "MRR@10", "cold": 4, "warm": 9, "best": 2}
TRIALS = [{"weight": number / 10, "variant": "a" * 40, "warm": 0.1, "all": number / 20} for number in range(12)]


def test_a_choice_is_a_small_table_with_what_was_chosen_first():
    lines = parameter_lines({"choice": CHOICE | {"trials": TRIALS}})
    assert lines[0] == "choice: chosen of 12 by MRR@10 on 9 warm and 4 cold held-out queries"
    assert [line.split()[:2] for line in lines[2:4]] == [["*", "0.2"], ["1.1", "a" * 23 + "…"]]
    assert len(lines) == 9 and lines[-1] == "  … and 6 more; JSON has all of them" and max(map(len, lines)) <= 80


@pytest.mark.parametrize("changes", [{"best": 12}, {"best": "2"}, {"warm": "9"}, {"trials": [3]}, {"trials": [{}]}])
def test_what_only_looks_like_a_choice_is_shown_as_it_is(changes):
    lines = parameter_lines({"choice": CHOICE | {"trials": TRIALS} | changes})
    assert "chosen of" not in lines[0]
