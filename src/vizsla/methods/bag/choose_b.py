"""Chooses how much an item's length counts, on the dataset's own clicks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from vizsla.methods.bag.clicked import Clicked

if TYPE_CHECKING:
    from vizsla.methods.bag.model import Bag

CHOICES = (0.0, 0.25, 0.5, 0.75, 1.0)
FEWEST = 100
"""With fewer queries the default stays."""
MOST = 2000
DEPTH = 100


def chosen_b(bag: Bag, items: Any, *, seed: int) -> float:
    """Return the b with the highest MRR@10 over a sample of queries with clicks; a bag without clicks keeps its own.

    Nothing is learned from these clicks but one number, so none need be held out.
    """
    from vizsla.dataset import Dataset

    if not isinstance(items, Dataset) or items.clicks.nnz == 0:
        return bag.b
    clicked = Clicked.of(items, bag.items)
    if len(clicked) < FEWEST:
        return bag.b
    drawn = np.random.default_rng(seed).permutation(len(clicked))[:MOST]
    sample = clicked.take(np.sort(drawn))
    return max(CHOICES, key=lambda b: (_quality(bag.with_b(b), sample), -abs(b - bag.b)))


def _quality(bag: Bag, sample: Clicked) -> float:
    found = bag.search_encoded(bag.encode(sample.texts), DEPTH)
    return float(sample.reciprocal_ranks(found).mean())
