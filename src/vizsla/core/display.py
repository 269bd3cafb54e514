"""Answers as people read them: rank, score, id, metadata and a snippet of the text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from vizsla._internal.terminal import escape_control, honest_console, terminal_width
from vizsla.core.catalog import known_of
from vizsla.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from vizsla.core.candidates import Candidates

_WORD = re.compile(r"\w+")
_SPACED = re.compile(r"[\u0000-\u0dff\u1000-\u109f\u10a0-\u177f\u1800-\u2e7f]")
"""Scripts that put spaces between words, roughly; in others a word is found anywhere."""
MIN_STEM_CHARS = 4


def word_spans(text: str, query: str) -> list[tuple[int, int]]:
    """Return where words of the query stand in a text, whatever their case; longer words with their endings.

    Examples
    --------
    >>> word_spans("Figs and a fig tree.", "fig TREES")
    [(0, 4), (11, 14), (15, 19)]
    """
    words = {word.casefold() for word in _WORD.findall(query)}
    patterns = [_pattern(word) for word in sorted(words, key=lambda word: (-len(word), word))]
    if not patterns:
        return []
    return [found.span() for found in re.finditer("|".join(patterns), text, re.I)]


def snippet(text: str, query: str, *, width: int) -> str:
    """Return at most `width` characters of a text, on one line, from where most of the query's words stand close by.

    Examples
    --------
    >>> snippet("All about apples, pears and plums, and in the end about figs.", "figs", width=20)
    '…end about figs.'
    """
    line = " ".join(text.split())
    if len(line) <= width:
        return line
    starts = [start for start, _ in word_spans(line, query)]
    best = max(
        starts, key=lambda start: (sum(start <= other < start + width * 3 // 4 for other in starts), -start), default=0
    )
    if best + 8 <= width // 2 or width < 8:
        return line[: max(width - 1, 0)] + "…"
    begin = max(0, min(best - width // 4, len(line) - width + 1))
    begin = line.find(" ", begin, best) + 1 or begin
    if not begin:
        return line[: width - 1] + "…"
    piece = line[begin : begin + width - 1]
    return f"…{piece}" if begin + width - 1 >= len(line) else f"…{piece[:-1]}…"


def _pattern(word: str) -> str:
    if not _SPACED.match(word):
        return re.escape(word)
    stem = word[:-1] if len(word) > MIN_STEM_CHARS and word.endswith("s") else word
    ending = r"\w{0,2}" if len(word) >= MIN_STEM_CHARS else "s?"
    return rf"\b{re.escape(stem)}{ending}\b"


TITLE_FIELDS = ("title", "heading", "name")
"""Fields whose value heads a block; the first that an item has is taken."""
BLOCK_TEXT = "text"
SNIPPET_LINES = 2
"""How many lines a snippet takes."""
MIN_TERMINAL_COLUMNS = 20
"""A terminal is taken to have so many columns at least."""
MAX_SEARCHED_CHARS = 2000
"""Characters of a text in which the query's words are looked for."""


def middle_cut(text: str, width: int) -> str:
    """Return a text that takes at most `width` columns of a terminal; what is too long loses its middle.

    Ids of one folder or site begin alike, and often end alike: both ends tell them apart better than one.

    Examples
    --------
    >>> middle_cut("docs/guide/installation.md#linux", 20)
    'docs/guid…n.md#linux'
    """
    from rich.cells import cell_len, set_cell_size

    if cell_len(text) <= width:
        return text
    if width < 3:
        return set_cell_size(text, max(width, 0))
    head = set_cell_size(text, (width - 1) // 2).rstrip()
    tail = ""
    for character in reversed(text):
        if cell_len(head) + 1 + cell_len(character + tail) > width:
            break
        tail = character + tail
    return f"{head}…{tail}"


def print_blocks(
    found: Candidates,
    known: Sequence[Sequence[Mapping[str, Any]]],
    *,
    k: int,
    fields: Sequence[str] | None = None,
    offset: int = 0,
    others: Sequence[int | None] = (),
) -> None:
    """Print the best `k` hits of each query as blocks that fit the terminal.

    Parameters
    ----------
    found : Candidates
        The answer.
    known : one list per query, one mapping per hit
        Metadata of each hit: its title and text are shown.
    k : int
        How many hits per query.
    fields : sequence of str, optional
        Show these fields, a line each, in place of title and text.
    offset : int
        How many hits come before the first.
    others : sequence of int, optional
        How many other items are in the group of each hit.
    """
    console = honest_console()
    width = max(terminal_width(), MIN_TERMINAL_COLUMNS)
    for query, hits, details in zip(found.query_ids, found, known, strict=True):
        _print(console, _styled(f"query {query}", "", "italic"))
        if not hits:
            console.print("Nothing found.")
        for rank, (hit, more) in enumerate(zip(hits[:k], details, strict=False), offset + 1):
            score = "" if hit.score is None else f"{hit.score:.4f}  "
            lead = f"{rank:>{len(str(offset + min(k, len(hits))))}}  {score}"
            lines = _block(console, lead, hit.id, more, query, width, fields)
            if said := _others(others, rank - offset):
                lines.insert(1, _styled(f"    {said}", "", "dim"))
            for line in lines:
                _print(console, line)
        console.print()


def _others(others: Sequence[int | None], rank: int) -> str:
    """Return how many other items are in the group of a hit; nothing where there are none."""
    count = others[rank - 1] if rank <= len(others) else None
    return f"+{count:,} more" if count else ""


def _block(
    console: Console,
    lead: str,
    id: str,
    known: Mapping[str, Any],
    query: str,
    width: int,
    fields: Sequence[str] | None,
) -> list[Text]:
    """Return the lines of one hit. Off a terminal an id is whole, so that a program can take it."""
    from rich.text import Text

    indent = " " * 4
    room, inner = width - len(lead), width - len(indent)
    whole = not console.is_terminal
    shown = _line(id)
    title = (
        "" if fields is not None else _line(next((str(known[name]) for name in TITLE_FIELDS if known.get(name)), ""))
    )
    if not title:
        lines = [Text(lead) + _styled(shown if whole else middle_cut(shown, room), "", "bold")]
    else:
        lines = [Text(lead) + _styled(fitted(title, query, room), query, "")]
        lines.append(Text(indent) + _styled(shown if whole else middle_cut(shown, inner), "", "dim"))
    if fields is not None:
        for name in fields:
            value = "" if known.get(name) is None else _line(f"{name}: {known[name]}"[:MAX_SEARCHED_CHARS])
            lines += [Text(indent) + _styled(fitted(value, query, inner), query, "")] if value else []
        return lines
    text = str(known.get(BLOCK_TEXT) or "")
    own = str(next((known[name] for name in TITLE_FIELDS if known.get(name)), ""))
    return lines + [Text(indent) + line for line in _snippet(console, text.removeprefix(own), query, inner)]


def _snippet(console: Console, text: str, query: str, width: int) -> list[Text]:
    """Return the part of a text that shows the query's words, on as many lines as a snippet takes."""
    short = snippet(text, query, width=MAX_SEARCHED_CHARS) if len(text) > MAX_SEARCHED_CHARS else text
    characters = SNIPPET_LINES * width
    while characters > 0:
        styled = _styled(_line(snippet(short, query, width=characters)), query, "")
        lines = list(styled.wrap(console, width)) if styled.plain else []
        if len(lines) <= SNIPPET_LINES:
            for line in lines:
                line.rstrip()
            return lines
        characters -= max(1, characters // 10)
    return []


def fitted(text: str, query: str, width: int) -> str:
    """Return a snippet that takes so many columns: a Chinese character takes two."""
    from rich.cells import cell_len

    characters = width
    while (excess := cell_len(found := snippet(text, query, width=characters)) - width) > 0:
        characters -= (excess + 1) // 2
    return found


def _styled(text: str, query: str, style: str) -> Text:
    from rich.text import Text

    styled = Text(_line(text), style=style)
    for start, end in word_spans(styled.plain, query) if query else []:
        styled.stylize("bold", start, end)
    return styled


def _line(text: str) -> str:
    return escape_control(" ".join(text.split("\n")))


def _print(console: Console, line: Text) -> None:
    console.print(line, no_wrap=True, overflow="ignore", crop=False)


TITLE, TEXT = "title", "text"
UNCUT_COLUMNS = 3
"""Rank and score are never cut, and an id only where there is no room for it."""
COLUMN_GAP_CHARS, MIN_COLUMN_CHARS = 3, 8
"""Characters between two columns, and of one that is cut at least."""
MIN_ID_CHARS, MIN_TEXT_CHARS = 16, 16
"""What an id keeps where a text would get fewer than `MIN_TEXT_CHARS`: an id is cut in its middle."""


def known_fields(found: Candidates, row: int, fields: Sequence[str] | None) -> list[dict[str, Any]]:
    """Return what is known of each item of an answer: these fields, or all metadata without the texts.

    Examples
    --------
    >>> from vizsla import Dataset, bm25
    >>> fruit = Dataset.of([{"id": "f", "text": "a fig", "price": 3}], keep_texts=True)
    >>> known_fields(bm25(fruit)("fig"), 0, ["price", "text"])
    [{'price': 3, 'text': 'a fig'}]
    """
    try:
        details, numbers = known_of(found.catalog), found.row(row)[0].tolist()
    except IndexError:
        raise InputError(f"`query` must be the number of one of {len(found)} queries. Got {row}.") from None
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
    details = known_of(found.catalog)
    known = () if details is None else details.fields
    return [TEXT] if TEXT in known else [TITLE] if TITLE in known else []


def show_answers(
    found: Candidates,
    *,
    k: int,
    texts: Mapping[str, str] | None = None,
    fields: Sequence[str] | None = None,
    offset: int = 0,
    others: Sequence[int | None] = (),
) -> None:
    """Print a table for each query; its words are highlighted in texts, on a terminal.

    Where a table has more columns than the terminal can show, there is a block per hit instead.
    """
    from vizsla._internal.terminal import print_table

    shown = list(fields) if fields is not None else [] if texts else default_fields(found)
    grouped = any(others)
    for row, (query, hits) in enumerate(zip(found.query_ids, found, strict=True)):
        known = known_fields(found, row, shown)
        if texts:
            known = [{**more, TEXT: texts.get(hit.id, "")} for hit, more in zip(hits, known, strict=True)]
        rows = [
            [
                str(rank),
                "" if hit.score is None else f"{hit.score:.4f}",
                hit.id,
                *([_others(others, rank - offset)] if grouped else []),
                *(_excerpt(more[field], query) for field in shown),
                *([_excerpt(texts.get(hit.id, ""), query)] if texts else []),
            ]
            for rank, (hit, more) in enumerate(zip(hits[:k], known, strict=False), offset + 1)
        ]
        header = ["rank", "score", "id", *(["group"] if grouped else []), *shown, *([TEXT] if texts else [])]
        widths = _widths(header, rows)
        if sum(widths) + COLUMN_GAP_CHARS * len(header) + 1 > max(terminal_width(), MIN_TERMINAL_COLUMNS):
            blocks = [*shown, *([TEXT] if texts else [])]
            print_blocks(found[row : row + 1], [known], k=k, fields=blocks, offset=offset, others=others)
            continue
        rows = [[*cells[:2], middle_cut(escape_control(cells[2]), widths[2]), *cells[UNCUT_COLUMNS:]] for cells in rows]
        cut = [
            [*cells[:-1], fitted(cells[-1], query, widths[-1])] if len(header) > UNCUT_COLUMNS else cells
            for cells in rows
        ]
        marked = partial(_marked, query)
        title = f"query {query}"
        print_table(
            header, cut, title=title, whole=UNCUT_COLUMNS, widths=widths, highlight=marked, empty="Nothing found."
        )


def show_blocks(
    found: Candidates,
    *,
    k: int,
    texts: Mapping[str, str] | None = None,
    offset: int = 0,
    others: Sequence[int | None] = (),
) -> None:
    """Print one block per hit of each query: rank, score, title, id, and a snippet of the text."""
    details = known_of(found.catalog)
    with_text = details is not None and TEXT in details.fields
    known = []
    for row, hits in enumerate(found):
        more = known_fields(found, row, None)
        own_texts = [texts.get(hit.id, "") for hit in hits] if texts is not None else None
        if own_texts is None and with_text:
            own_texts = [one[TEXT] for one in known_fields(found, row, [TEXT])]
        known.append([one if own_texts is None else {**one, TEXT: own_texts[at]} for at, one in enumerate(more)])
    print_blocks(found, known, k=k, offset=offset, others=others)


def _marked(query: str, text: str) -> list[tuple[int, int]]:
    return word_spans(text, query)


def _excerpt(value: Any, query: str) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= MAX_SEARCHED_CHARS else snippet(text, query, width=MAX_SEARCHED_CHARS)


def _widths(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    """Return the width of each column: numbers and short words stay whole, long texts share what is left of a line."""
    from vizsla._internal.terminal import full_width, is_numeric, whole_width

    columns = [[row[at] for row in rows] for at in range(len(header))]
    widths = [(full_width if at >= UNCUT_COLUMNS else whole_width)(name, columns[at]) for at, name in enumerate(header)]
    room = terminal_width() - COLUMN_GAP_CHARS * len(header) - 1
    cuttable = [at for at in range(UNCUT_COLUMNS, len(header)) if not is_numeric(rows, at, whole=True)]
    wanted = sum(min(width, MIN_TEXT_CHARS) if at in cuttable else width for at, width in enumerate(widths))
    widths[2] = max(min(widths[2], MIN_ID_CHARS), widths[2] - max(0, wanted - room))
    while cuttable:
        share = max(
            MIN_COLUMN_CHARS, (room - sum(w for at, w in enumerate(widths) if at not in cuttable)) // len(cuttable)
        )
        short = [at for at in cuttable if widths[at] <= share]
        if not short:
            return [share if at in cuttable else width for at, width in enumerate(widths)]
        cuttable = [at for at in cuttable if at not in short]
    return widths
