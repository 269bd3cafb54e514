"""Says which sub-spaces carried the score of a coded item, and what training changed of it."""

from __future__ import annotations

import numpy as np

from vizsla.explanation import Explanation
from vizsla.indexes.item_vectors import Floats
from vizsla.indexes.pq import PqIndex

SHOWN = 4
"""Sub-spaces that are named one by one; the others are added up."""


def explain_codes(index: PqIndex, row: Floats, item: int, score: float) -> Explanation:
    """Explain the score of one item for one query's row: a part a sub-space, the largest first."""
    codes = index.stored_codes.take(np.array([item]))[0].astype(np.int64)
    shares = index.tables(row)[0][np.arange(len(codes)), codes].astype(np.float64)
    order = np.argsort(-np.abs(shares), kind="stable")
    named = [
        Explanation(float(shares[part]), f"sub-space {part}, centroid {int(codes[part])}") for part in order[:SHOWN]
    ]
    if len(order) > SHOWN:
        rest = float(shares[order[SHOWN:]].sum())
        named.append(Explanation(rest, f"{len(order) - SHOWN} other sub-spaces"))
    return Explanation(score, _reason(index, row, codes, score), named)


def _reason(index: PqIndex, row: Floats, codes: np.ndarray, score: float) -> str:
    said = f"inner product of the query and the item's {index.bytes} bytes of codes"
    if index.coder is index.codebook:
        return said
    before = float(np.dot(row[0].astype(np.float64), index.coder.decoded(codes[None].astype(np.uint8))[0]))
    return f"{said}: {before:.4f} before the centroids were trained, {score - before:+.4f} by training"
