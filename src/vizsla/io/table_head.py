"""The head of a table: which column is what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from vizsla.io.fields import Fields
from vizsla.io.line_file import Line

SEPARATORS = (",", ";", "\t", "|")


class TableHead(NamedTuple):
    """Which column of a table is what.

    Parameters
    ----------
    names : tuple of str
        All columns.
    id : int
        The column of the id.
    text : tuple of int
        The columns whose texts are joined.
    title : int or None
        The column of the title.
    meta : tuple of int
        The columns that are kept as metadata.
    """

    names: tuple[str, ...]
    id: int
    text: tuple[int, ...]
    title: int | None
    meta: tuple[int, ...]

    def __str__(self) -> str:
        texts = ([] if self.title is None else [self.title]) + list(self.text)
        said = [f"id {self.names[self.id]}", f"text {' + '.join(self.names[at] for at in texts)}"]
        if self.meta:
            said.append(f"metadata {', '.join(self.names[at] for at in self.meta)}")
        return "; ".join(said)


def separator_of(line: Line) -> str:
    """Return what stands between the names of a header: the most frequent of comma, semicolon, tab and bar."""
    return max(SEPARATORS, key=lambda separator: (line.text.count(separator), -SEPARATORS.index(separator)))


def table_head(names: Sequence[str], fields: Fields, line: Line) -> TableHead:
    """Say which column is what, by the names that the user gave, or else by the usual ones; raise if that fails.

    Examples
    --------
    >>> from vizsla.io.fields import ITEM_FIELDS
    >>> print(table_head(["SKU", "Title", "Description", "Price"], ITEM_FIELDS, Line("items.csv", 1)))
    id SKU; text Title + Description; metadata Price
    """
    known = _numbered(names, line)
    if fields.given:  # a name that stands alone is the user's, and must be there
        _all(known, [usual[0] for usual in (fields.id, fields.title) if len(usual) == 1], line)
    id = _first(known, fields.id)
    title = _first(known, fields.title)
    text = _all(known, fields.text, line) if fields.joined else _some(_first(known, fields.text))
    if id is None or not (text or title is not None):
        missing = "an id" if id is None else "a text"
        listed = ", ".join(map(repr, names[:12]))
        remedy = "Name the columns: id and text (on the command line --id and --text)."
        raise line.error(f"no column of the header is known as {missing}. Got {listed}.", remedy)
    used = {id, title, *text}
    if fields.meta is None:
        meta = tuple(at for at in range(len(names)) if at not in used)
    else:
        meta = _all(known, fields.meta, line)
    stripped = tuple(name.strip() or f"column {at + 1}" for at, name in enumerate(names))
    return TableHead(stripped, id, text, title, meta)


def _numbered(names: Sequence[str], line: Line) -> dict[str, int]:
    known: dict[str, int] = {}
    for at, name in enumerate(names):
        word = name.strip()
        if word and word in known:
            raise line.error(f"every column must have a name of its own. Got {word!r} twice.", "Rename one of them.")
        known[word] = at
    return known | {name.lower(): at for name, at in known.items() if name.lower() not in known}


def _first(known: dict[str, int], names: Sequence[str]) -> int | None:
    return next((known[name] for name in (*names, *map(str.lower, names)) if name in known), None)


def _all(known: dict[str, int], names: Sequence[str], line: Line) -> tuple[int, ...]:
    missing = next((name for name in names if _first(known, [name]) is None), None)
    if missing is not None:
        raise line.error(f"there is no column {missing!r}. Got {', '.join(map(repr, known))}.", "Check the names.")
    return tuple(known[name] if name in known else known[name.lower()] for name in names)


def _some(at: int | None) -> tuple[int, ...]:
    return () if at is None else (at,)
