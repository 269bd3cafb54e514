"""Search under a budget of expensive calls: Top-k-Recall of re-ranking, ANNCUR, ADACUR, AXN and residual CUR.

Scorers (`adacur_worlds.py`): exact late interaction over MiniLM's tokens, on squad-sent and on 100,000 items of
wordnet-senses; alignment of strings, of which no retriever knows much; and a trained cross-encoder. Full score matrices
are made once (`adacur_scores.py`) and replayed, so every call is counted and none is paid for twice. Rank and ridge are
chosen on the anchor queries; the number of rounds was chosen on other training queries; test queries are only measured.
A peer's figure is the best of all that is not residual CUR, or of those that know no more (`adacur_verdicts.py`).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

import benchmarks.blas_threads  # noqa: F401
from benchmarks.adacur_costs import cost_rows
from benchmarks.adacur_oracle import oracle_recalls
from benchmarks.adacur_plot import plot_curves
from benchmarks.adacur_replay import FAMILIES, Replay, systems
from benchmarks.adacur_scores import Matrix
from benchmarks.adacur_verdicts import Curves, verdicts
from benchmarks.adacur_worlds import WORLDS, Wish, World
from benchmarks.rows import Row, arguments, report
from vizsla.base.retriever import Retriever
from vizsla.core.strings import Strings
from vizsla.methods.bm25 import bm25
from vizsla.methods.cur import AnchorScores
from vizsla.methods.cur.plan import best_places

BUDGETS = (50, 100, 200, 500)
JUDGED = 100
"""The budget at which answers are held against judgments."""
DEPTHS = (1, 10, 100)
ORACLES = {
    "oracle topk": {"how": "topk", "epsilon": 0.0, "masked": 0},
    "oracle topk, half random": {"how": "topk", "epsilon": 0.5, "masked": 0},
    "oracle topk, best 100 masked": {"how": "topk", "epsilon": 0.5, "masked": 100},
    "oracle softmax": {"how": "softmax", "epsilon": 0.0, "masked": 0},
}


def main() -> None:
    """Measure and report."""
    given = arguments("adacur", own=_add_options)
    rows: list[Row] = [] if given.no_costs else cost_rows(quick=given.quick)
    for name in given.scorers if not given.only_costs else ():
        rows += _scorer_rows(name, given)
    report(rows, given.json)


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--scorers", nargs="+", default=["late interaction", "alignment"], choices=list(WORLDS))
    parser.add_argument("--families", nargs="+", default=FAMILIES, choices=FAMILIES, help="of systems (default: all)")
    parser.add_argument("--folder", type=Path, help="of the trained cross-encoder: see cross_encoder_model")
    parser.add_argument("--items", type=int, metavar="N", help="of the world; of squad-sent the first ones")
    parser.add_argument("--anchors", type=int, metavar="N", help="anchor queries, at most 500 of squad-sent")
    parser.add_argument("--testing", type=int, metavar="N", help="queries of the cross-encoder's and wordnet's world")
    parser.add_argument("--part", default="testing", choices=["tuning", "testing"], help="which queries are asked")
    parser.add_argument("--plot", metavar="FOLDER", help="draw the curves there")
    parser.add_argument("--curves", metavar="FILE", help="write all curves there as JSON")
    parser.add_argument("--oracles", action="store_true", help="the upper bounds of appendix C.2, too")
    parser.add_argument("--queries", type=int, default=100, metavar="N", help="how many are asked (default: 100)")
    parser.add_argument("--no-costs", action="store_true", help="leave the linear algebra's times out")
    parser.add_argument("--only-costs", action="store_true", help="nothing but those")


def _scorer_rows(name: str, given: argparse.Namespace) -> list[Row]:
    world = WORLDS[name](Wish(given.quick, given.folder, given.items, given.anchors, given.testing))
    budgets, asked = (50,) if given.quick else BUDGETS, 10 if given.quick else given.queries
    part = np.random.default_rng(0).permutation(world.asked.part(given.part))[:asked]
    curves, judged = _curves(world, part, budgets, given.families)
    if given.oracles:
        curves |= _oracles(world.scores[world.asked.part("anchors")], world.scores[part], budgets)
    file = name.replace(",", "").replace(" ", "-")
    if given.plot:
        plot_curves(curves, DEPTHS, Path(given.plot) / f"adacur-{file}.png", title=name)
    if given.curves:
        Path(given.curves.format(file)).write_text(json.dumps(curves, indent=1) + "\n")
    return [*verdicts(name, curves, DEPTHS), *judged_rows(name, judged)]


def _curves(
    world: World, part: Any, budgets: tuple[int, ...], families: Collection[str]
) -> tuple[Curves, dict[str, dict[str, float]]]:
    """Return each system's recall at every budget and depth, and what its answers at the second one are worth."""
    asked, exact = world.asked, world.scores[part]
    texts = [asked.texts[row] for row in part]
    scorer = Replay(Strings.of(world.items), asked.texts, world.scores)
    rows = {asked.texts[row]: row for row in asked.part("anchors")}  # two of them may ask the same
    anchors = AnchorScores.of(scorer.items, rows, world.scores[list(rows.values())])
    curves: Curves = {}
    judged: dict[str, dict[str, float]] = {}
    for name, system in systems(scorer, anchors, _cheap(world), world.minilm, families).items():
        for budget in budgets:
            found = system(budget)(texts, k=budget)
            most = int(np.diff(found.offsets).max())
            assert most <= budget and found.stats.model_calls <= budget * len(texts), f"{name} exceeds {budget}"
            curves.setdefault(name, {})[budget] = [_recall(exact, found, depth) for depth in DEPTHS]
            if budget == JUDGED:
                judged[name] = _worth([world.wanted[row] for row in part], found)
        print(name, curves[name], file=sys.stderr, flush=True)
    return curves, judged


def _cheap(world: World) -> dict[str, Retriever]:
    words = bm25(world.items)
    return {"bm25": words, "minilm": world.minilm, "fusion": words.normalized() + world.minilm.normalized()}


def _oracles(anchors: Matrix, exact: Matrix, budgets: tuple[int, ...]) -> Curves:
    return {
        name: {budget: oracle_recalls(anchors, exact, budget=budget, depths=DEPTHS, **how) for budget in budgets}  # type: ignore[arg-type]
        for name, how in ORACLES.items()
    }


def _recall(exact: Matrix, found: Any, depth: int) -> float:
    shares = [np.isin(best_places(row, depth), found.row(at)[0]).mean() for at, row in enumerate(exact)]
    return float(np.mean(shares))


def _worth(wanted: list[set[int]], found: Any) -> dict[str, float]:
    """Return R@10 and RR@10 on the judgments of the queries that were asked."""
    recall, reciprocal = [], []
    for at, right in enumerate(wanted):
        if right:
            best = found.row(at)[0][:10].tolist()
            recall.append(len(right & set(best)) / len(right))
            reciprocal.append(next((1 / place for place, item in enumerate(best, 1) if item in right), 0.0))
    return {"R@10": float(np.mean(recall)) if recall else 0.0, "RR@10": float(np.mean(reciprocal)) if recall else 0.0}


def judged_rows(name: str, judged: dict[str, dict[str, float]]) -> list[Row]:
    """Return what the answers at one budget are worth by judgments."""
    peer = "re-rank minilm"
    return [
        Row(f"{name}: {measure}, {JUDGED} calls, {system}", value, peer, judged[peer][measure], "", "", False)
        for system, values in judged.items()
        for measure, value in values.items()
    ]


if __name__ == "__main__":
    main()
