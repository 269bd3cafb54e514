"""Text fields of items: their names and weights, and the texts of several fields of each item."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from vizsla.core.catalog import Item, details_of
from vizsla.core.strings import Strings
from vizsla.errors import InputError
from vizsla.io.fields import ITEM_FIELDS
from vizsla.text.streams import TextStream

TITLE, TEXT = "title", "text"
LEARN = "learn"
"""In place of weights: choose them on clicks."""
MAX_FIELDS = 32
_WEIGHTED = re.compile(r"\s*(?P<name>[^\^]+?)\s*(?:\^\s*(?P<weight>\S+))?\s*")


class FieldWeights(NamedTuple):
    """The fields that are indexed, and what their words weigh.

    Attributes
    ----------
    names : tuple of str
        The fields.
    weights : tuple of float, optional
        A weight above 0 for each; None where they are to be chosen on clicks.
    """

    names: tuple[str, ...]
    weights: tuple[float, ...] | None

    @classmethod
    def of(cls, fields: Any) -> FieldWeights:
        """Read fields as users give them: weights by name, names alone, "learn", or "title^3,description".

        Examples
        --------
        >>> FieldWeights.of("title^3,description")
        FieldWeights(names=('title', 'description'), weights=(3.0, 1.0))
        >>> FieldWeights.of(["title", "text"]).weights is None
        True
        """
        if isinstance(fields, str) and fields.strip() == LEARN:
            return cls((), None)
        if isinstance(fields, str):
            pairs = [_pair(part) for part in fields.split(",") if part.strip()]
            given: Mapping[Any, Any] = {name: weight for name, weight in pairs if weight is not None}
            names = tuple(dict.fromkeys(name for name, _ in pairs))
            fields = {name: given.get(name, 1.0) for name in names} if given else names
        if isinstance(fields, Mapping):
            return cls(_named(tuple(fields)), tuple(_weight(name, weight) for name, weight in fields.items()))
        if isinstance(fields, Sequence):
            return cls(_named(tuple(fields)), None)
        raise InputError(
            f'`fields` must be weights by name, names, or "learn". Got {type(fields).__name__}: write '
            '{"title": 3, "text": 1}.'
        )


def _pair(part: str) -> tuple[str, float | None]:
    found = _WEIGHTED.fullmatch(part)
    try:
        weight = None if found is None or found["weight"] is None else float(found["weight"])
    except ValueError:
        found = None
    if found is None:
        raise InputError(f"`fields` must be like title^3,description. Got {part.strip()!r:.60}.")
    return found["name"], weight


def _named(names: tuple[Any, ...]) -> tuple[str, ...]:
    if not names or len(names) > MAX_FIELDS or not all(isinstance(name, str) and name.strip() for name in names):
        raise InputError(f"`fields` must be from 1 to {MAX_FIELDS} names of fields. Got {names!r:.80}.")
    if len(set(names)) < len(names):
        raise InputError(f"`fields` must name each field once. Got {', '.join(names)}.")
    return names


def _weight(name: Any, weight: Any) -> float:
    number = isinstance(weight, int | float) and not isinstance(weight, bool)
    if not number or not math.isfinite(weight) or not 0 < weight <= 1e6:
        raise InputError(f"The weight of {name!r:.60} must be above 0. Got {weight!r:.60}: leave out a field of 0.")
    return float(weight)


def field_text(item: Item, name: str) -> str:
    """Return the text of one field of an item: its title, its text, or a value of its metadata; "" for none.

    Examples
    --------
    >>> item = Item("d1", "A small fruit.", title="Fig", metadata={"tags": ["sweet", "green"]})
    >>> [field_text(item, name) for name in ("title", "text", "tags", "brand")]
    ['Fig', 'A small fruit.', 'sweet green', '']
    """
    return item.title if name == TITLE else item.text if name == TEXT else plain_text(item.metadata.get(name))


def plain_text(value: Any) -> str:
    """Return a value of the metadata as a text; the entries of a list are joined by spaces."""
    if value is None:
        return ""
    if isinstance(value, list | tuple | set | frozenset):
        return " ".join(map(plain_text, value))
    return value if isinstance(value, str) else str(value)


def resolved(items: Any, names: Sequence[str]) -> tuple[str, ...]:
    """Return fields by the names that items have them by: a column that was read as text or title is called so.

    Without names, all text fields of the items: the title and the text, or the columns that make up the text.

    Examples
    --------
    >>> from vizsla.data.dataset import Dataset
    >>> shop = Dataset.of([{"id": "1", "name": "Fig", "description": "a small fruit"}])
    >>> resolved(shop, ["name", "description"]), resolved(shop, [])
    (('title', 'text'), ('title', 'text'))
    """
    records = getattr(items, "items", None)
    columns: Mapping[str, str] = getattr(records, "columns", {})
    ids = getattr(items, "item_ids", None)
    details = details_of(ids) if isinstance(ids, Strings) else None
    known = set(details.columns) if details is not None else set()
    if not names:
        own = tuple(dict.fromkeys(role for role in columns.values() if role not in (TITLE, TEXT)))
        return (TITLE, *(own or (TEXT,)))
    return _named(tuple(_resolved(name, columns, known, is_described=ids is not None) for name in names))


def _resolved(name: str, columns: Mapping[str, str], known: set[str], *, is_described: bool) -> str:
    if name in (TITLE, TEXT) and name not in columns:
        return name
    if name in columns:
        return columns[name]
    if name in known or not is_described:
        return name
    for role, usual in ((TITLE, ITEM_FIELDS.title), (TEXT, ITEM_FIELDS.text)):
        if name.lower() in usual:
            return role
    there = ", ".join(dict.fromkeys((TITLE, TEXT, *columns, *sorted(known))))
    raise InputError(f"`fields` must be fields of the items ({there:.200}). Got {name!r:.60}.")


def weights_of(items: Any, fields: Mapping[str, float] | str) -> dict[str, float]:
    """Return the weights of fields of items, by the names that items have them by; names without weights raise.

    Examples
    --------
    >>> weights_of({"a": "fig"}, "title^3,text")
    {'title': 3.0, 'text': 1.0}
    """
    given = FieldWeights.of(fields)
    if given.weights is None:
        raise InputError(f'`fields` must have weights, such as {{"title": 3, "text": 1}}. Got {fields!r:.80}.')
    return dict(zip(resolved(items, given.names), given.weights, strict=True))


class FieldStream(TextStream):
    """Yields the texts of some fields of each item of a catalog, once; `ids` are known when it is through.

    Parameters
    ----------
    items
        As for `TextStream`. Items without fields, such as (id, text) pairs, have the field "text" alone.
    names : sequence of str
        The fields, as `resolved` has them.
    ids : iterable of str, optional
        As for `TextStream`.

    Examples
    --------
    >>> stream = FieldStream([Item("d1", "A small fruit.", title="Fig")], ["title", "text"])
    >>> list(stream.rows())
    [('Fig', 'A small fruit.')]
    """

    def __init__(self, items: Any, names: Sequence[str], ids: Iterable[str] | None = None):
        super().__init__(items, ids)
        self.names = tuple(names)

    def rows(self) -> Iterator[tuple[str, ...]]:
        """Yield the texts of all fields, item by item; a catalog in which all of them are empty raises."""
        found = False
        for item, text in self.pairs():
            row = self.texts_of(item, text)
            found = found or any(row)
            yield row
        if not found and len(self.ids):
            raise InputError(f"`fields` must be fields of the items. Got {', '.join(self.names)}, which none has.")

    def texts_of(self, item: Any, text: str) -> tuple[str, ...]:
        """Return the texts of an item's fields; one without fields has the field "text" alone."""
        if isinstance(item, Item):
            return tuple(field_text(item, name) for name in self.names)
        return tuple(text if name == TEXT else "" for name in self.names)
