"""Text that a terminal shows and does not obey."""

from __future__ import annotations

import re

# Control characters, half surrogate pairs, and marks that turn the direction of what follows.
_OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    r"""Return the text with everything escaped that a terminal might obey instead of showing it; lines stay lines.

    Examples
    --------
    >>> print(printable("red \x1b[31m fig"))
    red \x1b[31m fig
    """
    return _OBEYED.sub(lambda found: repr(found[0])[1:-1], text)


def printable_json(text: str) -> str:
    r"""Return JSON text in which the same characters are written as JSON's own escapes.

    Examples
    --------
    >>> print(printable_json('"\x9b31m"'))
    "\u009b31m"
    """
    return _OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
