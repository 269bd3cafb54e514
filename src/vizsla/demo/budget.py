"""The demo's search under a budget: how many of the best items an expensive scorer finds in so many calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vizsla._internal.terminal import print_table
from vizsla.methods.bm25 import bm25
from vizsla.methods.cur import adacur, residual_cur, score_anchors
from vizsla.methods.cur.anchors import anchor_queries
from vizsla.methods.cur.plan import best_places
from vizsla.scorers.function import FunctionScorer
from vizsla.typing import Uint64Array

if TYPE_CHECKING:
    from vizsla.base.retriever import Retriever
    from vizsla.data.dataset import Dataset

# Alignment of strings: how much of two texts can be laid over each other, letter by letter.
#
# It stands in the demo for a scorer that is dear: it reads both texts whole, and no index knows it.

WORD = 64


def alignment(query: str, texts: Sequence[str]) -> NDArray[np.float32]:
    """Return for each text 2 · common / (letters of both), where `common` is the longest common subsequence.

    All texts advance together, a letter a step, each with a row of the table of alignments as bits (Hyyrö 2004).

    Examples
    --------
    >>> alignment("fig tree", ["fig tree", "fig tr  ", "xyz"]).tolist()
    [1.0, 0.75, 0.0]
    """
    codes, lengths = _codes(texts)
    masks = _masks(query, int(codes.max(initial=0)))
    rows = np.full((len(texts), masks.shape[1]), ~np.uint64(0))
    order = np.argsort(-lengths, kind="stable")
    longer = np.searchsorted(-lengths[order], -np.arange(codes.shape[1]), side="left")
    for step, count in enumerate(longer.tolist()):
        at = order[:count]
        rows[at] = _advanced(rows[at], masks[codes[at, step]])
    common = np.bitwise_count(~rows & _used(len(query), masks.shape[1])).sum(axis=1)
    return np.asarray(2 * common / np.maximum(1, len(query) + lengths), np.float32)


def _codes(texts: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the letters of each text as numbers, filled up with 0, and the lengths."""
    lengths = np.array([len(text) for text in texts], np.int64)
    codes = np.zeros((len(texts), int(lengths.max(initial=0))), np.int64)
    codes[np.arange(codes.shape[1]) < lengths[:, None]] = list(map(ord, "".join(texts)))
    return codes, lengths


def _masks(query: str, largest: int) -> Uint64Array:
    """Return for each letter its places in the query, as bits."""
    masks = np.zeros((1 + max(largest, *map(ord, query), 0), max(1, -(-len(query) // WORD))), np.uint64)
    for place, letter in enumerate(query):
        masks[ord(letter), place // WORD] |= np.uint64(1 << place % WORD)
    return masks


def _advanced(rows: Uint64Array, places: Uint64Array) -> Uint64Array:
    """Return the rows after one more letter; an addition carries from word to word."""
    carry, advanced = np.zeros(len(rows), np.uint64), np.empty_like(rows)
    for word in range(rows.shape[1]):
        row, both = rows[:, word], rows[:, word] & places[:, word]
        half = row + both
        total = half + carry
        carry = ((half < row) | (total < half)).astype(np.uint64)
        advanced[:, word] = total | (row & ~places[:, word])
    return advanced


def _used(letters: int, words: int) -> Uint64Array:
    bits = (1 << letters) - 1
    return np.array([(bits >> WORD * word) & (2**WORD - 1) for word in range(words)], np.uint64)


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
