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

Rank = tuple[float, float]


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
        """Return which trial without a lift stands: from one part on, more of them only on clear evidence."""
        stands: int | None = None
        for same in of_each_count(trials, lifted=False):
            best = max(same, key=lambda at: self.rank(measured[at]))
            if stands is None or self.replaces(measured[best], measured[stands]):
                stands = best
        return stands or 0

    def replaces(self, other: PerQuery, stands: PerQuery) -> bool:
        """Whether the other is surely better than what stands, or is behind on fewer kinds and on average no worse."""
        gain, fewer = self.judge.gain(other, stands), len(self.losses(stands)) - len(self.losses(other))
        return gain.errors > SURE if not fewer else fewer > 0 and gain.mean >= 0


def of_each_count(trials: Sequence[Trial], *, lifted: bool) -> list[list[int]]:
    """Return where the trials of one part are, of two, and so on: those with a lift, or those without.

    Examples
    --------
    >>> tried = [Trial("none", (1.0, 0.0)), Trial("exp", (0.5, 0.5)), Trial("exp", (0.4, 0.6), 1.0)]
    >>> of_each_count(tried, lifted=False), of_each_count(tried, lifted=True)
    ([[0], [1]], [[2]])
    """
    counts = {at: len(trial.used) for at, trial in enumerate(trials) if bool(trial.lift) == lifted}
    return [[at for at in counts if counts[at] == count] for count in sorted(set(counts.values()))]
