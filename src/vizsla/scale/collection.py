"""What a collection of shards is: its record on the disk, its rules, and the lock of the process that writes."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from weakref import WeakSet

from vizsla.artifacts import strict_json
from vizsla.base.recipe import Recipe
from vizsla.core.validation import as_path
from vizsla.engine.definitions import member_class
from vizsla.engine.lexical_member import Bm25Member
from vizsla.engine.vector_member import VectorMember
from vizsla.errors import EngineError, FormatError, InputError, check_positive
from vizsla.io.atomic import writing

RECORD = "shards.json"
LAYOUT = 1
LOCK_SUFFIX = ".writer"
"""The lock lies beside the first shard."""


def shard_folders(shards: Any) -> list[str]:
    """Return the folders of new shards: a number of them below the collection's, or those that were given."""
    if isinstance(shards, int):
        return [f"shard-{number:03d}" for number in range(check_positive("shards", shards))]
    if isinstance(shards, str | Path) or not isinstance(shards, Sequence):
        raise InputError(f"`shards` must be a number above 0, or a list of folders. Got {shards!r:.60}.")
    named = [str(as_path(each, "shards")) for each in shards]
    if not named or len(set(named)) < len(named):
        raise InputError(f"`shards` must be a number above 0, or different folders. Got {shards!r:.100}.")
    return named


def write_record(
    folder: Path, shards: list[str], members: Mapping[str, Any], default: str, *, unfinished: bool = False
) -> None:
    """Write the record of a collection; one that is unfinished cannot be opened."""
    record = {"layout": LAYOUT, "shards": shards, "default": default, "members": dict(members)}
    if unfinished:
        record["unfinished"] = True
    with writing(folder / RECORD, overwrite=True) as out:
        out.write(json.dumps(record, indent=1).encode())


def read_record(folder: Path, *, unfinished: bool = False) -> dict[str, Any]:
    """Read the record of a collection."""
    try:
        record = strict_json.parse((folder / RECORD).read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(
            f"`path` must be a collection of shards. Got {folder}, which has no {RECORD}: use `ShardedEngine.create`."
        ) from None
    except ValueError as error:
        raise FormatError(f"{folder / RECORD}: not a sound record ({error!s:.100}). Restore a backup.") from error
    named = record.get("shards") if isinstance(record, dict) else None
    if not isinstance(named, list) or not named or not all(isinstance(name, str) for name in named):
        raise FormatError(f"{folder / RECORD}: must list the shards. Restore a backup.")
    if not isinstance(record.get("members"), dict) or not isinstance(record.get("default"), str):
        raise FormatError(f"{folder / RECORD}: must name the members and the default one. Restore a backup.")
    if record.get("layout") != LAYOUT:
        raise FormatError(f"{folder / RECORD}: must have layout {LAYOUT}. Got {record.get('layout')!r:.20}: upgrade.")
    if record.get("unfinished") and not unfinished:
        raise FormatError(
            f"{folder}: must be a whole collection. Got one that `reshard` was interrupted in: remove it, and call "
            "`reshard` again."
        )
    return dict(record)


def check_members(members: Mapping[str, Recipe]) -> None:
    """Raise unless shards with these members answer as one engine."""
    if not members:
        raise InputError("`members` must be at least one. Got none.")
    for name, recipe in members.items():
        if not isinstance(recipe, Recipe):
            raise InputError(f"`members` must be recipes. Got {type(recipe).__name__} for {name!r}.")
        kind = member_class(recipe, {})
        flat = kind is VectorMember and recipe.kind == "dense" and recipe.settings.get("index", "flat") == "flat"
        if kind is not Bm25Member and not flat:
            raise InputError(
                "Members of shards must score an item by itself: bm25 of one text, and dense over a flat index. Got "
                f"{recipe!r} for {name!r}."
            )


def listed_ids(ids: Any) -> list[str]:
    """Return ids, of which one may be given alone."""
    listed = [ids] if isinstance(ids, str) else list(ids) if isinstance(ids, Iterable) else [ids]
    for id in listed:
        if not isinstance(id, str):
            raise InputError(f"`ids` must be texts. Got {type(id).__name__}.")
    return listed


def click_row(click: Any) -> tuple[Any, ...]:
    """Return a click as (query, item), with weight and time where these are known."""
    row = tuple(click) if isinstance(click, Sequence) and not isinstance(click, str) else ()
    if not 2 <= len(row) <= 4 or not all(isinstance(each, str) for each in row[:2]):
        raise InputError(f"A click must be a query and an item, with weight and time if known. Got {click!r:.80}.")
    return row


class WriterLock:
    """Held by the process that writes, until it ends; row numbers are given by one process.

    A child that the process forks does not hold it, and does not keep it from others when its parent ends.

    Parameters
    ----------
    path : Path
        The lock file.
    """

    def __init__(self, path: Path):
        self._path = path
        self._handle: int | None = None
        _LOCKS.add(self)

    def take(self) -> bool:
        """Take the lock unless it is held already; return whether it was new. Another process that holds it raises."""
        if self._handle is not None:
            return False
        try:
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise EngineError(f"{self._path}: the folder of the first shard must be there. Got {error}.") from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(handle, 20, 0).decode(errors="replace") or "unknown"
            os.close(handle)
            raise EngineError(
                f"One process may write to a collection at a time. Got process {holder}, which does: write through it, "
                "or close it first."
            ) from None
        os.ftruncate(handle, 0)
        os.pwrite(handle, str(os.getpid()).encode(), 0)
        self._handle = handle
        return True

    def release(self) -> None:
        """Let others write."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


_LOCKS: WeakSet[WriterLock] = WeakSet()


def _leave_to_parent() -> None:
    """Close the handles that a fork has copied: the lock lasts until all are closed."""
    for lock in list(_LOCKS):
        lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)
