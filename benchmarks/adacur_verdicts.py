"""What the curves of budgeted search say: against everything, and against what has no other knowledge.

No search can use what none of its parts was told: residual CUR over BM25 does not know MiniLM's scores. So it is held
against the best of all others, and against the best of those that know nothing which it does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import floor

from benchmarks.rows import Row

Curves = dict[str, dict[int, list[float]]]
"""Each system's recall at every budget, a number a depth."""
RESIDUALS = ("residual bm25", "residual minilm", "residual both")
ADACURS = ("adacur random", "adacur bm25", "adacur minilm")
TOLD = {"bm25": {"bm25"}, "minilm": {"minilm"}, "both": {"bm25", "minilm"}, "fusion": {"bm25", "minilm"}}
ANCHORED = ("adacur", "anncur", "residual")


def knowledge(system: str) -> set[str]:
    """Return what a system was told, by its name: retrievers and their vectors, anchors."""
    words = system.split()
    told: set[str] = set().union(*(TOLD.get(word, set()) for word in words))
    return told | ({"anchors"} if words[0] in ANCHORED else set())


def verdicts(name: str, curves: Curves, depths: Sequence[int]) -> list[Row]:
    """Return residual CUR against others, twice, and ADACUR against ANNCUR's best split."""
    rows = []
    for budget in next(iter(curves.values())):
        for at, depth in enumerate(depths):
            here = {system: curve[budget][at] for system, curve in curves.items()}
            work = f"{name}: top-{depth} recall, {budget} calls"
            rows += [row for ours in RESIDUALS if ours in here for row in _residual_rows(work, ours, here, depth)]
            splits = {system: value for system, value in here.items() if system.startswith("anncur")}
            rows += [_row(f"{work}, {ours}", here[ours], splits, ">= 1") for ours in ADACURS if ours in here and splits]
    return rows


def _residual_rows(work: str, ours: str, here: dict[str, float], depth: int) -> list[Row]:
    others = {system: value for system, value in here.items() if not system.startswith(("residual", "oracle"))}
    alike = {system: value for system, value in others.items() if knowledge(system) <= knowledge(ours)}
    kinds = {"against all": others, "against the same knowledge": alike}
    return [_row(f"{work}, {ours}, {kind}", here[ours], peers, _target(peers, depth)) for kind, peers in kinds.items()]


def _target(peers: dict[str, float], depth: int) -> str:
    best = max(peers.values())
    within = max(0.0, (best - 0.01) / max(best, 0.01))
    return ">= 1" if depth == 100 else f">= {floor(within * 1e4) / 1e4:.4f}"  # rounded up, .01 less would miss it


def _row(work: str, value: float, peers: dict[str, float], target: str) -> Row:
    best = max(peers, key=lambda system: peers[system])
    return Row(work, value, best, peers[best], "", target, False)
