"""An artefact's parameters for people: short ones on a line, lists of records as a small table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from vizsla.artifacts import strict_json
from vizsla.artifacts.choice_lines import choice_lines, is_choice

WIDTH = 100
"""What does not fit into so many characters is taken apart."""
MOST_ROWS = 60
CELL = 24


def parameter_lines(parameters: Mapping[str, Any]) -> list[str]:
    """Return the lines that show parameters, none wider than `WIDTH`; rows of a table are numbered from 0.

    Examples
    --------
    >>> print("\\n".join(parameter_lines({"k1": 0.9, "trials": [{"name": "a" * 40, "R@10": 0.51239}] * 3})))
    k1 = 0.9
    trials:
         name                     R@10
      0  "aaaaaaaaaaaaaaaaaaaaaa…  0.5124
      1  "aaaaaaaaaaaaaaaaaaaaaa…  0.5124
      2  "aaaaaaaaaaaaaaaaaaaaaa…  0.5124
    """
    return [line for name, value in parameters.items() for line in _lines(name, value)]


def _lines(name: str, value: Any) -> Iterator[str]:
    if is_choice(value):
        first, *rows = choice_lines(value)
        yield f"{name}: {first}"
        yield from (f"  {_shortened(row, WIDTH - 2)}" for row in rows)
        return
    line = f"{name} = {strict_json.one_line(value)}"
    if len(line) <= WIDTH:
        yield line
    elif isinstance(value, dict):
        yield f"{name}:"
        yield from (f"  {_shortened(inner, WIDTH - 2)}" for inner in parameter_lines(value))
    elif isinstance(value, list) and all(isinstance(row, dict) for row in value):
        yield f"{name}:"
        yield from (f"  {_shortened(row, WIDTH - 2)}" for row in _table(value))
    else:
        counted = f" ({len(value):,} {'entries' if isinstance(value, list) else 'characters'})"
        yield _shortened(line, WIDTH - len(counted)) + counted


def _table(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    names = list(dict.fromkeys(name for row in rows for name in row))
    shown = list(enumerate(rows[:MOST_ROWS]))
    cells = [[str(number), *(_cell(row[name]) if name in row else "" for name in names)] for number, row in shown]
    header = ["", *(_shortened(name, CELL) for name in names)]
    widths = [max(map(len, column)) for column in zip(header, *cells, strict=True)]
    for row in [header, *cells]:
        line = "  ".join(_aligned(cell, width) for cell, width in zip(row, widths, strict=True))
        yield line.rstrip()
    if len(rows) > MOST_ROWS:
        yield f"… and {len(rows) - MOST_ROWS:,} more; JSON has all of them"


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else _shortened(strict_json.one_line(value), CELL)


def _aligned(cell: str, width: int) -> str:
    return cell.rjust(width) if cell[:1] in "-0123456789" else cell.ljust(width)


def _shortened(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
