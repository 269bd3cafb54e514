"""Rank and ridge of a residual fit, chosen on anchor queries that the fit has not seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vizsla.methods.cur.choose import best_places
from vizsla.methods.cur.decomposition import decomposed
from vizsla.methods.cur.residual_fit import ResidualFit
from vizsla.methods.cur.rounds import Plan, spend

Floats = NDArray[np.float32]
RANKS = (32, 64, 128, 256)
RIDGES = (0.03, 0.1, 0.3, 1.0)
FOLDS = 4
DEPTHS = (1, 10, 100)
LEFT_OUT = 24
"""Anchor queries of each fold that are asked as if they were new."""


@dataclass(frozen=True)
class Choice:
    """Rank and ridge, and the share of the true best items that they found."""

    rank: int
    ridge: float
    recall: float


def choose_fit(
    scores: Floats, own: Floats, plan: Plan, *, ranks: tuple[int, ...] = RANKS, ridges: tuple[float, ...] = RIDGES
) -> Choice:
    """Try every rank and ridge on left-out anchor queries, whose scores are all known, so that no call is made.

    The fit of each fold is made without the queries that are asked: a decomposition that has seen a query knows it by
    heart. Folds stand in for leaving out one query at a time, which would take a decomposition a query.

    Parameters
    ----------
    scores : float32 array, anchor queries × items
        Exact scores.
    own : float32 array, anchor queries × retrievers × items
        The retrievers' scores.
    plan : Plan
        How calls will be spent.
    ranks, ridges : tuples
        What is tried. Of equals, the smaller rank and the larger ridge win. A rank that a fold is too small for
        stands for all of its anchors, and then for all that there are.
    """
    usable = usable_ranks(len(scores), ranks)
    totals = {(rank, ridge): 0.0 for rank in usable for ridge in sorted(ridges, reverse=True)}
    folds = [fold for fold in np.array_split(np.arange(len(scores)), FOLDS) if len(fold)]
    for fold in folds:
        rest, asked = np.setdiff1d(np.arange(len(scores)), fold), fold[:LEFT_OUT]
        if not len(rest):
            continue
        parts = decomposed(scores[rest], own[rest], usable[-1])
        for rank in usable:
            fit = parts.fit(rank, 1.0)
            for ridge in ridges:
                totals[rank, ridge] += recall_of(fit.with_ridge(ridge), scores[asked], own[asked], plan)
    (rank, ridge), best = max(totals.items(), key=lambda entry: round(entry[1], 6))
    kept = rank if rank in ranks else len(scores)  # all that a fold had: so all that there are
    return Choice(kept, ridge, best / max(1, len(folds)))


def usable_ranks(anchors: int, ranks: tuple[int, ...] = RANKS) -> list[int]:
    """Return the ranks that the folds of so many anchor queries are large enough for.

    Examples
    --------
    >>> usable_ranks(100), usable_ranks(20)
    ([32, 64, 74], [14])
    """
    return sorted({min(rank, max(1, anchors - anchors // FOLDS - 1)) for rank in ranks})


def recall_of(fit: ResidualFit, scores: Floats, own: Floats, plan: Plan) -> float:
    """Return the share of the best 1, 10 and 100 items that a search would find, the mean of the three.

    All of its rounds go by the estimates, which are what is judged: items that retrievers name in the first one are
    found with any rank and ridge, and bring the luck of single items into the choice.
    """
    randoms = [np.random.default_rng(row) for row in range(len(scores))]
    ledgers = spend(
        fit.estimates(own),
        np.ones(scores.shape, np.bool_),
        None,
        plan,
        lambda chosen: [scores[row, items] for row, items in enumerate(chosen)],
        randoms,
    )
    shares = [
        np.isin(best_places(row, depth), ledger.all_items()).mean()
        for row, ledger in zip(scores, ledgers, strict=True)
        for depth in DEPTHS
    ]
    return float(np.mean(shares))
