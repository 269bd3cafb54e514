"""Choose settings on held-out clicks, and report what was tried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import erfc, inf, sqrt
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from vizsla.errors import InputError
from vizsla.learning.query_mix import COLD, COMMON_SHARE, QUERY_KINDS, WARM
from vizsla.learning.significance import best_balanced, best_harmless
from vizsla.typing import Float64Array


class ChoiceWarning(UserWarning):
    """The clicks are too few to choose settings by, so what stood was kept; the message says what that is."""


QUALITIES = ("all", "warm", "cold")


@dataclass(frozen=True)
class Choice:
    """What was tried on held-out clicks and what came of it.

    Parameters
    ----------
    measure : str
        What was compared: the mean over all held-out queries.
    cold, warm : int
        Held-out queries, over all splits, whose items had no click left, and whose items had.
    trials : list of dict
        Each setting with its quality: "all", "warm" and "cold".
    best : int
        Which trial won.
    repeated : int
        Held-out queries whose text stayed in the log.

    Examples
    --------
    >>> Choice("MRR@10", 4, 6, [{"weight": 0.5, "all": 0.3}, {"weight": 1.0, "all": 0.2}], 0).chosen
    {'weight': 0.5, 'all': 0.3}
    """

    measure: str
    cold: int
    warm: int
    trials: list[dict[str, Any]]
    best: int
    repeated: int = 0

    @classmethod
    def among(
        cls,
        trials: Sequence[dict[str, Any]],
        measured: Sequence[Float64Array],
        cold: NDArray[np.bool_],
        *,
        measure: str,
        base: int | None = None,
        against: Float64Array | None = None,
    ) -> Self:
        """Choose the best trial that harms neither warm nor cold queries; see `best_harmless` and `best_balanced`.

        Parameters
        ----------
        trials : sequence of dict
            What was tried.
        measured : sequence of float arrays
            For each trial, the measure of every held-out query.
        cold : bool array
            Which of these queries are cold.
        measure : str
            What was measured.
        base : int, optional
            Which trial is what stands.
        against : float array, optional
            What something else gives for every held-out query: the worse side is to come off best against it.

        Examples
        --------
        >>> ranks = [np.array([0.5, 0.5]), np.array([1.0, 0.5])]
        >>> Choice.among([{"weight": 1.0}, {"weight": 0.5}], ranks, np.array([False, True]), measure="MRR@10").chosen
        {'weight': 0.5, 'all': 0.75, 'warm': 1.0, 'cold': 0.5}
        """
        done = [trial | _means(values, cold) for trial, values in zip(trials, measured, strict=True)]
        sides = {"warm": ~cold, "cold": cold}
        if against is None or not len(cold):
            best = best_harmless(done, base=base)
        else:
            best = best_balanced(done, {kind: float(against[own].mean()) for kind, own in sides.items() if own.any()})
        return cls(measure, int(cold.sum()), int((~cold).sum()), done, best)

    @property
    def chosen(self) -> dict[str, Any]:
        """The trial that won."""
        return self.trials[self.best]

    def curves(self, *, quality: str = "all") -> dict[str, list[tuple[float, float]]]:
        """Return (weight, quality) points for every combination of the other settings."""
        curves: dict[str, list[tuple[float, float]]] = {}
        for trial in self.trials:
            names = [name for name in trial if name not in ("weight", "repeated", *QUALITIES)]
            said = [f"{name} {_said(trial[name])}" for name in names]
            curves.setdefault(", ".join(said) or "weight", []).append((trial["weight"], trial[quality]))
        return curves

    def plot(self, path: str | Path, *, quality: str = "all", most: int = 6) -> Path:
        """Draw quality against the base's weight, for the `most` best combinations (the paper's Table 4)."""
        drawn = {name: points for name, points in self.curves(quality=quality).items() if len(points) > 1}
        drawn = drawn or self.curves(quality=quality)
        ordered = sorted(drawn.items(), key=lambda pair: -max(y for _, y in pair[1]))
        return self.plot_curves(dict(ordered[:most]), path, quality=quality, xlabel="weight of the base")

    def plot_curves(
        self, curves: dict[str, list[tuple[float, float]]], path: str | Path, *, quality: str, xlabel: str
    ) -> Path:
        """Draw curves of quality against a setting."""
        from vizsla.evaluation.plots import plot_curves

        return plot_curves(
            curves,
            path,
            xlabel=xlabel,
            ylabel=f"{self.measure}, {quality} held-out queries",
            title="Chosen on held-out clicks",
            cost=False,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the choice as the artifact holds it."""
        return asdict(self)

    @classmethod
    def of(cls, values: dict[str, Any]) -> Self:
        """Read what `to_dict` gave."""
        try:
            choice = cls(**values)
            if not all(isinstance(trial["all"], int | float) for trial in choice.trials):
                raise TypeError("a trial without quality")
            _ = choice.chosen
        except (TypeError, KeyError, IndexError) as error:
            raise InputError(f"A choice must have trials and a best one. Got another: {error}.") from error
        return choice


def _said(value: Any) -> str:
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def _means(values: Float64Array, cold: NDArray[np.bool_]) -> dict[str, float]:
    kinds = {"all": values, "warm": values[~cold], "cold": values[cold]}
    return {name: float(kind.mean()) if len(kind) else 0.0 for name, kind in kinds.items()}


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
        return tuple(kind for kind in QUERY_KINDS if self.shares.get(kind, 0.0) >= COMMON_SHARE)

    def only(self, kept: NDArray[np.bool_]) -> Judge:
        """Return the judge of some of the queries."""
        return Judge(self.kinds[kept], self.shares)

    def quality(self, values: Float64Array, kind: str = "all") -> float:
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

    def gain(self, values: Float64Array, other: Float64Array, kind: str = "all") -> Gain:
        """Return what the first has more than the second.

        Examples
        --------
        >>> judge = Judge.of_cold(np.array([True, False]), 0.5)
        >>> judge.gain(np.array([1.0, 1.0]), np.array([0.0, 1.0]))
        Gain(mean=0.5, error=0.0, queries=2)
        """
        means, variances = self._moments((values - other)[None], kind)
        return Gain(float(means[0]), sqrt(variances[0]), len(values) if kind == "all" else self.counts[kind])

    def errors(self, values: NDArray[np.float64], other: Float64Array, kind: str = "all") -> NDArray[np.float64]:
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
