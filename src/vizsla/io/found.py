"""Finds a file that may be packed."""

from __future__ import annotations

from pathlib import Path

from vizsla.errors import DataError
from vizsla.io.unpacking import SUFFIXES


def found(folder: Path, name: str) -> Path | None:
    """Return `folder/name`, `folder/name.gz` or `folder/name.zst`, None if none is there; two at once raise."""
    paths = [path for suffix in ("", *SUFFIXES) if (path := folder / f"{name}{suffix}").is_file()]
    if len(paths) > 1:
        names = " and ".join(path.name for path in paths)
        raise DataError(f"there are both {names}.", path=folder, remedy="Keep one of them.")
    return paths[0] if paths else None
