"""Items and clicks that are added to or removed from the parts of a composition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from vizsla.base.retriever import Retriever
from vizsla.base.scorer import Scorer
from vizsla.core.validation import is_iterable
from vizsla.errors import InputError
from vizsla.io.frames import plain_items

Memo = dict[int, Retriever]
"""Parts as they have become, by the id of what they were."""


def readable_twice(items: Any) -> Any:
    """Return items that every part can read: what can be read once only becomes a list.

    Examples
    --------
    >>> readable_twice(iter([("a", "a fig")]))
    [('a', 'a fig')]
    """
    given = plain_items(items)
    return given if isinstance(given, Mapping) or not is_iterable(given) else list(given)


def add_items(part: Scorer, items: Any, memo: Memo) -> Retriever:
    """Return a part with these items too; one that takes none raises.

    Examples
    --------
    >>> from vizsla import bm25
    >>> list(add_items(bm25({"a": "a fig"}), {"b": "a pear"}, {}).items)
    ['a', 'b']
    """
    if id(part) not in memo:
        if not isinstance(part, Retriever) or not (part.takes_items or part._says_why_not):
            raise InputError(f"Every part must take new items. Got {part!r}, which is built again.")
        memo[id(part)] = part._with_items(items, memo)
    return memo[id(part)]


def remove_items(part: Scorer, ids: list[str], memo: Memo) -> Retriever:
    """Return a part without those of these items that it has; one that lets none go raises."""
    if id(part) not in memo:
        if not isinstance(part, Retriever) or not (part.takes_items or part._says_why_not):
            raise InputError(f"Every part must let items go. Got {part!r}, which is built again.")
        own = [item for item in ids if item in part.items]
        memo[id(part)] = part._without_items(own, memo) if own else part
    return memo[id(part)]


def takes_clicks(part: Scorer) -> bool:
    """Return whether clicks can be added to this part, or to one inside of it.

    Examples
    --------
    >>> from vizsla.methods.bm25 import bm25
    >>> takes_clicks(bm25(["a fig"]).normalized())
    False
    """
    return isinstance(part, Retriever) and part.takes_clicks


def misses_clicks(part: Scorer) -> bool:
    """Return whether this part, or one inside of it, has learned from clicks and takes none that come later.

    Examples
    --------
    >>> from vizsla.methods.bm25 import bm25
    >>> misses_clicks(bm25(["a fig"]))
    False
    """
    return isinstance(part, Retriever) and part._misses_clicks


def changed_parts(parts: Sequence[Scorer], clicks: Any, *, added: bool) -> list[Scorer]:
    """Return the parts, each that takes clicks with these added or taken away.

    A part that stands at several places stays one. Where no part takes clicks there is nothing to do, so it raises. One
    that follows clicks takes them only if all that learn from clicks do: XR-Linear would still miss the items' clicks.
    """
    if not any(map(takes_clicks, parts)):
        remedy = "Only PEFA and token retrievers take clicks that come later; other methods are built again."
        method = "with_clicks" if added else "without_clicks"
        raise InputError(f"`{method}` must have a part that takes clicks. Got none. {remedy}")
    from vizsla.data.dataset import Dataset

    given = list(clicks) if isinstance(clicks, Iterable) and not isinstance(clicks, str | Dataset) else clicks
    follow = not any(map(misses_clicks, parts))
    memo: dict[int, Scorer] = {}
    for part in parts:
        if id(part) not in memo:
            changes = isinstance(part, Retriever) and (part.takes_clicks or (follow and part.tracks_clicks))
            memo[id(part)] = _changed(part, given, added) if changes and isinstance(part, Retriever) else part
    return [memo[id(part)] for part in parts]


def _changed(part: Retriever, clicks: Any, added: bool) -> Retriever:
    return part.with_clicks(clicks) if added else part.without_clicks(clicks)
