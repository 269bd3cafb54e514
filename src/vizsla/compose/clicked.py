"""Clicks that come later, given to those parts of a composition that take them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from vizsla.errors import InputError
from vizsla.retriever import Retriever
from vizsla.scorer import Scorer


def takes_clicks(part: Scorer) -> bool:
    """Return whether clicks can be added to this part, or to one inside of it.

    Examples
    --------
    >>> from vizsla.methods.bm25 import bm25
    >>> takes_clicks(bm25(["a fig"]).normalised())
    False
    """
    inner = getattr(part, "_scorers", None)
    if inner is not None:
        return any(map(takes_clicks, inner()))
    return hasattr(part, "with_clicks") and not getattr(part, "follows_clicks", False)


def misses_clicks(part: Scorer) -> bool:
    """Return whether this part, or one inside of it, has learned from clicks and takes none that come later.

    Examples
    --------
    >>> from vizsla.methods.bm25 import bm25
    >>> misses_clicks(bm25(["a fig"]))
    False
    """
    inner = getattr(part, "_scorers", None)
    if inner is not None:
        return any(map(misses_clicks, inner()))
    learns = getattr(type(part), "refitted", Retriever.refitted) is not Retriever.refitted
    return learns and not hasattr(part, "with_clicks")


def changed_parts(parts: list[Any], clicks: Any, method: str) -> list[Any]:
    """Return the parts, each that takes clicks with these added or, by `without_clicks`, taken away.

    A part that stands at several places stays one. Where no part takes clicks there is nothing to do, so it raises. One
    that follows clicks takes them only if all that learn from clicks do: XR-Linear would still miss the items' clicks.
    """
    if not any(map(takes_clicks, parts)):
        remedy = "Only PEFA and bags of tokens take clicks that come later; other methods are built anew."
        raise InputError(f"`{method}` must have a part that takes clicks. Got none. {remedy}")
    from vizsla.dataset import Dataset

    given = list(clicks) if isinstance(clicks, Iterable) and not isinstance(clicks, str | Dataset) else clicks
    distinct = {id(part): part for part in parts}
    follow = not any(map(misses_clicks, parts))
    done = {
        at: getattr(part, method)(given) if takes_clicks(part) or (follow and _follows(part)) else part
        for at, part in distinct.items()
    }
    return [done[id(part)] for part in parts]


def _follows(part: Any) -> bool:
    return bool(getattr(part, "follows_clicks", False))
