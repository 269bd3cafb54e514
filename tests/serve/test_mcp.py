"""The MCP server, in memory and over real standard input and output."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time

import pytest
import uvicorn
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

import vizsla
from tests.serve.services import fruit_engine
from vizsla.serve.mcp_tools import mcp_server


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    members = {"words": vizsla.Recipe.of("bm25"), "letters": vizsla.Recipe.of("tfidf")}
    with fruit_engine(tmp_path_factory.mktemp("mcp"), members=members, default="words") as engine:
        engine.upsert([{"id": "fig", "text": "a small fig tree", "title": "Fig", "url": "https://fig.example"}])
        yield engine


def called(target, tool, **arguments):
    async def scenario():
        async with Client(mcp_server(target)) as client:
            return await client.call_tool(tool, arguments)

    return asyncio.run(scenario())


def test_search_and_fetch_have_the_shapes_that_assistants_require(engine):
    answer = called(engine, "search", query="fig", k=1)
    assert not answer.is_error
    (hit,) = answer.structured_content["results"]
    assert {"id", "title", "url"} <= hit.keys() and hit["id"] == "fig" and hit["url"] == "https://fig.example"
    assert json.loads(answer.content[0].text) == answer.structured_content
    fetched = called(engine, "fetch", id="fig").structured_content
    assert fetched["text"] == "a small fig tree" and fetched["title"] == "Fig"
    assert {"id", "title", "text", "url", "metadata"} == fetched.keys()


def test_a_passage_is_fetched_with_its_section(tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/figs.md").write_text("# Figs\n\nFigs are sweet. Prune them in winter.\n")
    with vizsla.Engine.create(tmp_path / "live", members={"words": vizsla.Recipe.of("bm25")}) as live:
        live.sync(tmp_path / "notes", passage_size=3, passage_min=0)
        (hit, *_) = called(live, "search", query="winter").structured_content["results"]
        found = called(live, "fetch", id=hit["id"], parent="section").structured_content["text"]
        assert found == "Figs are sweet. Prune them in winter."
        assert called(live, "fetch", id=hit["id"], parent="document").structured_content["text"] == f"Figs\n\n{found}"
        assert called(live, "fetch", id=hit["id"], parent="chapter").is_error


def test_filters_members_explanations_and_comparison(engine):
    ids = [hit["id"] for hit in called(engine, "search", query="tree", where="price>10").structured_content["results"]]
    assert ids == engine.search("tree", where=vizsla.where("price>10")).ids[0]
    why = called(engine, "explain", query="fig", id="fig").structured_content
    assert why["score"] == pytest.approx(engine.explain("fig", "fig").score)
    found = called(engine, "compare", query="fig").structured_content
    assert found["members"]["letters"] == engine.search("fig", using="letters").ids[0]
    assert found["overlaps"][0]["members"] == ["words", "letters"]


@pytest.mark.parametrize(
    ("tool", "arguments", "word"),
    [
        ("search", {"query": "fig", "where": "price <"}, "where"),
        ("search", {"query": "fig", "using": "nothing"}, "words"),
        ("fetch", {"id": "nothing"}, "nothing"),
        ("explain", {"query": "fig", "id": "nothing"}, "nothing"),
    ],
)
def test_an_error_reaches_the_assistant_as_a_sentence(engine, tool, arguments, word):
    answer = called(engine, tool, **arguments)
    assert answer.is_error and word in answer.content[0].text


def test_the_command_speaks_the_protocol_on_standard_output_alone(engine):
    async def scenario():
        command = ["-m", "vizsla", "mcp", str(engine.path)]
        async with Client(stdio_client(StdioServerParameters(command=sys.executable, args=command))) as client:
            tools = await client.list_tools()
            found = await client.call_tool("search", {"query": "fig"})
            return [tool.name for tool in tools.tools], found.structured_content

    names, found = asyncio.run(scenario())
    assert names == ["search", "fetch", "explain", "compare"]
    assert found["results"][0]["id"] == "fig"


def test_the_same_tools_answer_over_streamable_http(engine):
    web = mcp_server(engine).streamable_http_app()
    server = uvicorn.Server(uvicorn.Config(web, host="127.0.0.1", port=0, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]

    async def scenario():
        async with Client(f"http://127.0.0.1:{port}/mcp") as client:
            tools = {tool.name for tool in (await client.list_tools()).tools}
            return tools, await client.call_tool("search", {"query": "fig", "k": 1})

    try:
        tools, answer = asyncio.run(scenario())
    finally:
        server.should_exit = True
        thread.join(30)
    assert tools == {"search", "fetch", "explain", "compare"}
    assert [hit["id"] for hit in answer.structured_content["results"]] == ["fig"]
