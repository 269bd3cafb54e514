"""VerifiedFolders: which folders of an engine have had their checksums compared since their files last changed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

FILE = "verified.json"
MOST_BYTES = 1 << 22


def stamp_of(found: Mapping[str, os.stat_result]) -> str:
    """Return a text that changes when any of these files is written, replaced or copied."""
    seen = sorted((name, one.st_ino, one.st_size, one.st_mtime_ns, one.st_ctime_ns) for name, one in found.items())
    return blake2b(repr(seen).encode(), digest_size=16).hexdigest()


class VerifiedFolders:
    """Stamps of the folders whose checksums were compared, shared by all processes that open an engine.

    Segments never change, so comparing them at every opening is work for nothing, and grows with them. A stamp says
    which files, of which times, were compared; where it differs or is missing, they are compared again. The file of the
    stamps may be deleted, and damage of it costs one more comparison.

    Parameters
    ----------
    engine : Path
        The engine's folder.
    """

    def __init__(self, engine: Path):
        self._path = engine / FILE
        self._stamps: dict[str, str] | None = None
        self._changed = False

    def stamp(self, folder: str) -> str:
        """Return the stamp of a folder when it was last compared, empty where it never was."""
        if self._stamps is None:
            self._stamps = self._read()
        return self._stamps.get(folder, "")

    def look_again(self, folders: Iterable[str]) -> None:
        """Read what other processes have noted, if any of these folders is not known yet."""
        if not all(map(self.stamp, folders)):
            self._stamps = self._read() | (self._stamps or {})

    def note(self, folder: str, stamp: str) -> None:
        """Take down that a folder was compared."""
        if self.stamp(folder) != stamp and self._stamps is not None:
            self._stamps[folder], self._changed = stamp, True

    def save(self, listed: Iterable[str]) -> None:
        """Write what was noted, of these folders alone; where that is not possible, others compare again."""
        if self._changed:
            self._changed = False
            self._write({folder: stamp for folder in sorted(set(listed)) if (stamp := self.stamp(folder))})

    def add(self, stamps: Mapping[str, str]) -> None:
        """Write what is known of new folders beside what was noted before."""
        self._write({**self._read(), **stamps})

    def _write(self, kept: dict[str, str]) -> None:
        partial = self._path.with_name(f".{FILE}.partial")
        with suppress(OSError):
            handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            with os.fdopen(handle, "w") as file:
                json.dump(kept, file)
            partial.replace(self._path)

    def _read(self) -> dict[str, str]:
        try:
            with self._path.open("rb") as file:
                known = json.loads(file.read(MOST_BYTES))
        except (OSError, ValueError, RecursionError):
            return {}
        if not isinstance(known, dict):
            return {}
        return {folder: stamp for folder, stamp in known.items() if isinstance(stamp, str)}
