"""Output for people: tables, escaped and abbreviated text, progress bars."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from contextlib import contextmanager
from errno import EPIPE
from functools import partial
from os import strerror
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

# Control characters, half surrogate pairs, and marks that turn the direction of what follows.
_CONTROL_CHARS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def escape_control(text: str) -> str:
    r"""Return the text with everything escaped that a terminal might obey instead of showing it; lines stay lines.

    Examples
    --------
    >>> print(escape_control("red \x1b[31m fig"))
    red \x1b[31m fig
    """
    return _CONTROL_CHARS.sub(lambda found: repr(found[0])[1:-1], text)


def printable_json(text: str) -> str:
    r"""Return JSON text in which the same characters are written as JSON's own escapes.

    Examples
    --------
    >>> print(printable_json('"\x9b31m"'))
    "\u009b31m"
    """
    return _CONTROL_CHARS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


MAX_SHOWN_CHARS = 160


def abbreviate(text: str, end: str = "") -> str:
    """Return the text and its end on one line; a long text loses its tail, never the end.

    Examples
    --------
    >>> abbreviate("Sum(a", ")")
    'Sum(a)'
    >>> len(abbreviate("Sum(" + "a + " * 99, ")"))
    160
    """
    line = " ".join(text.split())
    room = MAX_SHOWN_CHARS - len(end)
    return (line if len(line) <= room else line[: room - 1] + "…") + end


T = TypeVar("T")


def progress(iterable: Iterable[T], *, total: int | None = None, what: str = "working") -> Iterator[T]:
    """Yield from `iterable`; while a person watches on a terminal, show a bar on standard error.

    Examples
    --------
    >>> list(progress([1, 2, 3], what="counting"))
    [1, 2, 3]
    """
    if not sys.stderr.isatty():
        return iter(iterable)
    if total is None and isinstance(iterable, Sized):
        total = len(iterable)
    return _with_bar(iterable, total, what)


@contextmanager
def working(what: str) -> Iterator[Callable[..., None]]:
    """Show on a terminal that `what` goes on, and for how long; bars of `progress` join it.

    Yields a function that changes what is shown: `description`, `completed` and `total`.

    Examples
    --------
    >>> with working("building") as show:
    ...     show(description="building more", completed=1, total=2)
    """
    if not sys.stderr.isatty():
        yield lambda **_: None
        return
    with _display() as display, _task(display, what, None) as task:
        yield partial(display.update, task)


def _with_bar(iterable: Iterable[T], total: int | None, what: str) -> Iterator[T]:
    with _display() as display, _task(display, what, total) as task:
        for one in iterable:
            yield one
            display.advance(task)


_shown: dict[int, Progress] = {}
"""The display of this process, while there is one. Two would overwrite each other's lines."""


@contextmanager
def _display() -> Iterator[Progress]:
    """Return the display that is shown, or show one."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, Task, TextColumn, TimeElapsedColumn
    from rich.text import Text

    class Count(MofNCompleteColumn):
        def render(self, task: Task) -> Text:
            return super().render(task) if task.total or task.completed else Text("")

    if found := _shown.get(os.getpid()):
        yield found
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), Count(), TimeElapsedColumn())
    # The context manager restores the terminal when Ctrl-C comes through. Standard output is left alone: rich would
    # print it to standard error.
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, redirect_stdout=False) as display:
        _shown[os.getpid()] = display
        try:
            yield display
        finally:
            del _shown[os.getpid()]


@contextmanager
def _task(display: Progress, what: str, total: int | None) -> Iterator[TaskID]:
    task = display.add_task(what, total=total)
    try:
        yield task
    finally:
        if len(display.task_ids) > 1:  # the last one is shown until the display ends
            display.remove_task(task)


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
        The text to print.
    title : str, optional
        Printed above.
    whole : int
        So many of the first columns keep their width, up to two fifths of the terminal; the others get the rest.
    widths : sequence of int, optional
        Widths of all columns, if they are known.
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
    return escape_control(text).replace("\n", "\\n")


def is_numeric(rows: Sequence[Sequence[str]], column: int, *, whole: bool = False) -> bool:
    """Return whether cells begin as numbers; with `whole`, whether they are nothing else: a text may begin so."""
    cells = [row[column] for row in rows if row[column]]
    return bool(cells) and all(cell[0] in NUMERIC and not (whole and cell.strip(NUMERIC)) for cell in cells)
