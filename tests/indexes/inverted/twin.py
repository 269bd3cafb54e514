"""What is right: every item scored, in float32, terms added in the index's documented order."""

from __future__ import annotations

import numpy as np


def order_of_terms(weights, impacts, priorities=None):
    """Highest weight × priority first, ties by term number; only terms that can add something.

    A priority is a term's highest impact unless it is given.
    """
    bounds = weights.astype(np.float64) * impacts.max(axis=0, initial=0)
    order = bounds if priorities is None else weights.astype(np.float64) * priorities.astype(np.float64)
    return [t for t in np.lexsort((np.arange(len(weights)), -order)) if bounds[t] > 0]


def exhaustive(impacts, weights, *, base=0.0, priorities=None):
    """Return float32 scores of all items (rows of `impacts`), and which items share a term with the query."""
    scores = np.zeros(len(impacts), np.float32)
    for term in order_of_terms(weights, impacts, priorities):
        scores = scores + np.float32(weights[term]) * impacts[:, term].astype(np.float32)
    return scores + np.float32(base), scores > 0


def top(scores, matching, k, allowed=None):
    """Return the best k of the matching items, ties by item number."""
    if allowed is not None:
        matching = matching & allowed
    items = np.flatnonzero(matching)
    order = items[np.lexsort((items, -scores[items]))][:k]
    return order.astype(np.int32), scores[order]
