"""Maintenance: flush rows into segments, merge segments, repair and sweep; one holder at a time on a machine."""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from vizsla.engine.catalog import CatalogFile, last_given, note, state_of
from vizsla.engine.definitions import LIVE, Definition, listed_folders, stored_members
from vizsla.engine.follower import Follower, Layout
from vizsla.engine.live_items import joined_text
from vizsla.engine.live_metadata import (
    MemoryBlock,
    MetadataBlock,
    StoredBlock,
    fields_of,
    stored_rows,
    with_changed,
    write_columns_of,
)
from vizsla.engine.segments import (
    METADATA,
    Files,
    NewFolder,
    Segment,
    Writing,
    all_to_merge,
    check_files,
    files_of,
    read_rows,
    stored_segments,
    sweep,
    to_merge,
    write_rows,
)
from vizsla.engine.verified import VerifiedFolders
from vizsla.errors import EngineError, FormatError
from vizsla.typing import Int32Array, Int64Array

LOCK = "engine.lock"
WAIT_S = 600.0
"""How long an explicit call waits for the maintenance of another process."""
ROWS = "rows"

METADATA_PART = f"m{METADATA}"
MEMORY_MB = 1024
"""What merging may take unless another number is given."""
MERGE_FACTOR = 2.5
"""Bytes of memory that merging needs for each byte of the parts that are merged, at most; 1.6 to 1.9 were seen."""
FLUSH_SHARE = 0.25
"""Of that memory, how much the newest rows may take before they become a segment."""
MAX_CHANGED_ROWS = 4000
"""Changed rows of metadata that processes read one by one; beyond, the columns of a segment are written anew."""

Commit = Callable[[Callable[[sqlite3.Connection], Any]], Any]


class Maintenance:
    """What changes segments: each step writes new folders, syncs them, and lists them in one transaction.

    Parameters
    ----------
    catalog : CatalogFile
        The catalog.
    follower : Follower
        The data of this process.
    commit : function
        Runs a function of a connection in one write transaction.
    flush_rows : int
        Rows in memory that are worth a segment, and the floor of merging.
    memory_mb : float
        Maximum memory of a merge. Segments that would need more are not merged.
    """

    def __init__(self, catalog: CatalogFile, follower: Follower, commit: Commit, *, flush_rows: int, memory_mb: float):
        self.catalog, self.follower, self.commit = catalog, follower, commit
        self.flush_rows, self.memory_mb = flush_rows, memory_mb
        self._seen_changes = 0

    @contextmanager
    def holding(self, *, wait: bool = True) -> Iterator[bool]:
        """Hold the lock of maintenance within the block; without `wait`, say whether it could be had."""
        path = self.catalog.folder / LOCK
        with Writing(path):
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            held = self._locked(handle, wait)
            with suppress(OSError):  # only for the message of those that wait
                if held:
                    os.ftruncate(handle, 0)
                    os.pwrite(handle, str(os.getpid()).encode(), 0)
            yield held
        finally:
            os.close(handle)

    def _locked(self, handle: int, wait: bool) -> bool:
        waited, seen = 0.0, time.monotonic()
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                if not wait:
                    return False
            if waited > WAIT_S:
                holder = os.pread(handle, 20, 0).decode(errors="replace") or "unknown"
                raise EngineError(
                    f"{self.catalog.folder}: process {holder} maintains it and does not finish: try later."
                )
            time.sleep(0.02)
            now = time.monotonic()
            waited, seen = waited + min(now - seen, 1.0), now

    def is_due(self, connection: sqlite3.Connection) -> bool:
        """Return whether there is something to flush, or too many changes of metadata beside the columns."""
        given = dict(connection.execute("SELECT name, seq FROM sqlite_sequence").fetchall())
        frontier = state_of(connection).frontier
        if given.get("items", 0) - frontier >= self.flush_rows or self._is_full():
            return True
        if given.get("metadata_changes", 0) == self._seen_changes:
            return False
        self._seen_changes = given["metadata_changes"]
        count = connection.execute("SELECT COUNT(*) FROM metadata_changes WHERE n <= ?", (frontier,)).fetchone()[0]
        return bool(count > MAX_CHANGED_ROWS)

    def _is_full(self) -> bool:
        """Return whether the newest rows take more memory in this process than they may."""
        taken = sum(member.memory_bytes for member in list(self.follower.members.values()))
        return taken > FLUSH_SHARE * self.memory_mb * 1e6

    def step(self) -> bool:
        """Do what is due next: flush, merge, or write columns anew; return whether anything was."""
        with self.catalog.scanning() as connection:
            waiting = last_given(connection, "items") - state_of(connection).frontier
        if waiting >= self.flush_rows or (waiting and self._is_full()):
            self.flush()
            return True
        return self.merge() or self.rewrite_metadata()

    def flush(self) -> int:
        """Write the rows in memory as a segment; return how many."""
        layout = self.follower.layout()
        slots = np.flatnonzero(layout.live[layout.stored :]).astype(np.int32) + np.int32(layout.stored)
        self._write(layout, slots, [], frontier=layout.last_item)
        return len(slots)

    def merge(self, *, everything: bool = False) -> bool:
        """Merge neighboring segments once, where that is due; return whether it was."""
        layout = self.follower.layout()
        bounds = layout.bounds()
        sizes = [
            (segment.rows, int(layout.live[start : start + segment.rows].sum()))
            for segment, start in zip(layout.segments, bounds, strict=False)
        ]
        limits: Any = {
            "sizes_bytes": [segment.largest_part for segment in layout.segments],
            "max_bytes": self.memory_mb * 1e6 / MERGE_FACTOR,
        }
        due = all_to_merge(sizes, **limits) if everything else to_merge(sizes, floor=self.flush_rows, **limits)
        if due is None:
            return False
        first, end = due
        slots = np.flatnonzero(layout.live[: bounds[end]]).astype(np.int32)
        slots = slots[slots >= bounds[first]]
        self._write(layout, slots, layout.segments[first:end])
        return True

    def _write(
        self, layout: Layout, slots: Int32Array, replaced: Sequence[Segment], *, frontier: int | None = None
    ) -> None:
        """Write some slots as a segment, in place of others, and list it."""
        numbers = layout.numbers[slots]
        with NewFolder(self.catalog.folder) as new:
            parts: dict[str, Path] = {}
            changes = 0
            if len(slots):
                with Writing(new.path):
                    parts[ROWS], parts[METADATA_PART] = new.part(ROWS), new.part(METADATA_PART)
                    write_rows(parts[ROWS], numbers, layout.ids(slots))
                    changes = self._write_metadata(parts[METADATA_PART], numbers, replaced)
                    for name, member in layout.members.items():
                        number = layout.generation.definitions[name].number
                        parts[f"m{number}"] = new.part(f"m{number}")
                        member.write(parts[f"m{number}"], slots)
                new.sealed()
            files = {name: files_of(path) for name, path in parts.items()}
            stamps = {f"{new.name}/{name}": check_files(parts[name], files[name], checksums=False) for name in parts}
            VerifiedFolders(self.catalog.folder).add(stamps)
            others = [segment for segment in layout.segments if segment not in replaced]
            kept = np.sort(np.concatenate([numbers, *(self.numbers(segment) for segment in others)]))
            expected = layout.generation.state.layout

            def listed(connection: sqlite3.Connection) -> None:
                check_layout(connection, expected)
                unlist(connection, replaced)
                if len(slots):
                    list_segment(connection, new.name, numbers, files, changes)
                if frontier is not None:
                    connection.execute("UPDATE state SET frontier = ?", (frontier,))
                purge(connection, kept)
                changed_layout(connection)

            self.commit(listed)
            if len(slots):
                new.keep()
        self.sweep()

    def _write_metadata(self, folder: Path, numbers: Int64Array, segments: Sequence[Segment]) -> int:
        """Write the columns of rows, from those of the segments that they were in; return the last change they have."""
        with self.catalog.scanning() as connection:
            fields, changes = fields_of(connection), last_given(connection, "metadata_changes")
            if not segments:
                rows = stored_rows(connection, numbers.tolist()) if fields else {}
                changed = dict[int, Any]()
            else:
                sql = "SELECT DISTINCT n FROM metadata_changes"
                wanted = np.intersect1d(numbers, [row[0] for row in connection.execute(sql)]).tolist()
                rows = stored_rows(connection, wanted)
                changed = {n: rows.get(n, {}) for n in wanted}
        blocks: list[tuple[MetadataBlock, Int64Array | None]] = []
        if not segments:
            blocks.append((MemoryBlock([rows.get(n, {}) for n in numbers.tolist()]), None))
        for segment in segments:
            own = self.numbers(segment)
            places = np.searchsorted(own, numbers[(numbers >= own[0]) & (numbers <= own[-1])])
            block: MetadataBlock = StoredBlock(self.catalog.folder / segment.parts[METADATA][0], segment.rows)
            at = {int(np.searchsorted(own, n)): row for n, row in changed.items() if own[0] <= n <= own[-1]}
            blocks.append((with_changed([block], at)[0] if at else block, places))
        write_columns_of(folder, blocks, fields, len(numbers))
        return changes

    def rewrite_metadata(self) -> bool:
        """Write the columns of the segment that most rows have changed in anew, where that is due; say whether."""
        with self.catalog.scanning() as connection:
            segments, state = stored_segments(connection), state_of(connection)
            sql = "SELECT DISTINCT n FROM metadata_changes WHERE n <= ? ORDER BY n"
            changed = np.array([row[0] for row in connection.execute(sql, (state.frontier,))], np.int64)
        counts = np.diff(np.searchsorted(changed, [*(segment.first for segment in segments), state.frontier + 1]))
        if counts.sum() <= MAX_CHANGED_ROWS:
            return False
        segment = segments[int(np.argmax(counts))]
        with NewFolder(self.catalog.folder) as new:
            part = new.part(METADATA_PART)
            with Writing(part):
                changes = self._write_metadata(part, self.numbers(segment), [segment])
            new.sealed()
            files = json.dumps(files_of(part))

            def swapped(connection: sqlite3.Connection) -> None:
                check_layout(connection, state.layout)
                values = f"{new.name}/{METADATA_PART}", files, segment.number, METADATA
                connection.execute("UPDATE parts SET folder = ?, files = ? WHERE s = ? AND m = ?", values)
                connection.execute("UPDATE segments SET changes = ? WHERE s = ?", (changes, segment.number))
                changed_layout(connection)

            self.commit(swapped)
            new.keep()
        self.sweep()
        return True

    def numbers(self, segment: Segment) -> Int64Array:
        """Return the row numbers of a segment."""
        return read_rows(self.catalog.folder / segment.folder, segment.rows).numbers

    def sweep(self) -> list[str]:
        """Remove folders that the catalog does not list."""
        with self.catalog.scanning() as connection:
            listed = listed_folders(connection)
        return sweep(self.catalog.folder, listed)

    def write_parts(self, definition: Definition, definitions: dict[str, Definition]) -> dict[int, tuple[str, Files]]:
        """Write the part of a new live member for every segment, from the texts in the catalog."""
        with self.catalog.scanning() as connection:
            segments = stored_segments(connection)
        found: dict[int, tuple[str, Files]] = {}
        for segment in segments:
            with NewFolder(self.catalog.folder) as new:
                folder = self._write_part(new, segment, self.numbers(segment), definition, definitions)
                new.sealed()
                found[segment.number] = f"{new.name}/{folder.name}", files_of(folder)
                new.keep()
        return found

    def _write_part(
        self,
        new: NewFolder,
        segment: Segment,
        numbers: Int64Array,
        definition: Definition,
        definitions: dict[str, Definition],
    ) -> Path:
        members: dict[str, Any] = {}
        for name in self._bases(definition, definitions):
            base = definitions[name]
            members[name] = self.follower.new_member(base, definitions, members)
            members[name].open([self.catalog.folder / segment.parts[base.number][0]], [segment.rows])
        member = self.follower.new_member(definition, definitions, members)
        member.open([], [])
        fields = self._fields(numbers)
        member.append(fields if member.reads_fields else [joined_text(*both) for both in fields])
        folder = new.part(f"m{definition.number or 'new'}")
        with Writing(folder):
            member.write(folder, np.arange(len(fields), dtype=np.int32))
        return folder

    def _bases(self, definition: Definition, definitions: dict[str, Definition]) -> list[str]:
        found: list[str] = []
        for name in definition.needs:
            found += [*self._bases(definitions[name], definitions), name]
        return list(dict.fromkeys(found))

    def _fields(self, numbers: Int64Array) -> list[tuple[str, str]]:
        """Read the title and the text of rows."""
        sql = "SELECT n, title, text FROM items WHERE n IN (SELECT value FROM json_each(?))"
        with self.catalog.scanning() as connection:
            rows = connection.execute(sql, (json.dumps(numbers.tolist()),)).fetchall()
        known = {n: (title, text) for n, title, text in rows}
        return [known[n] for n in numbers.tolist()]

    def damaged(self) -> dict[int, str]:
        """Return the segments whose files are not what was written, by number, with what is wrong."""
        with self.catalog.scanning() as connection:
            segments = stored_segments(connection)
        found: dict[int, str] = {}
        for segment in segments:
            for folder, files in [(segment.folder, segment.files), *segment.parts.values()]:
                try:
                    check_files(self.catalog.folder / folder, files, checksums=True)
                except FormatError as error:
                    found[segment.number] = str(error)
                except OSError as error:
                    found[segment.number] = f"{self.catalog.folder / folder}: missing ({error.strerror})."
        return found

    def repair(self) -> list[str]:
        """Make damaged segments anew from the texts in the catalog; return what was wrong."""
        problems = self.damaged()
        for number, problem in problems.items():
            with self.catalog.scanning() as connection:
                segments = stored_segments(connection)
            self._rewrite(segments, next(each for each in segments if each.number == number), problem)
        if problems:
            self.follower.reload()
            self.sweep()
        return list(problems.values())

    def _rewrite(self, segments: list[Segment], damaged: Segment, problem: str) -> None:
        later = [segment.first for segment in segments if segment.first > damaged.first]
        with self.catalog.scanning() as connection:
            state, definitions = state_of(connection), stored_members(connection)
            end = min(later, default=state.frontier + 1)
            sql = "SELECT n, id FROM items WHERE n >= ? AND n < ? AND n NOT IN (SELECT n FROM deletions) ORDER BY n"
            rows = connection.execute(sql, (damaged.first, end)).fetchall()
        numbers = np.array([row[0] for row in rows], np.int64)
        changes = 0
        with NewFolder(self.catalog.folder) as new:
            parts: dict[str, Path] = {}
            if rows:
                parts[ROWS], parts[METADATA_PART] = new.part(ROWS), new.part(METADATA_PART)
                with Writing(new.path):
                    write_rows(parts[ROWS], numbers, [[row[1] for row in rows]])
                    changes = self._write_metadata(parts[METADATA_PART], numbers, [])
                fresh: dict[int, tuple[str, Files]] = {}
                segment = Segment(0, int(numbers[0]), len(rows), "", {}, changes, fresh)
                for definition in definitions.values():
                    if definition.type == LIVE:
                        folder = self._write_part(new, segment, numbers, definition, definitions)
                        fresh[definition.number] = f"{new.name}/{folder.name}", {}
                        parts[folder.name] = folder
                new.sealed()
            files = {name: files_of(path) for name, path in parts.items()}

            def listed(connection: sqlite3.Connection) -> None:
                check_layout(connection, state.layout)
                unlist(connection, [damaged])
                if rows:
                    list_segment(connection, new.name, numbers, files, changes)
                changed_layout(connection)
                note(connection, "repair", problem)

            self.commit(listed)
            new.keep()


def check_layout(connection: sqlite3.Connection, expected: int) -> None:
    """Raise if segments or members have changed since they were read: nothing is stored then."""
    found = state_of(connection).layout
    if found != expected:
        raise EngineError(f"Segments must not change while they are merged. Got layout {found} in place of {expected}.")


def changed_layout(connection: sqlite3.Connection) -> None:
    """Let every process open segments and members anew; what only told of changes is not needed any longer."""
    connection.execute("UPDATE state SET layout = layout + 1")
    connection.execute("DELETE FROM click_deletions")
    # Rows in memory are read again; those of segments stay listed until the columns have the change.
    connection.execute("DELETE FROM metadata_changes WHERE n > (SELECT frontier FROM state)")
    segments = connection.execute("SELECT first, changes FROM segments ORDER BY first").fetchall()
    # Rows before the first segment are deleted, and their segments are gone.
    earliest = segments[0][0] if segments else np.iinfo(np.int64).max
    connection.execute("DELETE FROM metadata_changes WHERE n < ?", (int(earliest),))
    ends = [*(first for first, _ in segments[1:]), np.iinfo(np.int64).max]
    sql = "DELETE FROM metadata_changes WHERE n >= ? AND n < ? AND u <= ?"
    spans = [(first, int(end), changes) for (first, changes), end in zip(segments, ends, strict=False)]
    connection.executemany(sql, spans)


def list_segment(
    connection: sqlite3.Connection, folder: str, numbers: Int64Array, files: dict[str, Files], changes: int
) -> None:
    """List a segment and its parts, which are on the disk."""
    sql = "INSERT INTO segments (first, rows, folder, files, changes) VALUES (?, ?, ?, ?, ?)"
    values = int(numbers[0]), len(numbers), f"{folder}/{ROWS}", json.dumps(files[ROWS]), changes
    number = connection.execute(sql, values).lastrowid
    parts = [
        (number, int(name[1:]), f"{folder}/{name}", json.dumps(each)) for name, each in files.items() if name != ROWS
    ]
    connection.executemany("INSERT INTO parts VALUES (?, ?, ?, ?)", parts)


def unlist(connection: sqlite3.Connection, segments: Sequence[Segment]) -> None:
    """Take segments from the list."""
    for segment in segments:
        connection.execute("DELETE FROM segments WHERE s = ?", (segment.number,))
        connection.execute("DELETE FROM parts WHERE s = ?", (segment.number,))


def purge(connection: sqlite3.Connection, kept: Int64Array) -> None:
    """Forget deleted rows that are in no segment, whose rows are `kept`, and not in the memory of any process."""
    frontier = state_of(connection).frontier
    rows = connection.execute("SELECT n FROM deletions WHERE n <= ? ORDER BY n", (frontier,)).fetchall()
    gone = np.array([row[0] for row in rows], np.int64)
    if len(gone) and len(kept):
        gone = gone[kept[np.minimum(np.searchsorted(kept, gone), len(kept) - 1)] != gone]
    if len(gone):
        wanted = json.dumps(gone.tolist())
        for table in ("items", "metadata", "deletions"):
            connection.execute(f"DELETE FROM {table} WHERE n IN (SELECT value FROM json_each(?))", (wanted,))
