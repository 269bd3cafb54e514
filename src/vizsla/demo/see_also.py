"""The "See Also" section of a numpydoc docstring: which names it gives, and what it says about them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_TARGET = r"(?::[\w:]+:)?`~?(?:[\w.]+ <)?[\w.]+>?`|[\w.]+"
_ENTRY = re.compile(rf"(?P<names>(?:{_TARGET})(?:\s*,\s*(?:{_TARGET}))*)\s*,?\s*(?::(?:\s+(?P<said>.*)|$)|$)")
_NAME = re.compile(r":[\w:]+:`|([\w.]*\w)")
_TITLE = re.compile(r"see also", re.IGNORECASE)


class Entry(NamedTuple):
    """One entry: its names as they are written, and what is said about them, if anything."""

    names: tuple[str, ...]
    said: str


def see_also(doc: str) -> list[Entry]:
    """Return the entries of the section "See Also", in order.

    Examples
    --------
    >>> see_also("See Also\\n--------\\nmean, ma.var : moments of\\n    an array.\\n:func:`prod`\\n    Product.")
    [Entry(names=('mean', 'ma.var'), said='moments of an array.'), Entry(names=('prod',), said='Product.')]
    """
    lines = doc.split("\n")
    entries: list[Entry] = []
    for line in (lines[place] for place in _section(lines)):
        entry = _ENTRY.fullmatch(line.rstrip()) if line[:1].strip() else None
        if entry is not None:
            entries.append(Entry(_names(entry["names"]), (entry["said"] or "").strip()))
        elif line[:1].strip():
            entries.append(Entry((), ""))  # Prose: what follows, indented, belongs to it and to no name.
        elif line.strip() not in ("", "..") and entries and entries[-1].names:
            entries[-1] = Entry(entries[-1].names, f"{entries[-1].said} {line.strip()}".strip())
    return [entry for entry in entries if entry.names]


def without_descriptions(doc: str) -> str:
    """Return the docstring with the names, but not the descriptions, in its section "See Also".

    Examples
    --------
    >>> without_descriptions("See Also\\n--------\\nmean : average.\\nvar\\n\\nNotes\\n-----\\nFast.")
    'See Also\\n--------\\nmean, var\\n\\nNotes\\n-----\\nFast.'
    """
    lines = doc.split("\n")
    section = _section(lines)
    if not section:
        return doc
    names = ", ".join(name for entry in see_also(doc) for name in entry.names)
    below = ["", *lines[section.stop :]] if section.stop < len(lines) else []
    return "\n".join([*lines[: section.start], names, *below])


def _section(lines: list[str]) -> range:
    """Return the places of the section's lines, without title and rule."""
    for place in range(len(lines) - 1):
        if _TITLE.fullmatch(lines[place].strip()) and _is_rule(lines[place + 1]):
            end = next(_titles(lines, place + 2), len(lines))
            return range(place + 2, end)
    return range(0)


def _titles(lines: list[str], start: int) -> Iterator[int]:
    return (place for place in range(start, len(lines) - 1) if lines[place].strip() and _is_rule(lines[place + 1]))


def _is_rule(line: str) -> bool:
    return len(line.strip()) > 2 and set(line.strip()) <= {"-", "="}


def _names(written: str) -> tuple[str, ...]:
    return tuple(match[1] for match in _NAME.finditer(written) if match[1])
