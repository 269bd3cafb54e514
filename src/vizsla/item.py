"""One item of a catalogue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple


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
    """What can be found: an id, a text, and perhaps a title and more.

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
