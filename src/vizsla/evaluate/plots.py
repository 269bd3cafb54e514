"""Plots of quality against cost, for people to read: labelled points, and curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vizsla.errors import InputError, check_choice
from vizsla.evaluate.figure import Drawing, describe_axes, look, scale_axes
from vizsla.evaluate.labels import place_labels

if TYPE_CHECKING:
    from vizsla.evaluate.comparison import Comparison

COSTS = {
    "ms_p50": ("latency", "milliseconds a query, median"),
    "ms_p99": ("latency", "milliseconds a query, 99th percentile"),
    "bytes": ("index size", "bytes"),
    "bytes_per_item": ("index size", "bytes an item"),
    "scored": ("scored pairs", "pairs scored a query"),
    "model_calls": ("model calls", "model calls a query"),
}

MOST_INSIDE = 4
"""Curves whose names find room inside the axes."""


def plot_comparison(
    comparison: Comparison, path: str | Path, *, x: str = "ms_p50", y: str | None = None, title: str | None = None
) -> Path:
    """Draw each system as a labelled point: its quality against what it costs.

    Parameters
    ----------
    comparison : Comparison
        The systems.
    path : path
        A .png, .svg or .pdf file.
    x : {"ms_p50", "ms_p99", "bytes", "bytes_per_item", "scored", "model_calls"}
        The cost.
    y : str, optional
        The measure; by default the first one.
    title : str, optional
        By default what is drawn, and over how many queries.
    """
    check_choice("x", x, list(COSTS))
    measure = y or comparison.measures[0]
    check_choice("y", measure, comparison.measures)
    queries = next(iter(comparison.evaluations.values())).cost.queries
    points = {name: (_cost(one.cost, x, name), one.measures[measure]) for name, one in comparison.evaluations.items()}
    said = title or f"{measure} against {COSTS[x][0]}, {queries:,} queries"
    return plot_points(points, path, xlabel=COSTS[x][1], ylabel=measure, title=said)


def plot_points(
    points: Mapping[str, tuple[float, float]], path: str | Path, *, xlabel: str, ylabel: str, title: str
) -> Path:
    """Draw labelled points over a logarithmic cost, cheap on the left, with the line that no point lies above."""
    with Drawing(path) as drawing:
        axes = drawing.axes
        for number, (name, (cost, quality)) in enumerate(points.items()):
            axes.plot(cost, quality, linestyle="", label=name, zorder=3, **look(number), markersize=9)
        scale_axes(axes, [cost for cost, _ in points.values()], [quality for _, quality in points.values()])
        frontier = _frontier(list(points.values()))
        axes.plot(*frontier, color="#BBBBBB", linewidth=1.2, linestyle=(0, (4, 3)), zorder=1)
        describe_axes(axes, xlabel, ylabel, title)
        colours = [look(number)["color"] for number in range(len(points))]
        place_labels(drawing.figure, axes, points, colours, avoid=list(zip(*frontier, strict=True)))
    return Path(path)


def plot_curves(
    curves: Mapping[str, Sequence[tuple[float, float]]],
    path: str | Path,
    *,
    xlabel: str,
    ylabel: str,
    title: str,
    cost: bool = True,
) -> Path:
    """Draw one curve a system through its (cost, quality) settings, such as recall against latency.

    Parameters
    ----------
    curves : mapping
        Points by system, drawn in order of cost.
    path : path
        A .png, .svg or .pdf file.
    xlabel, ylabel, title : str
        What is drawn; the cost's label names its unit.
    cost : bool
        Whether less is better along the x axis; False for a setting, which is drawn on a plain scale.
    """
    empty = next((name for name, points in curves.items() if not points), None)
    if empty is not None or not curves:
        raise InputError(f"`curves` must have points for every system. Got none for {empty!r}.")
    with Drawing(path) as drawing:
        for number, (name, points) in enumerate(curves.items()):
            costs, qualities = zip(*sorted(points), strict=True)
            drawing.axes.plot(costs, qualities, label=name, linewidth=2, zorder=3, **look(number), markersize=6)
        flat = [point for points in curves.values() for point in points]
        scale_axes(drawing.axes, [x for x, _ in flat], [quality for _, quality in flat], cost=cost)
        describe_axes(drawing.axes, xlabel, ylabel, title, cost=cost)
        if len(curves) > MOST_INSIDE:  # a long legend would cover the curves
            drawing.figure.legend(frameon=False, loc="outside lower center", ncols=2)
        elif len(curves) > 1:
            drawing.axes.legend(frameon=False, loc="best")
        else:
            drawing.axes.set_title(f"{title}: {next(iter(curves))}", pad=14)
    return Path(path)


def _cost(cost: Any, x: str, name: str) -> float:
    value = getattr(cost, x)
    if value is None:
        raise InputError(f"`x` must be a cost that was measured. Got {x!r}, which {name!r} lacks.")
    return float(value)


def _frontier(points: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    """Return the steps through the points that nothing cheaper matches in quality.

    Examples
    --------
    >>> _frontier([(1.0, 0.3), (2.0, 0.2), (4.0, 0.5)])
    ([1.0, 4.0, 4.0], [0.3, 0.3, 0.5])
    """
    costs: list[float] = []
    qualities: list[float] = []
    for cost, quality in sorted(points, key=lambda point: (point[0], -point[1])):
        if not qualities:
            costs, qualities = [cost], [quality]
        elif quality > qualities[-1]:
            costs += [cost, cost]
            qualities += [qualities[-1], quality]
    return costs, qualities
