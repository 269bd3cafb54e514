"""What a weighted sum of normalized tables is, in plain Python: nothing is pruned, nothing is remembered."""

from __future__ import annotations

import numpy as np

Row = dict[str, float]


def ranked(row: Row, items: list[str], allowed: set[str]) -> list[str]:
    """Return what a table's search finds, best first, ties by place in the catalog."""
    return sorted((item for item in row if item in allowed), key=lambda item: (-row[item], items.index(item)))


def normalize(row: Row, floor: float, items: list[str], how: str, depth: int, allowed: set[str]) -> Row:
    """Return every item's normalized score; a scale is that of the whole list, places are those of the filtered one."""
    if how == "rank":
        places = {item: place for place, item in enumerate(ranked(row, items, allowed)[:depth], 1)}
        return {item: float(np.float32(1 / (60 + places[item]))) if item in places else 0.0 for item in items}
    raw = {item: row.get(item, floor) for item in items}
    best = np.array([raw[item] for item in ranked(row, items, set(items))[:depth]], np.float64)
    if how == "none":
        return raw
    if not len(best):
        return dict.fromkeys(items, 0.0)
    if how == "minmax":
        low, high = best.min(), best.max()
        zero, one = (low, high - low) if high > low else (low - 1, 1.0)
    else:
        zero, one = best.mean(), best.std() or 1.0
    return {item: float(np.float32((score - zero) / one)) for item, score in raw.items()}


def fuse(
    rows: list[Row], floors: list[float], items: list[str], *, how: str, weights: list[float], depths: list[int],
    depth: int, k: int, allowed: set[str],
) -> Row:  # fmt: skip
    """Return the best k of the sum, in order."""
    scores = [
        normalize(row, floor, items, how, own, allowed) for row, floor, own in zip(rows, floors, depths, strict=True)
    ]
    found: set[str] = set()
    for row in rows:
        found |= set(ranked(row, items, allowed)[: max(k, depth)])
    totals = {
        item: float(np.float32(sum(weight * own[item] for weight, own in zip(weights, scores, strict=True))))
        for item in found
    }
    best = sorted(totals, key=lambda item: (-totals[item], items.index(item)))[:k]
    return {item: totals[item] for item in best}
