"""Systems of known quality on random judgments: enough queries for statistics, no index needed."""

from __future__ import annotations

import numpy as np

from tests.evaluation.judged_dict import JudgedDict
from tests.support.table_retriever import TableRetriever

ITEMS = [f"d{number}" for number in range(60)]


def judged_dict(queries: int, *, seed: int = 0) -> JudgedDict:
    """Give each query three to five graded items, and some items that were judged irrelevant."""
    rng = np.random.default_rng(seed)
    qrels = {}
    for query in range(queries):
        judged = rng.choice(60, size=rng.integers(3, 6) + 2, replace=False)
        grades = [0, 0, *rng.integers(1, 4, size=len(judged) - 2).tolist()]
        qrels[f"q{query}"] = {ITEMS[item]: grade for item, grade in zip(judged, grades, strict=True)}
    return JudgedDict({query: f"text of {query}" for query in qrels}, qrels)


def noisy_system(dataset: JudgedDict, *, noise: float, seed: int, decimals: int = 1) -> TableRetriever:
    """Score each item by its grade and some noise, rounded so that many scores are equal."""
    rng = np.random.default_rng(seed)
    table = {}
    for query, text in dataset.texts.items():
        grades = np.array([dataset.qrels[query].get(item, 0) for item in ITEMS])
        scores = np.round(grades + noise * rng.normal(size=60), decimals)
        found = rng.choice(60, size=25, replace=False)
        table[text] = {ITEMS[item]: float(scores[item]) for item in found}
    return TableRetriever(table, ITEMS)
