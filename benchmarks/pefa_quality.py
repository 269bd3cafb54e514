"""Quality of PEFA: every variant beside the base and the paper's formulas, tested query by query."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.pefa_collection import Collection
from benchmarks.rows import Row
from vizsla.base.retriever import Retriever
from vizsla.evaluation.compare import Comparison, compare

SPLITS = ("test-seen", "test-unseen")
MEASURES = "R@10 RR@10 R@100"
GOALS = {
    ("tldr", "test-seen", "R@10"): 0.60,
    ("tldr", "test-unseen", "R@10"): 0.50,
    ("squad-sent", "test-seen", "R@10"): 0.895,
    ("squad-sent", "test-seen", "RR@10"): 0.71,
    ("squad-sent", "test-unseen", "R@10"): 0.865,
}
PAPER = {"paper's xs": 9.22, "paper's xl": 11.82}
"""Average gains in R@10 on NQ-320K, Table 2."""


def quality_rows(one: Collection, systems: Mapping[str, Retriever]) -> list[Row]:
    """Return the goals of the automatic choice, the tests of its gains, and every system's figures."""
    compared = {
        split: compare(systems, one.data, split, MEASURES.split(), baseline="base", latency_queries=1)
        for split in SPLITS
    }
    rows = [*_goals(one.name, compared), *_gains(one.name, compared)]
    for split in SPLITS:
        rows += _table(one.name, split, compared[split])
    return rows


def _goals(name: str, compared: Mapping[str, Comparison]) -> list[Row]:
    return [
        Row(f"{of} {split} {measure}, pefa", _value(compared[split], "pefa", measure), "goal", goal, "", ">= 1", False)
        for (of, split, measure), goal in GOALS.items()
        if of == name
    ]


def _gains(name: str, compared: Mapping[str, Comparison]) -> list[Row]:
    """Return p of each gain of the automatic choice; a loss on test-unseen is only reported."""
    rows = []
    for split, measure in ((s, m) for s in SPLITS for m in MEASURES.split()):
        p, gain = _test(compared[split], "pefa", measure)
        target = ">= 1" if split == "test-seen" and measure != "R@100" else ""
        work = f"{name} {split} {measure}, p of pefa's {gain:+.3f}"
        rows.append(Row(work, p, "limit", 0.01, "", target))
    return rows


def _table(name: str, split: str, compared: Comparison) -> list[Row]:
    rows = []
    for system in compared.names:
        for measure in MEASURES.split():
            note = ""
            if system != "base":
                p, gain = _test(compared, system, measure)
                note = f"{100 * gain:+.1f} points, p {p:.2g}"
                if measure == "R@10" and system in PAPER and split == "test-seen":
                    note += f"; the paper on NQ-320K: +{PAPER[system]} points"
            ours, theirs = _value(compared, system, measure), _value(compared, "base", measure)
            rows.append(Row(f"{name} {split} {measure}, {system}", ours, "base", theirs, "", "", False, note))
    return rows


def _value(compared: Comparison, system: str, measure: str) -> float:
    return float(compared.evaluations[system].measures[measure])


def _test(compared: Comparison, system: str, measure: str) -> tuple[float, float]:
    found = next(test for test in compared.tests if (test.a, test.measure) == (system, measure))
    return found.p, found.difference
