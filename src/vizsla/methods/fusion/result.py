"""FusionReport: what was chosen, what was tried, and how sure the choice is."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vizsla.base.retriever import Retriever
from vizsla.learning.selection import Choice
from vizsla.methods.fusion.weight_search import grid_shares


@dataclass(frozen=True)
class FusionReport:
    """The evidence for a fusion: the `report` of what `fuse` returns.

    Parameters
    ----------
    names : list of str
        Names of the parts, in the order given.
    choice : Choice
        Every trial: its normalization, its weights, its lift, and its quality on all, warm and cold held-out queries.
    gains : list of dict
        For each part and each kind of query what the choice has more than the part alone, with its standard error and
        the p-value of a paired test. Of the trials the best was taken, so they are a little too good.
    summary : str
        The selection and its reason, in a sentence.
    seconds : dict of str to float
        CPU seconds that it took to build twins of the parts without the held-out clicks ("refit"), to search them
        ("pool") and to try weights ("weights").
    """

    names: list[str]
    choice: Choice
    gains: list[dict[str, Any]]
    summary: str
    seconds: dict[str, float]

    @property
    def weights(self) -> dict[str, float]:
        """What each part weighs, by name; 0 for one that was left out."""
        return dict(zip(self.names, self.choice.chosen["weights"], strict=True))

    @property
    def normalization(self) -> str:
        """How scores were brought to one scale: "none", "minmax", "zscore", "rank", "linear" or "exp"."""
        return str(self.choice.chosen["normalization"])

    @property
    def lift(self) -> float:
        """What is added to the sum for items without clicks; 0 where that does not surely help."""
        return float(self.choice.chosen["lift"])

    def __str__(self) -> str:
        return self.summary

    def curves(self, *, quality: str = "all") -> dict[str, list[tuple[float, float]]]:
        """Return the best quality found for each weight of each part, over all weights of the others.

        Weights between those of the grid were tried with few of the others', so a low quality there says nothing: such
        a weight is shown only where it does better than the line between its neighbors on the grid.
        """
        curves: dict[str, dict[float, float]] = {name: {} for name in self.names}
        for trial in self.choice.trials:
            for name, weight in zip(self.names, trial["weights"], strict=True):
                curves[name][weight] = max(trial[quality], curves[name].get(weight, 0.0))
        shares = grid_shares(len(self.names))
        return {name: _well_tried(points, shares) for name, points in curves.items()}

    def plot(self, path: str | Path, *, quality: str = "all") -> Path:
        """Draw the best quality against each part's weight."""
        return self.choice.plot_curves(self.curves(quality=quality), path, quality=quality, xlabel="weight of the part")

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the retriever."""
        return {
            "names": self.names, "weights": self.weights, "normalization": self.normalization, "lift": self.lift,
            "summary": self.summary, "gains": self.gains, "seconds": self.seconds, "choice": self.choice.to_dict(),
        }  # fmt: skip

    def to_json(self, path: str | Path | None = None) -> str:
        """Return `to_dict` as JSON; with `path`, also write it there."""
        text = json.dumps(self.to_dict(), indent=1, ensure_ascii=False) + "\n"
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text


@dataclass(frozen=True)
class LearnedFusion(FusionReport):
    """A fusion and the evidence for it.

    Parameters
    ----------
    retriever : Retriever
        An ordinary composition, or the one part that is best alone.
    """

    retriever: Retriever

    @property
    def reported(self) -> Retriever:
        """The retriever with its report; a part that is best alone stays as it is, and a copy of it has the report."""
        made = object.__new__(type(self.retriever))
        made.__dict__.update(vars(self.retriever))
        made.report = FusionReport(self.names, self.choice, self.gains, self.summary, self.seconds)
        return made


def _well_tried(points: dict[float, float], shares: list[float]) -> list[tuple[float, float]]:
    """Return the points of these shares, and what lies above the line between them."""
    whole = [share for share in shares if share in points]
    if not whole:
        return sorted(points.items())
    weights = sorted(points)
    line = np.interp(weights, whole, [points[share] for share in whole]).tolist()
    return [(x, points[x]) for x, least in zip(weights, line, strict=True) if x in whole or points[x] > least]
