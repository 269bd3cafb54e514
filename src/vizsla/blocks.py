"""Answers as one block per hit: rank, score, title, id, and the part of the text that shows the query's words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from vizsla.printable import printable
from vizsla.snippet import snippet, word_spans
from vizsla.tables import honest_console, terminal_width

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from vizsla.candidates import Candidates

TITLES = ("title", "heading", "name")
"""Fields whose value heads a block; the first that an item has is taken."""
TEXT = "text"
LINES = 2
"""How many lines a snippet takes."""
NARROWEST = 20
"""A terminal is taken to have so many columns at least."""
LONGEST = 2000
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
) -> None:
    """Print the best `k` hits of each query as blocks that fit the terminal.

    Parameters
    ----------
    found : Candidates
        The answer.
    known : one list per query, one mapping per hit
        What is known of each hit: its title and text are shown.
    k : int
        How many hits per query.
    fields : sequence of str, optional
        Show these fields, a line each, in place of title and text.
    """
    console = honest_console()
    width = max(terminal_width(), NARROWEST)
    for query, hits, details in zip(found.query_ids, found, known, strict=True):
        _print(console, _styled(f"query {query}", "", "italic"))
        if not hits:
            console.print("Nothing found.")
        for rank, (hit, more) in enumerate(zip(hits[:k], details, strict=False), 1):
            score = "" if hit.score is None else f"{hit.score:.4f}  "
            lead = f"{rank:>{len(str(min(k, len(hits))))}}  {score}"
            for line in _block(console, lead, hit.id, more, query, width, fields):
                _print(console, line)
        console.print()


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
    title = "" if fields is not None else _line(next((str(known[name]) for name in TITLES if known.get(name)), ""))
    if not title:
        lines = [Text(lead) + _styled(shown if whole else middle_cut(shown, room), "", "bold")]
    else:
        lines = [Text(lead) + _styled(fitted(title, query, room), query, "")]
        lines.append(Text(indent) + _styled(shown if whole else middle_cut(shown, inner), "", "dim"))
    if fields is not None:
        for name in fields:
            value = "" if known.get(name) is None else _line(f"{name}: {known[name]}"[:LONGEST])
            lines += [Text(indent) + _styled(fitted(value, query, inner), query, "")] if value else []
        return lines
    text = str(known.get(TEXT) or "")
    own = str(next((known[name] for name in TITLES if known.get(name)), ""))
    return lines + [Text(indent) + line for line in _snippet(console, text.removeprefix(own), query, inner)]


def _snippet(console: Console, text: str, query: str, width: int) -> list[Text]:
    """Return the part of a text that shows the query's words, on as many lines as a snippet takes."""
    short = snippet(text, query, width=LONGEST) if len(text) > LONGEST else text
    characters = LINES * width
    while characters > 0:
        styled = _styled(_line(snippet(short, query, width=characters)), query, "")
        lines = list(styled.wrap(console, width)) if styled.plain else []
        if len(lines) <= LINES:
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
    return printable(" ".join(text.split("\n")))


def _print(console: Console, line: Text) -> None:
    console.print(line, no_wrap=True, overflow="ignore", crop=False)
