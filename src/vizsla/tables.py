"""Tables as people read them on a terminal, and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from vizsla.printable import printable


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, title: str | None = None) -> None:
    """Print a table to standard output, fitted to the terminal."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title and _cell(title), box=box.SIMPLE_HEAD, title_justify="left")
    for column, name in enumerate(header):
        table.add_column(
            _cell(name), justify="right" if _numeric(rows, column) else "left", overflow="ellipsis", no_wrap=True
        )
    for row in rows:
        table.add_row(*map(_cell, row))
    Console(highlight=False, soft_wrap=False).print(table)


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return the table as Markdown.

    Examples
    --------
    >>> print(markdown_table(["name", "R@10"], [["bm25", ".50"]]))
    | name | R@10 |
    |---|---:|
    | bm25 | .50 |
    """
    rules = ["---:" if _numeric(rows, column) else "---" for column in range(len(header))]
    lines = ["| " + " | ".join(header) + " |", "|" + "|".join(rules) + "|"]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def _cell(text: str) -> str:
    from rich.markup import escape

    return escape(printable(text).replace("\n", "\\n"))


def _numeric(rows: Sequence[Sequence[str]], column: int) -> bool:
    cells = [row[column] for row in rows if row[column]]
    return bool(cells) and all(cell[0] in "+-.0123456789–" for cell in cells)
