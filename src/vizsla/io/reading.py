"""How files are read: in which encoding, and what becomes of what cannot be read."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import IO

from vizsla.errors import InputError, check_choice

ON_ERROR = ("raise", "warn", "skip")


@dataclass(frozen=True)
class Reading:
    """The choices that all readers share.

    Parameters
    ----------
    encoding : str
        "utf-8" (a byte order mark is dropped), "utf-16", "latin-1", or any other that Python knows.
    on_error : {"raise", "warn", "skip"}
        What cannot be read raises; is left out, counted, and the first ones named; or is left out and counted.
    rejected : binary file, optional
        Receives the lines that were left out, as they stood.

    Examples
    --------
    >>> Reading(encoding="UTF8").encoding, Reading().skips
    ('utf-8', False)
    """

    encoding: str = "utf-8"
    on_error: str = "raise"
    rejected: IO[bytes] | None = None

    def __post_init__(self) -> None:
        check_choice("on_error", self.on_error, ON_ERROR)
        object.__setattr__(self, "encoding", _known(self.encoding))

    @property
    def skips(self) -> bool:
        """Whether what cannot be read is left out."""
        return self.on_error != "raise"


def _known(encoding: str) -> str:
    try:
        info = codecs.lookup(encoding)
        "".encode(info.name)  # some codecs are no text encodings
    except (LookupError, TypeError, ValueError, UnicodeError):
        raise InputError(f"`encoding` must be one that Python knows, such as latin-1. Got {encoding!r:.60}.") from None
    return {"utf-8-sig": "utf-8", "iso8859-1": "latin-1"}.get(info.name, info.name)


STRICT = Reading()
