"""A verdict is computed: larger ratios are better, and a row without a peer is not met."""

from __future__ import annotations

import json

import pytest

from benchmarks.rows import Row, report


def test_times_and_rates():
    faster = Row("query", 0.5, "peer", 1.0, "ms", ">= 1.5")
    assert (faster.ratio, faster.met) == (2.0, True)
    assert not Row("query", 0.9, "peer", 1.0, "ms", ">= 1.5").met
    assert Row("indexing", 30.0, "peer", 10.0, "docs/s", ">= 3", lower_is_better=False).ratio == 3.0


def test_a_missing_peer_is_not_met():
    row = Row("query", 0.5, "peer", None, "ms", ">= 1.5", note="no wheel")
    assert (row.ratio, row.met, row.to_dict()["note"]) == (None, False, "no wheel")


def test_a_target_that_cannot_be_read():
    with pytest.raises(ValueError, match="'fast'"):
        _ = Row("query", 0.5, "peer", 1.0, "ms", "fast").met


def test_report_prints_and_writes_the_same_rows(tmp_path, capsys):
    file = tmp_path / "rows.json"
    report([Row("query", 0.18, "bm25s numba", 0.28, "ms", ">= 1.5")], file)
    assert json.loads(file.read_text()) == [
        {
            "work": "query",
            "ours": 0.18,
            "peer": "bm25s numba",
            "theirs": 0.28,
            "unit": "ms",
            "ratio": 1.556,
            "target": ">= 1.5",
            "met": True,
        }
    ]
    assert "| query | 0.18 | bm25s numba | 0.28 | ms | 1.556 | >= 1.5 | yes |" in capsys.readouterr().out
