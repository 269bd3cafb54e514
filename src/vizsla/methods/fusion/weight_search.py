"""Search for the weights of a fusion on a simplex grid."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise, permutations
from math import comb

from vizsla._internal.terminal import progress
from vizsla.methods.fusion.candidate_pool import CandidatePool
from vizsla.methods.fusion.rules import ColdBoostRule, Rank, SignificanceRule
from vizsla.methods.fusion.scaling import LOG_SCALE, SCALING_NAMES, SCALING_RULES, UNSCALED, FusionTrial, alone
from vizsla.typing import Float64Array

Weights = tuple[float, ...]

MAX_GRID_POINTS = 300
GRID_DIVISIONS = (10, 5, 4, 3, 2)
"""In how many equal pieces the weight is given away: as many as keep the grid below `MAX_GRID_POINTS`."""


def grid(parts: int) -> list[Weights]:
    """Return weights all over the simplex, and equal ones.

    Examples
    --------
    >>> grid(2)[:3], (0.5, 0.5) in grid(2), len(grid(3))
    ([(0.0, 1.0), (0.1, 0.9), (0.2, 0.8)], True, 67)
    """
    shares = grid_shares(parts)
    found = [tuple(shares[count] for count in counts) for counts in _counts(len(shares) - 1, parts)]
    equal = (1 / parts,) * parts
    return found if equal in found else [*found, equal]


def grid_shares(parts: int) -> list[float]:
    """Return the weights of one part that the grid has with all weights of the others.

    Examples
    --------
    >>> grid_shares(5)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    pieces = next((n for n in GRID_DIVISIONS if comb(n + parts - 1, parts - 1) <= MAX_GRID_POINTS), GRID_DIVISIONS[-1])
    return [round(count / pieces, 6) for count in range(pieces + 1)]


def moves(weights: Weights, step: float) -> Iterator[Weights]:
    """Yield the weights with `step` taken from one part and given to another; no part loses or gains its place.

    Examples
    --------
    >>> list(moves((0.5, 0.5), 0.25))
    [(0.25, 0.75), (0.75, 0.25)]
    """
    used = [at for at, weight in enumerate(weights) if weight > 0]
    for giver, taker in permutations(used, 2):
        if weights[giver] - step > step / 10:
            moved = list(weights)
            moved[giver], moved[taker] = round(moved[giver] - step, 6), round(moved[taker] + step, 6)
            yield tuple(moved)


def _counts(pieces: int, parts: int) -> Iterator[tuple[int, ...]]:
    """Yield every way to distribute a number of pieces over the parts."""
    for bars in combinations(range(pieces + parts - 1), parts - 1):
        edges = (-1, *bars, pieces + parts - 1)
        yield tuple(after - before - 1 for before, after in pairwise(edges))


WEIGHT_STEPS = (0.05, 0.025)
"""How far weights are moved around the best of the grid: as far as possible, then half as far."""
FIRST_COLD_BOOSTS, MAX_BOOSTED_TRIALS = (0.25, 0.5, 1.0, 2.0), 20
COLD_BOOST_STEPS = ((0.1, 1.5), (0.05, 1.25), (0.025, 1.1))
"""By what items without clicks are lifted at first, in spreads of a list, and in how many sums of a kind; by how much
weights are moved then, and how many times lifts."""


class Search:
    """Searches for good trials, and measures each once.

    Parameters
    ----------
    pool : CandidatePool
        The parts' scores of the held-out queries.
    significance : SignificanceRule
        Which of two trials is better.
    learners : sequence of bool, optional
        Which parts have learned from clicks: beside one of these, items without clicks may be lifted. None by default.
    measured : dict, optional
        Trials that another search has measured.
    """

    def __init__(
        self,
        pool: CandidatePool,
        significance: SignificanceRule,
        *,
        learners: Sequence[bool] | None = None,
        measured: dict[FusionTrial, Float64Array] | None = None,
    ):
        self.pool, self.significance = pool, significance
        self.learners = [False] * pool.parts if learners is None else learners
        self.measured: dict[FusionTrial, Float64Array] = dict(measured or {})

    def run(self, scales: Sequence[str]) -> dict[FusionTrial, Float64Array]:
        """Try single parts, a grid of sums on every scale, the surroundings of the best of each, and lifts.

        Parameters
        ----------
        scales : sequence of str
            What each part's scores mean: those of one scale are also added as they are.
        """
        singles = [alone(part, self.pool.parts) for part in range(self.pool.parts)]
        sums = [
            FusionTrial(how, weights)
            for how in SCALING_NAMES
            for weights in grid(self.pool.parts)
            if _may_add(FusionTrial(how, weights), scales)
        ]
        for trial in progress([*singles, *sums], what="trying weights"):
            self._try(trial)
        alike = [
            [trial for trial in sums if trial.how == how and len(trial.used) == count]
            for how in SCALING_NAMES
            for count in range(2, self.pool.parts + 1)
        ]
        for some in alike:
            self._climb(some)
        stands = self.significance.chosen(list(self.measured), list(self.measured.values()))
        level = list(self.measured.values())[stands]
        cold_boost = ColdBoostRule.of(self.significance.judge, [self._try(one) for one in singles], level)
        for some in alike:
            self._lift([trial for trial in some if self._may_lift(trial)], cold_boost)
        return self.measured

    def _climb(self, trials: Sequence[FusionTrial]) -> None:
        """Move weight between the parts of the best trial as long as that helps."""
        if not trials:
            return
        best = max(trials, key=self._rank)
        for step in WEIGHT_STEPS:
            while (better := max(self._around(best, step), key=self._rank)) != best:
                best = better

    def _lift(self, trials: Sequence[FusionTrial], cold_boost: ColdBoostRule) -> None:
        """Lift items without clicks in the best of these sums; move lift and weights of one as long as that helps."""
        if not trials:
            return

        def rank(trial: FusionTrial) -> Rank:
            return cold_boost.rank(self._try(trial))

        promising = sorted(trials, key=lambda trial: -self.significance.judge.quality(self._try(trial)))[
            :MAX_BOOSTED_TRIALS
        ]
        best = max((trial._replace(lift=lift) for trial in promising for lift in FIRST_COLD_BOOSTS), key=rank)
        for step, times in COLD_BOOST_STEPS:
            while (better := max(_around_lifted(best, step, times), key=rank)) != best:
                best = better

    def _may_lift(self, trial: FusionTrial) -> bool:
        """Whether it has one rule for all queries, as a lift is, and a part that learned from clicks."""
        return trial.how in SCALING_RULES and any(self.learners[at] for at in trial.used)

    def _around(self, trial: FusionTrial, step: float) -> list[FusionTrial]:
        return [trial, *(FusionTrial(trial.how, weights) for weights in moves(trial.weights, step))]

    def _rank(self, trial: FusionTrial) -> Rank:
        return self.significance.rank(self._try(trial))

    def _try(self, trial: FusionTrial) -> Float64Array:
        if trial not in self.measured:
            self.measured[trial] = self.pool.measured(trial)
        return self.measured[trial]


def _around_lifted(trial: FusionTrial, step: float, times: float) -> list[FusionTrial]:
    lifts = [float(f"{lift:.3g}") for lift in (trial.lift, trial.lift * times, trial.lift / times)]
    weights = [trial.weights, *moves(trial.weights, step)]
    return [trial, *(FusionTrial(trial.how, each, lift) for each in weights for lift in lifts)]


def _may_add(trial: FusionTrial, scales: Sequence[str]) -> bool:
    used = {scales[at] for at in trial.used}
    if len(trial.used) < 2 or (trial.how == "exp" and LOG_SCALE not in used):  # that would be linear once more
        return False
    return trial.how != UNSCALED or len(used) == 1
