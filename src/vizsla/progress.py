"""Progress bars: on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sized
from typing import TypeVar

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


def _with_bar(iterable: Iterable[T], total: int | None, what: str) -> Iterator[T]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    # The context manager restores the terminal when Ctrl-C comes through.
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield from bar.track(iterable, total=total, description=what)
