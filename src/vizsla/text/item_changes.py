"""Items that come and go: what a caller hands over, checked in one way for every method that takes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla.arguments import is_several
from vizsla.details.gather import described
from vizsla.errors import InputError
from vizsla.io.frames import plain_items
from vizsla.strings import Strings


def new_items(known: Strings, items: Mapping[str, str] | Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return new items as (id, text) pairs; an id that is known, or anything else than such pairs, raises.

    Examples
    --------
    >>> new_items(Strings.of(["a"]), {"b": "a fig"})
    [('b', 'a fig')]
    """
    items = plain_items(items)
    if not is_several(items) and not hasattr(items, "item_ids"):
        raise InputError(f"`items` must be texts by id, or (id, text) pairs. Got {type(items).__name__}.")
    if isinstance(getattr(items, "item_ids", None), Strings):
        items = items.items  # type: ignore[union-attr, assignment]
    rows: list[Any] = list(items.items() if isinstance(items, Mapping) else items)
    pairs = [(row.id, row.default_text()) if hasattr(row, "default_text") else row for row in rows]
    for pair in pairs:
        if not _is_pair(pair):
            raise InputError(f"`items` must be texts by id, or (id, text) pairs. Got {pair!r:.80}.")
        if pair[0] in known:
            raise InputError(f"`items` must be new. Got {pair[0]!r}, which is there: leave it out, or remove it first.")
    return pairs


def kept_items(known: Strings, ids: Iterable[str]) -> NDArray[np.int64]:
    """Return the numbers of all items but these; one must be left.

    Examples
    --------
    >>> kept_items(Strings.of(["a", "b", "c"]), ["b"]).tolist()
    [0, 2]
    """
    if isinstance(ids, str):
        raise InputError(f"`ids` must be several ids. Got the text {ids!r:.60}: put it into a list.")
    if not is_several(ids):
        raise InputError(f"`ids` must be several ids. Got {type(ids).__name__}.")
    kept = np.ones(len(known), dtype=np.bool_)
    kept[[known.number(item) for item in ids]] = False
    if not kept.any():
        raise InputError("At least one item must be left. Got the ids of all of them.")
    return np.flatnonzero(kept)


def grown_ids(known: Strings, ids: Strings | Iterable[str], source: Any = None) -> Strings:
    """Return the ids of a catalogue and of new items, with what both sides know of theirs.

    Examples
    --------
    >>> list(grown_ids(Strings.of(["a"]), ["b"]))
    ['a', 'b']
    """
    both = Strings.unique([*known, *ids], what="item id")
    given = None if source is None else plain_items(source)
    return described(both, [known, *_catalogues(given, ids)], settled=True)


def left_ids(known: Strings, kept: NDArray[np.int64]) -> Strings:
    """Return the ids of the items that are left, with what is known of them."""
    return described(Strings.of(known.take(kept.astype(np.int32))), [known])


def _catalogues(*sources: Any) -> list[Strings]:
    found = [getattr(source, "item_ids", getattr(source, "ids", source)) for source in sources]
    return [source for source in found if isinstance(source, Strings)]


def _is_pair(pair: Any) -> bool:
    return isinstance(pair, tuple | list) and len(pair) == 2 and all(isinstance(part, str) for part in pair)
