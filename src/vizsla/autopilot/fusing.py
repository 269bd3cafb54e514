"""Fusion by forward selection: one part after another joins a sum as long as held-out searches surely gain by it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from vizsla.autopilot.searches import Searches
from vizsla.base.retriever import DEFAULT_DEPTH, Retriever
from vizsla.compose.parser import parse
from vizsla.learning.selection import FUSION_ERRORS
from vizsla.methods.cold_items import ColdItemBoost
from vizsla.methods.fusion.candidate_pool import CandidatePool, make_pool
from vizsla.methods.fusion.rules import Rank, SignificanceRule, protected
from vizsla.methods.fusion.scaling import FusionTrial, alone
from vizsla.typing import Float64Array

SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
"""Which share of the weight a part is tried with when it joins."""
STEPS = (0.1, 0.04)
"""How far weights are moved once a part has joined."""
SCALINGS = ("linear", "exp", "zscore", "minmax")
LIFTS = (0.1, 0.25, 0.5, 1.0)
"""What items without clicks are given, in spreads of a list."""
NEW_ITEMS = "new_items"
"""What the term is called that lifts items without clicks."""


@dataclass(frozen=True)
class SearchPlan:
    """A search as an expression over candidates.

    Parameters
    ----------
    expression : str
        A composition string, or the name of one candidate.
    parts : tuple of str
        The candidates that it is made of.

    Examples
    --------
    >>> SearchPlan("bm25", ("bm25",)).simple
    True
    """

    expression: str
    parts: tuple[str, ...]

    @property
    def simple(self) -> bool:
        """Whether it is one candidate alone."""
        return self.expression in self.parts

    def composed(self, built: Mapping[str, Retriever]) -> Retriever:
        """Return the search over built candidates."""
        return parse(self.expression, dict(built))


class PartPool:
    """What each part says of the held-out searches, and sums of parts measured on it.

    Parameters
    ----------
    parts : mapping of str to Retriever
        Parts that have not learned from these searches.
    searches : Searches
        The held-out searches.
    clicks : Dataset
        What the parts have learned from: items without clicks in there can be lifted.
    threads : int
        How many searches are answered at a time.
    """

    def __init__(self, parts: Mapping[str, Retriever], searches: Searches, clicks: object, *, threads: int = 1):
        self.names, self.parts, self.searches = list(parts), list(parts.values()), searches
        boost = ColdItemBoost.of(clicks, self.parts[0].items)
        self.pool: CandidatePool = make_pool(
            self.parts,
            searches.texts,
            searches.wanted,
            depth=DEFAULT_DEPTH,
            unclicked=boost.units == 0,
            threads=threads,
        )
        self._measured: dict[FusionTrial, Float64Array] = {}

    def measured(self, trial: FusionTrial) -> Float64Array:
        """Return nDCG@10 of every search."""
        if trial not in self._measured:
            self._measured[trial] = self.pool.measured(trial)
        return self._measured[trial]

    def grown(self, *, maximum: int = 5) -> list[FusionTrial]:
        """Return sums of one part, of two and so on, each with the part that helps most.

        A part joins only if the lower bound of the gain is above 0, and no kind of search surely loses to the part that
        is best on it. It ends where no part helps, or at `maximum` parts.
        """
        singles = [alone(at, len(self.names)) for at in range(len(self.names))]
        judge = self.searches.judge
        rule = SignificanceRule.of(judge, [self.measured(one) for one in singles], kinds=protected(judge))

        def rank(trial: FusionTrial) -> Rank:
            return rule.rank(self.measured(trial))

        chain = [max(singles, key=lambda trial: judge.quality(self.measured(trial)))]
        while len(chain[-1].used) < min(maximum, len(self.names)):
            joined = self._joined(chain[-1], rank)
            if joined is None or not self._gains(joined, chain[-1], rule):
                break
            chain.append(joined)
        lifted = self._lifted(chain[-1], rule)
        return chain if lifted is None else [*chain, lifted]

    def _joined(self, sum: FusionTrial, rank: Callable[[FusionTrial], Rank]) -> FusionTrial | None:
        """Return the best sum with one more part, its weights moved as long as that helps."""
        others = [at for at in range(len(self.names)) if at not in sum.used]
        scalings = SCALINGS if len(sum.used) == 1 else (sum.how,)
        tried = [
            FusionTrial(how, _with(sum.weights, at, share)) for how in scalings for at in others for share in SHARES
        ]
        if not tried:
            return None
        best = max(tried, key=rank)
        for step in STEPS:
            while True:
                around = [best, *(FusionTrial(best.how, weights) for weights in _moved(best.weights, step))]
                better = max(around, key=rank)
                if better == best:
                    break
                best = better
        return best

    def _gains(self, sum: FusionTrial, before: FusionTrial, rule: SignificanceRule) -> bool:
        gain = self.searches.interval(self.measured(sum) - self.measured(before))
        fewer = len(rule.losses(self.measured(sum))) < len(rule.losses(self.measured(before)))
        return gain.mean > FUSION_ERRORS * gain.error or (fewer and gain.mean >= 0)

    def _lifted(self, sum: FusionTrial, rule: SignificanceRule) -> FusionTrial | None:
        """Return the sum with items without clicks lifted, where that surely helps or ends a loss."""
        if sum.how not in ("linear", "exp") or len(sum.used) < 2:
            return None
        best = max((sum._replace(lift=lift) for lift in LIFTS), key=lambda trial: rule.rank(self.measured(trial)))
        return best if self._gains(best, sum, rule) else None

    def plan(self, trial: FusionTrial) -> SearchPlan:
        """Return a sum as an expression over the names of its parts."""
        names = tuple(self.names[at] for at in trial.used)
        if len(names) == 1:
            return SearchPlan(names[0], names)
        terms = [f"{decimal_text(trial.weights[at])}*{self._scaled(at, trial.how)}" for at in trial.used]
        if trial.lift:
            terms.append(f"{decimal_text(trial.lift)}*{NEW_ITEMS}")
        return SearchPlan(" + ".join(terms), names)

    def _scaled(self, at: int, how: str) -> str:
        if how not in ("linear", "exp"):
            return f"{self.names[at]}.normalized('{how}')"
        rule = self.pool.rules[at][how]
        height = f", height={decimal_text(rule.height)}" if rule.how == "exp" else ""
        return f"{self.names[at]}.scaled('{rule.how}', slope={decimal_text(rule.slope)}{height})"


def _with(weights: tuple[float, ...], part: int, share: float) -> tuple[float, ...]:
    """Return weights of which a new part has a share."""
    return tuple(round(share if at == part else weight * (1 - share), 4) for at, weight in enumerate(weights))


def _moved(weights: tuple[float, ...], step: float) -> list[tuple[float, ...]]:
    """Return the weights with one part's share made larger or smaller by a step of the whole."""
    found = []
    for part, weight in enumerate(weights):
        for share in (weight - step, weight + step):
            if weight > 0 and 0 < share < 1:
                rest = (1 - share) / (1 - weight)
                found.append(tuple(round(share if at == part else w * rest, 4) for at, w in enumerate(weights)))
    return found


def decimal_text(value: float) -> str:
    """Return a number as composition strings have it: without an exponent.

    Examples
    --------
    >>> decimal_text(0.25), decimal_text(1234.5), decimal_text(0.00001234)
    ('0.25', '1234.5', '0.00001234')
    """
    return np.format_float_positional(float(f"{value:.6g}"), trim="-")
