"""Segments: folders that hold what members know of some rows, written and synced before the catalog lists them."""

from __future__ import annotations

import json
import math
import mmap
import os
import re
import secrets
import shutil
import sqlite3
import stat
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from vizsla import _native
from vizsla.artifacts.atomic_folder import make_parents, sync
from vizsla.core.strings import Strings
from vizsla.engine.verified import stamp_of
from vizsla.errors import EngineError, FormatError
from vizsla.typing import Int64Array

FOLDER = "segments"
ROWS = "rows"
"""The part of a segment that says which rows it has."""
METADATA = 0
"""The number of the part that has the columns of metadata, among those of members."""
FLUSH_ROWS = 10_000
"""Rows in memory that are worth a segment."""
LARGE_BYTES = 1 << 20
PAUSE_S = 5e-5
"""How long maintenance sleeps between steps in Python: without it, a search waits 5 ms for its turn."""
SEGMENTS_PER_TIER = 8
"""So many neighboring segments of one size become one of the next size."""
MAX_DELETED_SHARE = 0.2
"""A segment that has lost more than this share of its rows is written anew."""

_LISTED = re.compile(r"[a-z]+/[0-9a-f]{16}/[a-z0-9]+")

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
    changes : int
        The last change of metadata that its columns have.
    parts : dict
        For each member, and for METADATA, the folder of its part and what that holds.
    """

    number: int
    first: int
    rows: int
    folder: str
    files: Files
    changes: int
    parts: dict[int, tuple[str, Files]]

    @property
    def largest_part(self) -> int:
        """The bytes of its largest part: parts are written one after another."""
        return max(sum(size for size, _ in files.values()) for _, files in self.parts.values())


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
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        # A small file is read faster than mapped, and only a mapped one needs no memory of its own.
        large = size > LARGE_BYTES
        data = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) if large else file.read()
    return [size, int(_native.checksum(np.frombuffer(data, np.uint8)))] if size else [0, 0]


def check_files(folder: Path, files: Files, *, checksums: bool, known: str = "") -> str:
    """Raise FormatError unless a folder holds these files; FileNotFoundError if it is not there at all.

    A link raises, too: a prepared engine could make a backup copy what lies elsewhere. Checksums are not compared where
    the stamp of the files is the one that is `known`. Returns the stamp.
    """
    inside = Path(os.path.realpath(folder.parents[2])).joinpath(*folder.parts[-3:])
    found = dict[str, os.stat_result]()
    real: dict[Path, str] = {}
    for name, (size, _) in files.items():
        path = folder / name
        try:
            one = found[name] = path.lstat()
        except FileNotFoundError:
            if not folder.exists():
                raise
            raise FormatError(f"{path}: missing.") from None
        except (OSError, ValueError) as error:
            raise FormatError(f"{path}: cannot be read ({error}).") from None
        parent = path.parent
        if parent not in real:
            real[parent] = os.path.realpath(parent)
        if not stat.S_ISREG(one.st_mode) or os.path.join(real[parent], path.name) != str(inside / name):  # noqa: PTH118
            raise FormatError(f"{path}: not a file of this engine, but a link or a place elsewhere.")
        if one.st_size != size:
            raise FormatError(f"{path}: {one.st_size:,} bytes in place of {size:,}.")
    stamp = stamp_of(found)
    for name, (_, checksum) in files.items() if checksums and stamp != known else ():
        if _sum(folder / name)[1] != checksum:
            raise FormatError(f"{folder / name}: its checksum is wrong.")
    return stamp


def stored_files(text: str) -> Files:
    """Return the files of a folder as the catalog lists them; anything else raises FormatError."""
    found = json.loads(text)
    sound = isinstance(found, dict) and all(
        isinstance(pair, list) and len(pair) == 2 and all(type(number) is int and number >= 0 for number in pair)
        for pair in found.values()
    )
    if not sound:
        raise FormatError(f"The catalog must list the size and checksum of files. Got {text!r:.80}: restore a backup.")
    files: Files = found
    return files


def stored_folder(name: Any) -> str:
    """Return the name of a folder that the catalog lists; one that no engine makes raises FormatError.

    What is listed is read, copied by backups, and decides what is swept: it must lie inside of the engine.
    """
    if not isinstance(name, str) or not _LISTED.fullmatch(name):
        raise FormatError(f"The catalog must list folders of its engine. Got {name!r:.80}: restore a backup.")
    return name


def write_rows(folder: Path, numbers: Int64Array, ids: Iterable[Sequence[str]]) -> None:
    """Write which rows a segment has; their ids come some at a time."""
    data, offsets = [np.zeros(0, np.uint8)], [np.zeros(1, np.int64)]
    for some in ids:
        table = Strings.of(some)
        data.append(table.data)
        offsets.append(table.offsets[1:] + offsets[-1][-1])
        time.sleep(PAUSE_S)
    arrays: dict[str, Any] = {"numbers": numbers, "ids": np.concatenate(data), "offsets": np.concatenate(offsets)}
    for name, values in arrays.items():
        np.save(folder / f"{name}.npy", values)


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
    parts: dict[int, dict[int, tuple[str, Files]]] = {}
    for s, m, folder, files in connection.execute("SELECT s, m, folder, files FROM parts"):
        parts.setdefault(s, {})[m] = stored_folder(folder), stored_files(files)
    found = []
    for s, first, count, folder, files, changes in connection.execute(
        "SELECT s, first, rows, folder, files, changes FROM segments ORDER BY first"
    ):
        if METADATA not in parts.get(s, {}) or any(type(number) is not int for number in (s, first, count, changes)):
            raise FormatError(f"The catalog must list whole segments. Got {folder!r:.80}: restore a backup.")
        found.append(Segment(s, first, count, stored_folder(folder), stored_files(files), changes, parts[s]))
    return found


def to_merge(
    sizes: Sequence[tuple[int, int]],
    *,
    floor: int = FLUSH_ROWS,
    sizes_bytes: Sequence[int] | None = None,
    max_bytes: float = math.inf,
) -> tuple[int, int] | None:
    """Return which neighboring segments to merge, from one place to another; None for none.

    Parameters
    ----------
    sizes : sequence of (rows, live rows)
        Of the segments, in order.
    floor : int
        Smaller segments count as of this size.
    sizes_bytes : sequence of int, optional
        The bytes of each.
    max_bytes : float
        How many bytes may be merged at a time. A segment of more than half of them is left as it is, unless too many of
        its rows are deleted.

    Examples
    --------
    >>> to_merge([(80_000, 80_000), *[(10_000, 10_000)] * 8])
    (1, 9)
    >>> to_merge([(80_000, 80_000), (10_000, 7_000)]), to_merge([(80_000, 80_000), (10_000, 9_000)])
    ((1, 2), None)
    >>> to_merge([(10_000, 10_000)] * 8, sizes_bytes=[5] * 8, max_bytes=16)
    (0, 3)
    """
    held = [0] * len(sizes) if sizes_bytes is None else list(sizes_bytes)
    for at, (rows, live) in enumerate(sizes):
        if rows - live > MAX_DELETED_SHARE * rows:
            return at, at + 1
    tiers = [_tier(live, floor) for _, live in sizes]
    for tier in sorted(set(tiers)):
        start = 0
        while start < len(tiers):
            end = start
            while end < len(tiers) and tiers[end] <= tier and 2 * held[end] <= max_bytes:
                end += 1
            if end - start >= SEGMENTS_PER_TIER:
                return start, _fitting(held, start, end, max_bytes)
            start = end + 1
    return None


def all_to_merge(
    sizes: Sequence[tuple[int, int]], *, sizes_bytes: Sequence[int], max_bytes: float
) -> tuple[int, int] | None:
    """Return which neighbors to merge next so that as few segments as the bytes allow are left; None at the end.

    Examples
    --------
    >>> all_to_merge([(9, 9)] * 3, sizes_bytes=[5] * 3, max_bytes=100)
    (0, 3)
    >>> all_to_merge([(9, 9), (9, 8)], sizes_bytes=[60, 60], max_bytes=100)
    (1, 2)
    """
    start = 0
    while start < len(sizes):
        end = _fitting(sizes_bytes, start, len(sizes), max_bytes)
        rows, live = sizes[start]
        if end > start + 1 or rows > live:
            return start, end
        start += 1
    return None


def _fitting(held: Sequence[int], start: int, end: int, max_bytes: float) -> int:
    """Return the last end, above `start`, up to which segments together have no more bytes."""
    last = start + 1
    while last < end and sum(held[start : last + 1]) <= max_bytes:
        last += 1
    return last


def _tier(rows: int, floor: int) -> int:
    tier, size = 0, floor
    while rows >= size * SEGMENTS_PER_TIER // 2 and tier < 60:
        tier, size = tier + 1, size * SEGMENTS_PER_TIER
    return tier


def sizes_on_disk(engine: Path, folders: Mapping[str, str]) -> dict[str, int]:
    """Return the bytes of each named folder."""
    return {
        name: sum((engine / folder / file).stat().st_size for file in _names(engine / folder))
        for name, folder in folders.items()
    }
