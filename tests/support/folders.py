"""What a folder holds, to be compared."""

from __future__ import annotations

from pathlib import Path

from vizsla.artifacts.manifest import PROVENANCE


def contents(folder: Path) -> dict[Path, bytes]:
    """Return the bytes of all files by their paths, without provenance: it has the time, and is part of no digest."""
    files = (file for file in folder.rglob("*") if file.is_file() and file.name != PROVENANCE)
    return {file.relative_to(folder): file.read_bytes() for file in files}
