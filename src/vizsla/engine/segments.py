"""Segments: folders that hold what members know of some rows, written and synced before the catalog lists them."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from vizsla import _native
from vizsla.artifacts.atomic_folder import make_parents, sync
from vizsla.core.strings import Strings
from vizsla.errors import EngineError, FormatError
from vizsla.typing import Int64Array

FOLDER = "segments"
ROWS = "rows"
"""The part of a segment that says which rows it has."""
FLUSH_ROWS = 10_000
"""Rows in memory that are worth a segment."""
TIER = 8
"""So many neighboring segments of one size become one of the next size."""
MOST_DELETED = 0.2
"""A segment that has lost more than this share of its rows is written anew."""

Files = dict[str, list[int]]
"""The size and the checksum of each file of a folder."""


class Segment(NamedTuple):
    """A segment as the catalog lists it.

    Attributes
    ----------
    number : int
        Its number in the catalog.
    first : int
        The number of its first row: segments do not overlap, and are ordered by it.
    rows : int
        How many rows it has, deleted ones included.
    folder : str
        Of its row numbers and ids, inside of the engine.
    files : dict
        What that folder holds.
    parts : dict
        For each member the folder of its part and what that holds.
    """

    number: int
    first: int
    rows: int
    folder: str
    files: Files
    parts: dict[int, tuple[str, Files]]


class SegmentRows(NamedTuple):
    """Which rows a segment has: their numbers, ascending, and their ids."""

    numbers: Int64Array
    ids: Strings


class NewFolder:
    """A folder under a new name, removed again unless it is kept; what it holds is on the disk once it is `sealed`.

    Parameters
    ----------
    engine : Path
        The engine's folder.
    inside : str
        The folder in there that it is made in.
    """

    def __init__(self, engine: Path, inside: str = FOLDER):
        self.engine, self.name = engine, f"{inside}/{secrets.token_hex(8)}"
        self.path = engine / self.name
        self._kept = False

    def __enter__(self) -> NewFolder:
        with Writing(self.path):
            make_parents(self.path.parent)
            self.path.mkdir()
        return self

    def __exit__(self, *error: object) -> None:
        if not self._kept:
            shutil.rmtree(self.path, ignore_errors=True)

    def part(self, name: str) -> Path:
        """Return a new folder inside."""
        with Writing(self.path):
            (self.path / name).mkdir()
        return self.path / name

    def sealed(self) -> None:
        """Flush all files and folders to the disk, from the inside out."""
        with Writing(self.path):
            sync_tree(self.path)
            sync(self.path.parent)

    def keep(self) -> None:
        """Leave it where it is: the catalog lists it now."""
        self._kept = True


class Writing:
    """Turns an error of the system into one that says what could not be written."""

    def __init__(self, path: Path):
        self.path = path

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: Any, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError):
            raise EngineError(
                f"{self.path}: cannot be written ({error.strerror or error}). Nothing is lost: all items are in the "
                "catalog, and are served from there. Make room, and try again."
            ) from error


def sync_tree(folder: Path) -> None:
    """Flush everything in a folder, and the folder itself, to the disk."""
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            sync_tree(Path(entry.path))
        else:
            handle = os.open(entry.path, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
    sync(folder)


def files_of(folder: Path) -> Files:
    """Return the size and the checksum of every file in a folder."""
    return {name: _sum(folder / name) for name in sorted(_names(folder))}


def _names(folder: Path) -> Iterator[str]:
    for base, _, files in os.walk(folder):
        yield from (Path(base, name).relative_to(folder).as_posix() for name in files)


def _sum(path: Path) -> list[int]:
    size = path.stat().st_size
    if not size:
        return [0, 0]
    data = np.memmap(path, np.uint8, mode="r")
    return [size, int(_native.checksum(np.asarray(data)))]


def check_files(folder: Path, files: Files, *, checksums: bool) -> None:
    """Raise FormatError unless a folder holds these files; FileNotFoundError if it is not there at all."""
    for name, (size, checksum) in files.items():
        path = folder / name
        try:
            found = path.stat().st_size
        except FileNotFoundError:
            if not folder.exists():
                raise
            raise FormatError(f"{path}: missing.") from None
        if found != size:
            raise FormatError(f"{path}: {found:,} bytes in place of {size:,}.")
        if checksums and _sum(path)[1] != checksum:
            raise FormatError(f"{path}: its checksum is wrong.")


def write_rows(folder: Path, numbers: Int64Array, ids: Sequence[str]) -> None:
    """Write which rows a segment has."""
    table = Strings.of(ids)
    for name, values in {"numbers": numbers, "ids": table.data, "offsets": table.offsets}.items():
        np.save(folder / f"{name}.npy", np.asarray(values))


def read_rows(folder: Path, rows: int) -> SegmentRows:
    """Read which rows a segment has."""
    try:
        numbers, ids, offsets = (
            np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False) for name in ("numbers", "ids", "offsets")
        )
        table = Strings(np.asarray(ids), np.asarray(offsets), np.zeros(0, np.uint32), source=str(folder))
    except FileNotFoundError:
        raise
    except (OSError, ValueError, EOFError) as error:
        raise FormatError(f"{folder}: not a sound segment ({error}).") from error
    sound = numbers.dtype == np.int64 and numbers.shape == (rows,) and len(table) == rows
    if not sound or (np.diff(numbers) <= 0).any():
        raise FormatError(f"{folder}: not a sound segment (its row numbers are not {rows:,} ascending ones).")
    return SegmentRows(np.asarray(numbers), table)


def sweep(engine: Path, listed: set[str]) -> list[str]:
    """Remove folders that the catalog does not list; return their names. Only for the holder of maintenance."""
    removed = []
    for inside in {FOLDER, *(name.split("/")[0] for name in listed)}:
        if not (engine / inside).is_dir():
            continue
        for entry in os.scandir(engine / inside):
            name = f"{inside}/{entry.name}"
            if name not in listed:
                shutil.rmtree(entry.path, ignore_errors=True)
                removed.append(name)
    return removed


def stored_segments(connection: sqlite3.Connection) -> list[Segment]:
    """Return the segments that the catalog lists, in the order of their rows."""
    parts: dict[int, dict[int, tuple[str, Any]]] = {}
    for s, m, folder, files in connection.execute("SELECT s, m, folder, files FROM parts"):
        parts.setdefault(s, {})[m] = folder, json.loads(files)
    rows = connection.execute("SELECT s, first, rows, folder, files FROM segments ORDER BY first").fetchall()
    return [
        Segment(s, first, count, folder, json.loads(files), parts.get(s, {})) for s, first, count, folder, files in rows
    ]


def to_merge(sizes: Sequence[tuple[int, int]], *, floor: int = FLUSH_ROWS) -> tuple[int, int] | None:
    """Return which neighboring segments to merge, from one place to another; None for none.

    Parameters
    ----------
    sizes : sequence of (rows, live rows)
        Of the segments, in order.
    floor : int
        Smaller segments count as of this size.

    Examples
    --------
    >>> to_merge([(80_000, 80_000), *[(10_000, 10_000)] * 8])
    (1, 9)
    >>> to_merge([(80_000, 80_000), (10_000, 7_000)]), to_merge([(80_000, 80_000), (10_000, 9_000)])
    ((1, 2), None)
    """
    for at, (rows, live) in enumerate(sizes):
        if rows - live > MOST_DELETED * rows:
            return at, at + 1
    tiers = [_tier(live, floor) for _, live in sizes]
    for tier in sorted(set(tiers)):
        start = 0
        while start < len(tiers):
            end = start
            while end < len(tiers) and tiers[end] <= tier:
                end += 1
            if end - start >= TIER:
                return start, end
            start = end + 1
    return None


def _tier(rows: int, floor: int) -> int:
    tier, size = 0, floor
    while rows >= size * TIER // 2 and tier < 60:
        tier, size = tier + 1, size * TIER
    return tier


def folder_of(listed: str) -> str:
    """Return the top folder of a part: what is swept or kept as a whole."""
    return "/".join(listed.split("/")[:2])


def sizes_on_disk(engine: Path, folders: Mapping[str, str]) -> dict[str, int]:
    """Return the bytes of each named folder."""
    return {
        name: sum((engine / folder / file).stat().st_size for file in _names(engine / folder))
        for name, folder in folders.items()
    }
