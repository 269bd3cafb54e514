"""Routes that read and change items and clicks."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, HTTPException, Request

from vizsla.errors import InputError
from vizsla.io.interactions import timestamp_of
from vizsla.io.ubi import click_of
from vizsla.serve.answers import ChangedAnswer, ClicksAnswer, CountAnswer, DeletedAnswer, ItemAnswer, StoredAnswer
from vizsla.serve.backend import Backend, condition_of
from vizsla.serve.openapi import answers
from vizsla.serve.schemas import ClickIn, ClicksRequest, CountRequest, DeleteRequest, ItemIn, ItemPatch, ItemsRequest
from vizsla.serve.security import require_read, require_write

router = APIRouter()
READ, WRITE = [Depends(require_read)], [Depends(require_write)]


def backend_of(request: Request) -> Backend:
    """Return what the service serves."""
    backend: Backend = request.app.state.backend
    return backend


async def admitted(request: Request, call: Any, *arguments: Any, **named: Any) -> Any:
    """Return what a call returns, run in a thread of the service once it is admitted."""
    return await request.app.state.admission.run(call, *arguments, **named)


async def stored(request: Request, call: Any, *arguments: Any, **named: Any) -> Any:
    """Return what a call that writes returns: these have threads of their own, so that many share one commit."""
    return await request.app.state.writing.run(call, *arguments, **named)


@router.get("/v1/items/{id:path}", dependencies=READ, tags=["items"], **answers(ItemAnswer))
async def get_item(request: Request, id: str) -> dict[str, Any]:
    """Return an item with its text and metadata."""
    item = await admitted(request, backend_of(request).get, id)
    if item is None:
        raise HTTPException(404, f"No item has the id {id!r:.100}.")
    return {"id": item.id, "title": item.title, "text": item.text, "metadata": dict(item.metadata)}


@router.post("/v1/items", dependencies=WRITE, tags=["items"], **answers(StoredAnswer))
async def put_items(request: Request, body: ItemIn | ItemsRequest) -> dict[str, Any]:
    """Store one item, or many in one transaction; `add` refuses an id that is there, `upsert` replaces the item."""
    engine = backend_of(request).engine()
    batch = body if isinstance(body, ItemsRequest) else ItemsRequest(items=[body])
    _check_count(request, len(batch.items))
    call = engine.add if batch.mode == "add" else engine.upsert
    return {"stored": await stored(request, call, [item.to_row() for item in batch.items])}


@router.post("/v1/items/delete", dependencies=WRITE, tags=["items"], **answers(DeletedAnswer))
async def delete_items(request: Request, body: DeleteRequest) -> dict[str, Any]:
    """Delete items by id or by a condition, with their clicks; unknown ids are ignored."""
    engine = backend_of(request).engine()
    if body.ids is not None:
        _check_count(request, len(body.ids))
        return {"deleted": await stored(request, engine.delete, body.ids, unknown="ignore")}
    return {"deleted": await stored(request, engine.delete, where=condition_of(body.where))}


@router.post("/v1/items/count", dependencies=READ, tags=["items"], **answers(CountAnswer))
async def count_items(request: Request, body: CountRequest) -> dict[str, Any]:
    """Return how many items there are, or how many fulfill a condition."""
    return {"count": await admitted(request, backend_of(request).count, condition_of(body.where))}


@router.patch("/v1/items/{id:path}", dependencies=WRITE, tags=["items"], **answers(ChangedAnswer))
async def patch_item(request: Request, id: str, body: ItemPatch) -> dict[str, Any]:
    """Change fields of an item; null removes a field. A new text or title is indexed, and clicks stay."""
    changes = dict(body.model_extra or {})
    if not changes or "id" in changes:
        raise InputError("A change must name fields other than `id`. Got none, or `id`.")
    if not await stored(request, backend_of(request).patch, id, changes):
        raise HTTPException(404, f"No item has the id {id!r:.100}.")
    return {"changed": 1}


@router.delete("/v1/items/{id:path}", dependencies=WRITE, tags=["items"], **answers(DeletedAnswer))
async def delete_item(request: Request, id: str) -> dict[str, Any]:
    """Delete an item, with its clicks."""
    count = await stored(request, backend_of(request).engine().delete, [id], unknown="ignore")
    if not count:
        raise HTTPException(404, f"No item has the id {id!r:.100}.")
    return {"deleted": count}


@router.post("/v1/clicks", dependencies=WRITE, tags=["clicks"], **answers(ClicksAnswer))
async def post_clicks(
    request: Request, body: Annotated[ClickIn | ClicksRequest | dict[str, Any] | list[dict[str, Any]], Body()]
) -> dict[str, Any]:
    """Store clicks in one transaction: one, many, or events in the User Behavior Insights format.

    A UBI event that is no choice of an item, such as an impression, is counted and left out.
    """
    backend, left_out = backend_of(request), 0
    rows: list[tuple[Any, ...]] = []
    if isinstance(body, ClickIn | ClicksRequest):
        for click in body.clicks if isinstance(body, ClicksRequest) else [body]:
            rows.append((_text_of(backend, click), click.item, click.weight, _moment(click.time)))
    else:
        for event in body if isinstance(body, list) else [body]:
            found = click_of(event, backend.queries.get)
            if found is None:
                left_out += 1
            else:
                rows.append((found.query, found.item, found.weight, _moment(found.time)))
    _check_count(request, len(rows) + left_out)
    count = await stored(request, backend.engine().clicks, rows) if rows else 0
    return {"stored": count, "left_out": left_out}


def _text_of(backend: Backend, click: ClickIn) -> str:
    text = click.query if click.query is not None else backend.queries.get(click.query_id or "")
    if text is None:
        raise InputError(f"`query_id` must be that of a recent answer. Got {click.query_id!r:.80}: send `query`, too.")
    return text


def _moment(time: float | str | None) -> float:
    if time is None:
        return datetime.now(UTC).timestamp()
    moment = timestamp_of(time) if isinstance(time, str) else float(time)
    if moment is None:
        raise InputError(f"`time` must be ISO 8601, or seconds since 1970. Got {time!r:.60}.")
    return moment


def _check_count(request: Request, count: int) -> None:
    limit = request.app.state.settings.max_queries
    if count > limit:
        raise InputError(f"A request must carry at most {limit} items, ids or clicks. Got {count}: send several.")
