"""Whether, and how far, items without clicks are lifted: only where neither kind of query pays for the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vizsla.clicks.judge import Judge
from vizsla.clicks.measures import PerQuery
from vizsla.methods.fuse.standing import Rank, Standing, is_sound, of_each_count
from vizsla.methods.fuse.trial import Trial

SIDES = ("warm", "cold")


@dataclass(frozen=True)
class Lifting:
    """Ranks sums that lift items without clicks, against what stands without.

    By quality alone these items would be lifted until warm queries have lost all that the sum had gained for them.

    Parameters
    ----------
    standing : Standing
        Which is the best part on either kind of query.
    level : array
        What the sum or part gives that stands without a lift.
    part : array
        What the best part gives.
    """

    standing: Standing
    level: PerQuery
    part: PerQuery

    @classmethod
    def of(cls, judge: Judge, singles: Sequence[PerQuery], level: PerQuery) -> Lifting:
        """Return the rule for warm and cold queries, however rare: a lift is between these two."""
        return cls(Standing.of(judge, singles, kinds=SIDES), level, max(singles, key=judge.quality))

    def rank(self, values: PerQuery) -> Rank:
        """Return the harm done, below 0, and what the worse kind of query has more than its best part; more is better.

        Harm is what a kind of query has less than its best part, and less than without a lift.
        """
        return self.ranks(values[None])[0]

    def ranks(self, measured: NDArray[np.float64]) -> list[Rank]:
        """Return the rank of each row."""
        judge = self.standing.judge
        harm, worse = np.zeros(len(measured)), np.full(len(measured), np.inf)
        for kind, best in self.standing.best.items():
            gains = judge.qualities(measured - best, kind)
            harm = np.minimum(harm, gains - min(0.0, judge.gain(self.level, best, kind).mean))
            worse = np.minimum(worse, gains)
        return list(zip(harm.tolist(), worse.tolist(), strict=True))

    def chosen(self, trials: Sequence[Trial], measured: Sequence[PerQuery], stands: int) -> int:
        """Return what stands in the end: a lift must do no harm, and be surely better, or end a loss.

        One that ends a loss on a kind of query may be behind what stands on average, as long as it is soundly better
        than the best part: otherwise items without clicks would be given up wherever few of them were asked for.
        """
        for same in of_each_count(trials, lifted=True):
            ranks = self.ranks(np.asarray(measured)[same])
            best = max(range(len(same)), key=lambda at: ranks[at])
            lifted, level = measured[same[best]], measured[stands]
            better = self.standing.replaces(lifted, level)
            if not better and len(self.standing.losses(lifted)) < len(self.standing.losses(level)):
                better = is_sound(self.standing.judge, lifted, self.part)
            if ranks[best][0] == 0 and better:
                stands = same[best]
        return stands
