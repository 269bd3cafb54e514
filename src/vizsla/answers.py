"""Answers as people read them: rank, score, id, and what is known of the items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from vizsla.blocks import NARROWEST, fitted, middle_cut, print_blocks
from vizsla.errors import InputError
from vizsla.excerpt import known_of
from vizsla.printable import printable
from vizsla.snippet import snippet, word_spans

if TYPE_CHECKING:
    from vizsla.candidates import Candidates

TITLE, TEXT = "title", "text"
WHOLE = 3
"""Rank and score are never cut, and an id only where there is no room for it."""
GAP, LEAST = 3, 8
"""Characters between two columns, and of one that is cut at least."""
LEAST_ID, FAIR = 16, 16
"""Columns of the terminal that an id keeps where a text would get fewer than `FAIR`: an id is cut in its middle."""
LONGEST = 2000
"""Characters of a text that a table is given; it is cut to the terminal's width."""


def known_fields(found: Candidates, row: int, fields: Sequence[str] | None) -> list[dict[str, Any]]:
    """Return what is known of each item of an answer: these fields, or all metadata without the texts.

    Examples
    --------
    >>> from vizsla import Dataset, bm25
    >>> fruit = Dataset.of([{"id": "f", "text": "a fig", "price": 3}], keep_texts=True)
    >>> known_fields(bm25(fruit)("fig"), 0, ["price", "text"])
    [{'price': 3, 'text': 'a fig'}]
    """
    details, numbers = known_of(found.catalogue), found.row(row)[0].tolist()
    if details is None:
        if fields is not None and len(fields):
            raise InputError(f"`fields` must be known of the items. Got {fields[0]!r}, but only ids were saved.")
        return [{} for _ in numbers]
    if fields is None:
        return [details.of(number) for number in numbers]
    for field in fields:
        if field not in details.fields:
            details.column(field)  # says which there are
    return [{field: details.value(field, number) for field in fields} for number in numbers]


def default_fields(found: Candidates) -> list[str]:
    """Return what is shown unless told otherwise: the texts, or else the titles."""
    details = known_of(found.catalogue)
    known = () if details is None else details.fields
    return [TEXT] if TEXT in known else [TITLE] if TITLE in known else []


def show_answers(
    found: Candidates, *, k: int, texts: Mapping[str, str] | None = None, fields: Sequence[str] | None = None
) -> None:
    """Print a table for each query; its words are highlighted in texts, on a terminal.

    Where a table has more columns than the terminal can show, there is a block per hit instead.
    """
    from vizsla.tables import print_table, terminal_width

    shown = list(fields) if fields is not None else [] if texts else default_fields(found)
    for row, (query, hits) in enumerate(zip(found.query_ids, found, strict=True)):
        known = known_fields(found, row, shown)
        if texts:
            known = [{**more, TEXT: texts.get(hit.id, "")} for hit, more in zip(hits, known, strict=True)]
        rows = [
            [
                str(rank),
                "" if hit.score is None else f"{hit.score:.4f}",
                hit.id,
                *(_said(more[field], query) for field in shown),
                *([_said(texts.get(hit.id, ""), query)] if texts else []),
            ]
            for rank, (hit, more) in enumerate(zip(hits[:k], known, strict=False), 1)
        ]
        header = ["rank", "score", "id", *shown, *([TEXT] if texts else [])]
        widths = _widths(header, rows)
        if sum(widths) + GAP * len(header) + 1 > max(terminal_width(), NARROWEST):  # columns would vanish
            print_blocks(found[row : row + 1], [known], k=k, fields=[*shown, *([TEXT] if texts else [])])
            continue
        rows = [[*cells[:2], middle_cut(printable(cells[2]), widths[2]), *cells[WHOLE:]] for cells in rows]
        cut = [[*cells[:-1], fitted(cells[-1], query, widths[-1])] if len(header) > WHOLE else cells for cells in rows]
        marked = partial(_marked, query)
        title = f"query {query}"
        print_table(header, cut, title=title, whole=WHOLE, widths=widths, highlight=marked, empty="Nothing found.")


def show_blocks(found: Candidates, *, k: int, texts: Mapping[str, str] | None = None) -> None:
    """Print one block per hit of each query: rank, score, title, id, and a snippet of the text."""
    details = known_of(found.catalogue)
    with_text = details is not None and TEXT in details.fields
    known = []
    for row, hits in enumerate(found):
        more = known_fields(found, row, None)
        said = [texts.get(hit.id, "") for hit in hits] if texts is not None else None
        if said is None and with_text:
            said = [one[TEXT] for one in known_fields(found, row, [TEXT])]
        known.append([one if said is None else {**one, TEXT: said[at]} for at, one in enumerate(more)])
    print_blocks(found, known, k=k)


def _marked(query: str, text: str) -> list[tuple[int, int]]:
    return word_spans(text, query)


def _said(value: Any, query: str) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= LONGEST else snippet(text, query, width=LONGEST)


def _widths(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    """Return the width of each column: numbers and short words stay whole, long texts share what is left of a line."""
    from vizsla.tables import full_width, is_numeric, terminal_width, whole_width

    columns = [[row[at] for row in rows] for at in range(len(header))]
    widths = [(full_width if at >= WHOLE else whole_width)(name, columns[at]) for at, name in enumerate(header)]
    room = terminal_width() - GAP * len(header) - 1
    cuttable = [at for at in range(WHOLE, len(header)) if not is_numeric(rows, at, whole=True)]
    wanted = sum(min(width, FAIR) if at in cuttable else width for at, width in enumerate(widths))
    widths[2] = max(min(widths[2], LEAST_ID), widths[2] - max(0, wanted - room))
    while cuttable:
        share = max(LEAST, (room - sum(w for at, w in enumerate(widths) if at not in cuttable)) // len(cuttable))
        short = [at for at in cuttable if widths[at] <= share]
        if not short:
            return [share if at in cuttable else width for at, width in enumerate(widths)]
        cuttable = [at for at in cuttable if at not in short]
    return widths
