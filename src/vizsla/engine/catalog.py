"""CatalogFile: the SQLite file of an engine, its only commit point: tables, connections, transactions and errors."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from vizsla._internal.forking import ForkGate, ForkLock
from vizsla.errors import EngineError, FormatError, InputError, VizslaError

T = TypeVar("T")

APPLICATION = 0x565A454E
"""Marks the file as an engine's: no other database is ever changed."""
VERSION = 1
NAME = "catalog.sqlite"
PATIENCE_S = 120.0
"""How long a writer waits for others; a transaction takes milliseconds."""
MOMENT_S = 0.05
"""How long of that SQLite waits by itself: meanwhile no thread can fork."""
DURABILITY = {"power": "FULL", "process": "NORMAL"}
"""What an acknowledged write survives, and SQLite's name for it."""

TABLES = (
    "CREATE TABLE state (one INTEGER PRIMARY KEY CHECK (one = 1), generation INTEGER NOT NULL, layout INTEGER NOT NULL,"
    " frontier INTEGER NOT NULL)",
    "CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE items (n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, title TEXT NOT NULL,"
    " text TEXT NOT NULL)",
    "CREATE INDEX items_id ON items (id)",
    "CREATE TABLE metadata (n INTEGER PRIMARY KEY, fields TEXT NOT NULL)",
    "CREATE TABLE metadata_changes (u INTEGER PRIMARY KEY AUTOINCREMENT, n INTEGER NOT NULL)",
    "CREATE TABLE fields (name TEXT PRIMARY KEY, kind TEXT NOT NULL, declared INTEGER NOT NULL, style TEXT NOT NULL)"
    " WITHOUT ROWID",
    "CREATE TABLE deletions (d INTEGER PRIMARY KEY AUTOINCREMENT, n INTEGER NOT NULL UNIQUE)",
    "CREATE TABLE clicks (c INTEGER PRIMARY KEY AUTOINCREMENT, query TEXT NOT NULL, item TEXT NOT NULL,"
    " weight REAL NOT NULL, time REAL NOT NULL)",
    "CREATE INDEX clicks_item ON clicks (item)",
    "CREATE TABLE click_deletions (x INTEGER PRIMARY KEY AUTOINCREMENT, c INTEGER NOT NULL)",
    "CREATE TABLE sources (f INTEGER PRIMARY KEY AUTOINCREMENT, root TEXT NOT NULL, path TEXT NOT NULL,"
    " size INTEGER NOT NULL, mtime INTEGER NOT NULL, digest BLOB NOT NULL, how TEXT NOT NULL, UNIQUE (root, path))",
    "CREATE TABLE source_items (id TEXT PRIMARY KEY, f INTEGER NOT NULL, digest BLOB NOT NULL) WITHOUT ROWID",
    "CREATE INDEX source_items_f ON source_items (f)",
    "CREATE TABLE segments (s INTEGER PRIMARY KEY AUTOINCREMENT, first INTEGER NOT NULL, rows INTEGER NOT NULL,"
    " folder TEXT NOT NULL, files TEXT NOT NULL, changes INTEGER NOT NULL)",
    "CREATE TABLE parts (s INTEGER NOT NULL, m INTEGER NOT NULL, folder TEXT NOT NULL, files TEXT NOT NULL,"
    " PRIMARY KEY (s, m)) WITHOUT ROWID",
    "CREATE TABLE members (m INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, definition TEXT NOT NULL)",
    "CREATE TABLE snapshots (name TEXT PRIMARY KEY, time REAL NOT NULL, members TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE history (h INTEGER PRIMARY KEY AUTOINCREMENT, generation INTEGER NOT NULL, time REAL NOT NULL,"
    " action TEXT NOT NULL, detail TEXT NOT NULL)",
)

# A connection must not be used, nor closed, by a child that was forked: it is kept for the parent's sake.
_OF_PARENTS: list[sqlite3.Connection] = []

# A child that is forked while SQLite locks its memory could never use it.
_SQLITE = ForkGate()

_DISK = {sqlite3.SQLITE_FULL: "the disk is full", sqlite3.SQLITE_IOERR: "the disk reports an error"}
_BUSY = {sqlite3.SQLITE_BUSY: "another process writes and does not finish", sqlite3.SQLITE_LOCKED: "it is locked"}
_CLOSED = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH}


# What Python makes of rows of a damaged or prepared file: values of another type, texts that are no JSON, names of
# members that are not there.
ODD_ROWS = (AttributeError, LookupError, OverflowError, RecursionError, TypeError, ValueError)


class State(NamedTuple):
    """What changes with every transaction.

    Attributes
    ----------
    generation : int
        Counts transactions.
    layout : int
        Counts changes of segments and members: a process that sees another number opens them anew.
    frontier : int
        Rows up to this number are in segments; later ones are read from the catalog.
    """

    generation: int
    layout: int
    frontier: int


def check_is_engine(folder: Path) -> None:
    """Raise unless there is an engine at a path."""
    if os.path.lexists(folder / NAME):
        return
    if not os.path.lexists(folder):
        got = f"{folder}, which is not there: check the path, or use `Engine.create`"
    else:
        got = f"{folder}, which has no {NAME}: use `Engine.create`"
    raise InputError(f"`path` must be an engine. Got {got}.")


class CatalogFile:
    """The catalog of an engine: a connection per use, each used by one thread at a time.

    One reads what is new, one writes, and one reads single rows, which does not wait for the others.

    Parameters
    ----------
    folder : Path
        The engine's folder.
    durability : {"power", "process"}
        Whether acknowledged writes survive a power failure, or only the end of the process.
    """

    def __init__(self, folder: Path, *, durability: str = "power"):
        self.folder, self.path, self.durability = folder, folder / NAME, durability
        self._connections: dict[str, tuple[int, sqlite3.Connection]] = {}
        self._rows_lock = ForkLock()

    @classmethod
    def create(cls, folder: Path, settings: dict[str, Any], *, durability: str = "power") -> CatalogFile:
        """Make the file with empty tables."""
        made = cls(folder, durability=durability)
        with made.named_errors(), _SQLITE:
            with suppress(FileExistsError):  # texts and queries are in it: only its owner reads it
                os.close(os.open(made.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
            connection = sqlite3.connect(made.path, isolation_level=None)
            try:
                if connection.execute("PRAGMA journal_mode = WAL").fetchone()[0] != "wal":
                    raise EngineError(
                        f"`path` must be on a local disk: SQLite's write-ahead log needs shared memory. Got {folder}."
                    )
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute("BEGIN IMMEDIATE")
                for statement in TABLES:
                    connection.execute(statement)
                connection.execute("INSERT INTO state VALUES (1, 0, 0, 0)")
                pairs = [(name, json.dumps(value)) for name, value in settings.items()]
                connection.executemany("INSERT INTO settings VALUES (?, ?)", pairs)
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
                connection.execute(f"PRAGMA user_version = {VERSION}")
                connection.execute("COMMIT")
            finally:
                connection.close()
        return made

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Within the block, all reads are of one moment. Only one thread at a time may read."""
        with self.named_errors(), _SQLITE:
            connection = self._connection("read")
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    @contextmanager
    def scanning(self) -> Iterator[sqlite3.Connection]:
        """Read as in `reading`, over a connection of its own: what takes long lets no search of this process wait."""
        with self.named_errors(), _SQLITE:
            connection = self._opened()
            try:
                connection.execute("BEGIN")
                yield connection
            finally:
                connection.close()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Within the block, no other process writes; at its end all is on the disk, or nothing when it raises."""
        with self.named_errors():
            connection = _patiently(lambda: self._begun())
            try:
                yield connection
                connection.execute("UPDATE state SET generation = generation + 1")
                connection.execute("COMMIT")
            finally:
                try:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                finally:
                    _SQLITE.__exit__()

    def data_version(self) -> int:
        """Return a number that changes when another connection, of this or any process, has committed."""
        # Every search asks this: without the context manager it takes a third less.
        try:
            with _SQLITE:
                version: int = self._connection("read").execute("PRAGMA data_version").fetchone()[0]
                return version
        except sqlite3.Error as error:
            raise self._named(error) from error

    def rows(self, sql: str, values: Sequence[Any]) -> list[Any]:
        """Return the rows of one statement, which are of one moment."""
        try:
            with self._rows_lock, _SQLITE:
                return self._connection("rows").execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise self._named(error) from error

    def maintain(self, act: Callable[[sqlite3.Connection], T]) -> T:
        """Run statements that stand outside of transactions, such as VACUUM."""
        with self.named_errors(), _SQLITE:
            return act(self._connection("write"))

    def close(self) -> None:
        """Close this process's connections."""
        with _SQLITE:
            for pid, connection in self._connections.values():
                if pid == os.getpid():
                    connection.close()
            self._connections.clear()

    @contextmanager
    def named_errors(self) -> Iterator[None]:
        """Turn errors of SQLite into typed ones that name the file and say what to do."""
        try:
            yield
        except VizslaError:
            raise
        except sqlite3.Error as error:
            raise self._named(error) from error
        except ODD_ROWS as error:
            said = f"it holds what was never stored: {type(error).__name__}, {error!s:.100}"
            raise FormatError(
                f"{self.path}: not a sound catalog ({said}). Restore a backup with `Engine.restore`."
            ) from error

    def _named(self, error: sqlite3.Error) -> VizslaError:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in _BUSY:
            return EngineError(f"{self.path}: nothing was stored, because {_BUSY[code]} ({error}). Try again.")
        if code in _DISK:
            # A commit whose sync failed may still have reached the disk: SQLite finds it there if the power fails now.
            return EngineError(
                f"{self.path}: the change is not stored, because {_DISK[code]} ({error}). If the power fails before "
                "the next change, it may be there whole. What was acknowledged before is there; try again once that "
                "is solved."
            )
        if code in _CLOSED:
            return EngineError(
                f"{self.path}: an engine must be in a folder that can be read and written, also by processes that only "
                f"search. SQLite says: {error}. Make it writable, or restore a backup elsewhere."
            )
        return FormatError(f"{self.path}: not a sound catalog ({error}). Restore a backup with `Engine.restore`.")

    def _begun(self) -> sqlite3.Connection:
        _SQLITE.__enter__()
        try:
            connection = self._connection("write")
            connection.execute("BEGIN IMMEDIATE")
        except BaseException:
            _SQLITE.__exit__()
            raise
        return connection

    def _connection(self, use: str) -> sqlite3.Connection:
        pid, known = self._connections.get(use, (0, None))
        if known is not None and pid == os.getpid():
            return known
        if known is not None:
            _OF_PARENTS.append(known)
        connection = self._opened()
        self._connections[use] = (os.getpid(), connection)
        return connection

    def _opened(self) -> sqlite3.Connection:
        check_is_engine(self.folder)
        address = f"{self.path.absolute().as_uri()}?mode=rw"
        connection = sqlite3.connect(
            address, uri=True, timeout=MOMENT_S, isolation_level=None, check_same_thread=False, cached_statements=256
        )
        try:
            self._check(connection)
            connection.execute(f"PRAGMA synchronous = {DURABILITY[self.durability]}")
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("PRAGMA trusted_schema = OFF")
        except BaseException:
            connection.close()
            raise
        return connection

    def _check(self, connection: sqlite3.Connection) -> None:
        """Raise unless the file is a catalog of this version with the tables that were made."""
        asked = ("PRAGMA application_id", "PRAGMA user_version", "PRAGMA journal_mode")
        mark, version, journal = (connection.execute(sql).fetchone()[0] for sql in asked)
        if mark != APPLICATION:
            raise FormatError(f"{self.path}: not the catalog of an engine. Choose another folder, or `Engine.create`.")
        if version != VERSION:
            raise FormatError(
                f"{self.path}: its version is {version}, and this vizsla reads {VERSION}. Read its tables `items` and "
                "`clicks` with any SQLite, and add them to a new engine."
            )
        if journal != "wal":
            raise EngineError(
                f"{self.path}: an engine must be on a local disk, where SQLite can use a write-ahead log."
            )
        # A view or a trigger would make a program of a file.
        sql = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'"
        if {row[0] for row in connection.execute(sql)} != set(TABLES):
            raise FormatError(f"{self.path}: its tables are not those of this vizsla. Restore a backup.")


def state_of(connection: sqlite3.Connection) -> State:
    """Return the state of the catalog."""
    state = State(*connection.execute("SELECT generation, layout, frontier FROM state").fetchone())
    if any(type(number) is not int or number < 0 for number in state):
        raise FormatError(f"The state of the catalog must be numbers from 0 on. Got {state}: restore a backup.")
    return state


def last_given(connection: sqlite3.Connection, table: str) -> int:
    """Return the largest number that a table has ever given to a row."""
    row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).fetchone()
    return 0 if row is None else int(row[0])


def setting(connection: sqlite3.Connection, name: str, default: Any = None) -> Any:
    """Return a setting of the engine."""
    row = connection.execute("SELECT value FROM settings WHERE name = ?", (name,)).fetchone()
    return default if row is None else json.loads(row[0])


def put_setting(connection: sqlite3.Connection, name: str, value: Any) -> None:
    """Change a setting of the engine."""
    connection.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (name, json.dumps(value)))


def note(connection: sqlite3.Connection, action: str, detail: str) -> None:
    """Write a line of the history."""
    sql = "INSERT INTO history (generation, time, action, detail) SELECT generation + 1, ?, ?, ? FROM state"
    connection.execute(sql, (time.time(), action, detail))


def live_numbers(connection: sqlite3.Connection, ids: Iterable[str]) -> dict[str, int]:
    """Return the row number of each of these ids that is an item now."""
    sql = (
        "SELECT items.id, items.n FROM json_each(?) AS wanted CROSS JOIN items ON items.id = wanted.value"
        " WHERE items.n NOT IN (SELECT n FROM deletions)"
    )
    return dict(connection.execute(sql, (json.dumps(list(ids)),)).fetchall())


def _patiently(act: Callable[[], T]) -> T:
    """Repeat while other processes hold the file."""
    waited, seen, pause = 0.0, time.monotonic(), 0.0005
    while True:
        try:
            return act()
        except sqlite3.OperationalError as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code != sqlite3.SQLITE_BUSY or waited > PATIENCE_S:
                raise
        time.sleep(pause)
        pause = min(2 * pause, 0.01)
        now = time.monotonic()  # a process that was stopped meanwhile has not waited
        waited, seen = waited + min(now - seen, 1.0), now
