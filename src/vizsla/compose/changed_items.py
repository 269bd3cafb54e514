"""Items that come and go: to every part of a composition, and to a part that stands at several places once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from vizsla.arguments import is_several
from vizsla.errors import InputError
from vizsla.io.frames import plain_items
from vizsla.strings import Strings

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
    return given if isinstance(given, Mapping) or not is_several(given) else list(given)


def known_ids(ids: Iterable[str], items: Strings) -> list[str]:
    """Return ids as a list, or raise where one is unknown.

    Examples
    --------
    >>> known_ids(["b"], Strings.of(["a"]))
    Traceback (most recent call last):
    vizsla.errors.InputError: `item` must be a known id. Got 'b'.
    """
    if not is_several(ids):
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
