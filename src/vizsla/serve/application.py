"""The service as an ASGI application."""

from __future__ import annotations

import asyncio
import ctypes
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from fastapi import FastAPI

from vizsla import __version__
from vizsla.serve import admin_routes, item_routes, page_routes, problems, rerank_routes, search_routes
from vizsla.serve.admission import Admission, Batcher
from vizsla.serve.backend import Backend
from vizsla.serve.openapi import openapi_document
from vizsla.serve.search_routes import QuickSearches
from vizsla.serve.security import ProtectedApp
from vizsla.serve.service_settings import ServiceSettings
from vizsla.serve.shared_state import Jobs, RecentQueries
from vizsla.serve.telemetry import JsonLog, Metrics, ObservedApp

ABOUT = """Search, live items and clicks over an engine or an artifact.

Errors are `application/problem+json`. Reading and writing have tokens of their own, where the service asks for them:
`Authorization: Bearer …`."""
TAGS = [
    {"name": "search", "description": "Search, completion and comparison."},
    {"name": "items", "description": "Read and change items; needs an engine."},
    {"name": "clicks", "description": "Store clicks; members that learn from clicks know them at the next search."},
    {"name": "rerank", "description": "Score documents for a query, in the shapes that clients already speak."},
    {"name": "status", "description": "Health, metrics and what is served."},
    {"name": "administration", "description": "Rebuild, snapshot, roll back and evaluate; needs the write token."},
]
ROUTERS = tuple(module.router for module in (search_routes, item_routes, rerank_routes, admin_routes, page_routes))
WRITERS = 16
"""Threads for requests that change an engine: they wait for the disk, and those that wait together share a commit."""
TRIM_S = 30.0
"""How often memory that is free is given back to the system."""
QUIET_ROUTES = ("/health", "/ready", "/metrics")


def app(
    target: Any,
    *,
    settings: ServiceSettings | None = None,
    judged: Any = None,
    reranker: str | Path | None = None,
    log: JsonLog | None = None,
    shared_folder: str | Path | None = None,
) -> FastAPI:
    """Return an ASGI application that serves an engine or an artifact.

    Parameters
    ----------
    target : path, Engine or Retriever
        The engine or artifact to serve. An engine can be searched and changed, an artifact searched.
    settings : ServiceSettings, optional
        Limits and tokens; the defaults, and tokens from the environment, unless given.
    judged : Dataset or path, optional
        Judged queries, which the page's evaluation runs on.
    reranker : path, optional
        A cross-encoder for rerank requests; without one, documents are scored by BM25.
    log : JsonLog, optional
        Where requests are logged; standard error unless given.
    shared_folder : path, optional
        A folder in which several workers tell each other of recent queries and of jobs.
    """
    chosen = ServiceSettings.from_environment() if settings is None else settings
    shared = None if shared_folder is None else Path(shared_folder)
    backend = Backend.open(target, judged=judged, reranker=reranker, queries=RecentQueries(shared))
    metrics, lines = Metrics(), JsonLog() if log is None else log

    @asynccontextmanager
    async def lifespan(service: FastAPI) -> AsyncIterator[None]:
        service.state.jobs = jobs = Jobs(shared, lambda fields: lines.write("error", **fields))
        trimming = asyncio.create_task(_give_back_memory())
        yield
        trimming.cancel()
        await jobs.close()
        service.state.admission.close()
        service.state.writing.close()
        backend.close(opened_here=isinstance(target, str | Path))

    service = FastAPI(
        title="Vizsla",
        version=__version__,
        description=ABOUT,
        openapi_tags=TAGS,
        lifespan=lifespan,
        docs_url=None,  # the usual page loads its code from another host
        redoc_url=None,
    )
    service.state.settings, service.state.backend = chosen, backend
    service.state.metrics, service.state.log = metrics, lines
    service.state.admission = Admission(chosen.threads, chosen.max_waiting, chosen.timeout_s)
    service.state.writing = Admission(WRITERS, chosen.max_waiting, chosen.timeout_s)
    service.state.batcher = Batcher(service.state.admission)
    service.state.quick = QuickSearches(backend)
    service.openapi = partial(openapi_document, service, ROUTERS)  # type: ignore[method-assign]
    problems.install(service)
    for router in ROUTERS:
        service.include_router(router)
    service.add_middleware(ObservedApp, metrics=metrics, log=lines, quiet_paths=QUIET_ROUTES)
    service.add_middleware(ProtectedApp, settings=chosen)
    return service


async def _give_back_memory() -> None:
    """Give free memory back to the system now and then: glibc keeps what rebuilds and merges have used."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    while trim is not None:
        await asyncio.sleep(TRIM_S)
        await asyncio.to_thread(trim, 0)
