"""Quality of fusions beside their parts: figures, paired tests, and what must hold of the learned ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.rows import Row
from vizsla._internal.terminal import markdown_table
from vizsla.evaluation.evaluate import Evaluation
from vizsla.evaluation.measures import JudgedQueries
from vizsla.evaluation.significance import p_values

MEASURES = ("R@10", "R@100", "RR@10", "nDCG@10")
LEARNED = "learned"
LIMIT = 0.05


@dataclass(frozen=True)
class Measured:
    """All systems on one split of one set.

    Parameters
    ----------
    name : str
        The set, the split and the number of queries.
    evaluations : mapping
        By the system's name.
    us, megabytes : mapping
        What an answer costs, and what it needs.
    """

    name: str
    evaluations: Mapping[str, Evaluation]
    us: Mapping[str, float]
    megabytes: Mapping[str, float]

    def value(self, system: str, measure: str) -> float:
        """Return a system's mean."""
        return float(self.evaluations[system].measures[measure])

    def best(self, systems: Sequence[str], measure: str) -> str:
        """Return the best of some systems."""
        return max(systems, key=lambda system: self.value(system, measure))

    def test(self, system: str, other: str, measure: str) -> tuple[float, float]:
        """Return the difference of two systems and the p-value of a paired randomization test."""
        ours, theirs = (self.evaluations[name].per_query[measure] for name in (system, other))
        return float(np.mean(ours - theirs)), float(p_values((ours - theirs)[:, None])[0])


def whole_test(seen: Measured, unseen: Measured, name: str) -> Measured:
    """Return all queries of two splits as one; what an answer costs is that of the first."""
    evaluations = {system: _joined(one, unseen.evaluations[system]) for system, one in seen.evaluations.items()}
    return Measured(name, evaluations, seen.us, seen.megabytes)


def _joined(one: Evaluation, other: Evaluation) -> Evaluation:
    values = {measure: np.concatenate([one.per_query[measure], other.per_query[measure]]) for measure in MEASURES}
    means = {measure: float(np.mean(each)) for measure, each in values.items()}
    a, b = one.queries, other.queries
    queries = JudgedQueries([*a.ids, *b.ids], [*a.texts, *b.texts], {**a.qrels, **b.qrels}, a.unjudged + b.unjudged)
    return replace(one, measures=means, per_query=values, queries=queries)


def goal_rows(found: Measured, parts: Sequence[str], fused: str, equal: Sequence[str]) -> list[Row]:
    """Return what must hold: the learned fusion loses to no part, and wins where an equal sum does."""
    rows, ours = [], f"{fused}: {LEARNED}"
    for measure in MEASURES:
        part, sum_ = found.best(parts, measure), found.best(equal, measure)
        gain, p = found.test(ours, part, measure)
        said = f"{found.name}, {measure}: {ours} {gain:+.4f} over {part}"
        rows.append(Row(f"{said}, p if lost", p if gain < 0 else 1.0, "limit", LIMIT, "", ">= 1", False))
        others, chance = found.test(sum_, part, measure)
        if others > 0 and chance < LIMIT:
            note = f"{sum_} {others:+.4f}, p {chance:.2g}"
            won = p if gain > 0 else 1.0
            rows.append(Row(f"{said}, p of the gain", won, "limit", LIMIT, "", ">= 1", True, note))
    return rows


def figure_rows(found: Measured, parts: Sequence[str]) -> list[Row]:
    """Return every figure beside that of the best part."""
    return [
        Row(f"{found.name}, {measure}, {system}", found.value(system, measure), best, found.value(best, measure), "",
            "", False)
        for measure in MEASURES
        for best in [found.best(parts, measure)]
        for system in found.evaluations
    ]  # fmt: skip


def table(found: Measured, parts_of: Mapping[str, Sequence[str]]) -> str:
    """Return the table of a split; + and − mark a fusion that is significantly better or worse than its best part."""
    rows = []
    for system in found.evaluations:
        cells = [_cell(found, system, measure, parts_of) for measure in MEASURES]
        rows.append([system, *cells, f"{found.us[system] / 1e3:.3f}", f"{found.megabytes[system]:.1f}"])
    header = ["system", *(measure.replace("RR", "MRR") for measure in MEASURES), "ms", "MB"]
    return f"{found.name}\n{markdown_table(header, rows)}\n"


def _cell(found: Measured, system: str, measure: str, parts_of: Mapping[str, Sequence[str]]) -> str:
    value = f"{found.value(system, measure):.3f}"
    parts = parts_of.get(system)
    if parts is None:
        return value
    gain, p = found.test(system, found.best(parts, measure), measure)
    return value + (("+" if gain > 0 else "−") if p < LIMIT else "")
