"""Parents: the section or the document that a passage belongs to, put together from the passages that are kept."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple

import numpy as np

from vizsla.core.catalog import details_of
from vizsla.core.strings import Strings
from vizsla.data.metadata import ItemMetadata
from vizsla.errors import InputError, check_choice

SECTION, DOCUMENT = "section", "document"
PARENTS = (SECTION, DOCUMENT)
FIELDS = ("path", "start", "end", "start_line", "end_line")
"""What must be known of a passage."""
TITLE = "title"
TRAIL = " › "
"""Stands between the headings that a passage is under."""
_PLACE = re.compile(r":\d+$")


class Piece(NamedTuple):
    """A passage, with its place in the text of its document."""

    text: str
    section: str
    trail: tuple[str, ...]
    start: int
    end: int
    start_line: int
    end_line: int


def parent_texts(items: Strings, numbers: Sequence[int], of: str) -> list[str]:
    """Return the text of the section or the document that each passage belongs to.

    It consists of all passages of the same `path`, in their order, without what two of them share. A document has its
    headings on lines of their own. An item that is no passage is its own parent.

    Parameters
    ----------
    items : Strings
        The catalog of the passages.
    numbers : sequence of int
        The passages.
    of : {"section", "document"}
        Which parent. A section is what stands under one heading, up to the next heading.
    """
    check_choice("parent", of, PARENTS)
    details = _details(items)
    documents: dict[str, list[Piece]] = {}
    found = []
    for number in numbers:
        path, text = details.value("path", number), details.text(number) or ""
        if not isinstance(path, str):
            found.append(text)
            continue
        if path not in documents:
            documents[path] = _pieces(items, details, path)
        pieces = documents[path]
        if of == SECTION:
            section = _section(items[number], path)
            pieces = [piece for piece in pieces if piece.section == section]
        found.append(_joined(pieces, headings=of == DOCUMENT) or text)
    return found


def _details(items: Strings) -> ItemMetadata:
    details = details_of(items)
    lacking = [name for name in FIELDS if details is None or name not in details.fields]
    if details is None or lacking:
        raise InputError(
            "`parent` must be asked of passages of documents. Got items without "
            f"{', '.join(f'`{name}`' for name in lacking)}: index a folder, or a document."
        )
    if "text" not in details.fields:
        raise InputError(
            "`parent` must be asked of items whose texts are kept. Got items without: build with keep_texts=True "
            "(--keep-texts)."
        )
    return details


def _section(id: str, path: str) -> str:
    """Return what the ids of the passages of one section have in common, behind the path."""
    return _PLACE.sub("", id[len(path) :])


def _pieces(items: Strings, details: ItemMetadata, path: str) -> list[Piece]:
    """Return the passages of a document in their order."""
    numbers = np.flatnonzero(details.column("path").equal([path])).astype(np.int32)
    pieces = []
    for id, (known, text) in zip(items.take(numbers), details.rows(numbers.tolist()), strict=True):
        start, end, *lines = (known.get(name) for name in FIELDS[1:])
        if not isinstance(start, int) or not isinstance(end, int) or not 0 <= end - start <= len(text or ""):
            continue  # an item with a path that is no passage
        first, last = (line if isinstance(line, int) else 0 for line in lines)
        trail = tuple(str(known[TITLE]).split(TRAIL)) if known.get(TITLE) else ()
        bare = (text or "")[len(text or "") - (end - start) :]  # kept texts begin with the title
        pieces.append(Piece(bare, _section(id, path), trail, start, end, first, last))
    return sorted(pieces, key=lambda piece: piece.start)


def _joined(pieces: list[Piece], *, headings: bool) -> str:
    """Return the text of passages of one document, with as much space between them as there was, up to a paragraph."""
    out, before = list[str](), None
    for piece in pieces:
        if before is not None and piece.end <= before.end:
            continue
        gap = piece.start - (0 if before is None else before.end)
        if before is not None and gap > 0:
            lines = piece.start_line - before.end_line
            out.append(" " if lines <= 0 else "\n" if lines == 1 else "\n\n")
        if headings and (before is None or piece.section != before.section):
            out += [f"{heading}\n\n" for heading in _new_headings(piece.trail, before, gap)]
        out.append(piece.text[max(-gap, 0) :])
        before = piece
    return "".join(out)


def _new_headings(trail: tuple[str, ...], before: Piece | None, gap: int) -> tuple[str, ...]:
    """Return the headings that stand between two passages; one that a passage holds is not among them."""
    above = () if before is None else before.trail
    shared = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(above, trail, strict=False))))
    new = trail[shared:] or trail[-1:]  # the next section may have the same heading
    while sum(map(len, new)) > gap:
        new = new[1:]
    return new
