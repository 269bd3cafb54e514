"""What position bias costs a search that learns from clicks, and how much of it corrected clicks win back.

Users ask tldr's training queries; a system of today shows the ten items that BM25 finds, in an order that is unrelated
to the query, as by date, with neighbors swapped at random (`--by-score`: in the order of BM25). A user looks at
position r with probability 1 / r and clicks the item that answers the query in four of five cases, and another item in
three of ten. A log of as many clicks, in which all positions are looked at alike, is the one without bias. Each log
teaches PEFA over BM25 and click memory; they are measured by MRR@10 on the queries' true answers. The propensities are
estimated from the log alone.

    python -m benchmarks.position_bias
"""

from __future__ import annotations

import argparse
from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from benchmarks.corpus import data_folder
from vizsla._internal.terminal import markdown_table
from vizsla.data.dataset import Dataset
from vizsla.learning.propensity import PositionedClick, position_propensities, unbiased_weights
from vizsla.methods.bm25 import bm25
from vizsla.methods.pefa import pefa
from vizsla.methods.remembered_clicks import click_memory

DEPTH = 10
LOOKED_AT = 1 / np.arange(1, DEPTH + 1)
MIN_COST = 0.005
"""Of less than this no share is told."""
CLICKED_IF_RIGHT, CLICKED_IF_WRONG = 0.8, 0.3


class Sessions(NamedTuple):
    """Clicks of users who mostly look at the top, of users who look at all alike, and what was shown."""

    biased: list[PositionedClick]
    fair: list[PositionedClick]
    shown: Counter[tuple[str, str, int]]


def sessions(
    lists: dict[str, list[str]], answers: dict[str, set[str]], *, each: int, swaps: int, seed: int
) -> Sessions:
    """Draw sessions: every query is asked so many times."""
    rng = np.random.default_rng(seed)
    biased, fair, shown = list[PositionedClick](), list[PositionedClick](), Counter[tuple[str, str, int]]()
    for query, hits in lists.items():
        for _ in range(each):
            order = list(hits)
            for at in rng.integers(0, max(len(order) - 1, 1), swaps).tolist():
                order[at : at + 2] = order[at : at + 2][::-1]
            looked, drawn = rng.random(len(order)), rng.random(len(order))
            for place, item in enumerate(order, 1):
                shown[query, item, place] += 1
                if drawn[place - 1] < (CLICKED_IF_RIGHT if item in answers[query] else CLICKED_IF_WRONG):
                    click = PositionedClick(query, item, 1.0, None, place)
                    if looked[place - 1] < LOOKED_AT[place - 1]:
                        biased.append(click)
                    if looked[place - 1] < LOOKED_AT.mean():
                        fair.append(click)
    return Sessions(biased, fair, shown)


def reciprocal_rank(found: Any, answers: list[set[str]]) -> float:
    """Return MRR@10."""
    ranks = [next((1 / r for r, item in enumerate(row, 1) if item in right), 0.0)
             for row, right in zip(found.ids, answers, strict=True)]  # fmt: skip
    return float(np.mean(ranks))


def main() -> None:
    """Print the propensities and a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--each", type=int, default=40, help="how often each query is asked")
    parser.add_argument("--swaps", type=int, default=4, help="of neighbors in each list")
    parser.add_argument("--by-score", action="store_true", help="today's order is that of BM25")
    given = parser.parse_args()
    data = Dataset.open(data_folder() / "tldr")
    words = bm25(data)
    grades: Any = data.qrels("train").tocsr()
    rows = np.flatnonzero(np.diff(grades.indptr))
    rows = np.random.default_rng(0).permutation(rows)[: given.queries]
    known = data.query_texts()[1]
    answers = {known[row]: set(data.item_ids.take(grades[[row]].indices)) for row in rows.tolist()}
    texts = list(answers)
    lists = dict(zip(texts, words(texts, DEPTH).ids, strict=True))
    if not given.by_score:
        rng = np.random.default_rng(1)
        lists = {text: [hits[at] for at in rng.permutation(len(hits)).tolist()] for text, hits in lists.items()}
    log = sessions(lists, answers, each=given.each, swaps=given.swaps, seed=0)
    propensities = position_propensities(log.biased, log.shown)
    print("looked at:", " ".join(f"{one:.2f}" for one in LOOKED_AT))
    print("estimated:", " ".join(f"{one:.2f}" for one in propensities), "\n")
    logs = {
        "no bias": (log.fair, np.ones(len(log.fair))),
        "bias": (log.biased, np.ones(len(log.biased))),
        "bias, corrected": (log.biased, unbiased_weights(log.biased, propensities)),
    }
    print(f"{len(log.biased):,} clicks with bias, {len(log.fair):,} without\n")
    table, right = [], list(answers.values())
    for name, (clicks, weights) in logs.items():
        triples = [(click.query, click.item, float(w)) for click, w in zip(clicks, weights, strict=True)]
        taught = Dataset.of(list(data.items), clicks=triples)
        memory = click_memory(taught)
        adapted = pefa(words, taught, variant="xs", weight=0.3)
        table.append(
            (name, reciprocal_rank(memory(texts, DEPTH), right), reciprocal_rank(adapted(texts, DEPTH), right))
        )
    cells = [[name, f"{first:.3f}", f"{second:.3f}"] for name, first, second in table]
    fair, biased, corrected = (np.array(row[1:]) for row in table)
    costs, gains = fair - biased, corrected - biased
    shares = [f"{100 * gain / cost:.0f} %" if cost > MIN_COST else "–" for gain, cost in zip(gains, costs, strict=True)]
    cells.append(["won back", *shares])
    print(markdown_table(["learned from", "click memory", "PEFA over BM25"], cells))


if __name__ == "__main__":
    main()
