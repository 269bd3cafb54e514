"""Rerank routes in the shapes of Cohere, Jina and vLLM (`documents`) and of TEI (`texts`)."""

from __future__ import annotations

import math
import uuid
from typing import Any

from fastapi import APIRouter, Request

from vizsla.core.validation import check_unicode
from vizsla.errors import InputError
from vizsla.serve.answers import RerankAnswer, TeiScore
from vizsla.serve.item_routes import READ, admitted, backend_of
from vizsla.serve.openapi import answers
from vizsla.serve.schemas import RerankRequest

router = APIRouter()
SCORES = answers(RerankAnswer | list[TeiScore])


@router.post("/v1/rerank", dependencies=READ, tags=["rerank"], **SCORES)
@router.post("/v2/rerank", dependencies=READ, tags=["rerank"], operation_id="rerank_v2", **SCORES)
@router.post("/rerank", dependencies=READ, tags=["rerank"], operation_id="rerank_tei", **SCORES)
async def rerank(request: Request, body: RerankRequest) -> Any:
    """Score documents for a query, and return them best first.

    The model that the service was started with scores the texts, or BM25 over them; `model` is accepted, as clients
    send it, and sent back. `relevance_score` is the score as a number between 0 and 1 that keeps the order; TEI's
    `raw_scores` asks for the scores themselves.
    """
    texts = body.texts if body.texts is not None else [_text(document) for document in body.documents or ()]
    limit = request.app.state.settings.max_queries
    if len(texts) > limit:
        raise InputError(f"A request must carry at most {limit} documents. Got {len(texts)}.")
    scores = await admitted(request, backend_of(request).score_texts, body.query, texts)
    order = sorted(range(len(texts)), key=lambda at: (-scores[at], at))[: body.top_n]
    if body.texts is not None:
        shown = [scores[at] if body.raw_scores else probability(scores[at]) for at in order]
        more = [{"text": texts[at]} if body.return_text else {} for at in order]
        return [{"index": at, "score": score, **rest} for at, score, rest in zip(order, shown, more, strict=True)]
    documents = [{"document": {"text": texts[at]}} if body.return_documents else {} for at in order]
    results = [
        {"index": at, "relevance_score": probability(scores[at]), **rest}
        for at, rest in zip(order, documents, strict=True)
    ]
    words = sum(len(text.split()) for text in (body.query, *texts))
    return {
        "id": uuid.uuid4().hex,
        "model": body.model or backend_of(request).rerank_model(),
        "results": results,
        "meta": {"api_version": {"version": "2"}, "billed_units": {"search_units": 1}},
        "usage": {"total_tokens": words},
    }


def probability(score: float) -> float:
    """Return a score as a number between 0 and 1, in the same order: the logistic function.

    Examples
    --------
    >>> probability(0.0), round(probability(5.0), 4), probability(-1e9)
    (0.5, 0.9933, 0.0)
    """
    if score >= 0:
        return 1 / (1 + math.exp(-score))
    return math.exp(max(score, -700.0)) / (1 + math.exp(max(score, -700.0))) if score > -700 else 0.0


def _text(document: str | dict[str, Any]) -> str:
    text = document if isinstance(document, str) else document.get("text")
    if not isinstance(text, str):
        raise InputError("A document must be a text, or an object with `text`. Got neither.")
    return check_unicode("documents", text)
