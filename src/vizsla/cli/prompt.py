"""A prompt that answers one query after another, with a history of what was asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

HISTORY = Path("~/.cache/vizsla/history")
MOST = 1000
HELP = "Type a query, or nothing to leave."


def ask(answer: Callable[[str], None]) -> None:
    """Answer what is typed until an empty line or the end."""
    print(HELP)
    with _history():
        while query := _line():
            answer(query)


def _line() -> str:
    try:
        return input("vizsla> ").strip()
    except EOFError:
        print()
        return ""


@contextmanager
def _history() -> Iterator[None]:
    """Let the arrow keys bring back what was asked before, where the system has a library for it."""
    try:
        import readline
    except ImportError:
        yield
        return
    path = HISTORY.expanduser()
    with suppress(OSError):
        readline.read_history_file(path)
    try:
        yield
    finally:
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            readline.set_history_length(MOST)
            readline.write_history_file(path)
