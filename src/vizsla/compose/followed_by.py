"""Two answers to the same queries, one after the other."""

from __future__ import annotations

import numpy as np

from vizsla.candidates import Candidates


def followed_by(first: Candidates, others: Candidates, *, least: int) -> Candidates:
    """Return each row of the first, and then what only the others' row holds, in its order.

    A row of fewer than `least` stays as it is, so that a place below that is always one of the first's.

    Examples
    --------
    >>> first, others = Candidates.from_dict({"q": {"a": 1.0}}), Candidates.from_dict({"q": {"b": 2.0, "a": 1.0}})
    >>> followed_by(first.with_catalogue(others.catalogue, np.array([1], np.int32)), others, least=1).ids
    [['a', 'b']]
    """
    rows = [np.repeat(np.arange(len(side)), np.diff(side.offsets)) for side in (first, others)]
    width = 1 + max(int(side.items.max(initial=-1)) for side in (first, others))
    keys = [row * width + side.items for row, side in zip(rows, (first, others), strict=True)]
    new = ~np.isin(keys[1], keys[0]) & (np.diff(first.offsets) >= least)[rows[1]]
    joined = np.concatenate([rows[0], rows[1][new]])
    order = np.argsort(joined, kind="stable")
    items = np.concatenate([first.items, others.items[new]])[order]
    scores = np.concatenate([first._required_scores(), others._required_scores()[new]])[order]
    offsets = np.searchsorted(joined[order], np.arange(len(first) + 1)).astype(np.int64)
    return Candidates.trusted(offsets, items, scores, first.catalogue, others.stats)
