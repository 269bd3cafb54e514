"""Catalogues in whatever shape they come, read once as texts while their ids are noted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any

from vizsla.arguments import is_several
from vizsla.errors import InputError
from vizsla.io.frames import plain_items
from vizsla.strings import Strings


class TextStream:
    """Yields a catalogue's texts, once; `ids` are known when it is through.

    Parameters
    ----------
    items
        Texts, a mapping of id to text, (id, text) pairs, objects with `id` and `default_text()`, a dataset that has
        such `items`, or what `Dataset.of` makes one of: a data frame, or dicts.
    ids : iterable of str, optional
        The ids, when `items` are texts. Without them an item's id is its number.

    Examples
    --------
    >>> stream = TextStream({"a": "fig", "b": "pear"})
    >>> list(stream), list(stream.ids)
    (['fig', 'pear'], ['a', 'b'])
    """

    def __init__(self, items: Any, ids: Iterable[str] | None = None):
        items = plain_items(items)
        known = getattr(items, "item_ids", getattr(items, "ids", None))
        self._known = known if isinstance(known, Strings) else None  # a dataset's ids are checked, and carry details
        self._items = getattr(items, "items", items) if not isinstance(items, Mapping) else items.items()
        if not is_several(self._items):
            raise InputError(f"`items` must be texts, a mapping, pairs or a dataset. Got {type(items).__name__}.")
        self._given = None if ids is None else Strings.unique(ids)
        self._ids: Strings | None = None

    @property
    def ids(self) -> Strings:
        """The items' ids, by number."""
        if self._ids is None:
            raise InputError("The ids are known only after all texts were read.")
        return self._ids

    def __iter__(self) -> Iterator[str]:
        remaining = iter(self._items)
        head = list(islice(remaining, 1))
        rows = chain(head, remaining)
        if not head or isinstance(head[0], str):
            yield from self._plain(rows)
        else:
            yield from self._named(rows)

    def _plain(self, texts: Iterable[str]) -> Iterator[str]:
        count = 0
        for text in texts:
            yield _text(text, count)
            count += 1
        if self._given is not None and len(self._given) != count:
            raise InputError(f"`ids` must be as many as the texts ({count}). Got {len(self._given)}.")
        self._ids = Strings.of(map(str, range(count))) if self._given is None else self._given

    def _named(self, rows: Iterable[Any]) -> Iterator[str]:
        if self._given is not None:
            raise InputError("`ids` must be None for items that bring their own. Got both.")
        if self._known is not None:
            yield from (_text(row.default_text(), number) for number, row in enumerate(rows))
            self._ids = self._known
            return
        ids: list[str] = []
        for row in rows:
            id, text = _id_and_text(row, len(ids))
            yield _text(text, len(ids))
            ids.append(id)
        self._ids = Strings.unique(ids, what="item id")


def _text(text: Any, number: int) -> str:
    if not isinstance(text, str):
        raise InputError(f"`texts` must hold str. Got {type(text).__name__} at position {number}.")
    return text


def _id_and_text(row: Any, number: int) -> tuple[str, str]:
    if hasattr(row, "default_text"):
        return row.id, row.default_text()
    if isinstance(row, (tuple, list)) and len(row) == 2 and isinstance(row[0], str):
        return row[0], row[1]
    remedy = ": ids are texts, so write str(id)" if isinstance(row, tuple | list) and len(row) == 2 else ""
    raise InputError(f"Every item must be a text or an (id, text) pair. Got {row!r:.100} at position {number}{remedy}.")
