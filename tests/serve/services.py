"""Services for tests: a small engine, and a client that talks to it without a socket."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from starlette.testclient import TestClient

import vizsla
from vizsla.serve import ServiceSettings, app
from vizsla.serve.run import OPTIONS
from vizsla.serve.telemetry import JsonLog

FRUIT = [
    {"id": "fig", "text": "a small fig tree with sweet figs", "title": "Fig", "price": 12, "kind": "tree"},
    {"id": "apple", "text": "an apple tree", "title": "Apple", "price": 20, "kind": "tree"},
    {"id": "pear", "text": "pears in autumn", "title": "Pear", "price": 9, "kind": "fruit"},
    {"id": "date", "text": "dried dates and figs", "title": "Date", "price": 5, "kind": "fruit"},
]
READ, WRITE = "read-token-0123456789", "write-token-0123456789"


def fruit_engine(folder: Path, **options: Any) -> vizsla.Engine:
    members = options.pop("members", {"words": vizsla.Recipe.of("bm25")})
    engine = vizsla.Engine.create(folder / "fruit.engine", members=members, **options)
    engine.add(FRUIT)
    return engine


@contextmanager
def serving(
    target: Any, *, log: io.StringIO | None = None, judged: Any = None, **settings: Any
) -> Iterator[TestClient]:
    lines = JsonLog(log if log is not None else io.StringIO())
    with TestClient(app(target, settings=ServiceSettings(**settings), log=lines, judged=judged)) as client:
        yield client


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@contextmanager
def listening(
    target: Any,
    *,
    judged: Any = None,
    port: int = 0,
    log: io.StringIO | None = None,
    as_workers: bool = False,
    **settings: Any,
) -> Iterator[str]:
    """Serve on a free port of the local machine, in a thread; yields the address.

    With `as_workers` the socket is bound before, as that is which several workers share.
    """
    lines = JsonLog(log if log is not None else io.StringIO())
    service = app(target, settings=ServiceSettings(**settings), log=lines, judged=judged)
    config = uvicorn.Config(service, host="127.0.0.1", port=port, **OPTIONS)
    server, shared = uvicorn.Server(config), [config.bind_socket()] if as_workers else None
    thread = threading.Thread(target=server.run, args=(shared,), daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(30)
        assert not thread.is_alive()
