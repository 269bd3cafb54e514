"""Searches the simplex of weights, on every scale, for what ranks the held-out clicks best."""

from __future__ import annotations

from collections.abc import Sequence

from vizsla.clicks.measures import PerQuery
from vizsla.methods.fuse.lifting import Lifting
from vizsla.methods.fuse.pool import Pool
from vizsla.methods.fuse.rules import LOGARITHM, RULES
from vizsla.methods.fuse.simplex import grid, moves
from vizsla.methods.fuse.standing import Rank, Standing
from vizsla.methods.fuse.trial import HOWS, NONE, Trial, alone
from vizsla.progress import progress

STEPS = (0.05, 0.025)
"""How far weights are moved around the best of the grid: as far as possible, then half as far."""
LIFTS, LIFTED = (0.25, 0.5, 1.0, 2.0), 20
LIFT_STEPS = ((0.1, 1.5), (0.05, 1.25), (0.025, 1.1))
"""By what items without clicks are lifted at first, in spreads of a list, and in how many sums of a kind; by how much
weights are moved then, and how many times lifts."""


class Search:
    """Tries what could be good, each once.

    Parameters
    ----------
    pool : Pool
        What the parts say of the held-out queries.
    standing : Standing
        Which of two trials is better.
    learners : sequence of bool, optional
        Which parts have learned from clicks: beside one of these, items without clicks may be lifted. None by default.
    measured : dict, optional
        What another search has tried before.
    """

    def __init__(
        self,
        pool: Pool,
        standing: Standing,
        *,
        learners: Sequence[bool] | None = None,
        measured: dict[Trial, PerQuery] | None = None,
    ):
        self.pool, self.standing = pool, standing
        self.learners = [False] * pool.parts if learners is None else learners
        self.measured: dict[Trial, PerQuery] = dict(measured or {})

    def run(self, scales: Sequence[str]) -> dict[Trial, PerQuery]:
        """Try single parts, a grid of sums on every scale, the surroundings of the best of each, and lifts.

        Parameters
        ----------
        scales : sequence of str
            What each part's scores mean: those of one scale are also added as they are.
        """
        singles = [alone(part, self.pool.parts) for part in range(self.pool.parts)]
        sums = [
            Trial(how, weights)
            for how in HOWS
            for weights in grid(self.pool.parts)
            if _may_add(Trial(how, weights), scales)
        ]
        for trial in progress([*singles, *sums], what="trying weights"):
            self._try(trial)
        alike = [
            [trial for trial in sums if trial.how == how and len(trial.used) == count]
            for how in HOWS
            for count in range(2, self.pool.parts + 1)
        ]
        for some in alike:
            self._climb(some)
        stands = self.standing.chosen(list(self.measured), list(self.measured.values()))
        level = list(self.measured.values())[stands]
        lifting = Lifting.of(self.standing.judge, [self._try(one) for one in singles], level)
        for some in alike:
            self._lift([trial for trial in some if self._may_lift(trial)], lifting)
        return self.measured

    def _climb(self, trials: Sequence[Trial]) -> None:
        """Move weight between the parts of the best trial as long as that helps."""
        if not trials:
            return
        best = max(trials, key=self._rank)
        for step in STEPS:
            while (better := max(self._around(best, step), key=self._rank)) != best:
                best = better

    def _lift(self, trials: Sequence[Trial], lifting: Lifting) -> None:
        """Lift items without clicks in the best of these sums; move lift and weights of one as long as that helps."""
        if not trials:
            return

        def rank(trial: Trial) -> Rank:
            return lifting.rank(self._try(trial))

        promising = sorted(trials, key=lambda trial: -self.standing.judge.quality(self._try(trial)))[:LIFTED]
        best = max((trial._replace(lift=lift) for trial in promising for lift in LIFTS), key=rank)
        for step, times in LIFT_STEPS:
            while (better := max(_around_lifted(best, step, times), key=rank)) != best:
                best = better

    def _may_lift(self, trial: Trial) -> bool:
        """Whether it has one rule for all queries, as a lift is, and a part that learned from clicks."""
        return trial.how in RULES and any(self.learners[at] for at in trial.used)

    def _around(self, trial: Trial, step: float) -> list[Trial]:
        return [trial, *(Trial(trial.how, weights) for weights in moves(trial.weights, step))]

    def _rank(self, trial: Trial) -> Rank:
        return self.standing.rank(self._try(trial))

    def _try(self, trial: Trial) -> PerQuery:
        if trial not in self.measured:
            self.measured[trial] = self.pool.measured(trial)
        return self.measured[trial]


def _around_lifted(trial: Trial, step: float, times: float) -> list[Trial]:
    lifts = [float(f"{lift:.3g}") for lift in (trial.lift, trial.lift * times, trial.lift / times)]
    weights = [trial.weights, *moves(trial.weights, step)]
    return [trial, *(Trial(trial.how, each, lift) for each in weights for lift in lifts)]


def _may_add(trial: Trial, scales: Sequence[str]) -> bool:
    used = {scales[at] for at in trial.used}
    if len(trial.used) < 2 or (trial.how == "exp" and LOGARITHM not in used):  # that would be linear once more
        return False
    return trial.how != NONE or len(used) == 1
