"""Routes that search: one or several queries, several members side by side, and completion."""

from __future__ import annotations

import functools
import json
import time
import uuid
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic_core import to_json

from vizsla.errors import InputError
from vizsla.serve.answers import CompareAnswer, Completions, ManyAnswers, OneAnswer, WhyAnswer
from vizsla.serve.backend import Backend, overlaps
from vizsla.serve.item_routes import READ, admitted, backend_of
from vizsla.serve.openapi import answers
from vizsla.serve.schemas import CompareRequest, ExplainRequest, SearchRequest
from vizsla.serve.service_settings import ServiceSettings
from vizsla.text.web_syntax import is_words

router = APIRouter()
QUICK_MS = 1.0
"""How much CPU time searches that are answered at once may take on average: health and metrics wait as long."""
NEWEST, FORGOTTEN = 0.2, 0.97
"""How much of the average the newest time is, and what is left of it with each search that a thread answers."""
MOST_MS = 2.0
"""The longest time that counts into the average."""
MAX_CHARS, MAX_HITS = 200, 20


class JsonBytes(Response):
    """A JSON answer, written by pydantic's serializer: several times faster than the default."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Return the content as JSON."""
        return to_json(content, inf_nan_mode="null")


@router.post("/v1/search", dependencies=READ, tags=["search"], **answers(OneAnswer | ManyAnswers))
async def search(request: Request, body: SearchRequest) -> Response:
    """Return the best items per query, with what was asked for beside them.

    The answer has a `query_id`, by which clicks may name their query.
    """
    state, started = request.app.state, time.perf_counter()
    texts = body.texts()
    check_limits(state.settings, texts, body.k, body.offset)
    backend = state.backend
    if body.query is None:
        deadline = time.monotonic() + state.settings.timeout_s
        found = await state.admission.run(backend.answer, texts, body, deadline)
    elif not state.admission.is_full and (answer := state.quick.answer(body)) is not None:
        found = [answer]
    else:
        call = functools.partial(backend.answer, asked=body)
        found = [await state.batcher.run(body.using, lambda: _options_of(body), call, body.query)]
    took = time.perf_counter() - started
    given = body.ubi.query_id if body.ubi is not None else None
    for text, answer in zip(texts, found, strict=True):
        answer["query_id"] = given if given and len(texts) == 1 else uuid.uuid4().hex
        backend.queries.note(answer["query_id"], text)
    member = found[0]["member"]
    state.metrics.searches.labels(member).observe(took)
    if took * 1e3 > state.settings.slow_ms:
        shown = texts[0][:200]
        state.log.write("slow", id=request.state.request_id, member=member, query=shown, ms=round(took * 1e3, 3))
    common = {"took_ms": round(took * 1e3, 3)}
    if body.query is not None:
        return JsonBytes({**found[0], **common})
    first = {name: found[0][name] for name in ("member", "generation")}
    return JsonBytes({"answers": found, **first, **common})


def _options_of(body: SearchRequest) -> str:
    return json.dumps(body.model_dump(exclude={"query", "ubi"}))  # escapes what UTF-8 cannot hold


@router.post("/v1/explain", dependencies=READ, tags=["search"], **answers(WhyAnswer))
async def explain(request: Request, body: ExplainRequest) -> Response:
    """Say why an item has its score for a query: a tree of shares."""
    check_limits(request.app.state.settings, [body.query], 1, 0)
    why = await admitted(request, backend_of(request).explain, body.query, body.item, body.using)
    return JsonBytes(why)


@router.post("/v1/compare", dependencies=READ, tags=["search"], **answers(CompareAnswer))
async def compare(request: Request, body: CompareRequest) -> Response:
    """Answer a query by several members, and say how much the answers overlap."""
    check_limits(request.app.state.settings, [body.query], body.k, 0)
    compared = []
    for name in dict.fromkeys(body.members):
        asked = SearchRequest.model_validate({**body.model_dump(exclude={"members"}), "using": name})
        started = time.perf_counter()
        found = await admitted(request, backend_of(request).answer, [body.query], asked)
        took = round((time.perf_counter() - started) * 1e3, 3)
        compared.append({**found[0], "took_ms": took})
    ids = {each["member"]: [hit["id"] for hit in each["results"]] for each in compared}
    return JsonBytes({"query": body.query, "answers": compared, "overlaps": overlaps(ids)})


@router.get("/v1/complete", dependencies=READ, tags=["search"], **answers(Completions))
async def complete(
    request: Request, q: Annotated[str, Query(max_length=200)], k: Annotated[int, Query(ge=1, le=50)] = 8
) -> Response:
    """Return completions of what was typed so far, from titles and past queries."""
    found = await admitted(request, backend_of(request).complete, q, k)
    return JsonBytes({"completions": found})


def check_limits(settings: ServiceSettings, texts: list[str], k: int, offset: int) -> None:
    """Raise unless a search stays within the limits of the service."""
    if k + offset > settings.max_k:
        raise InputError(f"`offset + k` must be at most {settings.max_k}. Got {offset + k}: narrow the search instead.")
    if len(texts) > settings.max_queries:
        raise InputError(f"`queries` must be at most {settings.max_queries}. Got {len(texts)}: send several requests.")
    longest = max(map(len, texts))
    if longest > settings.max_query_chars:
        raise InputError(f"A query must have at most {settings.max_query_chars} characters. Got {longest}.")


class QuickSearches:
    """Answers plain searches of word members in the thread of the event loop, where these were measured to be short.

    The way to a thread and back takes longer than such a search. Whatever may take long goes to a thread: other
    members, requests with filters, facets and the like, and a search that would first have to read what a transaction
    has changed.

    Parameters
    ----------
    backend : Backend
        The backend.
    """

    def __init__(self, backend: Backend):
        self._backend = backend
        self._ms: dict[str, float] = {}

    def answer(self, asked: SearchRequest) -> dict[str, Any] | None:
        """Return the answer to a request; None for one that a thread should answer."""
        if asked.query is None or not is_plain(asked):
            return None
        average = self._ms.get(asked.using, 0.0)
        if average > QUICK_MS:
            self._ms[asked.using] = average * FORGOTTEN  # what a busy moment made slow is tried again
            return None
        started = time.thread_time()  # such a search waits for nothing: what other processes take is not its own
        pinned = self._backend.quick(asked.using, asked.query, typos=asked.typos)
        if pinned is None:
            return None
        try:
            return self._backend.answer_plain(asked, pinned)
        finally:
            took = min((time.thread_time() - started) * 1e3, MOST_MS)  # one word that is read first is no trend
            self._ms[asked.using] = (1 - NEWEST) * average + NEWEST * took


def is_plain(asked: SearchRequest) -> bool:
    """Return whether a request asks for a few hits of a short query without operators, and for nothing else.

    Examples
    --------
    >>> is_plain(SearchRequest(query="fig")), is_plain(SearchRequest(query="fig", facets=["brand"]))
    (True, False)
    """
    more = asked.facets or asked.sort or asked.explain or asked.stages or asked.highlights
    given = asked.where, asked.group, asked.parent, asked.min_confidence, asked.fields
    few = len(asked.query or "") <= MAX_CHARS and asked.k + asked.offset <= MAX_HITS
    return few and not more and given == (None,) * 5 and is_words(asked.query or "")
