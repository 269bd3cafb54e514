"""Estimates against exact scores of one query, as a picture: where a budgeted search is right, and where it is not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vizsla.checked import checked
from vizsla.errors import InputError
from vizsla.evaluate.figure import Drawing

if TYPE_CHECKING:
    from vizsla.methods.cur.trace import Trace

BEST = (1, 10, 100)


@checked
def plot_estimates(trace: Trace, exact: NDArray[Any], path: str | Path, *, title: str = "") -> Path:
    """Draw a trace's final estimates against exact scores; items that were scored are coloured by their round.

    Parameters
    ----------
    trace : Trace
        From `trace` of a budgeted search.
    exact : array
        The exact score of every item of the trace's pool.
    path : path
        A .png, .svg or .pdf file.
    title : str
        Above the picture.
    """
    if len(exact) != len(trace.pool):
        raise InputError(f"`exact` must be a score for each of {len(trace.pool)} items. Got {len(exact)}.")
    with Drawing(path) as drawing:
        axes = drawing.axes
        axes.scatter(exact, trace.estimates, s=3, color="#BBBBBB", label="estimated only", rasterized=True)
        places = np.searchsorted(trace.pool, trace.items)
        bought: dict[str, Any] = {"c": trace.rounds, "cmap": "viridis", "edgecolors": "white", "linewidths": 0.4}
        points = axes.scatter(trace.exact, trace.estimates[places], s=22, label="scored", zorder=3, **bought)
        drawing.figure.colorbar(points, label="found in round")
        axes.axline((float(trace.exact.max()), float(trace.exact.max())), slope=1, color="#CC6677", linewidth=0.8)
        for best in (best for best in BEST if best <= len(exact)):
            _mark(axes, float(np.sort(exact)[-best]), f"top {best}")
        axes.set(xlabel="exact score", ylabel="estimate", title=title)
        axes.legend(frameon=False, loc="upper left")
    return Path(path)


def _mark(axes: Any, score: float, name: str) -> None:
    axes.axvline(score, color="#666666", linewidth=0.7, linestyle=":")
    where = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points", "rotation": 90}
    axes.annotate(name, (score, 0.02), (-9, 0), fontsize=8, color="#666666", va="bottom", **where)
