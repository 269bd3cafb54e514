"""The OpenAPI document: FastAPI's, with the service's own errors and tokens."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from vizsla.serve.answers import ProblemAnswer
from vizsla.serve.security import require_read, require_write

PROBLEM = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/ProblemAnswer"}}}
ERRORS: dict[str, Any] = {
    "4XX": {"description": "The request cannot be answered as it is, or not now (429).", "content": PROBLEM},
    "5XX": {"description": "The service, or a model that it asks, has failed or is late.", "content": PROBLEM},
}
UNUSED = ("HTTPValidationError", "ValidationError")
"""Schemas of FastAPI's own errors, which are never sent."""
TOKENS = {
    "read": {"type": "http", "scheme": "bearer", "description": "The read token, or the write token."},
    "write": {"type": "http", "scheme": "bearer", "description": "The write token."},
}


def openapi_document(app: FastAPI, routers: Iterable[APIRouter]) -> dict[str, Any]:
    """Return the document of an application that includes these routers; it is made once."""
    if app.openapi_schema:
        return app.openapi_schema
    about = {"title": app.title, "version": app.version, "description": app.description, "tags": app.openapi_tags}
    document = get_openapi(routes=app.routes, **about)  # type: ignore[arg-type]
    schemas = document["components"]["schemas"]
    for name in UNUSED:
        schemas.pop(name, None)
    schemas["ProblemAnswer"] = ProblemAnswer.model_json_schema()
    document["components"]["securitySchemes"] = TOKENS
    for route in chain.from_iterable(router.routes for router in routers):
        if isinstance(route, APIRoute) and route.include_in_schema:
            for method in route.methods or ():
                operation = document["paths"][route.path_format][method.lower()]
                operation["responses"].pop("422", None)
                operation["responses"] |= ERRORS
                if token := token_of(route):
                    operation["security"] = [{token: []}, {}]  # the empty one: tokens may be off
    app.openapi_schema = document
    return document


def token_of(route: APIRoute) -> str | None:
    """Return which token a route asks for, "read" or "write"; None for none."""
    asked = {dependency.call for dependency in route.dependant.dependencies}
    return "write" if require_write in asked else "read" if require_read in asked else None


def answers(model: Any, status: int = 200) -> dict[str, Any]:
    """Return the arguments of a route that document its answer, which is sent as it is."""
    return {"response_model": None, "responses": {status: {"model": model}}}
