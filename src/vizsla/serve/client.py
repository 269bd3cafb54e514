"""Client: an engine that is served elsewhere, with the methods of Engine."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, Self
from urllib.parse import quote

from vizsla._internal.lazy import import_extra
from vizsla.core.catalog import Item
from vizsla.data.conditions import Condition
from vizsla.errors import EngineError, InputError, ServiceError, check_positive, check_range

RETRIED = (429, 503)
"""Status codes after which the same request is sent again: the service did not begin it."""
MAX_WAIT_S = 30.0
POLL_S = 0.05
"""How long a client waits before it asks again for a job."""


@dataclass(frozen=True)
class RemoteHit:
    """One item of a service's answer; what the service did not send is None or empty."""

    id: str
    score: float | None
    rank: int
    text: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    highlights: Mapping[str, Any] | None = None
    snippet: Mapping[str, Any] | None = None
    confidence: float | None = None
    more: int | None = None
    parent: str | None = None
    why: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class RemoteAnswer:
    """A service's answer to one query: hits, counts, and the id by which clicks may name the query."""

    hits: list[RemoteHit]
    query_id: str
    total: int
    total_is_exact: bool
    facets: Mapping[str, Any]
    raw: Mapping[str, Any] = field(repr=False)

    @property
    def ids(self) -> list[str]:
        """The ids of the hits."""
        return [hit.id for hit in self.hits]

    @classmethod
    def of(cls, answer: Mapping[str, Any]) -> Self:
        """Read an answer of `/v1/search`."""
        known = RemoteHit.__dataclass_fields__
        hits = [RemoteHit(**{name: hit[name] for name in known if name in hit}) for hit in answer["results"]]
        counts = answer.get("total", len(hits)), answer.get("total_is_exact", False), answer.get("facets", {})
        return cls(hits, answer.get("query_id", ""), *counts, answer)


class Call(NamedTuple):
    """One request: what a method of the client sends, and how its answer is read."""

    method: str
    path: str
    body: Any
    read: Any = None


class ServiceCalls:
    """The methods of a client as descriptions of requests, which the two clients send in their own way."""

    @staticmethod
    def items(items: Any, mode: str) -> Call:
        """Store items."""
        return Call("POST", "/v1/items", {"items": _rows(items), "mode": mode}, lambda found: found["stored"])

    @staticmethod
    def patch(id: str, changes: Mapping[str, Any]) -> Call:
        """Change an item's fields."""
        return Call("PATCH", _item(id), dict(changes), lambda found: found["changed"])

    @staticmethod
    def delete(ids: str | Iterable[str] | None, where: Any) -> Call:
        """Delete items."""
        body = {"where": _where(where)} if ids is None else {"ids": [ids] if isinstance(ids, str) else list(ids)}
        return Call("POST", "/v1/items/delete", body, lambda found: found["deleted"])

    @staticmethod
    def clicks(clicks: Iterable[Sequence[Any]]) -> Call:
        """Store clicks."""
        names = ("query", "item", "weight", "time")
        rows = [dict(zip(names, click, strict=False)) for click in clicks]
        for row in rows:
            if isinstance(row.get("time"), datetime):
                row["time"] = row["time"].timestamp()
        return Call("POST", "/v1/clicks", {"clicks": rows}, lambda found: found["stored"])

    @staticmethod
    def search(query: str | Sequence[str], options: Mapping[str, Any]) -> Call:
        """Search."""
        body = {name: value for name, value in options.items() if value is not None}
        if "where" in body:
            body["where"] = _where(body["where"])
        if isinstance(query, str):
            return Call("POST", "/v1/search", {"query": query, **body}, RemoteAnswer.of)
        queries = {"queries": list(query), **body}
        return Call("POST", "/v1/search", queries, lambda found: [RemoteAnswer.of(each) for each in found["answers"]])

    @staticmethod
    def explain(query: str, item: str, using: str) -> Call:
        """Explain a score."""
        return Call("POST", "/v1/explain", {"query": query, "item": item, "using": using})

    @staticmethod
    def complete(prefix: str, k: int) -> Call:
        """Complete what was typed."""
        path = f"/v1/complete?q={quote(prefix, safe='')}&k={int(k)}"
        return Call("GET", path, None, lambda found: found["completions"])

    @staticmethod
    def count(where: Any) -> Call:
        """Count items."""
        body = {"where": None if where is None else _where(where)}
        return Call("POST", "/v1/items/count", body, lambda found: found["count"])

    @staticmethod
    def compare(query: str, members: Sequence[str], k: int) -> Call:
        """Compare members."""
        return Call("POST", "/v1/compare", {"query": query, "members": list(members), "k": k})

    @staticmethod
    def admin(action: str, **body: Any) -> Call:
        """Do what the page's buttons do."""
        return Call("POST", f"/v1/admin/{action}", body)

    @staticmethod
    def job(job: Mapping[str, Any]) -> Call | None:
        """Ask again for a job that has not ended; None for one that is done, and one that failed raises."""
        if job["state"] == "failed":
            raise EngineError(str(job["error"]))
        return None if job["state"] == "done" else Call("GET", f"/v1/admin/jobs/{job['id']}", None)

    @staticmethod
    def history() -> Call:
        """Read what happened to members."""
        return Call("GET", "/v1/admin/history", None)

    @staticmethod
    def stats() -> Call:
        """Read what is served."""
        return Call("GET", "/info", None)

    @staticmethod
    def get(id: str) -> Call:
        """Return an item."""
        return Call("GET", _item(id), None, lambda it: Item(it["id"], it["text"], it["title"], it["metadata"]))


class Client:
    """A served engine or artifact, with the methods of Engine.

    Requests that the service refused because it is busy are sent again, after the time that it names. Errors of the
    request are InputError, those of the service EngineError or ServiceError.

    Parameters
    ----------
    url : str
        The address of the service, such as ``http://127.0.0.1:8080``.
    token : str, optional
        The read or write token.
    timeout_s : float
        How long an answer may take.
    retries : int
        How often a rejected request is repeated.
    """

    def __init__(self, url: str, *, token: str | None = None, timeout_s: float = 30.0, retries: int = 3):
        httpx = import_extra("httpx", "The client", "client")
        self._http = httpx.Client(**connection(url, token, timeout_s))
        self._retries = retries

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _send(self, call: Call) -> Any:
        for attempt in range(self._retries + 1):
            wait, result = outcome(call, *_tried(self._http, call), last=attempt == self._retries)
            if wait is None:
                return result
            time.sleep(wait)
        raise AssertionError("the last attempt returns or raises")  # pragma: no cover

    def add(self, items: Any) -> int:
        """Add items, in one transaction; an id that is there already raises, and nothing is stored."""
        count: int = self._send(ServiceCalls.items(items, "add"))
        return count

    def upsert(self, items: Any) -> int:
        """Add items, in place of those that have the same ids; their clicks stay."""
        count: int = self._send(ServiceCalls.items(items, "upsert"))
        return count

    def update_metadata(self, changes: Mapping[str, Mapping[str, Any]]) -> int:
        """Change fields of items by id, one request each; None removes a field."""
        return sum(self._send(ServiceCalls.patch(id, fields)) for id, fields in changes.items())

    def delete(self, ids: str | Iterable[str] | None = None, *, where: Any = None) -> int:
        """Delete items by id or by a condition, with their clicks; return how many."""
        count: int = self._send(ServiceCalls.delete(ids, where))
        return count

    def click(self, query: str, item: str, weight: float = 1.0, time: float | datetime | None = None) -> int:
        """Note that the item was chosen for the query."""
        return self.clicks([(query, item, weight, time)])

    def clicks(self, clicks: Iterable[Sequence[Any]]) -> int:
        """Note several clicks in one transaction: (query, item), with weight and time where these are known."""
        count: int = self._send(ServiceCalls.clicks(clicks))
        return count

    def search(
        self,
        query: str | Sequence[str],
        k: int = 10,
        *,
        offset: int = 0,
        where: Any = None,
        using: str = "",
        facets: Sequence[str] | None = None,
        sort: Sequence[str] | None = None,
        group: str | None = None,
        highlights: bool = False,
        parent: str | None = None,
        explain: bool = False,
        syntax: str = "web",
        typos: bool = True,
        min_confidence: float | None = None,
        count_to: int | None = None,
        fields: Sequence[str] | None = None,
    ) -> Any:
        """Return a RemoteAnswer for one query, or a list of them for several; the options are those of `/v1/search`."""
        given = {name: value for name, value in locals().items() if name not in ("self", "query")}
        return self._send(ServiceCalls.search(query, given))

    def explain(self, query: str, item: str, *, using: str = "") -> dict[str, Any]:
        """Return why the item gets its score for this query, as a tree of dicts."""
        why: dict[str, Any] = self._send(ServiceCalls.explain(query, item, using))
        return why

    def complete(self, prefix: str, k: int = 8) -> list[str]:
        """Return completions of what was typed so far."""
        found: list[str] = self._send(ServiceCalls.complete(prefix, k))
        return found

    def get(self, id: str) -> Item | None:
        """Return an item by its id; None where there is none."""
        try:
            found: Item = self._send(ServiceCalls.get(id))
        except ServiceError as error:
            if error.status == 404:
                return None
            raise
        return found

    def count(self, where: Any = None) -> int:
        """Return how many items there are, or how many fulfill a condition."""
        count: int = self._send(ServiceCalls.count(where))
        return count

    def compare(self, query: str, members: Sequence[str], k: int = 10) -> dict[str, Any]:
        """Return the answers of several members to a query, and how much they overlap."""
        found: dict[str, Any] = self._send(ServiceCalls.compare(query, members, k))
        return found

    def rebuild(self, member: str | None = None) -> None:
        """Build members anew in the service, and wait for that."""
        self._finish(self._send(ServiceCalls.admin("rebuild", member=member)))

    def maintain(self) -> None:
        """Write the newest items as a segment, and merge segments where that is due; wait for that."""
        self._finish(self._send(ServiceCalls.admin("maintain")))

    def _finish(self, job: Mapping[str, Any]) -> None:
        while (again := ServiceCalls.job(job)) is not None:
            time.sleep(POLL_S)
            job = self._send(again)

    def snapshot(self, name: str) -> None:
        """Keep the members as they are now under a name."""
        self._send(ServiceCalls.admin("snapshot", name=name))

    def rollback(self, name: str) -> None:
        """Let the members be as in a snapshot."""
        self._send(ServiceCalls.admin("rollback", name=name))

    def history(self) -> list[dict[str, Any]]:
        """Return what happened to members and snapshots, oldest first."""
        rows: list[dict[str, Any]] = self._send(ServiceCalls.history())
        return rows

    def stats(self) -> dict[str, Any]:
        """Return what is served: members, fields, sizes, staleness and limits."""
        known: dict[str, Any] = self._send(ServiceCalls.stats())
        return known


class AsyncClient:
    """The same as Client for asyncio: every method of Client is awaited, and the parameters are the same."""

    def __init__(self, url: str, *, token: str | None = None, timeout_s: float = 30.0, retries: int = 3):
        httpx = import_extra("httpx", "The client", "client")
        self._http = httpx.AsyncClient(**connection(url, token, timeout_s))
        self._retries = retries

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def _send(self, call: Call) -> Any:
        for attempt in range(self._retries + 1):
            try:
                answer, failure = await self._http.request(call.method, call.path, **_body(call)), None
            except _http_errors() as error:
                answer, failure = None, error
            wait, result = outcome(call, answer, failure, last=attempt == self._retries)
            if wait is None:
                return result
            await asyncio.sleep(wait)
        raise AssertionError("the last attempt returns or raises")  # pragma: no cover

    async def add(self, items: Any) -> int:
        """Add items, in one transaction; an id that is there already raises, and nothing is stored."""
        count: int = await self._send(ServiceCalls.items(items, "add"))
        return count

    async def upsert(self, items: Any) -> int:
        """Add items, in place of those that have the same ids; their clicks stay."""
        count: int = await self._send(ServiceCalls.items(items, "upsert"))
        return count

    async def delete(self, ids: str | Iterable[str] | None = None, *, where: Any = None) -> int:
        """Delete items by id or by a condition, with their clicks; return how many."""
        count: int = await self._send(ServiceCalls.delete(ids, where))
        return count

    async def update_metadata(self, changes: Mapping[str, Mapping[str, Any]]) -> int:
        """Change fields of items by id, one request each; None removes a field."""
        return sum([await self._send(ServiceCalls.patch(id, fields)) for id, fields in changes.items()])

    async def click(self, query: str, item: str, weight: float = 1.0, time: float | datetime | None = None) -> int:
        """Note that the item was chosen for the query."""
        return await self.clicks([(query, item, weight, time)])

    async def clicks(self, clicks: Iterable[Sequence[Any]]) -> int:
        """Note several clicks in one transaction: (query, item), with weight and time where these are known."""
        count: int = await self._send(ServiceCalls.clicks(clicks))
        return count

    async def search(
        self,
        query: str | Sequence[str],
        k: int = 10,
        *,
        offset: int = 0,
        where: Any = None,
        using: str = "",
        facets: Sequence[str] | None = None,
        sort: Sequence[str] | None = None,
        group: str | None = None,
        highlights: bool = False,
        parent: str | None = None,
        explain: bool = False,
        syntax: str = "web",
        typos: bool = True,
        min_confidence: float | None = None,
        count_to: int | None = None,
        fields: Sequence[str] | None = None,
    ) -> Any:
        """Return a RemoteAnswer for one query, or a list of them for several; the options are those of `/v1/search`."""
        given = {name: value for name, value in locals().items() if name not in ("self", "query")}
        return await self._send(ServiceCalls.search(query, given))

    async def explain(self, query: str, item: str, *, using: str = "") -> dict[str, Any]:
        """Return why the item gets its score for this query, as a tree of dicts."""
        why: dict[str, Any] = await self._send(ServiceCalls.explain(query, item, using))
        return why

    async def complete(self, prefix: str, k: int = 8) -> list[str]:
        """Return completions of what was typed so far."""
        found: list[str] = await self._send(ServiceCalls.complete(prefix, k))
        return found

    async def count(self, where: Any = None) -> int:
        """Return how many items there are, or how many fulfill a condition."""
        count: int = await self._send(ServiceCalls.count(where))
        return count

    async def compare(self, query: str, members: Sequence[str], k: int = 10) -> dict[str, Any]:
        """Return the answers of several members to a query, and how much they overlap."""
        found: dict[str, Any] = await self._send(ServiceCalls.compare(query, members, k))
        return found

    async def rebuild(self, member: str | None = None) -> None:
        """Build members anew in the service, and wait for that."""
        await self._finish(await self._send(ServiceCalls.admin("rebuild", member=member)))

    async def maintain(self) -> None:
        """Write the newest items as a segment, and merge segments where that is due; wait for that."""
        await self._finish(await self._send(ServiceCalls.admin("maintain")))

    async def _finish(self, job: Mapping[str, Any]) -> None:
        while (again := ServiceCalls.job(job)) is not None:
            await asyncio.sleep(POLL_S)
            job = await self._send(again)

    async def snapshot(self, name: str) -> None:
        """Keep the members as they are now under a name."""
        await self._send(ServiceCalls.admin("snapshot", name=name))

    async def rollback(self, name: str) -> None:
        """Let the members be as in a snapshot."""
        await self._send(ServiceCalls.admin("rollback", name=name))

    async def history(self) -> list[dict[str, Any]]:
        """Return what happened to members and snapshots, oldest first."""
        rows: list[dict[str, Any]] = await self._send(ServiceCalls.history())
        return rows

    async def stats(self) -> dict[str, Any]:
        """Return what is served: members, fields, sizes, staleness and limits."""
        known: dict[str, Any] = await self._send(ServiceCalls.stats())
        return known

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def get(self, id: str) -> Item | None:
        """Return an item by its id; None where there is none."""
        try:
            found: Item = await self._send(ServiceCalls.get(id))
        except ServiceError as error:
            if error.status == 404:
                return None
            raise
        return found


def connection(url: str, token: str | None, timeout_s: float) -> dict[str, Any]:
    """Return the settings of a connection; a wrong address or time raises."""
    if not isinstance(url, str) or not url.startswith(("http://", "https://")):
        raise InputError(f"`url` must begin with http:// or https://. Got {url!r:.80}.")
    check_range("timeout_s", timeout_s, 0.001, 86_400)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return {"base_url": url.rstrip("/"), "headers": headers, "timeout": timeout_s, "follow_redirects": False}


def outcome(call: Call, answer: Any, failure: Exception | None, *, last: bool) -> tuple[float | None, Any]:
    """Return (seconds to wait before the next attempt, None), or (None, the result); errors are raised."""
    if answer is None:
        raise ServiceError(f"The service did not answer {call.method} {call.path}: {failure}") from failure
    if answer.status_code in RETRIED and not last:
        wait = answer.headers.get("retry-after", "1")
        return min(float(wait) if wait.isdigit() else 1.0, MAX_WAIT_S), None
    if answer.is_success:
        found = answer.json()
        return None, found if call.read is None else call.read(found)
    try:
        detail = str(answer.json().get("detail"))
    except (ValueError, AttributeError):
        detail = f"status {answer.status_code}"
    if answer.status_code in (400, 422):
        raise InputError(detail)
    if answer.status_code == 503:
        raise EngineError(detail)
    raise ServiceError(detail, answer.status_code)


def _tried(http: Any, call: Call) -> tuple[Any, Exception | None]:
    try:
        return http.request(call.method, call.path, **_body(call)), None
    except _http_errors() as error:
        return None, error


def _body(call: Call) -> dict[str, Any]:
    return {} if call.body is None else {"json": call.body}


def _http_errors() -> Any:
    return import_extra("httpx", "The client", "client").HTTPError


def _item(id: str) -> str:
    if not isinstance(id, str) or not id:
        raise InputError(f"`id` must be a text. Got {id!r:.60}.")
    return f"/v1/items/{quote(id, safe='')}"


def _where(where: Any) -> Any:
    return where.to_dict() if isinstance(where, Condition) else where


def _rows(items: Any) -> list[dict[str, Any]]:
    if isinstance(items, Mapping):
        items = [{"id": id, "text": text} for id, text in items.items()]
    rows = []
    for item in items:
        if isinstance(item, Item):
            rows.append({"id": item.id, "text": item.text, "title": item.title, **item.metadata})
        elif isinstance(item, Mapping):
            rows.append(dict(item))
        elif isinstance(item, Sequence) and not isinstance(item, str) and len(item) == 2:
            rows.append({"id": item[0], "text": item[1]})
        else:
            raise InputError(f"An item must be an Item, a dict or a pair of id and text. Got {type(item).__name__}.")
    check_positive("number of items", len(rows))
    return rows
