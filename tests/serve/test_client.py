"""The client against a service on a real socket: it answers as the engine itself does."""

from __future__ import annotations

import asyncio
import inspect
import socket
import threading

import pytest

import vizsla
from tests.serve.services import FRUIT, READ, WRITE, fruit_engine, listening
from vizsla.errors import EngineError, InputError, ServiceError
from vizsla.serve.client import AsyncClient, Client


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    with fruit_engine(tmp_path_factory.mktemp("client")) as engine:
        yield engine


@pytest.fixture(scope="module")
def address(engine):
    with listening(engine, read_token=READ, write_token=WRITE) as address:
        yield address


@pytest.fixture
def client(address):
    with Client(address, token=WRITE) as client:
        yield client


def test_searches_are_the_engines_own(client, engine):
    found = client.search("fig tree", k=2, where="price<20")
    assert found.ids == engine.search("fig tree", 2, where=vizsla.where("price<20")).ids[0]
    assert found.hits[0].score == pytest.approx(engine.search("fig tree", 1)[0][0].score)
    assert client.search("fig", where=vizsla.where("price>10")).ids == ["fig"]
    several = client.search(["fig", "pears"], k=1)
    assert [answer.ids for answer in several] == engine.search(["fig", "pears"], 1).ids
    page = client.search("tree", k=1, offset=1, facets=["kind"], highlights=True, explain=True)
    assert page.total == 2 and page.hits[0].rank == 2
    assert page.facets["kind"]["values"][0]["value"] == "tree"
    assert page.hits[0].highlights["text"]
    assert page.hits[0].why["score"] == pytest.approx(page.hits[0].score)
    assert client.explain("fig", "fig")["score"] == pytest.approx(engine.explain("fig", "fig").score)


def test_items_and_clicks_are_stored(client, engine):
    assert client.add({"kiwi": "a green kiwi"}) == 1
    with pytest.raises(InputError, match="kiwi"):
        client.add([vizsla.Item("kiwi", "again")])
    assert client.upsert([vizsla.Item("kiwi", "a brown kiwi", "Kiwi", {"price": 3})]) == 1
    assert client.get("kiwi") == engine.get("kiwi")
    assert client.update_metadata({"kiwi": {"price": None, "color": "brown"}}) == 1
    assert engine.get("kiwi").metadata == {"color": "brown"}
    before = engine.stats()["clicks"]
    assert client.click("fuzzy", "kiwi") == 1
    assert client.clicks([("fuzzy", "kiwi", 2.0), ("green", "kiwi")]) == 2
    assert engine.stats()["clicks"] == before + 3
    assert client.count() == len(FRUIT) + 1 and client.count("kind=tree") == 2
    assert client.complete("kiw") == ["Kiwi"]
    assert client.delete("kiwi") == 1 and client.delete(where="price>1000") == 0
    assert client.get("kiwi") is None
    assert client.stats()["items"] == len(FRUIT)


def test_members_are_administered(client, engine):
    client.snapshot("before")
    client.rebuild("words")
    client.maintain()
    client.rollback("before")
    assert [row["action"] for row in client.history()] == [row["action"] for row in engine.history()]
    with pytest.raises(InputError, match="nothing"):
        client.rebuild("nothing")


@pytest.mark.parametrize("id", ["%2e", "a/../b", "a b?c#d", "ä", "'", "%00"])
def test_any_id_survives_the_address(client, id):
    assert client.upsert([(id, "odd words")]) == 1
    assert client.get(id).id == id
    assert client.delete(id) == 1


def test_errors_are_typed(client, address):
    with pytest.raises(InputError, match="where"):
        client.search("fig", where="price <")
    with pytest.raises(InputError, match="k"):
        client.search("fig", k=0)
    with Client(address, token=READ) as reader, pytest.raises(ServiceError) as refused:
        reader.delete("fig")
    assert refused.value.status == 401
    with Client(address) as anonymous, pytest.raises(ServiceError, match="token"):
        anonymous.search("fig")
    with pytest.raises(InputError, match="http"):
        Client("ftp://nowhere")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    with Client(f"http://127.0.0.1:{port}") as nobody, pytest.raises(ServiceError, match="did not answer"):
        nobody.search("fig")


def one_answer_after(refusals, port_ready, seen):
    """A server that refuses some requests and then answers one."""
    server = socket.create_server(("127.0.0.1", 0))
    port_ready.append(server.getsockname()[1])
    for status in refusals:
        connection, _ = server.accept()
        with connection:
            seen.append(connection.recv(65536))
            body = b'{"results": []}' if status == 200 else b'{"detail": "busy"}'
            head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nRetry-After: 0\r\nConnection: close\r\n"
            connection.sendall(head.encode() + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
    server.close()


@pytest.mark.parametrize(
    ("refusals", "error"), [([429, 503, 200], None), ([429, 429], ServiceError), ([503], EngineError)]
)
def test_a_busy_service_is_asked_again_as_often_as_wanted(refusals, error):
    ports, seen = [], []
    thread = threading.Thread(target=one_answer_after, args=(refusals, ports, seen))
    thread.start()
    while not ports:
        pass
    with Client(f"http://127.0.0.1:{ports[0]}", retries=len(refusals) - 1) as client:
        if error is None:
            assert client.search("fig").ids == []
        else:
            with pytest.raises(error, match="busy"):
                client.search("fig")
    thread.join()
    assert len(seen) == len(refusals)


def methods(kind):
    return {name: inspect.signature(method) for name, method in vars(kind).items() if name[0] != "_"}


def test_the_clients_and_the_engine_have_the_same_methods():
    assert methods(Client) == methods(AsyncClient)
    for name, mine in methods(Client).items():
        whole = getattr(vizsla.Engine, name, None)
        if whole is None:
            assert name in ("compare",)
            continue
        known = list(inspect.signature(whole).parameters)
        shared = [each for each in mine.parameters if each in known]
        assert shared == [each for each in known if each in shared], name  # in the same order
        for each in shared:
            ours, theirs = mine.parameters[each], inspect.signature(whole).parameters[each]
            assert ours.kind == theirs.kind, (name, each)
            assert (name, each) == ("search", "syntax") or ours.default == theirs.default, (name, each)


def test_the_asynchronous_client_does_the_same(address, engine):
    async def scenario():
        async with AsyncClient(address, token=WRITE) as client:
            await client.upsert({"plum": "a blue plum"})
            found = await asyncio.gather(*[client.search("plum", k=1, fields=[]) for _ in range(8)])
            assert [each.ids for each in found] == [["plum"]] * 8 and found[0].hits[0].metadata == {}
            assert (await client.get("plum")).text == "a blue plum"
            assert await client.click("blue", "plum") == 1
            assert await client.update_metadata({"plum": {"price": 4}}) == 1
            assert await client.count("price=4") == 1
            assert (await client.explain("plum", "plum"))["score"] > 0
            assert await client.complete("figg") == engine.complete("figg")
            with pytest.raises(InputError, match="nothing"):
                await client.compare("plum", ["words", "nothing"])
            await client.snapshot("asynchronous")
            await client.rebuild("words")
            await client.maintain()
            await client.rollback("asynchronous")
            assert len(await client.history()) == len(engine.history())
            assert (await client.stats())["items"] == engine.count()
            assert await client.delete(["plum"]) == 1
            assert await client.get("plum") is None

    asyncio.run(scenario())
