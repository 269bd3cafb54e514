"""Hostile changes of JSON: one value somewhere inside becomes another."""

from __future__ import annotations

import copy
from contextlib import suppress
from typing import Any

import numpy as np

VALUES: list[Any] = [
    None, True, False, -1, 0, 1, 2, 3, 255, 2**16, 2**31 - 1, 2**31, 2**32, 2**40, 2**53, 2**63 - 1, 2**63, 2**64 - 1,
    -(2**31), -(2**63), 1e-300, 1e308, -1e308, 3.4e38, -0.5, 0.5, 1.5, "", "x", "\u0000", "\U0001f600", "x" * 10_000,
    [], {}, [[]], {"x": 1}, [1, 2, 3], ["a", None], [0.5] * 100,
]  # fmt: skip


def changed(document: Any, random: np.random.Generator) -> tuple[str, Any]:
    """Return a changed copy, and what was done to it."""
    document = copy.deepcopy(document)
    places = list(_places(document, ()))
    if not places:
        value = _value(document, random)
        return f"= {value!r:.60}", value
    path = places[int(random.integers(len(places)))]
    inside = document
    for key in path[:-1]:
        inside = inside[key]
    if random.random() < 0.1:
        del inside[path[-1]]
        return f"without {path}", document
    inside[path[-1]] = _value(inside[path[-1]], random)
    return f"{path} = {inside[path[-1]]!r:.60}", document


def _places(value: Any, path: tuple) -> Any:
    keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield (*path, key)
        yield from _places(value[key], (*path, key))


def _value(old: Any, random: np.random.Generator) -> Any:
    if isinstance(old, int | float) and not isinstance(old, bool) and random.random() < 0.5:
        near = [old + 1, old - 1, old * 2, old // 2, -old, float, int, old * 1000]
        chosen = near[int(random.integers(len(near)))]
        if not isinstance(chosen, type):
            return chosen
        with suppress(OverflowError, ValueError):  # an earlier step may have made it infinite, or longer than a float
            return chosen(old)
        return old
    return VALUES[int(random.integers(len(VALUES)))]
