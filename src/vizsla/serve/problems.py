"""Errors as `application/problem+json` (RFC 9457)."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from vizsla.errors import (
    BudgetError,
    EngineError,
    MissingExtraError,
    ScorerError,
    ShardLostError,
    VizslaError,
    WorkerLostError,
)
from vizsla.serve.admission import BusyError, TimeLimitError

RETRY_AFTER_S = 1
MAX_DETAIL_CHARS = 1000
UNREADABLE = "There was an error parsing the body"
"""What FastAPI says of a body that it cannot read."""
STATUS_OF_ERROR: tuple[tuple[type[VizslaError], int], ...] = (
    (BusyError, 429),
    (BudgetError, 429),
    (TimeLimitError, 504),
    (EngineError, 503),
    (ShardLostError, 503),
    (WorkerLostError, 503),
    (ScorerError, 502),
    (MissingExtraError, 501),
    (VizslaError, 400),
)
"""The first class that an error belongs to decides; what no row names is our own fault, a 500."""


class ProblemResponse(Response):
    """A problem as JSON, with the type that clients recognize it by."""

    media_type = "application/problem+json"

    def __init__(self, status: int, detail: str = "", *, headers: dict[str, str] | None = None, **more: Any):
        title = HTTPStatus(status).phrase
        shown = detail if len(detail) <= MAX_DETAIL_CHARS else f"{detail[:MAX_DETAIL_CHARS]}…"
        body = {"type": "about:blank", "title": title, "status": status, "detail": shown, **more}
        # A lone surrogate cannot be sent as UTF-8; escaped it can.
        super().__init__(json.dumps(body).encode(), status, headers)


def status_of(error: VizslaError) -> int:
    """Return the status code that an error is answered with."""
    return next(status for kind, status in STATUS_OF_ERROR if isinstance(error, kind))


def problem_of(error: VizslaError) -> ProblemResponse:
    """Return the answer to an error that Vizsla raised on purpose."""
    status = status_of(error)
    wait = {"Retry-After": str(RETRY_AFTER_S)} if status in (429, 503) else None
    return ProblemResponse(status, str(error), headers=wait)


def install(app: FastAPI) -> None:
    """Let an application answer every error with a problem."""
    app.add_exception_handler(VizslaError, lambda request, error: problem_of(error))
    app.add_exception_handler(HTTPException, _http_problem)  # type: ignore[arg-type]
    app.add_exception_handler(RequestValidationError, _invalid_request)  # type: ignore[arg-type]


def _http_problem(request: Request, error: HTTPException) -> ProblemResponse:
    said = (
        "The body must be JSON in UTF-8, with fewer than a few hundred levels."
        if error.detail == UNREADABLE
        else str(error.detail)
    )
    return ProblemResponse(error.status_code, said, headers=dict(error.headers or {}))


def _invalid_request(request: Request, error: RequestValidationError) -> ProblemResponse:
    """Name each place and what is expected there; the input itself is not sent back."""
    places = [
        {"place": ".".join(map(str, each["loc"]))[:200], "problem": str(each["msg"])[:200]}
        for each in error.errors()[:20]
    ]
    first = f"{places[0]['place']}: {places[0]['problem']}" if places else "The request is not valid."
    return ProblemResponse(422, first, errors=places)
