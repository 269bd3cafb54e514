"""Finds a file that may be gzipped."""

from __future__ import annotations

from pathlib import Path

from vizsla.errors import DataError


def found(folder: Path, name: str) -> Path | None:
    """Return `folder/name` or `folder/name.gz`, None if neither is there; both at once raise."""
    plain, gzipped = folder / name, folder / f"{name}.gz"
    if plain.is_file() and gzipped.is_file():
        raise DataError(f"there are both {name} and {name}.gz.", path=folder, remedy="Keep one of them.")
    return plain if plain.is_file() else gzipped if gzipped.is_file() else None
