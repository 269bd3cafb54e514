"""What the native sum of native indexes answers, in numpy: every part is searched alone and scores every candidate."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from vizsla import _native
from vizsla.core.candidates import Candidates


class Side(NamedTuple):
    """A part of a sum; `numbers` are its items in the sum's numbers, where they differ."""

    index: Any
    rows: Any
    weight: float
    how: str = "none"
    depth: int = 1
    numbers: Any = None

    def maps(self):
        return None if self.numbers is None else (self.numbers, np.argsort(self.numbers).astype(np.int32))


class Answer(NamedTuple):
    """Rows of items and of scores, whether nobody else can be among them, and of each part: is its list exact, and how
    many did it score one by one; numpy does not say.
    """

    items: list[list[int]]
    scores: list[list[float]]
    certain: bool
    exact: list[bool]
    scored: list[int] | None = None


def natively(sides, taken, k, threads=1):
    sources = [side.index.native_cursor(side.rows) for side in sides]
    total = _native.CursorSum([(side.weight, side.how, side.depth, side.maps()) for side in sides])
    offsets, items, scores, certain, costs = total.search(sources, taken, k, threads)
    ends = np.frombuffer(offsets, np.int64)[1:-1]
    of_rows = [np.split(np.frombuffer(raw, kind), ends) for raw, kind in ((items, np.int32), (scores, np.float32))]
    _, scored, exact = zip(*costs, strict=True)
    return Answer(*([row.tolist() for row in rows] for rows in of_rows), certain, list(exact), list(scored))


def by_numpy(sides, taken, k):
    lists = [_lists(side, taken) for side in sides]
    count = sides[0].rows.shape[0]
    joined = [np.unique(np.concatenate([found[row][0][:taken] for found, _ in lists])) for row in range(count)]
    columns = [_columns(side, found, joined) for side, (found, _) in zip(sides, lists, strict=True)]
    items, scores, certain = [], [], True
    for row in range(count):
        total, bound = np.zeros(len(joined[row])), 0.0
        for side, column, (found, _) in zip(sides, columns, lists, strict=True):
            total += side.weight * column[row].astype(np.float64)
            bound += side.weight * _lowest(side, *found[row], taken)
        rounded = total.astype(np.float32) + np.float32(0)
        best = np.lexsort((joined[row], -rounded))[:k]
        certain &= bool((rounded > np.float32(bound)).sum() >= k)
        items.append(joined[row][best].tolist())
        scores.append(rounded[best].tolist())
    return Answer(items, scores, certain, [exact for _, exact in lists])


def _lists(side, taken):
    """Return items and scores of each row, best first, in the sum's numbers."""
    found = side.index.search(side.rows, taken if side.how == "none" else max(taken, side.depth))
    rows = []
    for begin, end in zip(found.offsets[:-1], found.offsets[1:], strict=True):
        own, scores = found.items[begin:end], found.scores[begin:end]
        merged = own if side.numbers is None else side.numbers[own]
        order = np.lexsort((merged, -scores))
        rows.append((merged[order], scores[order]))
    return rows, found.stats.exact


def _columns(side, found, joined):
    if side.how == "rank":
        return [_placed(side, *own, wanted) for own, wanted in zip(found, joined, strict=True)]
    own = joined if side.numbers is None else [side.maps()[1][items] for items in joined]
    scores = side.index.scores(side.rows, Candidates.from_rows([items.astype(np.int32) for items in own])).scores
    parted = np.split(scores, np.cumsum([len(items) for items in joined])[:-1])
    return [_rescaled(side, best, row) for (_, best), row in zip(found, parted, strict=True)]


def _placed(side, items, _, wanted):
    places = {item: float(np.float32(1 / (61 + place))) for place, item in enumerate(items[: side.depth].tolist())}
    return np.array([places.get(item, 0.0) for item in wanted.tolist()], np.float32)


def _rescaled(side, best, scores):
    zero, one = _scale(side.how, best[: side.depth].tolist())
    return ((scores.astype(np.float64) - zero) / one).astype(np.float32)


def _scale(how, best):
    if how == "none":
        return 0.0, 1.0
    if not best:
        return 0.0, math.inf
    if how == "minmax":
        return (best[-1], best[0] - best[-1]) if best[0] > best[-1] else (best[-1] - 1, 1.0)
    shift = 62 - len(best).bit_length() - math.frexp(max(map(abs, best)))[1]
    counts = [int(math.ldexp(score, shift)) for score in best]
    spread = len(best) * sum(count * count for count in counts) - sum(counts) ** 2
    one = math.ldexp(math.sqrt(float(spread)) / len(best), -shift)
    return math.ldexp(sum(counts) / len(best), -shift), one if one > 0 else 1.0


def _lowest(side, items, scores, taken):
    if not len(items):
        return math.inf
    if side.how == "rank":
        return float(np.float32(1 / (60 + min(len(items), taken)))) if min(len(items), taken) <= side.depth else 0.0
    return float(_rescaled(side, scores, scores[:taken]).min())
