"""Bought: what one call has paid for, row by row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vizsla.candidates import Candidates, Scores
from vizsla.chosen_pairs import chosen_pairs
from vizsla.filter import Filter
from vizsla.stats import Stats


class Bought:
    """Exact scores that a call has bought for its queries, and what of their cost nobody was told yet.

    Parameters
    ----------
    found : Candidates
        All that was bought, ranked; its `stats` are the cost.
    """

    def __init__(self, found: Candidates):
        self.found, self._owed = found, found.stats

    def bill(self) -> Stats:
        """Return the cost, once; after that nothing."""
        owed, self._owed = self._owed, Stats(exact=True)
        return owed.with_exact(self.found.stats.exact)

    def best(self, k: int, filter: Filter | None) -> Candidates:
        """Return the best `k` that are allowed, with the cost if it is still owed."""
        kept = self.found if filter is None else _allowed(self.found, filter)
        return kept.top(k).with_stats(self.bill())

    def holds(self, item: int) -> bool:
        """Whether the item was bought for the first query."""
        return bool(np.any(self.found.row(0)[0] == item))

    def scores_of(self, pairs: Candidates) -> tuple[Scores, NDArray[np.int64]]:
        """Return the pairs' scores in their order, NaN where a pair was not bought, and where that is."""
        width = 1 + max(int(side.items.max(initial=-1)) for side in (self.found, pairs))
        known, asked = _keys(self.found, width), _keys(pairs, width)
        order = np.argsort(known, kind="stable")
        scores = np.full(len(asked), np.nan, np.float32)
        if len(known):
            at = order[np.minimum(np.searchsorted(known, asked, sorter=order), len(known) - 1)]
            scores = np.where(known[at] == asked, self.found._required_scores()[at], scores)
        return scores, np.flatnonzero(np.isnan(scores))


def _keys(pairs: Candidates, width: int) -> NDArray[np.int64]:
    return np.repeat(np.arange(len(pairs)), np.diff(pairs.offsets)) * width + pairs.items


def _allowed(found: Candidates, filter: Filter) -> Candidates:
    places = np.flatnonzero(filter.mask[found.items])
    kept = chosen_pairs(found, places)
    scores = found._required_scores()[places]
    return Candidates.trusted(kept.offsets, kept.items, scores, found.catalogue, found.stats)
