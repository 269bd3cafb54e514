"""Verdicts on residual CUR: against everything, and against what has the same knowledge."""

from __future__ import annotations

from benchmarks.adacur_verdicts import knowledge, verdicts

CURVES = {
    "re-rank bm25": {50: [0.5]},
    "re-rank minilm": {50: [0.9]},
    "residual bm25": {50: [0.7]},
    "residual minilm": {50: [0.95]},
    "residual both": {50: [0.96]},
    "adacur random": {50: [0.4]},
    "adacur bm25": {50: [0.6]},
    "adacur minilm": {50: [0.6]},
    "anncur 0.5 plain": {50: [0.45]},
    "anncur 0.5": {50: [0.3]},
    "oracle topk": {50: [1.0]},
}


def test_what_a_system_was_told():
    assert knowledge("re-rank fusion") == {"bm25", "minilm"}
    assert knowledge("axn minilm") == {"minilm"}
    assert knowledge("adacur random plain") == knowledge("anncur 0.3") == {"anchors"}
    assert knowledge("residual both") == {"anchors", "bm25", "minilm"}


def test_a_peer_that_knows_more_counts_in_one_verdict_only():
    rows = {row.work: row for row in verdicts("late", CURVES, (10,))}
    told = "late: top-10 recall, 50 calls, residual bm25, against "
    every, alike = rows[f"{told}all"], rows[f"{told}the same knowledge"]
    assert (every.peer, every.met) == ("re-rank minilm", False)
    assert (alike.peer, alike.met) == ("adacur bm25", True)


def test_adacur_is_held_against_the_best_split_with_or_without_a_ridge():
    rows = {row.work: row for row in verdicts("late", CURVES, (10,))}
    row = rows["late: top-10 recall, 50 calls, adacur random"]
    assert (row.peer, row.theirs, row.met) == ("anncur 0.5 plain", 0.45, False)
