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
    "bytes": ("size", "bytes"),
    "bytes_per_item": ("size", "bytes an item"),
    "scored": ("scored pairs", "pairs scored a query"),
    "model_calls": ("model calls", "model calls a query"),
}

MOST_INSIDE = 4
"""Curves whose names find room inside the axes."""


def plot_comparison(
    comparison: Comparison, path: str | Path, *, x: str = "ms_p50", y: str | None = None, title: str | None = None
) -> Path:
    """Draw each system as a labelled point: its quality against what it costs.

    A system whose cost is unknown, such as a run from a file, is a labelled line at its quality.

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
    measured = {name: (getattr(one.cost, x), one.measures[measure]) for name, one in comparison.evaluations.items()}
    points = {name: (float(cost), quality) for name, (cost, quality) in measured.items() if cost is not None}
    levels = {name: quality for name, (cost, quality) in measured.items() if cost is None}
    if not points:
        raise InputError(
            f"`x` must be a cost that was measured. Got {x!r}, which {next(iter(levels))!r} lacks: runs have no cost, "
            "so compare them with a retriever, or draw no plot."
        )
    said = title or f"{measure} against {COSTS[x][0]}, {queries:,} queries"
    return plot_points(points, path, xlabel=COSTS[x][1], ylabel=measure, title=said, levels=levels)


def plot_points(
    points: Mapping[str, tuple[float, float]],
    path: str | Path,
    *,
    xlabel: str,
    ylabel: str,
    title: str,
    levels: Mapping[str, float] | None = None,
) -> Path:
    """Draw labelled points over a logarithmic cost, cheap on the left, with the line that no point lies above.

    `levels` are qualities whose cost nobody knows: they become labelled lines across the plot.
    """
    known = dict(levels or {})
    with Drawing(path) as drawing:
        axes = drawing.axes
        for number, (name, (cost, quality)) in enumerate(points.items()):
            axes.plot(cost, quality, linestyle="", label=name, zorder=3, **look(number), markersize=9)
        qualities = [quality for _, quality in points.values()] + list(known.values())
        scale_axes(axes, [cost for cost, _ in points.values()], qualities)
        _draw_levels(axes, known, first=len(points))
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
    names: Sequence[str] | None = None,
    spread: Sequence[tuple[float, float]] | None = None,
) -> Path:
    """Draw one curve a system through its (cost, quality) settings, such as recall against latency.

    Parameters
    ----------
    curves : mapping
        Points by system, in the order of the setting that was varied.
    path : path
        A .png, .svg or .pdf file.
    xlabel, ylabel, title : str
        What is drawn; the cost's label names its unit.
    cost : bool
        Whether less is better along the x axis; False for a setting, which is drawn on a plain scale.
    names : sequence of str, optional
        The settings, written beside the points of the highest curve.
    spread : sequence of pairs, optional
        Between which costs the middle half of the measurements of each setting lies; drawn as bars.
    """
    empty = next((name for name, points in curves.items() if not points), None)
    if empty is not None or not curves:
        raise InputError(f"`curves` must have points for every system. Got none for {empty!r}.")
    with Drawing(path) as drawing:
        for number, (name, points) in enumerate(curves.items()):
            _draw_curve(drawing.axes, name, points, number, spread)
        flat = [point for points in curves.values() for point in points]
        scale_axes(drawing.axes, [x for x, _ in flat], [quality for _, quality in flat], cost=cost)
        describe_axes(drawing.axes, xlabel, ylabel, title, cost=cost)
        if len(curves) > MOST_INSIDE:
            drawing.legend_below()
        elif len(curves) > 1:
            drawing.axes.legend(frameon=False, loc="best")
        else:
            drawing.axes.set_title(f"{title}: {next(iter(curves))}", pad=14)
        if names:
            _name_points(drawing, curves, names)
    return Path(path)


def _draw_curve(
    axes: Any,
    name: str,
    points: Sequence[tuple[float, float]],
    number: int,
    spread: Sequence[tuple[float, float]] | None,
) -> None:
    """Draw points where they were measured, and a line that does not turn back where noise has them out of order."""
    costs, qualities = zip(*points, strict=True)
    style = look(number)
    axes.plot(steady(costs), qualities, color=style["color"], linewidth=2, zorder=2)
    axes.plot(costs, qualities, label=name, linestyle="", zorder=3, **style, markersize=6)
    for (low, high), quality in zip(spread or (), qualities, strict=False):
        axes.plot((low, high), (quality, quality), color=style["color"], linewidth=1, alpha=0.45, zorder=1)


def steady(costs: Sequence[float]) -> list[float]:
    """Return the nearest costs that rise all along, or fall all along: neighbours out of order meet in their mean.

    Examples
    --------
    >>> steady([1.0, 3.0, 2.0, 4.0]), steady([5.0, 2.0])
    ([1.0, 2.5, 2.5, 4.0], [5.0, 2.0])
    """
    if costs[0] > costs[-1]:
        return [-cost for cost in steady([-cost for cost in costs])]
    pools: list[tuple[float, int]] = []
    for cost in costs:
        pool = (float(cost), 1)
        while pools and pools[-1][0] > pool[0]:
            before = pools.pop()
            together = before[1] + pool[1]
            pool = ((before[0] * before[1] + pool[0] * pool[1]) / together, together)
        pools.append(pool)
    return [mean for mean, count in pools for _ in range(count)]


def _name_points(drawing: Drawing, curves: Mapping[str, Sequence[tuple[float, float]]], names: Sequence[str]) -> None:
    number, points = max(enumerate(curves.values()), key=lambda curve: max(quality for _, quality in curve[1]))
    colours = [look(number)["color"]] * len(points)
    place_labels(drawing.figure, drawing.axes, dict(zip(names, points, strict=True)), colours)


def _draw_levels(axes: Any, levels: Mapping[str, float], *, first: int) -> None:
    for number, (name, quality) in enumerate(levels.items(), first):
        colour = look(number)["color"]
        axes.axhline(quality, color=colour, linewidth=1.2, linestyle=(0, (1, 2)), zorder=1)
        place = {"xycoords": ("axes fraction", "data"), "ha": "right", "va": "bottom"}
        axes.annotate(name, (0.995, quality), **place, fontsize=10.5, color=colour)


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
