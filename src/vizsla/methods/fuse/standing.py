"""Which trial stands: a further part must earn its place, and no kind of query may pay for another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vizsla.clicks.judge import Gain, Judge
from vizsla.clicks.measures import PerQuery
from vizsla.methods.fuse.trial import Trial

SURE = 2.0
"""So many standard errors must a sum be better than the best part, and one of more parts than one of fewer."""
TOLERATED = 1.0
"""So many standard errors may a sum be behind the best part of a kind of query. To tolerate none would give away what
the other kind gains for what is often chance."""

Rank = tuple[float, float]


@dataclass(frozen=True)
class Standing:
    """Ranks trials by their quality, those that lose to the best part of a kind behind all others.

    The best part is another one on warm and on cold queries, as it happens: a sum that loses to either is worse than
    what its user had.

    Parameters
    ----------
    judge : Judge
        How quality is weighed.
    best : dict of str to array
        For each kind of query that counts, the single part that is best on it.
    """

    judge: Judge
    best: dict[str, PerQuery]

    @classmethod
    def of(cls, judge: Judge, singles: Sequence[PerQuery], *, kinds: Sequence[str] = ("warm", "cold")) -> Standing:
        """Find the best part on each of these kinds of query."""
        return cls(judge, {kind: max(singles, key=lambda values: judge.quality(values, kind)) for kind in kinds})

    def rank(self, values: PerQuery) -> Rank:
        """Return on how many kinds of query it loses to the best part, below 0, and its quality; more is better."""
        return -len(self.losses(values)), self.judge.quality(values)

    def ranks(self, measured: NDArray[np.float64]) -> list[Rank]:
        """Return the rank of each row."""
        lost = np.zeros(len(measured), np.int64)
        for kind, best in self.best.items():
            lost += self.judge.errors(measured, best, kind) <= -TOLERATED
        return list(zip((-lost).tolist(), self.judge.qualities(measured).tolist(), strict=True))

    def losses(self, values: PerQuery) -> dict[str, Gain]:
        """Return by how much it loses to the best part, for the kinds of query on which it does."""
        gains = {kind: self.judge.gain(values, best, kind) for kind, best in self.best.items()}
        return {kind: gain for kind, gain in gains.items() if gain.errors <= -TOLERATED}

    def chosen(self, trials: Sequence[Trial], measured: Sequence[PerQuery]) -> int:
        """Return which trial without a lift stands: from one part on, more of them only on clear evidence."""
        stands: int | None = None
        ranks = self.ranks(np.asarray(measured))
        for same in of_each_count(trials, lifted=False):
            best = max(same, key=lambda at: ranks[at])
            if stands is None or self.replaces(measured[best], measured[stands]):
                stands = best
        return stands or 0

    def replaces(self, other: PerQuery, stands: PerQuery) -> bool:
        """Whether the other is surely better than what stands, or is behind on fewer kinds and on average no worse."""
        gain, fewer = self.judge.gain(other, stands), len(self.losses(stands)) - len(self.losses(other))
        return gain.errors > SURE if not fewer else fewer > 0 and gain.mean >= 0


def is_sound(judge: Judge, values: PerQuery, part: PerQuery) -> bool:
    """Whether a sum may take the place of the best part.

    The lower confidence bound of its gain must be above 0 over all queries to come, and on each kind that makes up a
    tenth of them or more it may be behind by less than a standard error.

    Examples
    --------
    >>> judge = Judge.of_cold(np.arange(80) < 40, 0.5)
    >>> part = np.full(80, 0.5)
    >>> is_sound(judge, part + np.tile([0.0, 0.1], 40), part), is_sound(judge, part, part)
    (True, False)
    """
    if judge.gain(values, part).errors <= SURE:
        return False
    return all(judge.gain(values, part, kind).errors > -TOLERATED for kind in judge.common)


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
