"""Routes for operators: health, metrics, what is served, and the actions behind the page's buttons."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Depends, HTTPException, Request, Response

from vizsla import __version__
from vizsla.errors import VizslaError
from vizsla.serve.item_routes import READ, WRITE, admitted, backend_of
from vizsla.serve.schemas import EvaluateRequest, MemberRequest, NameRequest
from vizsla.serve.security import require_read

router = APIRouter()
MAX_JOBS = 100
"""How many jobs are remembered, finished ones included."""


class Jobs:
    """Long actions, which run one at a time in a thread of their own and are asked for by id."""

    def __init__(self) -> None:
        self._jobs: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self._running: set[asyncio.Task[None]] = set()
        self._one_at_a_time = asyncio.Lock()

    def start(self, action: str, call: Callable[[], Any]) -> dict[str, Any]:
        """Start an action, and return the job."""
        while len(self._jobs) >= MAX_JOBS:
            self._jobs.popitem(last=False)
        job = {"id": uuid.uuid4().hex, "action": action, "state": "waiting", "started": time.time()}
        self._jobs[str(job["id"])] = job
        task = asyncio.get_running_loop().create_task(self._run(job, call))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return job

    async def _run(self, job: dict[str, Any], call: Callable[[], Any]) -> None:
        async with self._one_at_a_time:
            job["state"] = "running"
            try:
                job["result"] = await asyncio.to_thread(call)
                job["state"] = "done"
            except VizslaError as error:
                job |= {"state": "failed", "error": str(error)}
            except Exception as error:
                job |= {"state": "failed", "error": f"An unexpected error: {type(error).__name__}."}
                raise
            finally:
                job["ended"] = time.time()

    def get(self, id: str) -> dict[str, Any] | None:
        """Return a job by its id."""
        return self._jobs.get(id)

    def all(self) -> list[dict[str, Any]]:
        """Return all jobs, the newest first, without their results."""
        return [
            {name: value for name, value in job.items() if name != "result"} for job in reversed(self._jobs.values())
        ]


@router.get("/health", tags=["status"])
async def health() -> dict[str, str]:
    """Say that the process answers; it never waits behind searches."""
    return {"status": "ok"}


@router.get("/ready", tags=["status"])
async def ready(request: Request) -> dict[str, Any]:
    """Say whether searches are accepted: 503 while as many are in flight as can be."""
    admission = request.app.state.admission
    if admission.in_flight >= admission.limit:
        raise HTTPException(503, "As many requests are in flight as can be.", headers={"Retry-After": "1"})
    return {"status": "ready", "in_flight": admission.in_flight}


@router.get("/metrics", dependencies=[Depends(require_read)], tags=["status"])
async def metrics(request: Request) -> Response:
    """Return counters and histograms in Prometheus' text format."""
    state = request.app.state
    known = state.backend.counts()
    state.metrics.items.set(known["items"])
    state.metrics.generation.set(known["generation"])
    return Response(state.metrics.text(), media_type="text/plain; version=0.0.4")


@router.get("/info", dependencies=READ, tags=["status"])
async def info(request: Request) -> dict[str, Any]:
    """Say what is served: members, fields, sizes, staleness, limits."""
    state = request.app.state
    known = await admitted(request, state.backend.info)
    return {"version": __version__, "limits": state.settings.limits(), "in_flight": state.admission.in_flight, **known}


@router.post("/v1/admin/rebuild", dependencies=WRITE, status_code=202, tags=["administration"])
async def rebuild(request: Request, body: MemberRequest) -> dict[str, Any]:
    """Build a member anew in the background, and swap it in one transaction; returns a job."""
    engine = backend_of(request).engine()
    if body.member is not None:
        engine.member(body.member)  # an unknown name is answered now, not by the job
    started: dict[str, Any] = request.app.state.jobs.start("rebuild", lambda: engine.rebuild(body.member))
    return started


@router.post("/v1/admin/snapshot", dependencies=WRITE, tags=["administration"])
async def snapshot(request: Request, body: NameRequest) -> dict[str, Any]:
    """Keep the members as they are now under a name."""
    await admitted(request, backend_of(request).engine().snapshot, body.name)
    return {"snapshot": body.name}


@router.post("/v1/admin/rollback", dependencies=WRITE, tags=["administration"])
async def rollback(request: Request, body: NameRequest) -> dict[str, Any]:
    """Let the members be as in a snapshot; items and clicks stay."""
    await admitted(request, backend_of(request).engine().rollback, body.name)
    return {"rolled_back_to": body.name}


@router.get("/v1/admin/history", dependencies=WRITE, tags=["administration"])
async def history(request: Request) -> list[dict[str, Any]]:
    """Return what happened to members and snapshots, oldest first."""
    rows: list[dict[str, Any]] = await admitted(request, backend_of(request).engine().history)
    return rows


@router.post("/v1/admin/evaluate", dependencies=WRITE, status_code=202, tags=["administration"])
async def evaluate(request: Request, body: EvaluateRequest) -> dict[str, Any]:
    """Measure members on the judged queries in the background; returns a job whose result has every query's values."""
    backend = backend_of(request)
    if backend.judged is None:
        raise HTTPException(409, "The service has no judged queries. Start it with --judged DATA.")
    members = body.members or list(backend.members())
    for name in members:
        backend.retriever(name)
    started: dict[str, Any] = request.app.state.jobs.start(
        "evaluate", lambda: backend.evaluate(members, body.split, body.measures)
    )
    return started


@router.get("/v1/admin/jobs", dependencies=WRITE, tags=["administration"])
async def jobs(request: Request) -> list[dict[str, Any]]:
    """Return the jobs of this worker, the newest first."""
    listed: list[dict[str, Any]] = request.app.state.jobs.all()
    return listed


@router.get("/v1/admin/jobs/{id}", dependencies=WRITE, tags=["administration"])
async def job(request: Request, id: str) -> dict[str, Any]:
    """Return a job, with its result once it is done."""
    found: dict[str, Any] | None = request.app.state.jobs.get(id)
    if found is None:
        raise HTTPException(404, "No job of this worker has this id.")
    return found
