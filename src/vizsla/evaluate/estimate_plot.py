"""Estimates against exact scores of one query, as a picture: where a budgeted search is right, and where it is not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vizsla.candidates import Candidates
from vizsla.checked import checked
from vizsla.errors import InputError
from vizsla.evaluate.figure import Drawing

if TYPE_CHECKING:
    from vizsla.methods.cur.trace import Trace

BEST = (1, 10, 100)


@checked
def plot_estimates(trace: Trace, exact: NDArray[Any] | Candidates, path: str | Path, *, title: str = "") -> Path:
    """Draw a trace's final estimates against exact scores; items that were scored are coloured by their round.

    Items whose score is infinite are left out.

    Parameters
    ----------
    trace : Trace
        From `trace` of a budgeted search.
    exact : array or Candidates
        The exact score of every item of the trace's pool, in its order; or an answer that has them, such as
        ``search.exact(query, k=len(search.items))``.
    path : path
        A .png, .svg or .pdf file.
    title : str
        Above the picture.
    """
    scores = _scores_of(trace, exact)
    shown = np.isfinite(scores)
    if not shown.any():
        raise InputError("`exact` must have a finite score, to be drawn. Got none.")
    with Drawing(path) as drawing:
        axes = drawing.axes
        axes.scatter(
            scores[shown], trace.estimates[shown], s=3, color="#BBBBBB", label="estimated only", rasterized=True
        )
        axes.axline((scores[shown].max(),) * 2, slope=1, color="#CC6677", linewidth=0.8)
        if len(trace.items):
            _draw_scored(drawing, trace)
        ranked = np.sort(scores[~np.isnan(scores)])[::-1]
        for best in (best for best in BEST if best <= len(ranked) and np.isfinite(ranked[best - 1])):
            _mark(axes, float(ranked[best - 1]), f"top {best}")
        axes.set(xlabel="exact score", ylabel="estimate", title=title)
        axes.legend(frameon=False, loc="upper left")
    return Path(path)


def _draw_scored(drawing: Drawing, trace: Trace) -> None:
    """Draw the items that were scored; rounds are whole numbers, so each has a colour of its own."""
    shown, last = np.isfinite(trace.exact), int(trace.rounds.max())
    estimates = trace.estimates[np.searchsorted(trace.pool, trace.items[shown])]
    style: dict[str, Any] = {"cmap": "viridis", "vmin": 0.5, "vmax": last + 0.5, "edgecolors": "white"}
    style |= {"s": 22, "linewidths": 0.4, "label": "scored", "zorder": 3}
    points = drawing.axes.scatter(trace.exact[shown], estimates, c=trace.rounds[shown], **style)
    points.set_cmap(points.get_cmap().resampled(last))
    ticks = np.unique(np.linspace(1, last, min(last, 10)).round())
    drawing.figure.colorbar(points, label="found in round", ticks=ticks)


def _scores_of(trace: Trace, exact: NDArray[Any] | Candidates) -> NDArray[np.float64]:
    """Return a score for each item of the pool; NaN for what an answer does not have."""
    if isinstance(exact, Candidates):
        numbers, scores = exact.row(0)
        found = np.full(len(trace.ids), np.nan)
        found[numbers] = scores
        return found[trace.pool]
    if len(exact) != len(trace.pool):
        raise InputError(f"`exact` must be a score for each of {len(trace.pool)} items. Got {len(exact)}.")
    return np.asarray(exact, np.float64)


def _mark(axes: Any, score: float, name: str) -> None:
    axes.axvline(score, color="#666666", linewidth=0.7, linestyle=":")
    where = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points", "rotation": 90}
    axes.annotate(name, (score, 0.02), (-9, 0), fontsize=8, color="#666666", va="bottom", **where)
