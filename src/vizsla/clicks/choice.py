"""Choice: which settings were chosen on held-out clicks, and the curve that led to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla.clicks.evidence import best_balanced, best_harmless
from vizsla.clicks.measures import PerQuery
from vizsla.errors import InputError

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
        measured: Sequence[PerQuery],
        cold: NDArray[np.bool_],
        *,
        measure: str,
        base: int | None = None,
        against: PerQuery | None = None,
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
        from vizsla.evaluate.plots import plot_curves

        return plot_curves(
            curves,
            path,
            xlabel=xlabel,
            ylabel=f"{self.measure}, {quality} held-out queries",
            title="Chosen on held-out clicks",
            cost=False,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the choice as the artefact holds it."""
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


def _means(values: PerQuery, cold: NDArray[np.bool_]) -> dict[str, float]:
    kinds = {"all": values, "warm": values[~cold], "cold": values[cold]}
    return {name: float(kind.mean()) if len(kind) else 0.0 for name, kind in kinds.items()}
