"""A figure in the house's look: sober, readable when printed, the same bytes for the same data."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from vizsla.errors import InputError, MissingExtraError
from vizsla.evaluate.write import write_bytes

FORMATS = ("png", "svg", "pdf")
# Okabe and Ito's colours, which colour-blind readers can tell apart, without the yellow that paper swallows.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MARKERS = "osD^vPXp"  # one more than colours, so that the pairs repeat only after 56 systems
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


def look(number: int) -> dict[str, Any]:
    """Return colour and marker of the system with this number."""
    return {
        "color": COLOURS[number % len(COLOURS)],
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
