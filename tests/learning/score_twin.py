"""The scores of coded items as the formula says, in float64: the twin of `CodeScores`."""

from __future__ import annotations

import numpy as np


def twin_scores(rows, adapter, rotation, centroids, codes, items):
    """Return ``Σₘ ⟨(R W q)ₘ, cₘ[code]⟩`` for every query and listed item, one by one."""
    scores = np.zeros(items.shape)
    for query, row in enumerate(rows):
        rotated = adapter @ row if rotation is None else rotation @ (adapter @ row)
        rotated = np.concatenate([rotated, np.zeros(centroids.shape[0] * centroids.shape[2] - len(rotated))])
        pieces = rotated.reshape(len(centroids), -1)
        for at, item in enumerate(items[query]):
            scores[query, at] = sum(pieces[m] @ centroids[m, codes[item, m]] for m in range(len(centroids)))
    return scores


def small_problem(seed=0, *, rotated=True, queries=5, items=30, parts=3, centroids=4, width=2, dim=6):
    """Return rows, adapter, rotation, centroids and codes, in float64 and uint8."""
    pick = np.random.default_rng(seed)
    rotation = np.linalg.qr(pick.standard_normal((parts * width, parts * width)))[0][:, :dim] if rotated else None
    return (
        pick.standard_normal((queries, dim)),
        np.eye(dim) + 0.1 * pick.standard_normal((dim, dim)),
        rotation,
        pick.standard_normal((parts, centroids, width)),
        pick.integers(0, centroids, (items, parts)).astype(np.uint8),
    )
