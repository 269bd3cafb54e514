"""A Model Context Protocol (MCP) server: assistants search, fetch, explain and compare over an engine or artifact."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from vizsla import __version__
from vizsla._internal.lazy import import_extra
from vizsla.core.catalog import Item
from vizsla.errors import VizslaError
from vizsla.serve.backend import Backend, condition_of, overlaps

T = TypeVar("T")
MAX_RESULTS = 50
INSTRUCTIONS = (
    "Search a catalog of texts. Call `search` with a few words, then `fetch` with an id of the results to read the "
    "whole text; of a passage, `parent` gives its section or document. `explain` says why an item matches a query; "
    "`compare` shows how the members of the index differ."
)


class SearchResult(BaseModel):
    """One result: enough to choose what to fetch."""

    id: str
    title: str
    url: str
    snippet: str


class SearchResults(BaseModel):
    """The results of a search, best first."""

    results: list[SearchResult]


class FetchedDocument(BaseModel):
    """A whole item."""

    id: str
    title: str
    text: str
    url: str
    metadata: dict[str, Any]


class ScoreExplanation(BaseModel):
    """A score, and the tree of shares that it is made of, as lines of text."""

    score: float
    lines: list[str]


class MemberComparison(BaseModel):
    """The ids that each member found, and how much each pair shares."""

    members: dict[str, list[str]]
    overlaps: list[dict[str, Any]]


def mcp_server(target: Any, *, name: str = "vizsla") -> Any:
    """Return an MCP server over an engine or an artifact; `run("stdio")` or `streamable_http_app()` starts it.

    Parameters
    ----------
    target : path, Engine or Retriever
        The engine or artifact to search.
    name : str
        The name of the server.
    """
    server = import_extra("mcp.server.mcpserver", "The MCP server", "mcp")
    errors = import_extra("mcp.server.mcpserver.exceptions", "The MCP server", "mcp")
    backend = Backend.open(target)
    mcp = server.MCPServer(name, instructions=INSTRUCTIONS, version=__version__)

    def answered(call: Callable[[], T]) -> T:
        try:
            return call()
        except VizslaError as error:
            raise errors.ToolError(str(error)) from None  # the message of any other error does not reach the assistant

    def search(query: str, k: int = 10, where: str = "", using: str = "") -> SearchResults:
        """Search the catalog; `where` is a condition such as `price<20`, `using` names a member of the index."""

        def call() -> SearchResults:
            wanted = max(1, min(k, MAX_RESULTS))
            page = backend.retriever(using).page(query, wanted, where=condition_of(where), highlight=True)
            return SearchResults(results=[_result(backend, hit) for hit in page.hits])

        return answered(call)

    def fetch(id: str, parent: str = "") -> FetchedDocument:
        """Return an item by its id, with its metadata; of a passage, the whole "section" or "document" as `parent`."""
        item = answered(lambda: backend.get(id))
        if item is None:
            raise errors.ToolError(f"No item has the id {id!r:.100}. Use an id of a search result.")
        url = str(item.metadata.get("url", ""))
        text = answered(lambda: backend.parent(id, parent)) if parent else item.text
        return FetchedDocument(id=item.id, title=_title(item), text=text, url=url, metadata=dict(item.metadata))

    def explain(query: str, id: str, using: str = "") -> ScoreExplanation:
        """Say why an item has its score for a query."""
        why = answered(lambda: backend.retriever(using).explain(query, id))
        return ScoreExplanation(score=why.score, lines=str(why).splitlines())

    def compare(query: str, k: int = 10) -> MemberComparison:
        """Answer a query by every member of the index, and say how much the answers share."""

        def call() -> MemberComparison:
            wanted = max(1, min(k, MAX_RESULTS))
            found = {each: backend.retriever(each)(query, wanted).ids[0] for each in backend.members()}
            return MemberComparison(members=found, overlaps=overlaps(found))

        return answered(call)

    for tool in (search, fetch, explain, compare):
        mcp.add_tool(tool)
    return mcp


def serve_mcp(path: str | Path, *, http: bool = False, host: str = "127.0.0.1", port: int = 8081) -> None:
    """Serve an engine or an artifact to assistants, over standard input and output or over HTTP.

    Parameters
    ----------
    path : path
        An engine or an artifact.
    http : bool
        Serve streamable HTTP at `/mcp` instead of standard input and output.
    host : str
        The address of HTTP.
    port : int
        The port of HTTP.
    """
    mcp = mcp_server(path)
    if http:
        uvicorn = import_extra("uvicorn", "The MCP server", "mcp")
        uvicorn.run(mcp.streamable_http_app(), host=host, port=port, log_level="warning")
    else:
        mcp.run("stdio")


def _result(backend: Backend, hit: Any) -> SearchResult:
    metadata = hit.metadata
    title = str(metadata.get("title") or hit.id)
    snippet = hit.snippet.text if hit.snippet is not None else ""
    return SearchResult(id=hit.id, title=title, url=str(metadata.get("url", "")), snippet=snippet)


def _title(item: Item) -> str:
    return item.title or str(item.metadata.get("title") or item.id)
