"""The command `vizsla`: one verb a file."""

from __future__ import annotations

import signal
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run a verb and return the exit code: 0, 1 for a check that failed, 2 for wrong input, 130 for Ctrl-C.

    Without `argv` this is the command itself: Ctrl-C that comes too early or too late to be told of ends the process.
    """
    ours = _ends_the_process()
    try:
        from vizsla.cli.command import run

        return run(argv)
    finally:
        if ours and argv is not None:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _ends_the_process() -> bool:
    """Let Ctrl-C end the process without a word, as it does while Python starts; return whether it was Python's."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return False
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    except ValueError:  # not the main thread, which alone hears of signals
        return False
    return True
