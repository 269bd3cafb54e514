"""Items, queries, and the catalog: item ids with what else is known of the items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla._internal.lazy import cached_property
from vizsla.core.strings import Strings
from vizsla.errors import InputError

if TYPE_CHECKING:
    from vizsla.data.metadata import ItemMetadata


class NoMetadata(Mapping[str, Any]):
    """An empty mapping that all items can share, because it cannot be changed, and that can go to other processes."""

    __slots__ = ()

    def __getitem__(self, key: str) -> Any:
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "{}"


NO_METADATA = NoMetadata()


class Item(NamedTuple):
    """An item: an id, a text, and optionally a title and metadata.

    Parameters
    ----------
    id : str
        Unique in its dataset.
    text : str
        The body.
    title : str
        Empty where there is none.
    metadata : mapping
        Everything else that the source says about the item.

    Examples
    --------
    >>> Item("d1", "A small fruit.", title="Fig").default_text()
    'Fig A small fruit.'
    """

    id: str
    text: str
    title: str = ""
    metadata: Mapping[str, Any] = NO_METADATA

    def default_text(self) -> str:
        """Return what methods index: title and text joined by one space, or the one that is not empty."""
        if self.title and self.text:
            return f"{self.title} {self.text}"
        return self.title or self.text


class Query(NamedTuple):
    """A query: its id, text and metadata.

    Parameters
    ----------
    id : str
        Unique in its dataset.
    text : str
        The words.
    metadata : mapping
        Everything else that the source says about the query.

    Examples
    --------
    >>> Query("q1", "small fruit").text
    'small fruit'
    """

    id: str
    text: str
    metadata: Mapping[str, Any] = NO_METADATA

    def default_text(self) -> str:
        """Return the words."""
        return self.text


class Catalog(Strings):
    """Item ids with the items' metadata, and perhaps their texts.

    It is the same table as the ids alone, and equal to it: retrievers hold it in place of plain ids, so that what is
    known of items goes wherever ids go, into answers, compositions and files.

    Parameters
    ----------
    ids : Strings
        The ids.
    details : ItemMetadata
        Metadata of each item, by number.

    Examples
    --------
    >>> from vizsla.data.metadata_builder import DetailsCollector
    >>> items = [Item("fig", "a fig", metadata={"price": 3}), Item("pear", "a pear", metadata={"price": 4})]
    >>> catalog = Catalog(Strings.of(["fig", "pear"]), DetailsCollector.of(items))
    >>> catalog.details.of(1), catalog == Strings.of(["fig", "pear"])
    ({'price': 4}, True)
    """

    def __init__(self, ids: Strings, details: ItemMetadata):
        super().__init__(ids.data, ids.offsets, ids.slots, source=ids.source)
        self.details = details

    __hash__ = Strings.__hash__

    def __reduce__(self) -> tuple[Any, ...]:
        return Catalog, (Strings(self.data, self.offsets, self.slots, source=self.source), self.details)


def details_of(items: Strings | None) -> ItemMetadata | None:
    """Return what is known of a catalog's items; None where there are only ids."""
    return items.details if isinstance(items, Catalog) else None


TEXT_FIELD = "text"


class HitDetails:
    """What is known of the hits of one answer, as plain values: what a pickled answer carries in place of Details.

    Parameters
    ----------
    fields : tuple of str
        The names of all fields of the catalog that the answer came from.
    metadata : list of dict
        The metadata of each hit.
    texts : list of str or None
        The text of each hit, where texts were kept.
    """

    def __init__(self, fields: tuple[str, ...], metadata: list[dict[str, Any]], texts: list[str | None]):
        self.fields, self._metadata, self._texts = fields, metadata, texts

    @classmethod
    def taken(cls, details: ItemMetadata | HitDetails, numbers: list[int]) -> HitDetails:
        """Return what is known of these items, in this order."""
        rows = details.rows(numbers)
        return cls(details.fields, [known for known, _ in rows], [text for _, text in rows])

    def rows(self, numbers: Sequence[int]) -> list[tuple[dict[str, Any], str | None]]:
        """Return the metadata and the text of some items."""
        return [(self.of(number), self.text(number)) for number in numbers]

    def of(self, number: int) -> dict[str, Any]:
        """Return an item's metadata; a field that it does not have is left out."""
        return dict(self._metadata[number])

    def text(self, number: int) -> str | None:
        """Return an item's text; None where texts were not kept."""
        return self._texts[number]

    def value(self, field: str, number: int) -> Any:
        """Return one field of an item, None where it has none; an unknown field raises."""
        name = self.column(field)
        known = self._metadata[number]
        return self._texts[number] if name == TEXT_FIELD and TEXT_FIELD not in known else known.get(name)

    def column(self, field: str) -> str:
        """Return the name of a field, in any case where that is plain; an unknown one raises."""
        alike = [field] if field in self.fields else [n for n in self.fields if n.casefold() == field.casefold()]
        if len(alike) == 1:
            return alike[0]
        known = ", ".join(self.fields) or "none"
        raise InputError(f"A field must be one that the items have ({known}). Got {field!r:.60}.")


class Excerpt(Strings):
    """The ids of the hits of one answer, and what is known of them: what a pickled answer carries of its catalog.

    Examples
    --------
    >>> few = Excerpt.taken(Strings.of(["fig", "pear", "plum"]), np.array([0, 2]))
    >>> list(few), few.details is None
    (['fig', 'plum'], True)
    """

    def __init__(self, ids: Strings, details: HitDetails | None):
        super().__init__(ids.data, ids.offsets, ids.slots, source=ids.source)
        self.details = details

    @classmethod
    def taken(cls, catalog: Strings, numbers: NDArray[np.int32]) -> Excerpt:
        """Return the ids of these items of a catalog, in this order, and what is known of them."""
        details = known_of(catalog)
        known = None if details is None else HitDetails.taken(details, numbers.tolist())
        return cls(Strings.of(catalog.take(numbers)), known)

    __hash__ = Strings.__hash__

    def __reduce__(self) -> tuple[Any, ...]:
        return Excerpt, (Strings(self.data, self.offsets, self.slots, source=self.source), self.details)


class PageCatalog(Excerpt):
    """What is known of the hits of one page, which is read together when the first of them is asked.

    Parameters
    ----------
    catalog : Strings
        The ids of all items, and what is known of them.
    numbers : int32 array
        Those of the hits.
    """

    def __init__(self, catalog: Strings, numbers: NDArray[np.int32]):
        self._catalog, self._items = catalog, numbers

    def take(self, numbers: NDArray[np.int32]) -> list[str]:
        """Return the ids of some hits."""
        return self._catalog.take(self._items[numbers])

    @cached_property
    def details(self) -> HitDetails | None:  # type: ignore[override]
        """What is known of each hit."""
        details = details_of(self._catalog)
        return None if details is None else HitDetails.taken(details, self._items.tolist())

    __hash__ = Strings.__hash__

    def __reduce__(self) -> tuple[Any, ...]:
        return Excerpt.taken, (self._catalog, self._items)


def known_of(catalog: Strings | None) -> ItemMetadata | HitDetails | None:
    """Return what is known of the items that an answer names; None where there are only ids."""
    # Every hit asks this: looking at abstract base classes takes longer than the attribute.
    known: ItemMetadata | HitDetails | None = getattr(catalog, "details", None)
    return known
