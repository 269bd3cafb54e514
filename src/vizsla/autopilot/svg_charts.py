"""Charts as SVG text: quality against cost with its Pareto front, and gains with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import ceil, floor, log10
from typing import NamedTuple

WIDTH, HEIGHT = 640, 300
LEFT, RIGHT, TOP, BOTTOM = 56, 24, 16, 44
MAX_NAMED = 6
"""Of so many points all have their names; of more, those on the front, and others under the pointer."""


class Point(NamedTuple):
    """A system in a chart.

    Attributes
    ----------
    name : str
        Its label.
    cost, quality : float
        Where it is; a cost above 0.
    chosen : bool
        Whether it is the one that was chosen.
    """

    name: str
    cost: float
    quality: float
    chosen: bool = False


def pareto_front(points: Sequence[Point]) -> list[Point]:
    """Return the points that no other one beats in both cost and quality, cheapest first.

    Examples
    --------
    >>> [one.name for one in pareto_front([Point("a", 1, 0.5), Point("b", 2, 0.4), Point("c", 3, 0.6)])]
    ['a', 'c']
    """
    front: list[Point] = []
    for point in sorted(points, key=lambda one: (one.cost, -one.quality)):
        if not front or point.quality > front[-1].quality:
            front.append(point)
    return front


def cost_chart(points: Sequence[Point], *, cost: str, quality: str) -> str:
    """Draw quality against cost on a logarithmic axis; the front is a line, and names appear under the pointer.

    Parameters
    ----------
    points : sequence of Point
        At least one.
    cost, quality : str
        Labels of the axes.
    """
    low = floor(log10(min(one.cost for one in points)))
    high = max(ceil(log10(max(one.cost for one in points))), low + 1)
    least, most = min(one.quality for one in points), max(one.quality for one in points)
    pad = max((most - least) * 0.1, 0.01)
    bottom, top = least - pad, most + pad

    def x(value: float) -> float:
        return LEFT + (log10(value) - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return TOP + (top - value) / (top - bottom) * (HEIGHT - TOP - BOTTOM)

    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(quality)} against {escape(cost)}">']
    for power in range(low, high + 1):
        at = x(10.0**power)
        parts.append(f'<line class="grid" x1="{at:.1f}" y1="{TOP}" x2="{at:.1f}" y2="{HEIGHT - BOTTOM}"/>')
        parts.append(f'<text class="tick" x="{at:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">'
                     f"{10.0**power:,.10g}</text>")  # fmt: skip
    for step in range(5):
        value = bottom + (top - bottom) * step / 4
        parts.append(f'<line class="grid" x1="{LEFT}" y1="{y(value):.1f}" x2="{WIDTH - RIGHT}" y2="{y(value):.1f}"/>')
        parts.append(f'<text class="tick" x="{LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{value:.3f}</text>')
    front = pareto_front(points)
    path = " ".join(f"{x(one.cost):.1f},{y(one.quality):.1f}" for one in front)
    parts.append(f'<polyline class="front" points="{path}"/>')
    for one in points:
        kind = "dot chosen" if one.chosen else "dot best" if one in front else "dot"
        said = f"{one.name}: {one.quality:.3f} at {one.cost:,.4g} {cost}"
        place = f'cx="{x(one.cost):.1f}" cy="{y(one.quality):.1f}"'
        parts.append(f'<g class="point"><circle class="{kind}" {place} r="5"><title>{escape(said)}</title></circle>')
        left = x(one.cost) < WIDTH * 0.6
        anchor, shift = ("start", 9) if left else ("end", -9)
        hidden = "" if one.chosen or one in front or len(points) <= MAX_NAMED else " more"
        parts.append(f'<text class="name{hidden}" x="{x(one.cost) + shift:.1f}" y="{y(one.quality) - 7:.1f}" '
                     f'text-anchor="{anchor}">{escape(_short(one.name))}</text></g>')  # fmt: skip
    parts.append(f'<text class="axis" x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 6}" text-anchor="middle">'
                 f"{escape(cost)}</text></svg>")  # fmt: skip
    return "".join(parts)


def gain_chart(rows: Sequence[tuple[str, float, float, float]]) -> str:
    """Draw gains with their 95 % intervals, a row each, about a line at 0.

    Parameters
    ----------
    rows : sequence of tuples
        A name, the gain, and the ends of its interval.
    """
    least, most = min(0.0, *(row[2] for row in rows)), max(0.0, *(row[3] for row in rows))
    most = most if most > least else least + 1.0
    start, stop, step = 210, WIDTH - RIGHT, 24

    def x(value: float) -> float:
        return start + (value - least) / (most - least) * (stop - start)

    height = step * len(rows) + 30
    parts = [f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="Gains by kind of search">']
    parts.append(f'<line class="zero" x1="{x(0):.1f}" y1="4" x2="{x(0):.1f}" y2="{height - 24}"/>')
    for at, (name, gain, low, high) in enumerate(rows):
        y = 16 + step * at
        kind = "gain" if low > 0 else "loss" if high < 0 else "even"
        parts.append(f'<text class="tick" x="{start - 10}" y="{y + 4}" text-anchor="end">{escape(name)}</text>')
        parts.append(f'<g class="{kind}"><line x1="{x(low):.1f}" y1="{y}" x2="{x(high):.1f}" y2="{y}"/>'
                     f'<circle cx="{x(gain):.1f}" cy="{y}" r="4"><title>{escape(name)}: {gain:+.3f} '
                     f"({low:+.3f} to {high:+.3f})</title></circle></g>")  # fmt: skip
    for value in sorted({least, 0.0, most}):
        said = f"{value:+.2f}" if value else "0"
        parts.append(f'<text class="tick" x="{x(value):.1f}" y="{height - 6}" text-anchor="middle">{said}</text>')
    return "".join([*parts, "</svg>"])


def _short(name: str, most: int = 28) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"
