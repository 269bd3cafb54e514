"""Select settings on held-out clicks: trials, values per query, a rule, and a report. All thresholds are here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import erfc, inf, sqrt
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from vizsla.errors import InputError
from vizsla.learning.query_mix import COLD, COMMON_SHARE, QUERY_KINDS, WARM
from vizsla.typing import BoolArray, Float64Array

# Thresholds in standard errors of the mean difference per query.
SURE_ERRORS = 3.0
"""So much better than the default must other features or click weights be. Two were not enough: on tldr's queries alone
a gain of .010 on the trial was a loss of .004 on other held-out clicks."""
FUSION_ERRORS = 2.0
"""Standard errors by which a fusion must beat the best part, and one of more parts one of fewer."""
HALF_LIFE_ERRORS = 2.0
"""Standard errors by which a half-life must beat none."""
FIELD_ERRORS = 1.0
"""Standard errors by which a weight of a field must beat the one before: of many trials, some look better by chance."""
COLD_LOSS_ERRORS = 2.0
"""The largest loss, in standard errors, of cold queries against the number of epochs that is best for them."""
KIND_LOSS_ERRORS = 1.0
"""Standard errors that a fusion may lose to the best part on a kind of query. Tolerating no loss would give up what
the other kind gains for what is often chance."""

# Thresholds in held-out queries, and in the measure itself.
MIN_QUERIES = 30
"""With fewer held-out queries nothing is selected."""
MIN_QUERIES_FOR_B = 100
"""With fewer queries a token index keeps its default `b`."""
ROUNDING_ERROR = 1e-9
"""A mean difference nearer to 0 than this is none."""
EQUAL_DIGITS = 6
"""Recalls that agree to this number of digits are equal."""


class ChoiceWarning(UserWarning):
    """A warning that there are too few clicks for a selection; the message says what was used instead."""


QUALITIES = ("all", "warm", "cold")


@dataclass(frozen=True)
class Choice:
    """The trials of a selection on held-out clicks, and the selected one.

    Parameters
    ----------
    measure : str
        The measure, as the mean over all held-out queries.
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

    @property
    def chosen(self) -> dict[str, Any]:
        """The trial that won."""
        return self.trials[self.best]

    @property
    def summary(self) -> str:
        """What was chosen and how much better it is, in a sentence.

        Examples
        --------
        >>> Choice("MRR@10", 4, 6, [{"weight": 0.5, "all": 0.3}, {"weight": 1.0, "all": 0.2}], 0).summary
        'weight 0.5: MRR@10 0.300 on 10 held-out queries, 4 of them cold; the best of 2 trials (0.200 to 0.300).'
        """
        names = [name for name in self.chosen if name not in ("repeated", *QUALITIES)]
        settings = ", ".join(f"{name} {_format_value(self.chosen[name])}" for name in names)
        if not self.cold + self.warm:
            return f"{settings}: the clicks are too few to choose by."
        values = [trial["all"] for trial in self.trials]
        found = f"{self.measure} {self.chosen['all']:.3f} on {self.cold + self.warm} held-out queries"
        spread = f"{min(values):.3f} to {max(values):.3f}"
        return f"{settings}: {found}, {self.cold} of them cold; the best of {len(self.trials)} trials ({spread})."

    def curves(self, *, quality: str = "all") -> dict[str, list[tuple[float, float]]]:
        """Return (weight, quality) points for every combination of the other settings."""
        curves: dict[str, list[tuple[float, float]]] = {}
        for trial in self.trials:
            names = [name for name in trial if name not in ("weight", "repeated", *QUALITIES)]
            settings_text = [f"{name} {_format_value(trial[name])}" for name in names]
            curves.setdefault(", ".join(settings_text) or "weight", []).append((trial["weight"], trial[quality]))
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
        """Read the result of `to_dict`."""
        try:
            choice = cls(**values)
            if not all(isinstance(trial["all"], int | float) for trial in choice.trials):
                raise TypeError("a trial without quality")
            _ = choice.chosen
        except (TypeError, KeyError, IndexError) as error:
            raise InputError(f"A choice must have trials and a best one. Got another: {error}.") from error
        return choice


@dataclass(frozen=True)
class Choices:
    """Several choices that one training made.

    Parameters
    ----------
    made : mapping of str to Choice
        Each choice, by what was chosen.

    Examples
    --------
    >>> weight = Choice("MRR@10", 4, 6, [{"weight": 0.5, "all": 0.3}, {"weight": 1.0, "all": 0.2}], 0)
    >>> Choices({"weight": weight}).summary == weight.summary
    True
    """

    made: Mapping[str, Choice]

    @property
    def summary(self) -> str:
        """What was chosen and how much better it is, a sentence per choice."""
        return " ".join(choice.summary for choice in self.made.values())

    def to_dict(self) -> dict[str, Any]:
        """Return each choice as an artifact holds it."""
        return {name: choice.to_dict() for name, choice in self.made.items()}

    @classmethod
    def of(cls, **made: Choice | None) -> Self | None:
        """Return the choices that were made; None where there were none."""
        given = {name: choice for name, choice in made.items() if choice is not None}
        return cls(given) if given else None


def _format_value(value: Any) -> str:
    return f"{value:g}" if isinstance(value, int | float) else str(value)


Trial = dict[str, Any]
Rule = Callable[[Sequence[Mapping[str, Any]], NDArray[np.float64]], int]
"""Returns the best of some trials, given their qualities and their values, trials × held-out queries."""


def choose(
    trials: Sequence[Trial],
    values: Sequence[Float64Array],
    held: BoolArray | Judge | None = None,
    *,
    measure: str,
    rule: Rule,
) -> Choice:
    """Return what a rule chooses, with the quality of every trial.

    Parameters
    ----------
    trials : sequence of dict
        The settings that were tried.
    values : sequence of float arrays
        For each trial, the measure of every held-out query.
    held : bool array or Judge, optional
        Which of these queries are cold, none unless given; or how kinds of queries are weighed.
    measure : str
        Name of the measure.
    rule : callable
        `harmless`, `balanced`, `surely_better`, `harmless_to_cold`, `highest`, or any other.

    Examples
    --------
    >>> ranks = [np.array([0.5, 0.5]), np.array([1.0, 0.5])]
    >>> tried = [{"weight": 1.0}, {"weight": 0.5}]
    >>> choose(tried, ranks, np.array([False, True]), measure="MRR@10", rule=harmless(0)).chosen
    {'weight': 0.5, 'all': 0.75, 'warm': 1.0, 'cold': 0.5}
    """
    if held is None:
        held = np.zeros(len(values[0]), np.bool_)
    done = [trial | qualities_of(each, held) for trial, each in zip(trials, values, strict=True)]
    best = rule(done, np.asarray(values, np.float64))
    if isinstance(held, Judge):
        counts = held.counts
        return Choice(measure, counts["cold"], counts["warm"], done, best, counts["repeated"])
    return Choice(measure, int(held.sum()), int((~held).sum()), done, best)


def qualities_of(values: Float64Array, held: BoolArray | Judge) -> dict[str, float]:
    """Return the mean over all held-out queries and over each kind of them; 0 over none."""
    if isinstance(held, Judge):
        return {kind: held.quality(values, kind) for kind in held.reported}
    kinds = {"all": values, "warm": values[~held], "cold": values[held]}
    return {name: float(kind.mean()) if len(kind) else 0.0 for name, kind in kinds.items()}


def harmless(base: int | None = None) -> Rule:
    """Return the rule that takes the best trial among those that lose to the base neither on warm nor cold queries.

    A gain for one kind of query may hide a loss for the other, and how many of each will come is not known. Without a
    base, the best trial is taken. Of equals, the first.

    Examples
    --------
    >>> base = {"all": 0.3, "warm": 0.3, "cold": 0.3}
    >>> harmless(0)([base, {"all": 0.4, "warm": 0.6, "cold": 0.2}], np.zeros((2, 0)))
    0
    """

    def rule(trials: Sequence[Mapping[str, Any]], values: NDArray[np.float64]) -> int:
        def loses(trial: Mapping[str, Any]) -> bool:
            return base is not None and any(trial[kind] < trials[base][kind] for kind in ("warm", "cold"))

        return max(range(len(trials)), key=lambda at: (not loses(trials[at]), trials[at]["all"]))

    return rule


def balanced(against: Mapping[str, float]) -> Rule:
    """Return the rule that takes the trial whose worse side, warm or cold, loses least against another result.

    Parameters
    ----------
    against : dict
        The quality of what trials are compared with, of the sides that there are. Of equals, the first trial.

    Examples
    --------
    >>> tried = [{"warm": 0.9, "cold": 0.1}, {"warm": 0.6, "cold": 0.5}]
    >>> balanced({"warm": 0.5, "cold": 0.5})(tried, np.zeros((2, 0)))
    1
    """

    def rule(trials: Sequence[Mapping[str, Any]], values: NDArray[np.float64]) -> int:
        return max(range(len(trials)), key=lambda at: min(trials[at][kind] - against[kind] for kind in against))

    return rule


def surely_better(errors: float = SURE_ERRORS, *, top_only: bool = False) -> Rule:
    """Return the rule that takes the trial with the highest mean among those surely better than the first, or that.

    Parameters
    ----------
    errors : float
        How many standard errors better.
    top_only : bool
        Ask only the trial with the highest mean of all.

    Examples
    --------
    >>> surely_better()([], np.array([[0, 0, 0, 1], [1, 1, 1, 1.0], [0, 0, 1, 1]]))
    1
    """

    def rule(trials: Sequence[Mapping[str, Any]], values: NDArray[np.float64]) -> int:
        gains = values - values[0]
        means = gains.mean(axis=1)
        sure = means > errors * (gains.std(axis=1) / np.sqrt(max(gains.shape[1], 1)))
        if top_only:
            top = int(np.argmax(values.mean(axis=1)))
            return top if sure[top] else 0
        return int(np.argmax(np.where(sure, means, 0.0)))

    return rule


def harmless_to_cold(judge: Judge) -> Rule:
    """Return the rule that takes the best trial of those that do not surely lose to the best for cold queries.

    Examples
    --------
    >>> judge = Judge.of_cold(np.arange(80) < 40, 0.5)
    >>> before, after = np.full(80, 0.5), np.where(judge.cold, 0.3, 1.0)
    >>> harmless_to_cold(judge)([], np.stack([before, after + np.tile([0, 0.1], 40)]))
    0
    """

    def rule(trials: Sequence[Mapping[str, Any]], values: NDArray[np.float64]) -> int:
        top = max(values, key=lambda row: judge.quality(row, "cold"))
        kept = [at for at, row in enumerate(values) if judge.gain(row, top, "cold").errors > -COLD_LOSS_ERRORS]
        return max(kept, key=lambda at: judge.quality(values[at]))

    return rule


def highest(preference: Sequence[float] | None = None) -> Rule:
    """Return the rule that takes the highest total; of equals, the one preferred most, or the first.

    Examples
    --------
    >>> highest()([], np.array([[0.1], [0.5], [0.5]])), highest([0, 0, 1])([], np.array([[0.1], [0.5], [0.5]]))
    (1, 2)
    """

    def rule(trials: Sequence[Mapping[str, Any]], values: NDArray[np.float64]) -> int:
        wanted = [0.0] * len(values) if preference is None else preference
        totals = [round(float(row.sum()), EQUAL_DIGITS) for row in values]
        return max(range(len(values)), key=lambda at: (totals[at], wanted[at]))

    return rule


class Gain(NamedTuple):
    """The mean gain of one trial over another per query, with its standard error.

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
        if self.queries < MIN_QUERIES or not self.mean:
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
    """Compares trials, with the kinds of queries weighted by their expected shares.

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
    def of_cold(cls, cold: BoolArray, share: float) -> Judge:
        """Return a judge of cold and warm queries."""
        return cls(np.where(cold, COLD, WARM), {WARM: 1 - share, COLD: share})

    @property
    def cold(self) -> BoolArray:
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
    def reported(self) -> tuple[str, ...]:
        """All queries together, and the kinds that have a share."""
        return "all", *(kind for kind in QUERY_KINDS if kind in self.shares)

    @property
    def common(self) -> tuple[str, ...]:
        """The kinds that make up at least a tenth of the queries to come."""
        return tuple(kind for kind in QUERY_KINDS if self.shares.get(kind, 0.0) >= COMMON_SHARE)

    def only(self, kept: BoolArray) -> Judge:
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
        return errors if count >= MIN_QUERIES else np.zeros(len(values))

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
