"""Why PEFA-XS gave an item its score: the base's share, and that of every past query."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vizsla.clicks.log import UNIT, ClickLog, Floats
from vizsla.explanation import Explanation
from vizsla.methods.pefa.settings import XsSettings
from vizsla.methods.pefa.votes import Values

MOST_VOTES = 10
LEFT_OUT = 1e-4
"""Rounding is smaller; more is what a base that cuts its rows left out."""
Whole = NDArray[np.int64]


def explain_xs(
    score: float,
    query: Floats,
    own: float,
    log: ClickLog,
    item: int,
    settings: XsSettings,
    weights: Floats | None = None,
    length_factor: float = 1.0,
) -> Explanation:
    """Return shares that add up to `score`, or say which past query made it alone; `own` is the base's score.

    The item's row was multiplied by `length_factor` after it was blended.
    """
    row = query.astype(np.float64)
    clicks = np.flatnonzero(log.items == item)
    voters = log.rows[clicks]
    if not len(voters) or (settings.weight == 1 and not settings.best):
        reason = "no clicks: the base's full score" if not len(voters) else "weight 1: the base's full score"
        return Explanation(score, reason, [Explanation(own, "base")])
    weighted = row if weights is None else row * weights
    similar = log.vectors[voters].astype(np.float64) @ weighted
    alone = _alone(score, own, similar, voters, log, settings, bool(np.any(row)))
    if alone is not None:
        return alone
    shares = log.units[clicks] / UNIT
    total = shares @ log.vectors[voters].astype(np.float64)
    length = float(np.linalg.norm(total if weights is None else total * weights))
    factors = (length_factor, (1 - settings.weight) * settings.scale * length_factor / (length or 1.0))
    return _shares(score, own, similar, voters, shares, factors, log, settings, bool(np.any(row)))


def _alone(
    score: float, own: float, similar: Values, voters: Whole, log: ClickLog, settings: XsSettings, says: bool
) -> Explanation | None:
    """Return the reason if the best past query's own vector made the score."""
    if settings.margin is None:
        return None
    best = int(np.argmax(similar))
    parts = [
        Explanation(settings.item_weight * own, f"base: {settings.item_weight:g} × {own:.4f}"),
        Explanation((1 - settings.item_weight) * float(similar[best]), f"similarity {similar[best]:.4f} to that query"),
        Explanation(-settings.margin if says else 0.0, "the margin by which a past query must be ahead to score alone"),
    ]
    total = sum(part.score for part in parts)
    if abs(total - score) > 1e-4 * max(1.0, abs(score)):
        return None
    return Explanation(score, f"the best past query scores alone: {log.queries[int(voters[best])]!r}", parts)


def _shares(
    score: float,
    own: float,
    similar: Values,
    voters: Whole,
    weights: Values,
    factors: tuple[float, float],
    log: ClickLog,
    settings: XsSettings,
    says: bool,
) -> Explanation:
    votes = factors[1] * weights * similar
    order = np.argsort(-votes, kind="stable")
    parts = [
        Explanation(
            float(votes[at]),
            f"{log.queries[int(voters[at])]!r}: weight {weights[at]:g}, similarity {similar[at]:.4f}",
        )
        for at in order[:MOST_VOTES]
    ]
    if len(order) > MOST_VOTES:
        others = float(votes[order[MOST_VOTES:]].sum())
        parts.append(Explanation(others, f"{len(order) - MOST_VOTES} other past queries"))
    shift = (1 - settings.weight) * settings.shift if says else 0.0
    if shift:
        parts.append(Explanation(shift, "shift to the base's mean"))
    longer = "" if factors[0] == 1 else f" × {factors[0]:.4f}, for its row's length"
    base = Explanation(factors[0] * settings.weight * own, f"base: {settings.weight:g} × {own:.4f}{longer}")
    clicks = Explanation(float(votes.sum()) + shift, f"clicks of {len(voters)} past queries", parts)
    left_out = score - base.score - clicks.score
    if left_out < -LEFT_OUT * max(1.0, abs(score)):
        cut = Explanation(left_out, "what was cut off: rows hold only their heaviest entries")
        return Explanation(score, "base share and click share, less what was cut off", [base, clicks, cut])
    return Explanation(score, "base share and click share", [base, clicks])
