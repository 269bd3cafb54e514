"""Judge: how good a trial was on each kind of held-out query, and whether one is surely better than another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import erfc, inf, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla.clicks.measures import PerQuery
from vizsla.clicks.mix import COLD, COMMON, QUERY_KINDS, WARM

KINDS = ("all", *QUERY_KINDS)
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
    """Weighs the kinds of queries by the share that each will have, however many of it were held out.

    Parameters
    ----------
    kinds : array of str
        The kind of each held-out query: "repeated", "warm" or "cold".
    shares : mapping of str to float
        The share of each kind among the queries to come. A kind of which none was held out does not count.

    Examples
    --------
    >>> Judge(np.array(["cold", "warm"]), {"repeated": 0.2, "warm": 0.4, "cold": 0.4}).weights
    {'warm': 0.5, 'cold': 0.5}
    """

    kinds: NDArray[np.str_]
    shares: Mapping[str, float]

    @classmethod
    def of_cold(cls, cold: NDArray[np.bool_], share: float) -> Judge:
        """Return a judge of cold and warm queries."""
        return cls(np.where(cold, COLD, WARM), {WARM: 1 - share, COLD: share})

    @property
    def cold(self) -> NDArray[np.bool_]:
        """Which of the held-out queries are cold."""
        return np.asarray(self.kinds == COLD)

    @property
    def counts(self) -> dict[str, int]:
        """How many queries of each kind were held out."""
        return {kind: int((self.kinds == kind).sum()) for kind in QUERY_KINDS}

    @property
    def weights(self) -> dict[str, float]:
        """What each kind that was held out weighs over all; they add up to 1."""
        held = {kind: self.shares.get(kind, 0.0) for kind, count in self.counts.items() if count}
        total = sum(held.values())
        return {kind: share / total if total else 1 / len(held) for kind, share in held.items()}

    @property
    def common(self) -> tuple[str, ...]:
        """The kinds that make up at least a tenth of the queries to come."""
        return tuple(kind for kind in QUERY_KINDS if self.shares.get(kind, 0.0) >= COMMON)

    def only(self, kept: NDArray[np.bool_]) -> Judge:
        """Return the judge of some of the queries."""
        return Judge(self.kinds[kept], self.shares)

    def quality(self, values: PerQuery, kind: str = "all") -> float:
        """Return the mean over the queries of a kind, 0 of none; over all, that of the kinds by their weights.

        Examples
        --------
        >>> judge = Judge.of_cold(np.array([True, False, False]), 0.5)
        >>> judge.quality(np.array([0.0, 1.0, 1.0])), judge.quality(np.array([0.0, 1.0, 1.0]), "cold")
        (0.5, 0.0)
        """
        return float(self.qualities(values[None], kind)[0])

    def qualities(self, values: NDArray[np.float64], kind: str = "all") -> NDArray[np.float64]:
        """Return the quality of each row."""
        return np.asarray(self._moments(values, kind)[0])

    def gain(self, values: PerQuery, other: PerQuery, kind: str = "all") -> Gain:
        """Return what the first has more than the second.

        Examples
        --------
        >>> judge = Judge.of_cold(np.array([True, False]), 0.5)
        >>> judge.gain(np.array([1.0, 1.0]), np.array([0.0, 1.0]))
        Gain(mean=0.5, error=0.0, queries=2)
        """
        means, variances = self._moments((values - other)[None], kind)
        return Gain(float(means[0]), sqrt(variances[0]), len(values) if kind == "all" else self.counts[kind])

    def errors(self, values: NDArray[np.float64], other: PerQuery, kind: str = "all") -> NDArray[np.float64]:
        """Return for each row how many standard errors it is better than `other`, as `Gain.errors` has it."""
        means, variances = self._moments(values - other, kind)
        count = values.shape[1] if kind == "all" else self.counts[kind]
        with np.errstate(divide="ignore", invalid="ignore"):
            errors = np.where(means == 0, 0.0, means / np.sqrt(variances))
        return errors if count >= FEWEST else np.zeros(len(values))

    def _moments(self, values: NDArray[np.float64], kind: str) -> tuple[Any, Any]:
        """Return the mean of each row and the variance of that mean."""
        if kind != "all":
            chosen = values[:, self.kinds == kind]
            count = chosen.shape[1]
            variances = chosen.var(axis=1, ddof=1) / count if count > 1 else np.zeros(len(values))
            return (chosen.mean(axis=1) if count else np.zeros(len(values))), variances
        means, variances = np.zeros(len(values)), np.zeros(len(values))
        for each, weight in self.weights.items():
            mean, variance = self._moments(values, each)
            means, variances = means + weight * mean, variances + weight**2 * variance
        return means, variances
