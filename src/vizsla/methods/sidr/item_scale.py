"""Chooses how much the transformer's view of an item counts beside its bag, on held-out clicks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vizsla.clicks.choice import Choice
from vizsla.encoders.sparsify import sparsified
from vizsla.methods.sidr.held_out import PART, HeldOutQueries
from vizsla.methods.sidr.lessons import Lessons, Numbers
from vizsla.progress import progress
from vizsla.sparse_rows import SparseRows
from vizsla.training.vocabulary_model import VocabularyModel

FACTORS = (0.0, 0.125, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0)
"""What is tried, in units of the scale that was learned."""
DEPTH = 20
"""How many items of each query are ranked anew."""
MOST = 400
"""How many held-out queries are asked."""


def chosen_item_scale(
    model: VocabularyModel, lessons: Lessons, held: HeldOutQueries, *, tokens: int, seed: int
) -> Choice:
    """Rank what beta search finds by the items' vectors, at several scales; a scale of 0 leaves it as it was.

    Parameters
    ----------
    model : VocabularyModel
        After its training.
    lessons : Lessons
        The items.
    held : HeldOutQueries
        Of which some are drawn, cold and warm alike.
    tokens : int
        How many tokens a text's vector keeps.
    seed : int
        Draws them.
    """
    asked = held.some(MOST, seed)
    rows = asked.weighted(model, lessons.held, tokens)
    found = lessons.index.search(rows, DEPTH)
    pairs = np.repeat(np.arange(len(found)), np.diff(found.offsets)), found.items.astype(np.int64)
    learned = _learned_scores(model, lessons, rows, pairs, tokens)
    scale, scores = float(model.item_scale.detach()), found._required_scores()
    trials = [{"item_scale": factor * scale} for factor in FACTORS]
    measured = [
        asked.clicked.reciprocal_ranks_of(found, scores + np.float32(trial["item_scale"]) * learned) for trial in trials
    ]
    return Choice.among(trials, measured, asked.cold, measure="MRR@10", base=0)


def _learned_scores(
    model: VocabularyModel, lessons: Lessons, rows: SparseRows, pairs: tuple[Numbers, Numbers], tokens: int
) -> NDArray[np.float32]:
    """Return the product of each pair's vectors, the items' as the transformer says them, at a scale of 1."""
    queries, items = pairs
    distinct, places = np.unique(items, return_inverse=True)
    vectors = _vectors(model, lessons, distinct, tokens).to_scipy()
    product = rows.to_scipy()[queries].multiply(vectors[places])
    return np.asarray(product.sum(axis=1), np.float32).reshape(-1)


def _vectors(model: VocabularyModel, lessons: Lessons, items: Numbers, tokens: int) -> SparseRows:
    parts, width = [], lessons.asked.width
    for start in progress(range(0, len(items), PART), what="choosing the items' scale"):
        with model.no_gradients():
            encoding = model.encode([lessons.items[number] for number in items[start : start + PART].tolist()])
        parts.append(sparsified(model.fixed_values(encoding, lessons.held), lessons.held, tokens, width))
    return SparseRows.stacked(parts, width)
