"""Routes for operators: health, metrics, what is served, and the actions behind the page's buttons."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import APIRouter, HTTPException, Request
from starlette.responses import PlainTextResponse, Response

from vizsla import __version__
from vizsla.serve.answers import (
    HealthAnswer,
    HistoryEntry,
    InfoAnswer,
    JobAnswer,
    ReadyAnswer,
    RollbackAnswer,
    SnapshotAnswer,
)
from vizsla.serve.item_routes import READ, WRITE, admitted, backend_of, stored
from vizsla.serve.openapi import answers
from vizsla.serve.schemas import EvaluateRequest, MemberRequest, NameRequest

router = APIRouter()
JOB: dict[str, Any] = {"status_code": 202, **answers(JobAnswer, 202)}


@router.get("/health", tags=["status"], **answers(HealthAnswer))
async def health() -> dict[str, str]:
    """Say that the process answers; it never waits behind searches."""
    return {"status": "ok"}


@router.get("/ready", tags=["status"], **answers(ReadyAnswer))
async def ready(request: Request) -> dict[str, Any]:
    """Say whether searches are accepted: 503 while as many are in flight as can be."""
    admission = request.app.state.admission
    if admission.in_flight >= admission.limit:
        raise HTTPException(503, "As many requests are in flight as can be.", headers={"Retry-After": "1"})
    return {"status": "ready", "in_flight": admission.in_flight}


@router.get("/metrics", dependencies=READ, tags=["status"], response_class=PlainTextResponse)
async def metrics(request: Request) -> Response:
    """Return counters and histograms in Prometheus' text format."""
    state = request.app.state
    known = await asyncio.to_thread(state.backend.counts)  # not in a thread that searches wait for
    state.metrics.items.set(known["items"])
    state.metrics.generation.set(known["generation"])
    return Response(state.metrics.text(), media_type="text/plain; version=0.0.4")


@router.get("/info", dependencies=READ, tags=["status"], **answers(InfoAnswer))
async def info(request: Request) -> dict[str, Any]:
    """Say what is served: members, fields, sizes, staleness, limits."""
    state = request.app.state
    known = await admitted(request, state.backend.info)
    in_flight = state.admission.in_flight + state.writing.in_flight
    return {"version": __version__, "limits": state.settings.limits(), "in_flight": in_flight, **known}


@router.post("/v1/admin/rebuild", dependencies=WRITE, tags=["administration"], **JOB)
async def rebuild(request: Request, body: MemberRequest) -> dict[str, Any]:
    """Build a member anew in the background, and swap it in one transaction; returns a job."""
    engine = backend_of(request).engine()
    if body.member is not None:
        await admitted(request, engine.member, body.member)  # an unknown name is answered now, not by the job
    started: dict[str, Any] = request.app.state.jobs.start("rebuild", lambda: engine.rebuild(body.member))
    return started


@router.post("/v1/admin/maintain", dependencies=WRITE, tags=["administration"], **JOB)
async def maintain(request: Request) -> dict[str, Any]:
    """Write the newest items as a segment, and merge segments where that is due, in the background; returns a job."""
    started: dict[str, Any] = request.app.state.jobs.start("maintain", backend_of(request).engine().maintain)
    return started


@router.post("/v1/admin/snapshot", dependencies=WRITE, tags=["administration"], **answers(SnapshotAnswer))
async def snapshot(request: Request, body: NameRequest) -> dict[str, Any]:
    """Keep the members as they are now under a name."""
    await stored(request, backend_of(request).engine().snapshot, body.name)
    return {"snapshot": body.name}


@router.post("/v1/admin/rollback", dependencies=WRITE, tags=["administration"], **answers(RollbackAnswer))
async def rollback(request: Request, body: NameRequest) -> dict[str, Any]:
    """Let the members be as in a snapshot; items and clicks stay."""
    await stored(request, backend_of(request).engine().rollback, body.name)
    return {"rolled_back_to": body.name}


@router.get("/v1/admin/history", dependencies=WRITE, tags=["administration"], **answers(list[HistoryEntry]))
async def history(request: Request) -> list[dict[str, Any]]:
    """Return what happened to members and snapshots, oldest first."""
    rows: list[dict[str, Any]] = await admitted(request, backend_of(request).engine().history)
    return rows


@router.post("/v1/admin/evaluate", dependencies=WRITE, tags=["administration"], **JOB)
async def evaluate(request: Request, body: EvaluateRequest) -> dict[str, Any]:
    """Measure members on the judged queries in the background; returns a job whose result has every query's values."""
    backend = backend_of(request)
    if backend.judged is None:
        raise HTTPException(409, "The service has no judged queries. Start it with --judged DATA.")
    members = await admitted(request, backend.members_of, body.members)
    started: dict[str, Any] = request.app.state.jobs.start(
        "evaluate", lambda: backend.evaluate(members, body.split, body.measures)
    )
    return started


@router.get("/v1/admin/jobs", dependencies=WRITE, tags=["administration"], **answers(list[JobAnswer]))
async def jobs(request: Request) -> list[dict[str, Any]]:
    """Return the jobs, the newest first, without their results."""
    listed: list[dict[str, Any]] = await asyncio.to_thread(request.app.state.jobs.all)
    return listed


@router.get("/v1/admin/jobs/{id}", dependencies=WRITE, tags=["administration"], **answers(JobAnswer))
async def job(request: Request, id: str) -> dict[str, Any]:
    """Return a job, with its result once it is done."""
    found: dict[str, Any] | None = await asyncio.to_thread(request.app.state.jobs.get, id)
    if found is None:
        raise HTTPException(404, "No job has this id, or it is forgotten.")
    return found
