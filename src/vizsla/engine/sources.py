"""The files that an engine's items came from: what is known of each, and of each item, in the catalog's tables."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable
from typing import NamedTuple

UNSETTLED = -1
"""The size that is noted of a file which must be read again in any case."""


class FileState(NamedTuple):
    """A file as it was when it was read.

    Attributes
    ----------
    size, mtime : int
        Bytes, and the time of the last change in nanoseconds; size is `UNSETTLED` if they must not be trusted.
    digest : bytes
        Digest of its content.
    how : str
        The options of reading it, as JSON.
    """

    size: int
    mtime: int
    digest: bytes
    how: str


class ItemOrigin(NamedTuple):
    """The number of the file that an item came from, and the digest of its row."""

    f: int
    digest: bytes


def files_of(connection: sqlite3.Connection, root: str) -> dict[str, tuple[int, FileState]]:
    """Return the known files of a root, with their numbers, by their paths below it."""
    sql = "SELECT path, f, size, mtime, digest, how FROM sources WHERE root = ?"
    return {path: (f, FileState(*state)) for path, f, *state in connection.execute(sql, (root,))}


def note_file(connection: sqlite3.Connection, root: str, path: str, state: FileState) -> int:
    """Note a file as it is now; return its number."""
    sql = (
        "INSERT INTO sources (root, path, size, mtime, digest, how) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (root, path)"
        " DO UPDATE SET size = excluded.size, mtime = excluded.mtime, digest = excluded.digest, how = excluded.how"
        " RETURNING f"
    )
    return int(connection.execute(sql, (root, path, *state)).fetchall()[0][0])


def forget_files(connection: sqlite3.Connection, files: Iterable[int]) -> None:
    """Forget files, by number; their items are deleted apart."""
    connection.executemany("DELETE FROM sources WHERE f = ?", ((f,) for f in files))


def ids_of_file(connection: sqlite3.Connection, f: int) -> list[str]:
    """Return the ids of the items that came from a file."""
    return [row[0] for row in connection.execute("SELECT id FROM source_items WHERE f = ?", (f,))]


def origins(connection: sqlite3.Connection, ids: Iterable[str]) -> dict[str, ItemOrigin]:
    """Return where items came from; those that came from no file are not in it."""
    sql = "SELECT s.id, s.f, s.digest FROM json_each(?) AS wanted CROSS JOIN source_items AS s ON s.id = wanted.value"
    return {id: ItemOrigin(f, digest) for id, f, digest in connection.execute(sql, (json.dumps(list(ids)),))}


def note_items(connection: sqlite3.Connection, f: int, digests: dict[str, bytes]) -> None:
    """Note that items came from a file, with the digests of their rows."""
    rows = ((id, f, digest) for id, digest in digests.items())
    connection.executemany("INSERT OR REPLACE INTO source_items VALUES (?, ?, ?)", rows)


def place_of(connection: sqlite3.Connection, f: int) -> str:
    """Return the full path of a file."""
    root, path = connection.execute("SELECT root, path FROM sources WHERE f = ?", (f,)).fetchone()
    return _joined(root, path)


def files_under(connection: sqlite3.Connection, path: str) -> list[int]:
    """Return the numbers of the files that are at or below a path.

    The path is one of the file system, or, where nothing is known at that place, one below a folder that was synced,
    as the field `path` of a passage names it.
    """
    known = connection.execute("SELECT f, root, path FROM sources").fetchall()
    wanted = os.path.abspath(path)  # noqa: PTH100 - links are kept as they were given to `sync`
    found = [f for f, root, inner in known if _is_below(_joined(root, inner), wanted)]
    return found or [f for f, _, inner in known if inner and _is_below(inner, path.rstrip("/"))]


def _joined(root: str, path: str) -> str:
    return f"{root.rstrip('/')}/{path}" if path else root


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")
