"""Judge: how good a trial was on cold and warm held-out queries, and whether one is surely better than another."""

from __future__ import annotations

from dataclasses import dataclass
from math import erfc, inf, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla.clicks.measures import PerQuery

KINDS = ("all", "warm", "cold")
FEWEST = 30
"""Below so many held-out queries nothing is sure."""


class Gain(NamedTuple):
    """What one trial has more than another, on the mean query.

    Attributes
    ----------
    mean : float
        The difference of the means.
    error : float
        Its standard error, from the differences of the single queries.
    queries : int
        How many there were.
    """

    mean: float
    error: float
    queries: int

    @property
    def errors(self) -> float:
        """How many standard errors the difference is; 0 where too few queries were asked.

        Examples
        --------
        >>> Gain(0.03, 0.01, 100).errors, Gain(0.03, 0.01, 10).errors
        (3.0, 0.0)
        """
        if self.queries < FEWEST or not self.mean:
            return 0.0
        return self.mean / self.error if self.error else inf * self.mean

    @property
    def reversed(self) -> Gain:
        """What the other has more than the one."""
        return self._replace(mean=-self.mean)

    @property
    def p(self) -> float:
        """The two-sided p-value of a paired test, by the normal distribution.

        Examples
        --------
        >>> round(Gain(0.0196, 0.01, 100).p, 3)
        0.05
        """
        return erfc(abs(self.errors) / sqrt(2))


@dataclass(frozen=True)
class Judge:
    """Weighs cold and warm queries by the share that each will have, however many were held out.

    Parameters
    ----------
    cold : bool array
        Which of the held-out queries are cold.
    share : float
        The share of cold ones among the queries to come. Where only one kind was held out, it alone counts.
    """

    cold: NDArray[np.bool_]
    share: float

    def quality(self, values: PerQuery, kind: str = "all") -> float:
        """Return the mean over the queries of a kind, 0 of none; over all, that of the two kinds by their shares.

        Examples
        --------
        >>> judge = Judge(np.array([True, False, False]), 0.5)
        >>> judge.quality(np.array([0.0, 1.0, 1.0])), judge.quality(np.array([0.0, 1.0, 1.0]), "cold")
        (0.5, 0.0)
        """
        if kind == "all":
            cold, warm = self._shares()
            return cold * self.quality(values, "cold") + warm * self.quality(values, "warm")
        chosen = values[self._of(kind)]
        return float(chosen.mean()) if len(chosen) else 0.0

    def gain(self, values: PerQuery, other: PerQuery, kind: str = "all") -> Gain:
        """Return what the first has more than the second.

        Examples
        --------
        >>> judge = Judge(np.array([True, False]), 0.5)
        >>> judge.gain(np.array([1.0, 1.0]), np.array([0.0, 1.0]))
        Gain(mean=0.5, error=0.0, queries=2)
        """
        differences = values - other
        mean = self.quality(differences, kind)
        if kind != "all":
            chosen = differences[self._of(kind)]
            return Gain(mean, sqrt(_variance(chosen)), len(chosen))
        cold, warm = self._shares()
        variance = cold**2 * _variance(differences[self.cold]) + warm**2 * _variance(differences[~self.cold])
        return Gain(mean, sqrt(variance), len(differences))

    def _of(self, kind: str) -> NDArray[np.bool_]:
        return self.cold if kind == "cold" else ~self.cold

    def _shares(self) -> tuple[float, float]:
        cold = int(self.cold.sum())
        if not cold or cold == len(self.cold):
            return float(cold > 0), float(cold == 0)
        return self.share, 1 - self.share


def _variance(differences: PerQuery) -> float:
    """Return the variance of the mean."""
    return float(differences.var(ddof=1)) / len(differences) if len(differences) > 1 else 0.0
