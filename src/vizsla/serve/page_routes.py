"""The page: static files of this package, served with a content security policy and without a build step."""

from __future__ import annotations

from importlib import resources

from fastapi import APIRouter, HTTPException
from starlette.responses import Response

router = APIRouter()
TYPES = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
}
FILES = {
    file.name: file.read_bytes()
    for file in resources.files("vizsla.serve").joinpath("page").iterdir()
    if file.name.rpartition(".")[2] in TYPES
}
"""Read once; a request names one of these, never a path."""


@router.get("/", include_in_schema=False)
async def page() -> Response:
    """Return the page."""
    return page_file("index.html")


@router.get("/page/{name}", include_in_schema=False)
async def page_file_route(name: str) -> Response:
    """Return a file of the page."""
    return page_file(name)


def page_file(name: str) -> Response:
    """Return a file of the page by its name, or raise 404."""
    if name not in FILES:
        raise HTTPException(404, "The page has no such file.")
    headers = {"Cache-Control": "no-cache"}
    return Response(FILES[name], media_type=TYPES[name.rpartition(".")[2]], headers=headers)
