"""Ctrl-C on the command line: whatever was interrupted, the command ends with one line and the code 130."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

EXIT_INTERRUPTED = 130
MESSAGE = "vizsla: stopped; nothing was left half-written."


AGAIN_S = 0.01
"""When a KeyboardInterrupt that was lost is raised again."""


class CtrlC:
    """Remembers that Ctrl-C was pressed, since not all code hands a KeyboardInterrupt on as it came.

    A compiled module whose import is interrupted raises an ImportError or worse. So while modules are imported
    (`at_once`) the process ends there and then; later, `pressed` tells what an odd error really was. Python drops what
    is raised while an object is destroyed: it is raised again a moment later, or the command would go on to its end.
    Once the command is `over`, it is not reported any more.
    """

    def __init__(self) -> None:
        self.pressed = self.over = False
        self._at_once = False

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Take the place of Python's own handler, where that is in charge, or where none is."""
        main, before = threading.current_thread() is threading.main_thread(), signal.getsignal(signal.SIGINT)
        if not main or before not in (signal.default_int_handler, signal.SIG_DFL):
            yield
            return
        signal.signal(signal.SIGINT, self._handle)
        try:
            with self._none_lost():
                yield
        finally:
            signal.signal(signal.SIGINT, before)

    @contextmanager
    def _none_lost(self) -> Iterator[None]:
        dropped = sys.unraisablehook
        if not hasattr(signal, "setitimer"):
            yield
            return

        def again(lost: sys.UnraisableHookArgs) -> None:
            if issubclass(lost.exc_type, KeyboardInterrupt):
                signal.setitimer(signal.ITIMER_REAL, AGAIN_S)
            else:
                dropped(lost)

        sys.unraisablehook, before = again, signal.signal(signal.SIGALRM, self._handle)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
            sys.unraisablehook = dropped

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """End the process without a detour if it is pressed in here, where nothing can be lost."""
        self._at_once = True
        try:
            yield
        finally:
            self._at_once = False

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.over:  # nothing is left to be stopped
            return
        self.pressed = True
        if self._at_once:
            os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, f"{MESSAGE}\n".encode())
            os._exit(EXIT_INTERRUPTED)
        signal.default_int_handler(number, frame)
