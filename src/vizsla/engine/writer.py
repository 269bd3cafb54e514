"""Writer: stores transactions; those of several threads that wait at the same time share one commit."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from vizsla.engine.catalog import CatalogFile
from vizsla.errors import VizslaError

T = TypeVar("T")

MAX_TRANSACTIONS_PER_COMMIT = 256
"""Transactions that share one commit at most."""
MOMENT_S = 0.001
"""How long a commit waits for threads that shared the last ones: less than a sync of the disk takes."""


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
        self._begin()

    def _begin(self) -> None:
        self._pid, self._turn = os.getpid(), threading.Condition()
        self._waiting: list[_Request] = []
        self._sizes = (0, 0)
        self._busy = False

    def store(self, act: Callable[[sqlite3.Connection], T]) -> T:
        """Run a function in a write transaction and return what it returned, once that is on the disk."""
        request = _Request(act)
        with self._alone(request) as first:
            if first:
                self._store(self._taken(request))
        if request.error is not None:
            raise request.error
        result: T = request.result
        return result

    @contextmanager
    def exclusively(self) -> Iterator[None]:
        """Within the block, no thread of this process writes."""
        with self._alone(None):
            yield

    @contextmanager
    def _alone(self, request: _Request | None) -> Iterator[bool]:
        """Wait until no other thread stores; say whether the request is still to be stored."""
        if self._pid != os.getpid():  # a forked child has none of its parent's threads
            self._begin()
        with self._turn:
            if request is not None:
                self._waiting.append(request)
                self._turn.notify_all()
            self._turn.wait_for(lambda: not self._busy or (request is not None and request.done))
            mine = request is None or not request.done
            self._busy = self._busy or mine
        try:
            yield mine
        finally:
            if mine:
                with self._turn:
                    self._busy = False
                    self._turn.notify_all()

    def _taken(self, own: _Request) -> list[_Request]:
        """Return what is stored in one commit; threads that wrote a moment ago get a moment to write again."""
        with self._turn:
            if (usual := sum(self._sizes)) > 1:
                self._turn.wait_for(lambda: len(self._waiting) >= usual, MOMENT_S)
            others = [each for each in self._waiting if each is not own]
            batch = [own, *others[: MAX_TRANSACTIONS_PER_COMMIT - 1]]
            self._waiting = others[MAX_TRANSACTIONS_PER_COMMIT - 1 :]
            self._sizes = self._sizes[1], len(batch)
        return batch

    def _store(self, batch: list[_Request]) -> None:
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
