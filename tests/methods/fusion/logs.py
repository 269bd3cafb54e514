"""Small logs and parts whose best fusion is known."""

from __future__ import annotations

import numpy as np

from tests.support.table_retriever import TableRetriever
from vizsla.data.dataset import Dataset

ITEMS = [f"i{number}" for number in range(40)]


def log_of(queries: int, *, items: list[str] = ITEMS) -> Dataset:
    """Return a log of so many texts, each with one click; every item has several."""
    clicks = [(text(number), items[number % len(items)]) for number in range(queries)]
    return Dataset.of({item: f"about {item}" for item in items}, clicks=clicks)


def text(number: int) -> str:
    return f"query {number}"


def noise(queries: int, *, seed: int = 0, scale: str = "table") -> TableRetriever:
    """Return a part that knows nothing."""
    pick = np.random.default_rng(seed)
    table = {text(q): dict(zip(ITEMS, pick.random(len(ITEMS)).tolist(), strict=True)) for q in range(queries)}
    return TableRetriever(table, ITEMS, scale=scale)


def knows(queries: int, share: float, *, seed: int, scale: str = "table") -> TableRetriever:
    """Return a part that ranks the clicked item first for a share of the queries, and guesses for the others."""
    part, pick = noise(queries, seed=seed, scale=scale), np.random.default_rng(seed + 1000)
    for q in range(queries):
        if pick.random() < share:
            part.table[text(q)][ITEMS[q % len(ITEMS)]] = 2.0
    return part


def opposed(queries: int, *, lowest: float, highest: float) -> list[TableRetriever]:
    """Return two parts of one scale whose sum is right for every query only if the first weighs between the two.

    For half of the queries the first is right by 1 and the second wrong by so much that the first must weigh more than
    `lowest`; for the others it is the other way round, and it must weigh less than `highest`.
    """
    tables: list[dict[str, dict[str, float]]] = [{}, {}]
    for q in range(queries):
        right, wrong = ITEMS[q % len(ITEMS)], ITEMS[(q + 1) % len(ITEMS)]
        first = (q // len(ITEMS)) % 2 == 0
        margin = lowest / (1 - lowest) if first else (1 - highest) / highest
        good, bad = {right: 1.0, wrong: 0.0}, {right: 0.0, wrong: margin}
        tables[0][text(q)], tables[1][text(q)] = (good, bad) if first else (bad, good)
    return [TableRetriever(table, ITEMS, scale="points") for table in tables]
