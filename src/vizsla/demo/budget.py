"""The demo's search under a budget: calls of an expensive scorer against how many of the true best items they find."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vizsla.demo.alignment import alignment
from vizsla.function_scorer import FunctionScorer
from vizsla.methods.bm25 import bm25
from vizsla.methods.cur import adacur, residual_cur, score_anchors
from vizsla.methods.cur.anchor_queries import anchor_queries
from vizsla.methods.cur.choose import best_places
from vizsla.tables import print_table

if TYPE_CHECKING:
    from vizsla.dataset import Dataset
    from vizsla.retriever import Retriever

ANCHORS, QUESTIONS, CALLS, BEST, LETTERS = 40, 10, 100, 10, 60


def show_budget(dataset: Dataset, first: Retriever) -> None:
    """Print how many of the best items by alignment each way of spending 100 calls a query finds.

    Parameters
    ----------
    dataset : Dataset
        With clicks and a split "test".
    first : Retriever
        What is re-ranked, and the prior.
    """
    texts = {item.id: item.default_text()[:LETTERS] for item in dataset.items}
    asked = list(dict.fromkeys(dataset.query_texts("test")[1]))[:QUESTIONS]
    if len(texts) <= 2 * CALLS or not asked:
        return
    scorer = FunctionScorer(alignment, texts, name="alignment 1")
    anchors = score_anchors(scorer, anchor_queries(dataset, ANCHORS))
    heads = bm25(texts)
    ways = {
        "re-ranking bm25": first.rerank(scorer, depth=CALLS),
        "adacur": adacur(scorer, anchors, budget=CALLS, first=heads),
        "residual cur": residual_cur(scorer, anchors, heads, budget=CALLS, rank=ANCHORS // 2, ridge=0.1),
    }
    exact = np.stack([alignment(query, list(texts.values())) for query in asked])
    rows = []
    for name, way in ways.items():
        found = way(asked, k=CALLS)
        share = [np.isin(best_places(row, BEST), found.row(at)[0]).mean() for at, row in enumerate(exact)]
        rows.append([name, f"{found.stats.model_calls / len(asked):.0f}", f"{np.mean(share):.2f}"])
    print(
        "\nAn expensive scorer, alignment of strings, under a budget: calls a query, and what they find of its best 10"
    )
    print_table(["way", f"calls of {len(texts):,}", "found"], rows)
