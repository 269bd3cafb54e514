"""Sync: lets an engine hold what a folder of documents or a file of items holds; only what has changed is read."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from vizsla.core.catalog import Item
from vizsla.core.validation import WarningLog, as_path, check_unicode
from vizsla.engine.catalog import live_numbers
from vizsla.engine.changes import ItemRow, delete_rows, insert_rows, replace_metadata, rows_of
from vizsla.engine.sources import (
    UNSETTLED,
    FileState,
    files_of,
    forget_files,
    ids_of_file,
    note_file,
    note_items,
    origins,
    place_of,
)
from vizsla.errors import DataError, InputError, check_choice
from vizsla.io.bad_lines import ON_ERROR, Reading
from vizsla.io.document_readers import READERS
from vizsla.io.documents import NUMBERS, FolderSource
from vizsla.io.duplicates import EXACT, with_digest
from vizsla.io.fields import Fields
from vizsla.io.files import found
from vizsla.io.open import has_records
from vizsla.io.passages import DEFAULT_WORDS, PassageSizes
from vizsla.io.readers import FORMATS, item_parts

T = TypeVar("T")

ITEMS_PER_TRANSACTION = 1000
"""Items per transaction; a document is never divided among two."""
GRAIN_NS, COARSE_GRAIN_NS = 50_000_000, 2_000_000_000
"""A file that changed so shortly before it was read may change again without another time: it is read once more."""
PASSAGE_OPTIONS = ("passage_size", "passage_overlap", "passage_min", "passage_unit")
OPTIONS = ("id", "text", "title", "meta", "format", "separator", "encoding", *PASSAGE_OPTIONS, "dedupe")
KINDS = {"path": "text", "heading": "text", **dict.fromkeys(NUMBERS, "number")}
"""What the fields of a passage are, whatever the first document's headings look like."""
READ, SAME, NEW, OTHER = "read", "unchanged", "added", "changed"


@dataclass(frozen=True)
class SyncReport:
    """What a sync has found and done.

    Attributes
    ----------
    added, changed, deleted, unchanged : int
        Documents of a folder, or rows of a file of items.
    read : int
        Files whose content was read.
    left_out : tuple of str
        Records that could not be synced, with the reasons.

    Examples
    --------
    >>> print(SyncReport(added=1, changed=2, deleted=0, unchanged=1997, read=3))
    1 added, 2 changed, 0 deleted, 1,997 unchanged
    """

    added: int = 0
    changed: int = 0
    deleted: int = 0
    unchanged: int = 0
    read: int = 0
    left_out: tuple[str, ...] = ()

    def __str__(self) -> str:
        counts = {name: getattr(self, name) for name in ("added", "changed", "deleted", "unchanged")}
        return ", ".join(f"{count:,} {name}" for name, count in counts.items())


class Store(Protocol):
    """Runs a function in a transaction, and returns what it returned."""

    def __call__(self, act: Callable[[sqlite3.Connection], T], /) -> T:
        """Run it."""
        ...


class Document(NamedTuple):
    """A document that was read: its path below the root, its state, and its passages; None if they are as before."""

    path: str
    state: FileState
    rows: list[ItemRow] | None


def sync_path(read: Store, store: Store, path: str | Path, reading: Mapping[str, Any]) -> SyncReport:
    """Sync a folder of documents, one document, or a file of items; see `Engine.sync`."""
    unknown = sorted(reading.keys() - {*OPTIONS, "on_error"})
    if unknown:
        raise InputError(f"`sync` must be given options of {', '.join(OPTIONS)}, on_error. Got {', '.join(unknown)}.")
    check_choice("format", reading.get("format"), [None, *FORMATS])
    check_choice("on_error", reading.get("on_error"), [None, *ON_ERROR])
    if reading.get("dedupe") not in (None, EXACT):
        raise InputError(
            "`dedupe` must be 'exact' in an engine, whose documents change one by one: what nearly repeats another "
            f"depends on all of them. Got {reading['dedupe']!r:.40}."
        )
    place = Path(os.path.abspath(as_path(path)))  # noqa: PTH100 - a link that is moved on stays the same place
    check_unicode("path", str(place))
    if not place.exists():
        raise InputError(
            f"`path` must be a folder or a file. Got {path}, which is not there: nothing was deleted. "
            "To delete what came from it, use `engine.delete(path=…)`."
        )
    run = _Sync(read, store, place, reading)
    if place.is_dir():
        _check_folder(place)
        return run.documents()
    is_document = reading.get("format") is None and place.suffix.lower() in READERS
    return run.documents() if is_document and not has_records(place, run.how) else run.rows()


def _check_folder(folder: Path) -> None:
    held = [name for name in ("corpus.jsonl", "collection.tsv", "corpus.parquet") if found(folder, name)]
    if held:
        raise InputError(
            f"`path` must be a folder of documents, or a file of items. Got {folder}, a dataset: give its {held[0]}."
        )


class _Sync:
    """One pass over a place."""

    def __init__(self, read: Store, store: Store, place: Path, reading: Mapping[str, Any]):
        self._read, self._store, self._place, self._root = read, store, place, place.as_posix()
        self._reading = reading
        self.how = Reading(reading.get("encoding", "utf-8"), reading.get("on_error") or "raise")
        given = {name: reading[name] for name in OPTIONS if reading.get(name) is not None}
        self._said = json.dumps(given, sort_keys=True, default=_named)
        self._known = read(lambda connection: files_of(connection, self._root))
        self._counts = dict.fromkeys((NEW, OTHER, SAME, READ, "deleted"), 0)
        self._left_out = WarningLog()

    def documents(self) -> SyncReport:
        """Sync a folder of documents, or one document."""
        size, overlap, least, unit = (self._reading.get(name) for name in PASSAGE_OPTIONS)
        sizes = PassageSizes(DEFAULT_WORDS if size is None else size, overlap or 0, least, unit or "words")
        source = FolderSource(self._place, how=self.how, sizes=sizes)
        paths = {
            "" if path == self._place else path.relative_to(self._place).as_posix(): path for path in source.found.paths
        }
        gone = [path for path in self._known.keys() - paths.keys() if self._is_gone(path)]
        for start in range(0, len(gone), ITEMS_PER_TRANSACTION):
            self._forget(gone[start : start + ITEMS_PER_TRANSACTION])
        self._counts["deleted"] += len(gone)
        batch, size = list[Document](), 0
        for document in self._changed(source, paths):
            batch.append(document)
            size += 1 + len(document.rows or ())
            if size >= ITEMS_PER_TRANSACTION:
                self._put(batch)
                batch, size = [], 0
        self._put(batch)
        if count := source.found.left_out():
            self._left_out.add(count, f"files left out of {self._place}: {source.found.reasons()}")
        return self._report()

    def _told_apart(self, items: Iterable[Item]) -> Iterable[Item]:
        return with_digest(items) if self._reading.get("dedupe") == EXACT else items

    def _is_gone(self, path: str) -> bool:
        """Return whether a file that is not listed is no longer a document; it may be in a folder that is closed."""
        try:
            (self._place / path).lstat()
        except (FileNotFoundError, NotADirectoryError):
            return True
        except OSError as error:
            self._left_out.add(1, f"document cannot be read, and stays as it was: {path} ({error.strerror})")
            return False
        return True

    def _forget(self, paths: list[str]) -> None:
        def act(connection: sqlite3.Connection) -> None:
            known = files_of(connection, self._root)
            files = [known[path][0] for path in paths if path in known]
            delete_rows(connection, [id for f in files for id in ids_of_file(connection, f)], "ignore")
            forget_files(connection, files)

        self._store(act)

    def _changed(self, source: FolderSource, paths: dict[str, Path]) -> Iterator[Document]:
        """Yield documents that are new or changed, and those of which only the time has."""
        unread, silent = list[DataError](), 0
        for path, place in paths.items():
            known = self._known.get(path)
            try:
                status = place.stat()
                if known is not None and self._is_settled(known[1], status):
                    self._counts[SAME] += 1
                    continue
                moment = time.time_ns()
                self._counts[READ] += 1
                content = source.content(place)
                state = self._state(status, hashlib.blake2b(content, digest_size=16).digest(), moment)
                if known is not None and _same_content(known[1], state):
                    self._counts[SAME] += 1
                    yield Document(path, state, None)
                    continue
                rows = rows_of(self._told_apart(source.items_in(place, content)))
            except FileNotFoundError:  # since the folder was listed: the next sync deletes it
                continue
            except (DataError, OSError) as error:
                problem = error if isinstance(error, DataError) else DataError(str(error), path=place)
                if self._reading.get("on_error") == "raise":
                    raise problem from None
                unread.append(problem)
                continue
            self._counts[NEW if known is None else OTHER] += 1
            silent += not rows
            yield Document(path, state, rows)
        stay = "documents cannot be read, and stay as they were; the first"
        self._left_out.add(len(unread), f"{stay}: {unread[0] if unread else ''}")
        self._left_out.add(silent, "documents without a word")

    def _put(self, batch: list[Document]) -> None:
        """Store the passages of documents, each with what is known of its file, in one transaction."""

        def act(connection: sqlite3.Connection) -> None:
            sql = "INSERT OR IGNORE INTO fields VALUES (?, ?, 0, '[]')"
            connection.executemany(sql, KINDS.items())
            for document in batch:
                f = note_file(connection, self._root, document.path, document.state)
                if document.rows is None:
                    continue
                _store_rows(connection, f, document.rows)
                held = {row.id for row in document.rows}
                delete_rows(connection, [id for id in ids_of_file(connection, f) if id not in held], "ignore")

        if batch:
            self._store(act)

    def rows(self) -> SyncReport:
        """Sync a file of items, row by row."""
        status, moment = self._place.stat(), time.time_ns()
        _, known = self._known.get("", (0, None))
        if known is not None and self._is_settled(known, status):
            return self._nothing_new()
        self._counts[READ] += 1
        state = self._state(status, _file_digest(self._place), moment)
        if known is not None and _same_content(known, state):
            self._store(lambda connection: note_file(connection, self._root, "", state))
            return self._nothing_new()
        seen = self._store_batches()
        after = self._place.stat()
        if (after.st_size, after.st_mtime_ns) != (status.st_size, status.st_mtime_ns):
            self._left_out.add(1, f"file changed while it was read: the next sync reads it again: {self._place}")
            return self._report()
        gone = [id for id in self._held() if id not in seen]
        for start in range(0, len(gone), ITEMS_PER_TRANSACTION):
            self._store(partial(delete_rows, ids=gone[start : start + ITEMS_PER_TRANSACTION], unknown="ignore"))
        self._counts["deleted"] += len(gone)
        self._store(lambda connection: note_file(connection, self._root, "", state))
        return self._report()

    def _nothing_new(self) -> SyncReport:
        self._counts[SAME] = len(self._held())
        return self._report()

    def _held(self) -> list[str]:
        def act(connection: sqlite3.Connection) -> list[str]:
            known = files_of(connection, self._root).get("")
            return [] if known is None else ids_of_file(connection, known[0])

        return self._read(act)

    def _store_batches(self) -> set[str]:
        """Store the rows that are new or changed; return the ids of all. The file counts as unread until its end."""
        fields = Fields.named(**{name: self._reading.get(name) for name in ("id", "text", "title", "meta")})
        format, separator = self._reading.get("format"), self._reading.get("separator")
        source = item_parts(self._place, fields, self.how, format=format, separator=separator).items
        seen, unsettled, left = set[str](), FileState(UNSETTLED, 0, b"", self._said), iter(source)
        repeated, first = 0, 0
        while batch := list(islice(left, ITEMS_PER_TRANSACTION)):
            new: dict[str, Item] = {}
            for number, item in enumerate(batch, first):
                if item.id not in seen and item.id not in new:
                    new[item.id] = item
                    continue
                if not self.how.skips:
                    line = source.place(number)
                    problem = f"the id {item.id!r:.60} was given before."
                    raise DataError(problem, path=self._place, line=line.number, remedy="Give every id once.")
                repeated += 1
            first += len(batch)
            seen |= new.keys()
            rows = rows_of(self._told_apart(new.values()))

            def act(connection: sqlite3.Connection, rows: list[ItemRow] = rows) -> dict[str, int]:
                return _store_rows(connection, note_file(connection, self._root, "", unsettled), rows)

            for name, count in self._store(act).items():
                self._counts[name] += count
        source.report(self._left_out)
        self._left_out.add(repeated, f"rows of {self._place} with an id that was given before")
        return seen

    def _is_settled(self, known: FileState, status: os.stat_result) -> bool:
        return (known.size, known.mtime, known.how) == (status.st_size, status.st_mtime_ns, self._said)

    def _state(self, status: os.stat_result, digest: bytes, moment: int) -> FileState:
        grain = GRAIN_NS if status.st_mtime_ns % 1_000_000_000 else COARSE_GRAIN_NS
        settled = not 0 <= moment - status.st_mtime_ns < grain
        return FileState(status.st_size if settled else UNSETTLED, status.st_mtime_ns, digest, self._said)

    def _report(self) -> SyncReport:
        return SyncReport(**self._counts, left_out=self._left_out.messages)


def _named(unit: object) -> str:
    """Name a function that counts tokens the same way in every process: by its name, and its encoder's fingerprint."""
    return f"{getattr(unit, '__qualname__', unit)} {getattr(getattr(unit, '__self__', None), 'fingerprint', '')}"


def _same_content(known: FileState, now: FileState) -> bool:
    return (known.digest, known.how) == (now.digest, now.how)


def _file_digest(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).digest()


def _row_digest(row: ItemRow) -> bytes:
    """Return the digest of what is searched, and behind it that of the metadata."""
    parts = json.dumps([row.title, row.text]), json.dumps(row.fields, sort_keys=True)
    return b"".join(hashlib.blake2b(part.encode(), digest_size=16).digest() for part in parts)


def _store_rows(connection: sqlite3.Connection, f: int, rows: list[ItemRow]) -> dict[str, int]:
    """Store the rows of a file that differ from what is known; of those with the same texts, only the metadata."""
    before = origins(connection, (row.id for row in rows))
    digests = {row.id: _row_digest(row) for row in rows}
    other = next((id for id, origin in before.items() if origin.f != f), None)
    if other is not None:
        place = place_of(connection, before[other].f)
        raise InputError(
            f"Every item must come from one file. Got {other!r:.80}, which came from {place}: sync that first if it "
            "has changed, delete it by `engine.delete(path=…)`, or use another engine."
        )
    different = [row for row in rows if row.id not in before or before[row.id].digest != digests[row.id]]
    retold = [row for row in different if row.id in before and before[row.id].digest[:16] == digests[row.id][:16]]
    numbers = live_numbers(connection, (row.id for row in retold))
    replace_metadata(connection, {numbers[row.id]: row.fields for row in retold})
    insert_rows(connection, [row for row in different if row.id not in numbers], replace=True)
    note_items(connection, f, {row.id: digests[row.id] for row in different})
    added = sum(row.id not in before for row in rows)
    return {NEW: added, OTHER: len(different) - added, SAME: len(rows) - len(different)}
