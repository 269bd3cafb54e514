"""A collection of shards behind the service: searches, writes, and what it refuses."""

import shutil

import pytest

import vizsla
from tests.serve.services import FRUIT, serving
from vizsla.errors import InputError
from vizsla.scale import ShardedEngine
from vizsla.serve.run import serve, sharded


@pytest.fixture
def client(tmp_path):
    members = {"words": vizsla.Recipe.of("bm25")}
    ShardedEngine.create(tmp_path / "shop", 3, members=members, metadata={"price": "number"}).close()
    with serving(tmp_path / "shop") as client:
        yield client


def test_items_are_stored_found_and_deleted(client, tmp_path):
    assert client.post("/v1/items", json={"items": FRUIT}).json() == {"stored": 4}
    found = client.post("/v1/search", json={"query": "figs", "k": 3}).json()
    with vizsla.Engine.create(tmp_path / "one", members={"words": vizsla.Recipe.of("bm25")}) as one:
        one.add(FRUIT)
        assert [(hit["id"], hit["score"]) for hit in found["results"]] == [
            (hit.id, hit.score) for hit in one.search("figs", 3)[0]
        ]
    assert found["partial"] is False and found["coverage"] == 1.0
    assert found["results"][0]["metadata"]["price"] in (12, 5)
    cheap = client.post("/v1/search", json={"query": "figs", "where": "price<10"}).json()
    assert [hit["id"] for hit in cheap["results"]] == ["date"]
    assert client.get("/v1/items/pear").json()["id"] == "pear"
    assert client.post("/v1/items/delete", json={"ids": ["date", "nowhere"]}).json() == {"deleted": 1}
    assert client.post("/v1/items/delete", json={"where": "price>15"}).json() == {"deleted": 1}
    assert client.get("/info").json()["items"] == 2
    why = client.post("/v1/search", json={"query": "figs", "explain": True}).json()["results"][0]
    assert why["why"]["score"] == pytest.approx(why["score"])
    assert client.get("/info").json()["shards"] == 3


def test_a_collection_is_made_when_its_shards_are_named(tmp_path):
    made = sharded(tmp_path / "new", 2)
    assert sharded(made, 2) == made
    with ShardedEngine.open(made) as shop:
        assert len(shop.folders) == 2 and list(shop.members) == ["words"]
    with pytest.raises(InputError, match="`shards` must be 2"):
        sharded(made, 3)


def test_what_needs_all_matches_is_refused(client):
    for more in ({"facets": ["price"]}, {"sort": ["price"]}, {"highlights": True}):
        answer = client.post("/v1/search", json={"query": "figs", **more})
        assert answer.status_code in (400, 422) and "A collection of shards" in answer.text
    for query in ("figs -sweet", '"sweet figs"', "+figs"):  # read as plain words they would find other items
        answer = client.post("/v1/search", json={"query": query})
        assert answer.status_code in (400, 422) and "A collection of shards" in answer.text
        assert client.post("/v1/search", json={"query": query, "syntax": "plain"}).status_code == 200
    answer = client.post("/v1/admin/snapshot", json={"name": "now"})
    assert answer.status_code in (400, 422) and "A collection of shards" in answer.text
    assert client.post("/v1/search", json={"query": "figs", "using": "other"}).status_code in (400, 422)


def test_a_lost_shard_makes_answers_partial_and_takes_no_writes(client, tmp_path):
    items = [{"id": f"i{number}", "text": f"fig {number}"} for number in range(30)]
    assert client.post("/v1/items", json={"items": items}).json() == {"stored": 30}
    shutil.rmtree(tmp_path / "shop/shard-001")
    found = client.post("/v1/search", json={"query": "fig", "k": 30}).json()
    assert found["partial"] is True and 0.3 < found["coverage"] < 0.9
    explained = client.post("/v1/search", json={"query": "fig", "k": 30, "explain": True}).json()
    assert explained["partial"] is True and len(explained["results"]) == len(found["results"])
    assert all(hit["why"]["score"] == pytest.approx(hit["score"]) for hit in explained["results"])
    answer = client.post("/v1/items", json={"items": items})
    assert answer.status_code == 503 and "restore a backup of the shard there" in answer.text
    assert client.get("/info").json()["shards"] == 3


def test_a_collection_has_one_process(client, tmp_path):
    with pytest.raises(InputError, match="`workers` must be 1 with shards"):
        serve(tmp_path / "shop", workers=2)
