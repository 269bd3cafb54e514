"""Hints beside an empty answer: which values of a condition no item has, and what may have been meant."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from vizsla.details.column import Column, ListColumn, TextColumn
from vizsla.details.values import DATE, NUMBER, text_of
from vizsla.errors import InputError

if TYPE_CHECKING:
    from vizsla.details.condition import Comparison, Condition
    from vizsla.details.details import Details

MOST_WORDS = 2000
"""Distinct values among which a similar one is looked for."""
MOST_HINTS = 10


def hints(condition: Condition, details: Details) -> tuple[str, ...]:
    """Return what can be said of a condition: values that no item has, or that its parts exclude each other.

    Examples
    --------
    >>> from vizsla import Dataset, where
    >>> fruit = Dataset.of([{"id": "f", "text": "a fig", "brand": "Ace"}]).item_ids
    >>> where("brand=ace").hints(fruit)
    ("no item has brand = 'ace'; did you mean 'Ace'?",)
    """
    said: dict[str, None] = {}
    for comparison in condition.comparisons():
        said |= dict.fromkeys(_said(comparison, details))
        if len(said) >= MOST_HINTS:
            break
    if not said and not condition.holds(details).any():
        said["no item fulfils all of the conditions, though each value occurs"] = None
    return tuple(said)[:MOST_HINTS]


def _said(comparison: Comparison, details: Details) -> list[str]:
    column, field = details.column(comparison.field), comparison.field
    if comparison.type in ("eq", "ne", "in", "nin"):
        absent = [value for value in comparison.values if not column.has(value)]
        return [f"no item has {field} = {text_of(value)!r:.60}{_instead(column, text_of(value))}" for value in absent]
    try:
        if comparison.holds(details).any():
            return []
    except InputError:
        return []
    value = "" if not comparison.values else text_of(comparison.values[0])
    return [f"no item has {str(comparison)!r:.100}{_instead(column, value)}"]


def _instead(column: Column, text: str) -> str:
    if column.kind in (NUMBER, DATE):
        return f"; values are from {column.value(0)} to {column.value(column.known - 1)}" if column.known else ""
    if isinstance(column, ListColumn):
        words = list(column.entries)
    else:
        words = column.texts[:MOST_WORDS] if isinstance(column, TextColumn) else ["true", "false"]
    if not text or len(words) > MOST_WORDS or (isinstance(column, TextColumn) and column.known > MOST_WORDS):
        return ""
    by_case = {word.casefold(): word for word in words}
    near = get_close_matches(text.casefold()[:100], by_case, n=1)
    return f"; did you mean {by_case[near[0]]!r:.60}?" if near else ""
