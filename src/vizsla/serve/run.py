"""Run the service with uvicorn: one process, or several workers that share an address."""

from __future__ import annotations

import errno
import inspect
import json
import os
import shutil
import socket
import tempfile
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vizsla._internal.lazy import import_extra
from vizsla.core.validation import as_path
from vizsla.errors import InputError, check_positive
from vizsla.serve.service_settings import LOCAL_HOSTS, READ_TOKEN, WRITE_TOKEN, ServiceSettings
from vizsla.serve.shared_state import SHARED_FOLDER

if TYPE_CHECKING:
    from fastapi import FastAPI

SERVED = "VIZSLA_SERVED"
"""The environment variable by which workers learn what to serve; tokens are read from their own variables."""
OPTIONS: dict[str, Any] = {
    "http": "vizsla.serve.slow_clients:ImpatientProtocol",
    "log_level": "warning",
    "access_log": False,  # requests are logged by the application, as JSON
    "server_header": False,
    "timeout_graceful_shutdown": 30,  # seconds that a stop waits for accepted requests
}


def serve(
    path: str | Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8080,
    workers: int = 1,
    judged: str | Path | None = None,
    reranker: str | Path | None = None,
    threads: int | None = None,
    max_waiting: int = 64,
    timeout_s: float = 10.0,
    slow_ms: float = 500.0,
    allowed_host: tuple[str, ...] = (),
    shards: int | None = None,
) -> None:
    """Serve an engine or an artifact over HTTP until a signal ends it.

    Parameters
    ----------
    path : path
        An engine, which can be changed, or an artifact.
    host : str
        The address to listen at. Another than the local machine's needs tokens.
    port : int
        The port; 0 takes a free one.
    workers : int
        How many processes share the address.
    judged : path, optional
        A dataset with judged queries, for the page's evaluation.
    reranker : path, optional
        A cross-encoder for rerank requests.
    threads : int, optional
        How many searches run at a time in a worker; the number of cores unless given.
    max_waiting : int
        How many requests may wait for a thread in a worker; further ones are answered with 429.
    timeout_s : float
        A search that takes longer is answered with 504.
    slow_ms : float
        Searches that take longer are logged with their query.
    allowed_host : tuple of str
        Names that the service answers to, besides those of the local machine.
    shards : int, optional
        Number of shards of a collection, each in a thread; created with BM25 if the folder does not exist.
    """
    uvicorn = import_extra("uvicorn", "The service", "serve")
    import_extra("fastapi", "The service", "serve")
    check_positive("workers", workers)
    given = {"max_waiting": max_waiting, "timeout_s": timeout_s, "slow_ms": slow_ms, "allowed_hosts": allowed_host}
    settings = ServiceSettings.from_environment(**given, **({} if threads is None else {"threads": threads}))
    if host not in LOCAL_HOSTS and not (settings.read_token and settings.write_token):
        raise InputError(
            f"`host` must be the local machine's unless both tokens are set. Got {host}: set {READ_TOKEN} and "
            f"{WRITE_TOKEN}, or {READ_TOKEN}_FILE and {WRITE_TOKEN}_FILE."
        )
    from vizsla.scale.collection import RECORD

    if workers > 1 and (shards is not None or (as_path(path) / RECORD).is_file()):
        raise InputError(f"`workers` must be 1 with shards: one process writes to a collection. Got {workers}.")
    if shards is not None:
        path = sharded(path, shards)
    served = {"path": str(as_path(path)), "judged": _text(judged), "reranker": _text(reranker)}
    os.environ[SERVED] = json.dumps({**served, "settings": settings.limits()})
    port = _free_port(host, port)
    shown = f"[{host}]" if ":" in host else host
    _say_start(f"http://{shown}:{port}", workers)
    if workers == 1:
        uvicorn.run(served_app(), host=host, port=port, **OPTIONS)
        return
    served_app(check_only=True)
    shared = tempfile.mkdtemp(prefix="vizsla-workers-")
    os.environ[SHARED_FOLDER] = shared
    try:
        application = "vizsla.serve.run:served_app"
        _run_workers(uvicorn.Config(application, factory=True, workers=workers, host=host, port=port, **OPTIONS))
    finally:
        shutil.rmtree(shared, ignore_errors=True)


def sharded(path: str | Path, shards: int) -> Path:
    """Return the folder of a collection of shards, which is made with BM25 where there is none."""
    from vizsla.base.recipe import Recipe
    from vizsla.scale.collection import RECORD
    from vizsla.scale.sharded_engine import ShardedEngine

    folder = as_path(path)
    if not (folder / RECORD).is_file():
        ShardedEngine.create(folder, check_positive("shards", shards), members={"words": Recipe.of("bm25")}).close()
        return folder
    with ShardedEngine.open(folder) as there:
        count = len(there.folders)
    if count != shards:
        raise InputError(f"`shards` must be {count}, as {folder} has them. Got {shards}: see `vizsla.scale.reshard`.")
    return folder


def served_app(*, check_only: bool = False) -> FastAPI:
    """Return the application that the environment describes: what each worker runs."""
    from vizsla.serve.application import app

    described = json.loads(os.environ[SERVED])
    known = {each.name for each in fields(ServiceSettings)}
    given = {name: tuple(value) if isinstance(value, list) else value for name, value in described["settings"].items()}
    settings = ServiceSettings.from_environment(**{name: value for name, value in given.items() if name in known})
    given_paths = {"judged": described["judged"], "reranker": described["reranker"]}
    service = app(described["path"], settings=settings, **given_paths, shared_folder=os.environ.get(SHARED_FOLDER))
    if check_only:
        service.state.admission.close()
        service.state.writing.close()
        service.state.backend.close(opened_here=True)
    return service


def _run_workers(config: Any) -> None:
    """Run several workers until a signal; at the end new connections are refused at once."""
    from uvicorn import Server
    from uvicorn.supervisors import Multiprocess

    class Workers(Multiprocess):
        def terminate_all(self) -> None:
            # Else clients would connect until the last worker has ended, and be cut off then.
            for listener in self.sockets:
                listener.close()
            super().terminate_all()

    needed: dict[str, Any] = {"target": Server(config).run}  # by older versions of uvicorn
    known = {name: value for name, value in needed.items() if name in inspect.signature(Multiprocess).parameters}
    Workers(config, sockets=[config.bind_socket()], **known).run()


def _say_start(address: str, workers: int) -> None:
    from vizsla.serve.telemetry import JsonLog

    JsonLog().write("starting", address=address, workers=workers)


def _free_port(host: str, port: int) -> int:
    """Return the port, or one that is free in place of 0; one that is taken raises."""
    try:
        with socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET) as listener:
            return int(listener.getsockname()[1])
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        raise InputError(f"`port` must be free. Got {port}, where another program listens: 0 takes any.") from None


def _text(path: str | Path | None) -> str | None:
    return None if path is None else str(path)
