"""SqliteFile: an SQLite file of our own: how it is opened, checked, locked, and what its errors say."""

from __future__ import annotations

import os
import sqlite3
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from vizsla._internal.forking import ForkGate
from vizsla.core.validation import as_path
from vizsla.errors import FormatError, InputError, VizslaError

T = TypeVar("T")

SCHEMA_VERSION = 1
PATIENCE_S = 120.0
"""How long to wait for another process that writes; a write takes milliseconds."""
MOMENT_S = 0.05
"""How long of that SQLite waits by itself: meanwhile no process can fork."""

_UNUSABLE = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL}
_UNUSABLE |= {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH}

# What Python makes of values of another type, and of SQLite's messages that quote them.
_ODD = (UnicodeDecodeError, struct.error)

# A connection must not be used, nor closed, by a child that was forked: it is kept for the parent's sake.
_OF_PARENTS: list[sqlite3.Connection] = []

# Each thread has a connection of its own, but it may be another that forgets it.
_OPTIONS: Any = {"timeout": MOMENT_S, "isolation_level": None, "check_same_thread": False}

# A child that is forked while SQLite locks its memory could never use it.
_SQLITE = ForkGate()


def marks(application: int) -> tuple[str, str]:
    """Return the statements that mark a new file as one of this application and version."""
    return f"PRAGMA application_id = {application}", f"PRAGMA user_version = {SCHEMA_VERSION}"


class SqliteFile:
    """One connection per thread and process; readers see a snapshot, writers wait for each other.

    Parameters
    ----------
    path : path
        The file, made when it is not there. A file of another kind, or one that cannot be written, raises.
    """

    application: ClassVar[int]
    """Marks the file as ours: no other database is ever changed."""
    tables: ClassVar[tuple[str, ...]]
    """The statements that make the tables; `marks` gives the last two."""
    what: ClassVar[str]
    """What the file is, for errors."""

    def __init__(self, path: str | Path):
        self.path = as_path(path)
        self._local = threading.local()
        with self.writing():  # a file that cannot be written is found now, not after the first paid call
            pass

    def __reduce__(self) -> tuple[type[SqliteFile], tuple[Path]]:
        return type(self), (self.path,)

    def __deepcopy__(self, memo: object) -> SqliteFile:
        return self

    def reading(self) -> AbstractContextManager[sqlite3.Connection]:
        """Within the block, all reads are of one moment."""
        return self._transaction("BEGIN")

    def writing(self) -> AbstractContextManager[sqlite3.Connection]:
        """Within the block, nothing else writes; at its end all is stored, or nothing when it raises."""
        return self._transaction("BEGIN IMMEDIATE")

    def truncate_log(self) -> None:
        """Move what the log holds into the file, and leave no log; raise where another process reads it."""
        with self._named_errors():
            pid, connection = self._opened()
            if connection is None or pid != os.getpid():
                return
            with _SQLITE:
                busy = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        if busy:
            raise InputError(f"{self.path}: its log must be free to be erased. Got a process that reads it: try again.")

    def close(self) -> None:
        """Close this thread's connection; the next use opens another."""
        pid, connection = self._opened()
        if connection is not None and pid == os.getpid():
            with _SQLITE:
                connection.close()
        self._local.opened = (0, None)

    def damaged(self, problem: str) -> FormatError:
        """Return the error that says what is wrong with the file."""
        return FormatError(
            f"{self.path}: not a sound {self.what} ({problem}). Restore it, or delete it with its -wal and -shm files "
            "to begin anew."
        )

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        with self._named_errors(), ExitStack() as inside:
            connection = _patiently(lambda: self._begun(begin, inside))
            yield connection
            connection.execute("COMMIT")

    def _begun(self, begin: str, inside: ExitStack) -> sqlite3.Connection:
        """Begin a transaction that ends, unless it was committed, with the stack; waiting happens outside."""
        with ExitStack() as so_far:
            so_far.enter_context(_SQLITE)
            connection = self._connection()
            connection.execute(begin)
            so_far.callback(_rolled_back, connection)
            inside.push(so_far.pop_all())
        return connection

    def _connection(self) -> sqlite3.Connection:
        pid, known = self._opened()
        if known is not None and pid == os.getpid():
            return known
        if known is not None:
            _OF_PARENTS.append(known)
        _make_private(self.path)
        connection = sqlite3.connect(self.path, factory=_Connection, **_OPTIONS)
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        self._local.opened = (os.getpid(), connection)
        return connection

    def _opened(self) -> tuple[int, sqlite3.Connection | None]:
        """Return this thread's connection and the process that opened it."""
        opened: tuple[int, sqlite3.Connection | None] = getattr(self._local, "opened", (0, None))
        return opened

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Check whose file it is before anything is changed in it; make the tables of a new one."""
        connection.execute("PRAGMA synchronous = NORMAL")  # a killed process loses nothing that it committed
        connection.execute("BEGIN")  # all that is asked is of one moment
        ours = self._is_ours(connection)
        connection.execute("COMMIT")
        if ours:
            return
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("BEGIN IMMEDIATE")
        # Another process may have made them in the meantime.
        for statement in () if self._is_ours(connection) else self.tables:
            connection.execute(statement)
        connection.execute("COMMIT")

    def _is_ours(self, connection: sqlite3.Connection) -> bool:
        """Return whether the tables are there; raise if there is something else."""
        asked = ("PRAGMA application_id", "PRAGMA user_version", "SELECT COUNT(*) FROM sqlite_master")
        mark, version, tables = (connection.execute(sql).fetchone()[0] for sql in asked)
        if mark == self.application and version == SCHEMA_VERSION:
            self._check_tables(connection)
            return True
        if mark == self.application:
            raise self.damaged(f"its version is {version}, and this vizsla reads {SCHEMA_VERSION}")
        if mark or tables:
            raise self.damaged("it is the database of another program")
        return False

    def _check_tables(self, connection: sqlite3.Connection) -> None:
        """Raise unless the tables are those that were made: a view or a trigger would make a program of a file."""
        found = {sql for (sql,) in connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}
        if found != {statement for statement in self.tables if statement.startswith("CREATE")}:
            raise self.damaged("its tables are not those of this vizsla")

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        try:
            yield
        except VizslaError:
            raise
        except sqlite3.Error as error:
            if _code(error) in _UNUSABLE:
                wanted = "`path` must be a file that can be read and written"
                raise InputError(f"{wanted}. Got {self.path}, where SQLite says: {error}.") from error
            raise self.damaged(str(error)) from error
        except _ODD as error:
            raise self.damaged(f"it holds what was never stored: {error}") from error


class _Connection(sqlite3.Connection):
    """A connection that is forgotten, because its thread ended, is closed as any other."""

    def __del__(self) -> None:
        with _SQLITE:
            self.close()


def _make_private(path: Path) -> None:
    """Make a new file that only its owner reads, since queries and texts are in it; SQLite's others follow its mode."""
    with suppress(OSError):  # it is there already, or SQLite says why it cannot be
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))


def _rolled_back(connection: sqlite3.Connection) -> None:
    if connection.in_transaction:
        connection.execute("ROLLBACK")


def _patiently(act: Callable[[], T]) -> T:
    """Repeat while others hold the file; SQLite itself waits for a moment only, so that forks need not wait longer."""
    waited, seen = 0.0, time.monotonic()
    while True:
        try:
            return act()
        except sqlite3.OperationalError as error:
            if _code(error) != sqlite3.SQLITE_BUSY or waited > PATIENCE_S:
                raise
        time.sleep(0.01)
        # A process that was stopped meanwhile has not waited, and the file's owner may have been stopped with it.
        now = time.monotonic()
        waited, seen = waited + min(now - seen, 1.0), now


def _code(error: sqlite3.Error) -> int:
    """Return SQLite's own number of an error; Python raises some that have none, as for texts that are no UTF-8."""
    code: int = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF
