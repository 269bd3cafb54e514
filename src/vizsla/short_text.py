"""What a `repr` shows of something long."""

from __future__ import annotations

MOST = 160


def short_text(text: str, end: str = "") -> str:
    """Return the text and its end on one line; a long text loses its tail, never the end.

    Examples
    --------
    >>> short_text("Sum(a", ")")
    'Sum(a)'
    >>> len(short_text("Sum(" + "a + " * 99, ")"))
    160
    """
    line = " ".join(text.split())
    room = MOST - len(end)
    return (line if len(line) <= room else line[: room - 1] + "…") + end
