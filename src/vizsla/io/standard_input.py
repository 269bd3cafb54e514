"""Standard input, kept in a temporary file, because a dataset is read more than once."""

from __future__ import annotations

import shutil
import sys
import weakref
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

NAME = "standard input"
_kept: set[Path] = set()


def shown_name(path: str | Path) -> str:
    """Return what messages call a file: its path, or where it came from if nobody gave it one."""
    return NAME if Path(path) in _kept else str(path)


class StandardInput:
    """What came in, as a file that goes when nobody needs it any more."""

    def __init__(self) -> None:
        self._folder = TemporaryDirectory(prefix="vizsla-")
        self.path = Path(self._folder.name) / "input"
        _kept.add(self.path)
        stream: Any = getattr(sys.stdin, "buffer", sys.stdin)
        with self.path.open("wb") as out:
            if hasattr(stream, "read"):
                shutil.copyfileobj(stream, out, 1 << 20)
            else:
                out.writelines(line.encode() if isinstance(line, str) else line for line in stream)

    def kept_for(self, owner: object) -> None:
        """Keep the file for as long as something lives that reads it."""
        weakref.finalize(owner, self._folder.cleanup)
