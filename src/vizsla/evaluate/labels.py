"""Puts names beside the points of a plot so that none covers another name or a point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import cos, pi, sin
from typing import Any

Place = tuple[float, float]
Box = tuple[float, float, float, float]
_POINT = 8.0  # half the side of the square, in pixels at 100 dpi, that a point keeps free
_RINGS = (12.0, 24.0, 40.0, 60.0, 85.0, 115.0)
_LEADER_FROM = 24.0  # a name this far from its point is joined to it by a line
_DIRECTIONS = 16


def place_labels(
    figure: Any,
    axes: Any,
    points: Mapping[str, Place],
    colours: Sequence[str],
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
    colours : sequence of str
        The points' colours; names are written in a darker shade.
    avoid : sequence of points
        The corners of a line of horizontal and vertical strokes that names keep off.
    """
    figure.draw_without_rendering()
    scale = figure.dpi / 100.0
    centres = [tuple(axes.transData.transform(point)) for point in points.values()]
    taken: list[Box] = [_square(centre, _POINT * scale) for centre in centres]
    corners = [tuple(axes.transData.transform(corner)) for corner in avoid]
    taken += [_stroke(start, end, 2 * scale) for start, end in pairwise(corners)]
    frame = axes.get_window_extent().extents
    renderer = figure.canvas.get_renderer()
    for name, centre, colour in zip(points, centres, colours, strict=True):
        text = axes.annotate(name, (0, 0), xycoords="figure pixels", fontsize=10.5)
        extent = text.get_window_extent(renderer)
        radius, box = best_box(centre, (extent.width, extent.height), taken, tuple(frame), scale)
        taken.append(box)
        text.remove()
        _write(axes, name, centre, box, colour, leader=radius >= _LEADER_FROM * scale)


def best_box(centre: Place, size: Place, taken: Sequence[Box], frame: Box, scale: float = 1.0) -> tuple[float, Box]:
    """Return how far from its point a name goes, and the box it fills.

    The nearest box that is inside the frame and covers nothing; failing that, the one that covers least.

    Examples
    --------
    >>> best_box((50, 50), (20, 10), [(42, 42, 58, 58)], (0, 0, 200, 100))
    (12.0, (62.0, 45.0, 82.0, 55.0))
    """
    best: tuple[float, float, Box] | None = None
    for ring in _RINGS:
        for direction in range(_DIRECTIONS):
            box = _beside(centre, size, ring * scale, direction)
            covered = sum(_overlap(box, other) for other in taken) + _outside(box, frame)
            if covered == 0:
                return ring * scale, box
            if best is None or covered < best[0]:
                best = (covered, ring * scale, box)
    return best[1:] if best else (0.0, (0.0, 0.0, 0.0, 0.0))


def _beside(centre: Place, size: Place, radius: float, direction: int) -> Box:
    # Right, left, above, below before the slanted ones: 0, 8, 4, 12 of 16 first.
    turn = (0, 8, 4, 12, 2, 6, 14, 10, 1, 15, 7, 9, 3, 5, 11, 13)[direction] * 2 * pi / _DIRECTIONS
    across, up = round(cos(turn), 9), round(sin(turn), 9)
    x = centre[0] + across * (radius + size[0] / 2)
    y = centre[1] + up * (radius + size[1] / 2)
    return (x - size[0] / 2, y - size[1] / 2, x + size[0] / 2, y + size[1] / 2)


def _write(axes: Any, name: str, centre: Place, box: Box, colour: str, *, leader: bool) -> None:
    """Write the name, in distances from its point: they survive another resolution or format."""
    to_points = 72.0 / axes.figure.dpi
    middle = ((box[0] + box[2]) / 2 - centre[0], (box[1] + box[3]) / 2 - centre[1])
    line = {"arrowstyle": "-", "color": colour, "alpha": 0.5, "linewidth": 0.8, "shrinkA": 0, "shrinkB": 5}
    axes.annotate(
        name,
        axes.transData.inverted().transform(centre),
        xytext=(middle[0] * to_points, middle[1] * to_points),
        textcoords="offset points",
        ha="center",
        va="center",
        fontsize=10.5,
        color=_darker(colour),
        zorder=2,
        # White behind the name hides the grid lines that it crosses.
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 0.5},
        arrowprops=line if leader else None,
    )


def _square(centre: Place, half: float) -> Box:
    return (centre[0] - half, centre[1] - half, centre[0] + half, centre[1] + half)


def _stroke(start: Place, end: Place, half: float) -> Box:
    (left, right), (low, high) = sorted((start[0], end[0])), sorted((start[1], end[1]))
    return (left - half, low - half, right + half, high + half)


def _darker(colour: str) -> str:
    """Return a colour, as #RRGGBB, at 70 % of its brightness.

    Examples
    --------
    >>> _darker("#FF8000")
    '#b25900'
    """
    return "#" + "".join(f"{int(colour[at : at + 2], 16) * 7 // 10:02x}" for at in (1, 3, 5))


def _overlap(a: Box, b: Box) -> float:
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    return width * height if width > 0 and height > 0 else 0.0


def _outside(box: Box, frame: Box) -> float:
    area = (box[2] - box[0]) * (box[3] - box[1])
    return area - _overlap(box, frame) if area - _overlap(box, frame) > 1e-6 else 0.0
