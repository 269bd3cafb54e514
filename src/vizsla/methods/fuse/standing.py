"""Which trial stands: a further part must earn its place, and neither warm nor cold queries may pay for the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vizsla.clicks.judge import Gain, Judge
from vizsla.clicks.measures import PerQuery
from vizsla.methods.fuse.trial import Trial

SURE = 2.0
"""So many standard errors must a sum of more parts be better than one of fewer."""
TOLERATED = 1.0
"""So many standard errors may a sum be behind the best part of a kind of query. To tolerate none would give away what
the other kind gains for what is often chance."""

Rank = tuple[int, float]


@dataclass(frozen=True)
class Standing:
    """Ranks trials by their quality, those that lose to the best part behind all others.

    The best part is another one on warm and on cold queries, as it happens: a sum that loses to either is worse than
    what its user had.

    Parameters
    ----------
    judge : Judge
        How quality is weighed.
    best : dict of str to array
        For "warm" and "cold", the single part that is best on that kind of query.
    """

    judge: Judge
    best: dict[str, PerQuery]

    @classmethod
    def of(cls, judge: Judge, singles: Sequence[PerQuery]) -> Standing:
        """Find the best part on either kind of query."""
        kinds = ("warm", "cold")
        return cls(judge, {kind: max(singles, key=lambda values: judge.quality(values, kind)) for kind in kinds})

    def rank(self, values: PerQuery) -> Rank:
        """Return on how many kinds of query it loses to the best part, below 0, and its quality; more is better."""
        return -len(self.losses(values)), self.judge.quality(values)

    def losses(self, values: PerQuery) -> dict[str, Gain]:
        """Return by how much it loses to the best part, for the kinds of query on which it does."""
        gains = {kind: self.judge.gain(values, best, kind) for kind, best in self.best.items()}
        return {kind: gain for kind, gain in gains.items() if gain.errors <= -TOLERATED}

    def chosen(self, trials: Sequence[Trial], measured: Sequence[PerQuery]) -> int:
        """Return which trial stands: from one part on, more of them only on clear evidence."""
        ranks = [self.rank(values) for values in measured]
        stands = self.best_of(trials, ranks, 1)
        for count in range(2, len(trials[0].weights) + 1):
            other = self.best_of(trials, ranks, count)
            if other is not None and self._replaces(other, stands, ranks, measured):
                stands = other
        return stands or 0

    def best_of(self, trials: Sequence[Trial], ranks: Sequence[Rank], count: int) -> int | None:
        """Return the best trial of so many parts."""
        found = [at for at, trial in enumerate(trials) if len(trial.used) == count]
        return max(found, key=lambda at: ranks[at], default=None)

    def _replaces(self, other: int, stands: int | None, ranks: Sequence[Rank], measured: Sequence[PerQuery]) -> bool:
        if stands is None:
            return True
        gain = self.judge.gain(measured[other], measured[stands])
        if ranks[other][0] != ranks[stands][0]:
            return ranks[other][0] > ranks[stands][0] and gain.mean >= 0
        return gain.errors > SURE
