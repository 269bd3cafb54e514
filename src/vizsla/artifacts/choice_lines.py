"""A choice for people: what was tried on held-out clicks, the best of it first, as a small table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

KEYS = {"measure", "cold", "warm", "trials", "best"}
QUALITIES = ("all", "warm", "cold")
SHOWN = 6
CELL = 24


def is_choice(value: object) -> bool:
    """Whether a parameter says how settings were chosen.

    Examples
    --------
    >>> is_choice({"measure": "MRR@10", "cold": 1, "warm": 1, "trials": [{"k": 1, "all": 0.5}], "best": 0})
    True
    """
    if not isinstance(value, dict) or set(value) - {"repeated"} != KEYS or not isinstance(value["trials"], list):
        return False
    trials, best = value["trials"], value["best"]
    if not all(isinstance(value[name], int) for name in ("cold", "warm")):
        return False
    plain = all(isinstance(trial, dict) and isinstance(trial.get("all"), int | float) for trial in trials)
    return plain and isinstance(best, int) and 0 <= best < len(trials)


def choice_lines(choice: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line that says how it was chosen, and a table: what was chosen, marked, and the best of the others.

    Examples
    --------
    >>> trials = [{"weight": 1.0, "all": 0.31}, {"weight": 0.5, "all": 0.4}]
    >>> print("\\n".join(choice_lines({"measure": "MRR@10", "cold": 4, "warm": 9, "trials": trials, "best": 1})))
    chosen of 2 by MRR@10 on 9 warm and 4 cold held-out queries
       weight     all
    *     0.5  0.4000
            1  0.3100
    """
    trials, best = choice["trials"], choice["best"]
    asked = f"{choice['warm']:,} warm and {choice['cold']:,} cold held-out queries"
    yield f"chosen of {len(trials):,} by {choice['measure']} on {asked}"
    order = sorted(range(len(trials)), key=lambda number: (number != best, -trials[number]["all"], number))[:SHOWN]
    names = list(dict.fromkeys(name for number in order for name in trials[number]))
    names = [name for name in names if name not in QUALITIES] + [name for name in QUALITIES if name in names]
    cells = [["*" if n == best else "", *(_cell(name, trials[n].get(name)) for name in names)] for n in order]
    table = [["", *names], *cells]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        yield "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
    if len(trials) > SHOWN:
        yield f"… and {len(trials) - SHOWN:,} more; JSON has all of them"


def _cell(name: str, value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.4f}" if name in QUALITIES else f"{value:g}"
    text = str(value)
    return text if len(text) <= CELL else text[: CELL - 1] + "…"
