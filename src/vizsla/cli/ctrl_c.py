"""Ctrl-C on the command line: whatever was interrupted, the command ends with one line and the code 130."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED = 130
MESSAGE = "vizsla: stopped; nothing was left half-written."


class CtrlC:
    """Remembers that Ctrl-C was pressed, since not all code hands a KeyboardInterrupt on as it came.

    A compiled module whose import is interrupted raises an ImportError or worse. So while modules are imported
    (`at_once`) the process ends there and then; later, `pressed` tells what an odd error really was.
    """

    def __init__(self) -> None:
        self.pressed = False
        self._at_once = False

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Take the place of Python's own handler, where that is in charge."""
        main = threading.current_thread() is threading.main_thread()
        if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            yield
            return
        signal.signal(signal.SIGINT, self._handle)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """End the process without a detour if it is pressed in here, where nothing can be lost."""
        self._at_once = True
        try:
            yield
        finally:
            self._at_once = False

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.pressed = True
        if self._at_once:
            os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, f"{MESSAGE}\n".encode())
            os._exit(INTERRUPTED)
        signal.default_int_handler(number, frame)
