"""Searches the simplex of weights, on every scale, for what ranks the held-out clicks best."""

from __future__ import annotations

from collections.abc import Sequence

from vizsla.clicks.measures import PerQuery
from vizsla.methods.fuse.pool import Pool
from vizsla.methods.fuse.rules import LOGARITHM
from vizsla.methods.fuse.simplex import grid, moves
from vizsla.methods.fuse.standing import Rank, Standing
from vizsla.methods.fuse.trial import HOWS, NONE, Trial, alone
from vizsla.progress import progress

STEPS = (0.05, 0.025)
"""How far weights are moved around the best of the grid: as far as possible, then half as far."""


class Search:
    """Tries what could be good, each once.

    Parameters
    ----------
    pool : Pool
        What the parts say of the held-out queries.
    standing : Standing
        Which of two trials is better.
    """

    def __init__(self, pool: Pool, standing: Standing):
        self.pool, self.standing = pool, standing
        self.measured: dict[Trial, PerQuery] = {}

    def run(self, scales: Sequence[str]) -> dict[Trial, PerQuery]:
        """Try single parts, a grid of sums on every scale, and the surroundings of the best of each.

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
        for how in HOWS:
            for count in range(2, self.pool.parts + 1):
                self._climb([trial for trial in sums if trial.how == how and len(trial.used) == count])
        return self.measured

    def _climb(self, trials: Sequence[Trial]) -> None:
        """Move weight between the parts of the best trial as long as that helps."""
        if not trials:
            return
        best = max(trials, key=self._rank)
        for step in STEPS:
            while (better := max(self._around(best, step), key=self._rank)) != best:
                best = better

    def _around(self, trial: Trial, step: float) -> list[Trial]:
        return [trial, *(Trial(trial.how, weights) for weights in moves(trial.weights, step))]

    def _rank(self, trial: Trial) -> Rank:
        return self.standing.rank(self._try(trial))

    def _try(self, trial: Trial) -> PerQuery:
        if trial not in self.measured:
            self.measured[trial] = self.pool.measured(trial)
        return self.measured[trial]


def _may_add(trial: Trial, scales: Sequence[str]) -> bool:
    used = {scales[at] for at in trial.used}
    if len(trial.used) < 2 or (trial.how == "exp" and LOGARITHM not in used):  # that would be linear once more
        return False
    return trial.how != NONE or len(used) == 1
