"""The pages of a learned search and of a comparison: whole, escaped, and without anything from elsewhere."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest

import vizsla
from vizsla.autopilot.report_page import comparison_page, learning_page
from vizsla.autopilot.svg_charts import Point, cost_chart, gain_chart, pareto_front
from vizsla.cli import main
from vizsla.errors import InputError

ODD = "<script>alert(1)</script> & 'quotes'"


def report():
    finalist = {"expression": "bm25", "quality": 0.5, "ms": 0.1, "bytes_per_item": 90.0, "calls": 0.0, "refused": ""}
    other = {**finalist, "expression": ODD, "quality": 0.4, "ms": 1.5, "bytes_per_item": 900.0}
    measured = {
        "name": "bm25", "expression": "bm25", "quality": 0.5, "low": 0.4, "high": 0.6, "chosen": 0.52, "ms": 0.1,
        "bytes_per_item": 90.0, "calls": 0.0, "behind": 0.0, "behind_low": 0.0, "behind_high": 0.0,
    }  # fmt: skip
    trial = {
        "name": "bm25", "family": "words", "clicks": 10, "searches": 5, "quality": 0.5, "ms": None,
        "bytes_per_item": 90.0, "seconds": 0.2, "refused": "",
    }  # fmt: skip
    return {
        "summary": ODD, "winner": "bm25", "members": {}, "data": {"items": 3, "clicks": 10}, "notes": [ODD],
        "split": {"by": "time", "report_searches": 5}, "seconds": 2.0, "shrinkage": 0.02,
        "finalists": [finalist, other], "measured": [measured, {**measured, "name": ODD, "ms": None}],
        "trials": [trial], "lock": {"digest": "0123"},
        "slices": [{"slice": ODD, "searches": 5, "gain": 0.1, "low": -0.1, "high": 0.3}],
        "regressions": [{"query": ODD, "kind": "warm", "wanted": [ODD], "winner": [], "baseline": [ODD]}],
    }  # fmt: skip


class Reader(HTMLParser):
    """Notes elements that are left open, and attributes that load something."""

    VOID = {  # noqa: RUF012
        "meta",
        "input",
        "line",
        "polyline",
        "br",
    }

    def __init__(self):
        super().__init__()
        self.open, self.loads, self.tags = [], [], set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.loads += [value for name, value in attrs if name in ("src", "href", "style", "onclick")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize("page", [learning_page(report()), comparison_page({
    ODD: {"measures": {"nDCG@10": 0.4}, "cost": {"ms_p50": 0.1, "bytes": 10, "model_calls": None}},
    "b": {"measures": {"nDCG@10": 0.5}, "cost": {"ms_p50": 2.0, "bytes": 99, "model_calls": 0}},
})])  # fmt: skip
def test_a_page_is_whole_and_needs_nothing_else(page):
    reader = Reader()
    reader.feed(page)
    assert reader.open == []
    assert reader.loads == []
    assert "script" not in reader.tags
    assert "default-src 'none'" in page
    assert "prefers-color-scheme:dark" in page
    assert not re.search(r"https?://|url\(", page)
    assert "&lt;script&gt;" in page


def test_the_front_is_what_nothing_beats():
    points = [Point("dear", 9, 0.9), Point("worse", 8, 0.3), Point("cheap", 1, 0.2), Point("even", 1, 0.1)]
    assert [one.name for one in pareto_front(points)] == ["cheap", "worse", "dear"]
    drawn = cost_chart(points, cost="ms", quality="nDCG@10")
    assert drawn.count("<circle") == 4
    assert drawn.count('class="dot best"') == 3


def test_the_interval_says_whether_it_is_a_gain():
    drawn = gain_chart([("a", 0.2, 0.1, 0.3), ("b", 0.0, -0.1, 0.1), ("c", -0.2, -0.3, -0.1)])
    assert [drawn.count(f'<g class="{kind}">') for kind in ("gain", "even", "loss")] == [1, 1, 1]


def test_the_command_writes_a_page_of_a_comparison(tmp_path):
    data = vizsla.Dataset.of({"f": "a fig", "p": "a pear"}, queries={"q": "fig"}, qrels={"q": {"f": 1}})
    result = tmp_path / "compare.json"
    vizsla.compare({"a": vizsla.bm25(data), "b": vizsla.bm25(data, k1=0.9)}, data).to_json(result)
    assert main(["report", str(result)]) == 0
    assert "<svg" in (tmp_path / "compare.html").read_text("utf-8")
    result.write_text(json.dumps([1]))
    with pytest.raises(InputError, match="A comparison must be"):
        comparison_page([1])
