"""Search under a budget of expensive calls: Top-k-Recall of re-ranking, ANNCUR, ADACUR, AXN and residual CUR.

Scorers: exact late interaction over MiniLM's tokens, and alignment of strings, of which no retriever knows much; on
squad-sent, all items. Full score matrices are made once (`adacur_scores.py`) and replayed, so every call is counted and
none is paid for twice. Rank and ridge are chosen on the anchor queries; the number of rounds was chosen on other
training queries; test queries are only measured. A peer's figure is the best of all that is not residual CUR.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import benchmarks.blas_threads  # noqa: F401 - before numpy's first product
from benchmarks.adacur_costs import cost_rows
from benchmarks.adacur_oracle import oracle_recalls
from benchmarks.adacur_plot import plot_curves
from benchmarks.adacur_replay import Replay, systems
from benchmarks.adacur_scores import Matrix, Questions, late_interaction, open_set, questions, string_similarity
from benchmarks.pefa_collection import Collection
from benchmarks.rows import Row, arguments, report
from vizsla.methods.bm25 import bm25
from vizsla.methods.cur import AnchorScores
from vizsla.methods.cur.choose import best_places
from vizsla.retriever import Retriever

SCORERS = {"late interaction": late_interaction, "alignment": string_similarity}
TESTS = ("test-seen", "test-unseen")
BUDGETS = (50, 100, 200, 500)
DEPTHS = (1, 10, 100)
ORACLES = {
    "oracle topk": {"how": "topk", "epsilon": 0.0, "masked": 0},
    "oracle topk, half random": {"how": "topk", "epsilon": 0.5, "masked": 0},
    "oracle topk, best 100 masked": {"how": "topk", "epsilon": 0.5, "masked": 100},
    "oracle softmax": {"how": "softmax", "epsilon": 0.0, "masked": 0},
}
Curves = dict[str, dict[int, list[float]]]


def main() -> None:
    """Measure and report."""
    given = arguments("adacur", own=_add_options)
    rows: list[Row] = [] if given.no_costs else cost_rows(quick=given.quick)
    for name in given.scorers if not given.only_costs else ():
        rows += _scorer_rows(name, given)
    report(rows, given.json)


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--scorers", nargs="+", default=list(SCORERS), choices=list(SCORERS))
    parser.add_argument("--part", default="testing", choices=["tuning", "testing"], help="which queries are asked")
    parser.add_argument("--plot", metavar="FOLDER", help="draw the curves there")
    parser.add_argument("--curves", metavar="FILE", help="write all curves there as JSON")
    parser.add_argument("--oracles", action="store_true", help="the upper bounds of appendix C.2, too")
    parser.add_argument("--queries", type=int, default=100, metavar="N", help="how many are asked (default: 100)")
    parser.add_argument("--no-costs", action="store_true", help="leave the linear algebra's times out")
    parser.add_argument("--only-costs", action="store_true", help="nothing but those")


def _scorer_rows(name: str, given: argparse.Namespace) -> list[Row]:
    data = open_set("squad-sent")
    asked = questions(data, TESTS)
    scores = SCORERS[name]("squad", [item.default_text() for item in data.items], asked.texts)
    budgets = (50,) if given.quick else BUDGETS
    rows = range(len(asked.texts))[asked.part(given.part)]
    part = np.random.default_rng(0).permutation(rows)[: 10 if given.quick else given.queries]
    curves, judged = _curves(data, asked, scores, part, budgets)
    if given.oracles:
        curves |= _oracles(scores[asked.part("anchors")], scores[part], budgets)
    if given.plot:
        plot_curves(curves, DEPTHS, Path(given.plot) / f"adacur-{name.replace(' ', '-')}.png", title=name)
    if given.curves:
        Path(given.curves.format(name.replace(" ", "-"))).write_text(json.dumps(curves, indent=1) + "\n")
    return [*_verdicts(name, curves), *judged_rows(name, judged)]


def _curves(
    data: Any, asked: Questions, scores: Matrix, part: Any, budgets: tuple[int, ...]
) -> tuple[Curves, dict[str, dict[str, float]]]:
    """Return each system's recall at every budget and depth, and what its answers at budget 100 are worth."""
    texts, exact = [asked.texts[row] for row in part], scores[part]
    scorer = Replay(data.item_ids, asked.texts, scores)
    rows = {text: row for row, text in enumerate(asked.texts[asked.part("anchors")])}  # two of them ask the same
    anchors = AnchorScores.of(data.item_ids, rows, scores[list(rows.values())])
    minilm, words = Collection("squad-sent").base(), bm25(data)
    both = words.normalised() + minilm.normalised()
    curves: Curves = {}
    judged: dict[str, dict[str, float]] = {}
    cheap: dict[str, Retriever] = {"bm25": words, "minilm": minilm, "fusion": both}
    for name, system in systems(scorer, anchors, cheap, minilm).items():
        for budget in budgets:
            found = system(budget)(texts, k=budget)
            most = int(np.diff(found.offsets).max())
            assert most <= budget and found.stats.model_calls <= budget * len(texts), f"{name} exceeds {budget}"
            curves.setdefault(name, {})[budget] = [_recall(exact, found, depth) for depth in DEPTHS]
            if budget == 100:
                judged[name] = _worth(data, [asked.ids[row] for row in part], found)
        print(name, curves[name], file=sys.stderr, flush=True)
    return curves, judged


def _oracles(anchors: Matrix, exact: Matrix, budgets: tuple[int, ...]) -> Curves:
    return {
        name: {budget: oracle_recalls(anchors, exact, budget=budget, depths=DEPTHS, **how) for budget in budgets}  # type: ignore[arg-type]
        for name, how in ORACLES.items()
    }


def _recall(exact: Matrix, found: Any, depth: int) -> float:
    shares = [np.isin(best_places(row, depth), found.row(at)[0]).mean() for at, row in enumerate(exact)]
    return float(np.mean(shares))


def _worth(data: Any, ids: list[str], found: Any) -> dict[str, float]:
    """Return R@10 and RR@10 on the judgements of the queries that were asked."""
    recall, reciprocal = [], []
    known = {split: (data.qrels(split), {id: at for at, id in enumerate(data.query_texts()[0])}) for split in TESTS}
    for at, id in enumerate(ids):
        wanted: set[int] = set()
        for judged, rows in known.values():
            row = rows[id]
            wanted |= set(judged.indices[judged.indptr[row] : judged.indptr[row + 1]].tolist())
        if wanted:
            best = found.row(at)[0][:10].tolist()
            recall.append(len(wanted & set(best)) / len(wanted))
            reciprocal.append(next((1 / place for place, item in enumerate(best, 1) if item in wanted), 0.0))
    return {"R@10": float(np.mean(recall)) if recall else 0.0, "RR@10": float(np.mean(reciprocal)) if recall else 0.0}


def _verdicts(name: str, curves: Curves) -> list[Row]:
    """Return residual CUR against the best of all others, and ADACUR against ANNCUR's best split."""
    others = [system for system in curves if not system.startswith(("residual", "oracle"))]
    rows = []
    for budget in next(iter(curves.values())):
        for at, depth in enumerate(DEPTHS):
            work = f"{name}: top-{depth} recall, {budget} calls"
            best = max(others, key=lambda system: curves[system][budget][at])
            for ours in ("residual bm25", "residual minilm", "residual both"):
                value, peer = curves[ours][budget][at], curves[best][budget][at]
                target = ">= 1" if depth == 100 else f">= {max(0.0, (peer - 0.01) / max(peer, 0.01)):.4f}"
                rows.append(Row(f"{work}, {ours}", value, best, peer, "", target, False))
            split = max((s for s in curves if s.startswith("anncur")), key=lambda s: curves[s][budget][at])
            for ours in ("adacur random", "adacur bm25", "adacur minilm"):
                rows.append(
                    Row(
                        f"{work}, {ours}", curves[ours][budget][at], split, curves[split][budget][at], "", ">= 1", False
                    )
                )
    return rows


def judged_rows(name: str, judged: dict[str, dict[str, float]]) -> list[Row]:
    """Return what the answers at budget 100 are worth by judgements."""
    peer = "re-rank minilm"
    return [
        Row(f"{name}: {measure}, 100 calls, {system}", value, peer, judged[peer][measure], "", "", False)
        for system, values in judged.items()
        for measure, value in values.items()
    ]


if __name__ == "__main__":
    main()
