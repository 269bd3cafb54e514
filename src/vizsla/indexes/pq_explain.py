"""Why a coded item got its score: which sub-spaces carried it, and what coding lost there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vizsla.explanation import Explanation
from vizsla.indexes.item_vectors import Floats

if TYPE_CHECKING:
    from vizsla.indexes.pq import PqIndex

SHOWN = 5
"""Sub-spaces that are told one by one: those that moved the score most."""


def explain_codes(index: PqIndex, row: Floats, item: int) -> list[Explanation]:
    """Return the shares of the sub-spaces that moved the score most, and that of all others; they add up to it."""
    codes = index.stored_codes.take(np.array([item]))[0]
    shares = index.tables(row.reshape(1, -1))[0][np.arange(len(codes)), codes].astype(np.float64)
    order = np.argsort(-np.abs(shares), kind="stable")
    told, rest = order[:SHOWN], order[SHOWN:]
    parts = [Explanation(float(shares[part]), _reason(index, int(part), int(codes[part]))) for part in told]
    if len(rest):
        parts.append(Explanation(float(shares[rest].sum()), f"{len(rest)} other sub-spaces"))
    return parts


def what_coding_lost(index: PqIndex) -> str:
    """Say which share of the vectors' squared lengths the codes do not hold."""
    size = f"{index.bytes} bytes of {index.bits}-bit codes"
    lost = index.coder.lost
    if lost is None:
        return size
    return f"{size}, which lost {float(lost.mean()):.0%} of a sub-space's squared length on average"


def _reason(index: PqIndex, part: int, code: int) -> str:
    reason = f"sub-space {part}, centroid {code}"
    lost = index.coder.lost
    return reason if lost is None else f"{reason}: coding lost {float(lost[part]):.0%} here"
