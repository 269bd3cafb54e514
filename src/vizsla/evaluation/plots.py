"""Plots of quality against cost (extra `eval`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
from itertools import pairwise
from math import cos, pi, sin
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vizsla.core.candidates import Candidates
from vizsla.core.validation import validate_args
from vizsla.errors import InputError, MissingExtraError, check_choice
from vizsla.evaluation.report import write_bytes

if TYPE_CHECKING:
    from vizsla.evaluation.compare import Comparison
    from vizsla.methods.cur.budgeted import Trace

FORMATS = ("png", "svg", "pdf")
# Okabe and Ito's colors, which color-blind readers can tell apart, without the yellow that paper swallows.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MARKERS = "osD^vPXp"  # one more than colors, so that the pairs repeat only after 56 systems
_STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.size": 11,
    "axes.titlesize": 13,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#888888",
    "axes.axisbelow": True,
    "grid.color": "#E3E3E3",
    "svg.hashsalt": "vizsla",
    "svg.fonttype": "none",
    "text.parse_math": False,  # a system's name may hold a $
}


class Drawing:
    """A figure without global state that is written, whole or not at all, when the block ends well."""

    def __init__(self, path: str | Path):
        self._path = Path(path)
        self._format = self._path.suffix.lower().removeprefix(".")
        if self._format not in FORMATS:
            raise InputError(f"`path` must end in .{', .'.join(FORMATS)}. Got {str(path)!r}.")

    def __enter__(self) -> Drawing:
        try:
            from matplotlib import rc_context
            from matplotlib.backends.backend_agg import FigureCanvasAgg
            from matplotlib.figure import Figure
        except ImportError as error:
            raise MissingExtraError("Plotting", "eval") from error
        self._style = rc_context(_STYLE)
        self._style.__enter__()
        self.figure = Figure(figsize=(7.2, 4.6), dpi=160, layout="constrained")
        FigureCanvasAgg(self.figure)
        self.axes = self.figure.subplots()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                write_bytes(self._rendered(), self._path)
        finally:
            self._style.__exit__(None, None, None)

    def legend_below(self) -> None:
        """Write the legend below the axes, which a long one would cover; the figure grows by it."""
        legend, wide = self._legend(2)
        if wide > 1:
            legend.remove()
            legend, wide = self._legend(1)
        if wide > 1:
            legend.remove()
            legend, _ = self._legend(1, fontsize=0.9 * _STYLE["font.size"] / wide)  # small letters are rounded up
        width, height = self.figure.get_size_inches()
        self.figure.set_size_inches(width, height + legend.get_window_extent().height / self.figure.dpi)

    def _legend(self, columns: int, **options: Any) -> tuple[Any, float]:
        """Return a legend, and how many times the figure's width it takes."""
        legend = self.figure.legend(frameon=False, loc="outside lower center", ncols=columns, **options)
        return legend, legend.get_window_extent().width / self.figure.bbox.width

    def _rendered(self) -> bytes:
        # Without a date the same data gives the same bytes.
        undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(self._format)
        out = BytesIO()
        self.figure.savefig(out, format=self._format, metadata=undated)
        return out.getvalue()


def marker_style(number: int) -> dict[str, Any]:
    """Return color and marker of the system with this number."""
    return {
        "color": COLORS[number % len(COLORS)],
        "marker": MARKERS[number % len(MARKERS)],
        "markeredgecolor": "white",
        "markeredgewidth": 1.0,
    }


def scale_axes(axes: Any, costs: Sequence[float], qualities: Sequence[float], *, cost: bool = True) -> None:
    """Logarithmic costs with plain numbers as ticks; room around the points for their labels."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    low, high = min(costs), max(costs)
    if low > 0 and cost:
        axes.set_xscale("log")
        margin = max((high / low) ** 0.15, 1.6)
        axes.set_xlim(low / margin, high * margin)
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0,) if high / low > 3000 else (1.0, 2.0, 5.0), numticks=12))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.tick_params(axis="x", which="minor", length=0)
    else:
        span = (high - low) or 1.0
        axes.set_xlim(low - 0.04 * span, low + (1.15 if cost else 1.04) * span)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _tick(value)))
    axes.yaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10]))
    span = (max(qualities) - min(qualities)) or 0.1
    top = max(qualities) + 0.18 * span
    # Nearly all measures end at 1: an axis that goes on past it would promise more.
    axes.set_ylim(max(min(qualities) - 0.18 * span, -0.02), min(top, 1.04) if max(qualities) <= 1 else top)


def describe_axes(axes: Any, xlabel: str, ylabel: str, title: str, *, cost: bool = True) -> None:
    """Write title, units and which way is better."""
    better = " (log scale; left is better)" if axes.get_xscale() == "log" else " (left is better)"
    axes.set_xlabel(xlabel + better if cost else xlabel, labelpad=8)
    axes.set_ylabel(f"{ylabel} (up is better)", labelpad=8)
    axes.set_title(title, pad=14)
    axes.grid(True, which="major", linewidth=0.8)


def _tick(value: float) -> str:
    """Return a number as people write it: 0.5, 20, 3k, 1.5M.

    Examples
    --------
    >>> [_tick(value) for value in (0.05, 20, 5000, 2e6, 1e9)]
    ['0.05', '20', '5k', '2M', '1G']
    """
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"


Place = tuple[float, float]
Box = tuple[float, float, float, float]
_POINT_PIXELS = 8.0  # half the side of the square, in pixels at 100 dpi, that a point keeps free
_LABEL_DISTANCES_PIXELS = (12.0, 24.0, 40.0, 60.0, 85.0, 115.0)
_LEADER_FROM = 24.0  # a name this far from its point is joined to it by a line
_LABEL_DIRECTIONS = 16


def place_labels(
    figure: Any,
    axes: Any,
    points: Mapping[str, Place],
    colors: Sequence[str],
    *,
    avoid: Sequence[Place] = (),
) -> None:
    """Write each point's name at the nearest free place, from the right of the point round it and outwards.

    Parameters
    ----------
    figure, axes : matplotlib objects
        Limits and scales are final.
    points : mapping
        Points by name.
    colors : sequence of str
        The points' colors; names are written in a darker shade.
    avoid : sequence of points
        The corners of a line of horizontal and vertical strokes that names keep off.
    """
    figure.draw_without_rendering()
    scale = figure.dpi / 100.0
    centers = [tuple(axes.transData.transform(point)) for point in points.values()]
    taken: list[Box] = [_square(center, _POINT_PIXELS * scale) for center in centers]
    corners = [tuple(axes.transData.transform(corner)) for corner in avoid]
    taken += [_stroke(start, end, 2 * scale) for start, end in pairwise(corners)]
    frame = axes.get_window_extent().extents
    renderer = figure.canvas.get_renderer()
    for name, center, color in zip(points, centers, colors, strict=True):
        text = axes.annotate(name, (0, 0), xycoords="figure pixels", fontsize=10.5)
        extent = text.get_window_extent(renderer)
        radius, box = best_box(center, (extent.width, extent.height), taken, tuple(frame), scale)
        taken.append(box)
        text.remove()
        _write(axes, name, center, box, color, leader=radius >= _LEADER_FROM * scale)


def best_box(center: Place, size: Place, taken: Sequence[Box], frame: Box, scale: float = 1.0) -> tuple[float, Box]:
    """Return how far from its point a name goes, and the box it fills.

    The nearest box that is inside the frame and covers nothing; failing that, the one that covers least.

    Examples
    --------
    >>> best_box((50, 50), (20, 10), [(42, 42, 58, 58)], (0, 0, 200, 100))
    (12.0, (62.0, 45.0, 82.0, 55.0))
    """
    best: tuple[float, float, Box] | None = None
    for ring in _LABEL_DISTANCES_PIXELS:
        for direction in range(_LABEL_DIRECTIONS):
            box = _beside(center, size, ring * scale, direction)
            covered = sum(_overlap(box, other) for other in taken) + _outside(box, frame)
            if covered == 0:
                return ring * scale, box
            if best is None or covered < best[0]:
                best = (covered, ring * scale, box)
    return best[1:] if best else (0.0, (0.0, 0.0, 0.0, 0.0))


def _beside(center: Place, size: Place, radius: float, direction: int) -> Box:
    # Right, left, above, below before the slanted ones: 0, 8, 4, 12 of 16 first.
    turn = (0, 8, 4, 12, 2, 6, 14, 10, 1, 15, 7, 9, 3, 5, 11, 13)[direction] * 2 * pi / _LABEL_DIRECTIONS
    across, up = round(cos(turn), 9), round(sin(turn), 9)
    x = center[0] + across * (radius + size[0] / 2)
    y = center[1] + up * (radius + size[1] / 2)
    return (x - size[0] / 2, y - size[1] / 2, x + size[0] / 2, y + size[1] / 2)


def _write(axes: Any, name: str, center: Place, box: Box, color: str, *, leader: bool) -> None:
    """Write the name, in distances from its point: they survive another resolution or format."""
    to_points = 72.0 / axes.figure.dpi
    middle = ((box[0] + box[2]) / 2 - center[0], (box[1] + box[3]) / 2 - center[1])
    line = {"arrowstyle": "-", "color": color, "alpha": 0.5, "linewidth": 0.8, "shrinkA": 0, "shrinkB": 5}
    axes.annotate(
        name,
        axes.transData.inverted().transform(center),
        xytext=(middle[0] * to_points, middle[1] * to_points),
        textcoords="offset points",
        ha="center",
        va="center",
        fontsize=10.5,
        color=_darker(color),
        zorder=2,
        # White behind the name hides the grid lines that it crosses.
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 0.5},
        arrowprops=line if leader else None,
    )


def _square(center: Place, half: float) -> Box:
    return (center[0] - half, center[1] - half, center[0] + half, center[1] + half)


def _stroke(start: Place, end: Place, half: float) -> Box:
    (left, right), (low, high) = sorted((start[0], end[0])), sorted((start[1], end[1]))
    return (left - half, low - half, right + half, high + half)


def _darker(color: str) -> str:
    """Return a color, as #RRGGBB, at 70 % of its brightness.

    Examples
    --------
    >>> _darker("#FF8000")
    '#b25900'
    """
    return "#" + "".join(f"{int(color[at : at + 2], 16) * 7 // 10:02x}" for at in (1, 3, 5))


def _overlap(a: Box, b: Box) -> float:
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    return width * height if width > 0 and height > 0 else 0.0


def _outside(box: Box, frame: Box) -> float:
    area = (box[2] - box[0]) * (box[3] - box[1])
    return area - _overlap(box, frame) if area - _overlap(box, frame) > 1e-6 else 0.0


COSTS = {
    "ms_p50": ("latency", "milliseconds a query, median"),
    "ms_p99": ("latency", "milliseconds a query, 99th percentile"),
    "bytes": ("size", "bytes"),
    "bytes_per_item": ("size", "bytes an item"),
    "scored": ("scored pairs", "pairs scored a query"),
    "model_calls": ("model calls", "model calls a query"),
}

MAX_NAMES_INSIDE = 4
"""Curves whose names find room inside the axes."""


def plot_comparison(
    comparison: Comparison, path: str | Path, *, x: str = "ms_p50", y: str | None = None, title: str | None = None
) -> Path:
    """Draw each system as a labeled point: its quality against what it costs.

    A system whose cost is unknown, such as a run from a file, is a labeled line at its quality.

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
    heading = title or f"{measure} against {COSTS[x][0]}, {queries:,} queries"
    return plot_points(points, path, xlabel=COSTS[x][1], ylabel=measure, title=heading, levels=levels)


def plot_points(
    points: Mapping[str, tuple[float, float]],
    path: str | Path,
    *,
    xlabel: str,
    ylabel: str,
    title: str,
    levels: Mapping[str, float] | None = None,
) -> Path:
    """Draw labeled points over a logarithmic cost, cheap on the left, with the line that no point lies above.

    `levels` are qualities whose cost is unknown: they become labeled lines across the plot.
    """
    known = dict(levels or {})
    with Drawing(path) as drawing:
        axes = drawing.axes
        for number, (name, (cost, quality)) in enumerate(points.items()):
            axes.plot(cost, quality, linestyle="", label=name, zorder=3, **marker_style(number), markersize=9)
        qualities = [quality for _, quality in points.values()] + list(known.values())
        scale_axes(axes, [cost for cost, _ in points.values()], qualities)
        _draw_levels(axes, known, first=len(points))
        frontier = _frontier(list(points.values()))
        axes.plot(*frontier, color="#BBBBBB", linewidth=1.2, linestyle=(0, (4, 3)), zorder=1)
        describe_axes(axes, xlabel, ylabel, title)
        colors = [marker_style(number)["color"] for number in range(len(points))]
        place_labels(drawing.figure, axes, points, colors, avoid=list(zip(*frontier, strict=True)))
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
        Labels of the plot; that of the cost names its unit.
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
        if len(curves) > MAX_NAMES_INSIDE:
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
    style = marker_style(number)
    axes.plot(steady(costs), qualities, color=style["color"], linewidth=2, zorder=2)
    axes.plot(costs, qualities, label=name, linestyle="", zorder=3, **style, markersize=6)
    for (low, high), quality in zip(spread or (), qualities, strict=False):
        axes.plot((low, high), (quality, quality), color=style["color"], linewidth=1, alpha=0.45, zorder=1)


def steady(costs: Sequence[float]) -> list[float]:
    """Return the nearest costs that rise all along, or fall all along: neighbors out of order meet in their mean.

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
    colors = [marker_style(number)["color"]] * len(points)
    place_labels(drawing.figure, drawing.axes, dict(zip(names, points, strict=True)), colors)


def _draw_levels(axes: Any, levels: Mapping[str, float], *, first: int) -> None:
    for number, (name, quality) in enumerate(levels.items(), first):
        color = marker_style(number)["color"]
        axes.axhline(quality, color=color, linewidth=1.2, linestyle=(0, (1, 2)), zorder=1)
        place = {"xycoords": ("axes fraction", "data"), "ha": "right", "va": "bottom"}
        axes.annotate(name, (0.995, quality), **place, fontsize=10.5, color=color)


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


MARKED_RANKS = (1, 10, 100)


@validate_args
def plot_estimates(trace: Trace, exact: NDArray[Any] | Candidates, path: str | Path, *, title: str = "") -> Path:
    """Draw a trace's final estimates against exact scores; items that were scored are colored by their round.

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
        for best in (best for best in MARKED_RANKS if best <= len(ranked) and np.isfinite(ranked[best - 1])):
            _mark(axes, float(ranked[best - 1]), f"top {best}")
        axes.set(xlabel="exact score", ylabel="estimate", title=title)
        axes.legend(frameon=False, loc="upper left")
    return Path(path)


def _draw_scored(drawing: Drawing, trace: Trace) -> None:
    """Draw the items that were scored; rounds are whole numbers, so each has a color of its own."""
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
