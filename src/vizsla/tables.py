"""Tables as people read them on a terminal, and as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from errno import EPIPE
from os import strerror
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

from vizsla.printable import printable

if TYPE_CHECKING:
    from rich.console import Console

NUMERIC = "+-.,0123456789–"
Spans = Callable[[str], Sequence[tuple[int, int]]]


def print_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    title: str | None = None,
    whole: int = 0,
    widths: Sequence[int] | None = None,
    highlight: Spans | None = None,
    empty: str | None = None,
) -> None:
    """Print a table to standard output, fitted to the terminal.

    Parameters
    ----------
    header, rows : sequences of texts
        What to print.
    title : str, optional
        Printed above.
    whole : int
        So many of the first columns keep their width, up to two fifths of the terminal; the others get the rest.
    widths : sequence of int, optional
        Of all columns, where they are settled already.
    highlight : function of a text, optional
        Says which parts of a cell behind those columns are printed bold.
    empty : str, optional
        Printed in place of a table without rows.
    """
    from rich import box
    from rich.table import Table

    console = honest_console()
    if empty is not None and not rows:
        return console.print(*([_cell(title)] if title else []), empty, sep="\n")
    if title:  # above the table and not its own title, which would be folded to the table's width
        console.print(_cell(title), style="italic")
    table = Table(box=box.SIMPLE_HEAD)
    for column, name in enumerate(header):
        least = whole_width(name, [row[column] for row in rows]) if column < whole else None
        least = least if widths is None else widths[column]
        table.add_column(
            _cell(name),
            justify="right" if is_numeric(rows, column, whole=highlight is not None) else "left",
            overflow="ellipsis",
            no_wrap=True,
            min_width=least,
            max_width=least,
        )
    for row in rows:
        table.add_row(
            *(_cell(text) if at < whole or not highlight else _bold(text, highlight) for at, text in enumerate(row))
        )
    console.print(table)


def honest_console() -> Console:
    """Return a console that tells its caller when the reader has gone; rich's own would end the program with 1."""
    from rich import console

    class Honest(console.Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError(EPIPE, strerror(EPIPE))

    return Honest(highlight=False, soft_wrap=False)


def terminal_width() -> int:
    """Return how many characters a line of the terminal has; 80 where there is none."""
    return get_terminal_size((80, 24)).columns


def whole_width(name: str, cells: Sequence[str]) -> int:
    """Return the width of a column that is not cut, up to two fifths of the terminal."""
    return min(full_width(name, cells), terminal_width() * 2 // 5)


def full_width(name: str, cells: Sequence[str]) -> int:
    """Return how much of a line a column would like to have."""
    from rich.cells import cell_len

    return max(cell_len(_line(text)) for text in [name, *cells])


def _bold(text: str, highlight: Spans) -> Any:
    from rich.text import Text

    line = _line(text)
    styled = Text(line)
    for start, end in highlight(line):
        styled.stylize("bold", start, end)
    return styled


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return the table as Markdown.

    Examples
    --------
    >>> print(markdown_table(["name", "R@10"], [["bm25", ".50"]]))
    | name | R@10 |
    |---|---:|
    | bm25 | .50 |
    """
    rules = ["---:" if is_numeric(rows, column) else "---" for column in range(len(header))]
    lines = ["| " + " | ".join(header) + " |", "|" + "|".join(rules) + "|"]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def _cell(text: str) -> str:
    from rich.markup import escape

    return escape(_line(text))


def _line(text: str) -> str:
    return printable(text).replace("\n", "\\n")


def is_numeric(rows: Sequence[Sequence[str]], column: int, *, whole: bool = False) -> bool:
    """Return whether cells begin as numbers; with `whole`, whether they are nothing else: a text may begin so."""
    cells = [row[column] for row in rows if row[column]]
    return bool(cells) and all(cell[0] in NUMERIC and not (whole and cell.strip(NUMERIC)) for cell in cells)
