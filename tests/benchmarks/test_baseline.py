"""The published figures are compared as they should be: direction, tolerance, machine, missing rows and peers."""

from __future__ import annotations

import json

import pytest

from benchmarks.baseline import FILE, Figure, compare, load, main, save, updated
from benchmarks.rows import Row

RECALL = Figure("quality", "tldr test R@10, bm25", "", "ours", 0.413)
FASTER = Figure("bm25", "query", "tantivy", "ratio", 3.7, tolerance=0.5, machine="avx512")
SMALLER = Figure("bm25", "peak", "", "ours", 135.0, better="lower", tolerance=5.0)


def rows(*made):
    return [row.to_dict() for row in made]


def recall(value):
    return rows(Row("tldr test R@10, bm25", value, "", None, "", "", False))


@pytest.mark.parametrize(
    ("figure", "found", "verdict"),
    [
        (RECALL, 0.413, "same"),
        (RECALL, 0.4125, "same"),
        (RECALL, 0.4124, "WORSE"),
        (RECALL, 0.414, "better"),
        (FASTER, 3.2, "same"),
        (FASTER, 3.19, "WORSE"),
        (SMALLER, 140.0, "same"),
        (SMALLER, 140.1, "WORSE"),
        (SMALLER, 100.0, "better"),
    ],
)
def test_worse_is_beyond_the_tolerance_and_in_the_right_direction(figure, found, verdict):
    assert figure.verdict(found) == verdict


def test_speed_is_compared_by_ratio_and_only_on_its_machine():
    measured = {"bm25": rows(Row("query", 1.0, "tantivy", 2.0, "ms"), Row("peak", 130.0, "limit", 500.0, "MB"))}
    assert [verdict for *_, verdict in compare([FASTER, SMALLER], measured, "avx512")] == ["WORSE", "same"]
    assert compare([FASTER], measured, "avx2")[0][2] == "other machine (avx512)"


def test_benchmarks_that_were_not_run_are_left_out():
    assert compare([RECALL, FASTER], {"quality": recall(0.413)}, "avx512") == [(RECALL, 0.413, "same")]


def test_a_figure_that_is_gone_is_missing_and_one_without_its_peer_is_not():
    gone = compare([RECALL, FASTER], {"quality": [], "bm25": rows(Row("query", 1.0, "tantivy", None, "ms"))}, "avx512")
    assert [verdict for *_, verdict in gone] == ["MISSING", "no peer"]


def test_the_command_fails_when_a_figure_is_worse_and_updates_when_told(tmp_path, capsys):
    baseline, found = tmp_path / "baseline.json", tmp_path / "rows.json"
    save([RECALL, FASTER], baseline)
    assert load(baseline) == [FASTER, RECALL]
    found.write_text(json.dumps(recall(0.40) + rows(Row("tldr test R@100, bm25", 0.5, "", None, "", "", False))))
    given = ["--baseline", str(baseline), "--rows", f"quality={found}"]
    assert main(given) == 1
    assert "WORSE" in capsys.readouterr().out
    assert main([*given, "--update"]) == 0
    assert {figure.work: figure.value for figure in load(baseline)} == {
        "query": 3.7, "tldr test R@10, bm25": 0.40, "tldr test R@100, bm25": 0.5,
    }  # fmt: skip
    assert main(given) == 0


def test_an_update_leaves_other_machines_alone():
    measured = {"bm25": rows(Row("query", 1.0, "tantivy", 9.0, "ms"))}
    assert updated([FASTER], measured, "avx2") == [FASTER]
    assert updated([FASTER], measured, "avx512")[0].value == 9.0


def test_the_published_baseline_is_sound():
    figures = load()
    assert len({(figure.key, figure.machine) for figure in figures}) == len(figures)
    for figure in figures:
        assert figure.figure in ("ours", "ratio") and figure.better in ("higher", "lower")
        assert figure.machine in ("any", "avx512", "avx2") and figure.tolerance >= 0
        assert (FILE.parents[2] / figure.source).exists() or figure.source == "measured"
        assert figure.figure == "ours" or (figure.peer and figure.better == "higher")
        assert (FILE.parents[1] / f"{figure.benchmark}.py").exists()
