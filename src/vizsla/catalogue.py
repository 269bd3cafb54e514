"""Catalogue: item ids, and what else is known of the items."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vizsla.strings import Strings

if TYPE_CHECKING:
    from vizsla.details.details import Details


class Catalogue(Strings):
    """Item ids with the items' metadata, and perhaps their texts.

    It is the same table as the ids alone, and equal to it: retrievers hold it in place of plain ids, so that what is
    known of items goes wherever ids go, into answers, compositions and files.

    Parameters
    ----------
    ids : Strings
        The ids.
    details : Details
        What is known of each item, by number.

    Examples
    --------
    >>> from vizsla.details.collector import DetailsCollector
    >>> from vizsla.item import Item
    >>> items = [Item("fig", "a fig", metadata={"price": 3}), Item("pear", "a pear", metadata={"price": 4})]
    >>> catalogue = Catalogue(Strings.of(["fig", "pear"]), DetailsCollector.of(items))
    >>> catalogue.details.of(1), catalogue == Strings.of(["fig", "pear"])
    ({'price': 4}, True)
    """

    def __init__(self, ids: Strings, details: Details):
        super().__init__(ids.data, ids.offsets, ids.slots, source=ids.source)
        self.details = details

    __hash__ = Strings.__hash__

    def __reduce__(self) -> tuple[Any, ...]:
        return Catalogue, (Strings(self.data, self.offsets, self.slots, source=self.source), self.details)


def details_of(items: Strings | None) -> Details | None:
    """Return what is known of a catalogue's items; None where there are only ids."""
    return items.details if isinstance(items, Catalogue) else None
