"""One query."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from vizsla.item import NO_METADATA


class Query(NamedTuple):
    """What somebody asked.

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
