"""One item of a catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

NO_METADATA: Mapping[str, Any] = MappingProxyType({})


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
