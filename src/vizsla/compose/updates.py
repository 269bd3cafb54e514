"""Items and clicks that are added to or removed from the parts of a composition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from vizsla.base.retriever import Retriever
from vizsla.base.scorer import Scorer
from vizsla.core.strings import Strings
from vizsla.core.validation import is_iterable
from vizsla.errors import InputError
from vizsla.io.frames import plain_items

Done = dict[int, Any]
"""Parts as they have become, by what they were."""


def readable_twice(items: Any) -> Any:
    """Return items that every part can read: what can be read once only becomes a list.

    Examples
    --------
    >>> readable_twice(iter([("a", "a fig")]))
    [('a', 'a fig')]
    """
    given = plain_items(items)
    return given if isinstance(given, Mapping) or not is_iterable(given) else list(given)


def known_ids(ids: Iterable[str], items: Strings) -> list[str]:
    """Return ids as a list, or raise where one is unknown.

    Examples
    --------
    >>> known_ids(["b"], Strings.of(["a"]))
    Traceback (most recent call last):
    vizsla.errors.InputError: `item` must be a known id. Got 'b'.
    """
    if not is_iterable(ids):
        raise InputError(f"`ids` must be a collection of ids. Got {type(ids).__name__}.")
    gone = list(ids)
    unknown = next((item for item in gone if item not in items), None)
    if unknown is not None:
        raise InputError(f"`item` must be a known id. Got {unknown!r}.")
    return gone


def grown(part: Any, items: Any, done: Done) -> Any:
    """Return a part with these items too; one that takes none raises.

    Examples
    --------
    >>> from vizsla import bm25
    >>> grown(bm25({"a": "a fig"}), {"b": "a pear"}, {})
    Traceback (most recent call last):
    vizsla.errors.InputError: Every part must take new items. Got Bm25(1 items, lucene, english), which is built anew.
    """
    if id(part) not in done:
        if not hasattr(part, "with_items"):
            raise InputError(f"Every part must take new items. Got {part!r}, which is built anew.")
        inside = getattr(part, "_with_items", None)
        done[id(part)] = part.with_items(items) if inside is None else inside(items, done)
    return done[id(part)]


def shrunk(part: Any, ids: list[str], done: Done) -> Any:
    """Return a part without those of these items that it has; one that lets none go raises."""
    if id(part) not in done:
        if not hasattr(part, "without_items"):
            raise InputError(f"Every part must let items go. Got {part!r}, which is built anew.")
        inside, own = getattr(part, "_without_items", None), [item for item in ids if item in part.items]
        done[id(part)] = part if not own else part.without_items(own) if inside is None else inside(own, done)
    return done[id(part)]


def takes_clicks(part: Scorer) -> bool:
    """Return whether clicks can be added to this part, or to one inside of it.

    Examples
    --------
    >>> from vizsla.methods.bm25 import bm25
    >>> takes_clicks(bm25(["a fig"]).normalized())
    False
    """
    inner = getattr(part, "_scorers", None)
    if inner is not None:
        return any(map(takes_clicks, inner()))
    return hasattr(part, "with_clicks") and not getattr(part, "tracks_clicks", False)


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
    learns = getattr(type(part), "refit_on", Retriever.refit_on) is not Retriever.refit_on
    return learns and not hasattr(part, "with_clicks")


def changed_parts(parts: list[Any], clicks: Any, method: str) -> list[Any]:
    """Return the parts, each that takes clicks with these added or, by `without_clicks`, taken away.

    A part that stands at several places stays one. Where no part takes clicks there is nothing to do, so it raises. One
    that follows clicks takes them only if all that learn from clicks do: XR-Linear would still miss the items' clicks.
    """
    if not any(map(takes_clicks, parts)):
        remedy = "Only PEFA and bags of tokens take clicks that come later; other methods are built anew."
        raise InputError(f"`{method}` must have a part that takes clicks. Got none. {remedy}")
    from vizsla.data.dataset import Dataset

    given = list(clicks) if isinstance(clicks, Iterable) and not isinstance(clicks, str | Dataset) else clicks
    distinct = {id(part): part for part in parts}
    follow = not any(map(misses_clicks, parts))
    done = {
        at: getattr(part, method)(given) if takes_clicks(part) or (follow and _follows(part)) else part
        for at, part in distinct.items()
    }
    return [done[id(part)] for part in parts]


def _follows(part: Any) -> bool:
    return bool(getattr(part, "tracks_clicks", False))
