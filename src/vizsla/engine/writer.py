"""Writer: stores transactions; those of several threads that wait at the same time share one commit."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any, TypeVar

from vizsla._internal.forking import ForkLock
from vizsla.engine.catalog import CatalogFile
from vizsla.errors import VizslaError

T = TypeVar("T")

MOST_SHARED = 256
"""Transactions that share one commit at most."""


class _Request:
    """A transaction that waits to be stored."""

    def __init__(self, act: Callable[[sqlite3.Connection], Any]):
        self.act, self.done = act, False
        self.result: Any = None
        self.error: BaseException | None = None


class Writer:
    """Group commit: the first thread that comes stores what all others have handed in meanwhile.

    Each transaction is a savepoint of its own: one that raises is rolled back alone. If the commit fails, none is
    stored, and each of the waiting calls raises.

    Parameters
    ----------
    catalog : CatalogFile
        Where to.
    """

    def __init__(self, catalog: CatalogFile):
        self.catalog = catalog
        self.commits = self.requests = 0
        self._waiting: list[_Request] = []
        self._queue, self.turn = ForkLock(), ForkLock()

    def store(self, act: Callable[[sqlite3.Connection], T]) -> T:
        """Run a function in a write transaction and return what it returned, once that is on the disk."""
        request = _Request(act)
        with self._queue:
            self._waiting.append(request)
        with self.turn:
            if not request.done:
                self._store_waiting(request)
        if request.error is not None:
            raise request.error
        result: T = request.result
        return result

    def _store_waiting(self, own: _Request) -> None:
        with self._queue:
            batch, self._waiting = self._waiting[:MOST_SHARED], self._waiting[MOST_SHARED:]
        if own not in batch:  # a forked child has lost the queue of its parent, or the batch was full
            with self._queue:
                self._waiting = [each for each in self._waiting if each is not own]
            batch.append(own)
        try:
            with self.catalog.writing() as connection:
                for request in batch:
                    self._run(connection, request, alone=len(batch) == 1)
                if all(request.error is not None for request in batch):
                    raise _NothingToStore
            self.commits += 1
            self.requests += len(batch)
        except _NothingToStore:
            pass
        except BaseException as error:
            for request in batch:
                request.error = request.error or error
            if not isinstance(error, Exception):
                raise
        finally:
            for request in batch:
                request.done = True

    def _run(self, connection: sqlite3.Connection, request: _Request, *, alone: bool) -> None:
        if not alone:
            connection.execute("SAVEPOINT one")
        try:
            request.result = request.act(connection)
        except VizslaError as error:
            request.error = error
            if not alone:
                connection.execute("ROLLBACK TO one")
        if not alone:
            connection.execute("RELEASE one")


class _NothingToStore(Exception):  # noqa: N818  not an error: it ends a transaction in which nothing is left to store
    """Every transaction of the batch has raised."""
