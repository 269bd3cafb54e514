"""Routes over an engine and over an artifact: items, clicks, rerank, status and administration."""

from __future__ import annotations

import io
import json
import math
import time
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

import vizsla
from tests.compose.test_confidence import world
from tests.serve.services import FRUIT, fruit_engine, serving
from vizsla.serve import ServiceSettings, app
from vizsla.serve.schemas import SearchRequest
from vizsla.serve.telemetry import JsonLog


@pytest.fixture
def engine(tmp_path):
    with fruit_engine(tmp_path) as engine:
        yield engine


@pytest.fixture
def client(engine):
    with serving(engine) as client:
        yield client


def ids(answer):
    assert answer.status_code == 200, answer.text
    return [hit["id"] for hit in answer.json()["results"]]


def test_items_are_stored_changed_and_deleted_and_the_next_search_knows(client, engine):
    assert client.post("/v1/items", json={"id": "kiwi", "text": "a green kiwi", "price": 3}).json() == {"stored": 1}
    assert ids(client.post("/v1/search", json={"query": "kiwi"})) == ["kiwi"]
    assert client.patch("/v1/items/kiwi", json={"price": 4, "color": "green"}).json() == {"changed": 1}
    known = client.get("/v1/items/kiwi").json()
    assert known == {"id": "kiwi", "title": "", "text": "a green kiwi", "metadata": {"price": 4, "color": "green"}}
    client.patch("/v1/items/kiwi", json={"text": "a brown kiwi", "color": None})
    assert ids(client.post("/v1/search", json={"query": "green"})) == []
    assert client.get("/v1/items/kiwi").json()["metadata"] == {"price": 4}
    assert client.delete("/v1/items/kiwi").json() == {"deleted": 1}
    assert client.get("/v1/items/kiwi").status_code == 404
    assert (
        client.delete("/v1/items/kiwi").status_code == client.patch("/v1/items/kiwi", json={"a": 1}).status_code == 404
    )


def test_an_id_may_hold_any_character(client):
    for id in ("a/b", "ä ö", "..", "delete", "%2e", "?#"):
        assert client.post("/v1/items", json={"id": id, "text": "odd"}).json() == {"stored": 1}, id
    for id in ("a/b", "ä ö", "delete", "?#"):
        assert client.get(f"/v1/items/{quote(id, safe='')}").json()["id"] == id


def test_bulk_items_are_one_transaction(client, engine):
    rows = [{"id": "a", "text": "x"}, {"id": "fig", "text": "x"}]
    answer = client.post("/v1/items", json={"items": rows, "mode": "add"})
    assert answer.status_code == 400 and "fig" in answer.json()["detail"]
    assert engine.get("a") is None
    assert client.post("/v1/items", json={"items": rows}).json() == {"stored": 2}
    assert client.post("/v1/items/delete", json={"where": "price<10"}).json() == {"deleted": 2}
    assert client.post("/v1/items/delete", json={"ids": ["a", "nothing"]}).json() == {"deleted": 1}
    where = {"type": "eq", "key": "kind", "value": "tree"}
    assert client.post("/v1/items/delete", json={"where": where}).json() == {"deleted": 1}


def test_clicks_are_stored_by_text_by_query_id_and_as_ubi_events(client, engine):
    query_id = client.post("/v1/search", json={"query": "fig"}).json()["query_id"]
    assert client.post("/v1/clicks", json={"query": "fig", "item": "date"}).json() == {"stored": 1, "left_out": 0}
    clicks = [{"query_id": query_id, "item": "fig", "weight": 2, "time": "2026-01-02T03:04:05Z"}]
    assert client.post("/v1/clicks", json={"clicks": clicks}).json()["stored"] == 1
    chosen = {"object": {"object_id": "fig"}, "position": {"ordinal": 1}}
    events = [
        {"action_name": "click", "query_id": query_id, "event_attributes": chosen, "timestamp": "2026-01-02T03:04:05Z"},
        {"action_name": "impression", "query_id": query_id, "event_attributes": chosen},
    ]
    assert client.post("/v1/clicks", json=events).json() == {"stored": 1, "left_out": 1}
    assert client.post("/v1/clicks", json=events[0]).json() == {"stored": 1, "left_out": 0}
    assert engine.stats()["clicks"] == 4
    assert client.post("/v1/clicks", json={"query_id": "unknown", "item": "fig"}).status_code == 400
    assert client.post("/v1/clicks", json={"query": "fig", "item": "nothing"}).status_code == 400


def test_a_client_may_give_its_own_query_id(client):
    answer = client.post("/v1/search", json={"query": "fig", "ubi": {"query_id": "mine", "client_id": "c"}})
    assert answer.json()["query_id"] == "mine"
    assert client.post("/v1/clicks", json={"query_id": "mine", "item": "fig"}).json()["stored"] == 1


def test_rerank_speaks_the_shapes_of_cohere_jina_and_tei(client):
    texts = ["a pear", "fig and fig tree", "a fig"]
    scores = vizsla.bm25({str(at): text for at, text in enumerate(texts)})("fig tree", 3).to_dict()["0"]
    wanted = [{"index": int(at), "relevance_score": pytest.approx(1 / (1 + math.exp(-scores[at])))} for at in scores]
    for path in ("/v1/rerank", "/v2/rerank", "/rerank"):
        body = {"model": "any", "query": "fig tree", "documents": texts, "top_n": 2}
        answer = client.post(path, json=body).json()
        assert answer["results"] == wanted[:2] and answer["model"] == "any" and answer["id"]
    documents = [{"text": text} for text in texts]
    body = {"query": "fig tree", "documents": documents, "return_documents": True}
    assert client.post("/v1/rerank", json=body).json()["results"][0]["document"] == {"text": texts[1]}
    tei = client.post("/rerank", json={"query": "fig tree", "texts": texts, "raw_scores": True, "return_text": True})
    assert tei.json()[0] == {"index": 1, "score": pytest.approx(scores["1"]), "text": texts[1]}
    assert [row["index"] for row in tei.json()] == [1, 2, 0]
    assert client.post("/rerank", json={"query": "fig", "texts": ["a"], "documents": ["a"]}).status_code == 422


def test_status_routes_tell_what_is_served(client, engine):
    assert client.get("/health").json() == {"status": "ok"}
    assert client.get("/ready").json()["status"] == "ready"
    known = client.get("/info").json()
    assert known["kind"] == "engine" and known["default"] == "words" and known["items"] == len(FRUIT)
    assert known["fields"]["price"] == "number" and "token" not in json.dumps(known["limits"])
    client.post("/v1/search", json={"query": "fig"})
    text = client.get("/metrics").text
    assert 'vizsla_requests_total{route="/v1/search",status="200"} 1.0' in text
    assert f"vizsla_items {len(FRUIT)}.0" in text
    assert 'vizsla_search_seconds_count{member="words"} 1.0' in text


def wait_for(client, job):
    for _ in range(3000):
        found = client.get(f"/v1/admin/jobs/{job['id']}").json()
        if found["state"] in ("done", "failed"):
            return found
        time.sleep(0.01)
    raise AssertionError(found)


def test_snapshots_rollback_and_rebuild(client, engine):
    assert client.post("/v1/admin/snapshot", json={"name": "before"}).json() == {"snapshot": "before"}
    engine.add_member("more", vizsla.Recipe.of("bm25", k1=2.0))
    assert client.post("/v1/admin/rollback", json={"name": "before"}).json() == {"rolled_back_to": "before"}
    assert list(engine.members) == ["words"]
    assert client.post("/v1/admin/rollback", json={"name": "nothing"}).status_code == 400
    started = client.post("/v1/admin/rebuild", json={"member": "words"})
    assert started.status_code == 202
    assert wait_for(client, started.json())["state"] == "done"
    assert client.post("/v1/admin/rebuild", json={"member": "nothing"}).status_code == 400
    assert client.get("/v1/admin/jobs").json()[0]["action"] == "rebuild"
    assert client.get("/v1/admin/jobs/nothing").status_code == 404
    assert any("before" in json.dumps(row) for row in client.get("/v1/admin/history").json())


def test_evaluation_runs_on_the_judged_queries(engine):
    judged = vizsla.Dataset.of(FRUIT, queries={"q1": "fig", "q2": "pears"}, qrels={"q1": {"fig": 1}, "q2": {"pear": 1}})
    with serving(engine, judged=judged) as client:
        started = client.post("/v1/admin/evaluate", json={"measures": ["R@10"]})
        result = wait_for(client, started.json())["result"]
        assert result["members"]["words"]["measures"]["R@10"] == 1.0
        assert [query["text"] for query in result["queries"]] == ["fig", "pears"]
        assert result["values"]["words"]["R@10"] == [1.0, 1.0]
    with serving(engine) as client:
        assert client.post("/v1/admin/evaluate", json={}).status_code == 409


def test_an_artifact_is_searched_and_cannot_be_changed(tmp_path):
    data = vizsla.Dataset.of(FRUIT, keep_texts=True)
    vizsla.bm25(data).save(tmp_path / "fruit.idx")
    with serving(tmp_path / "fruit.idx") as client:
        assert ids(client.post("/v1/search", json={"query": "fig"}))[0] == "fig"
        assert client.get("/info").json()["kind"] == "artifact"
        assert client.get("/v1/items/fig").json()["metadata"]["price"] == 12
        assert client.get("/v1/items/nothing").status_code == 404
        answer = client.post("/v1/items", json={"id": "x"})
        assert answer.status_code == 400 and "read-only" in answer.json()["detail"]
        assert client.post("/v1/clicks", json={"query": "fig", "item": "fig"}).status_code == 400


@pytest.mark.parametrize(
    ("body", "status", "word"),
    [
        ({}, 422, "query"),
        ({"query": "x", "queries": ["y"]}, 422, "query"),
        ({"query": "x", "k": 0}, 422, "k"),
        ({"query": "x", "k": 1001}, 400, "1000"),
        ({"query": "x", "offset": 995}, 400, "1000"),
        ({"query": "x" * 2001}, 400, "2000"),
        ({"queries": ["x"] * 1001}, 400, "1000"),
        ({"query": "x", "using": "nothing"}, 400, "words"),
        ({"query": "x", "where": "price <"}, 400, "where"),
        ({"query": "x", "where": {"type": "exec", "key": "price", "value": 1}}, 400, "type"),
        ({"query": "x", "colour": 1}, 422, "colour"),
    ],
)
def test_what_cannot_be_answered_is_a_problem_that_names_the_place(client, body, status, word):
    answer = client.post("/v1/search", json=body)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["status"] == status and word in problem["detail"], problem


@pytest.mark.parametrize("body", [b"{", b'{"query":"\xff"}', b"[" * 100_000, b'{"query":"x","k":' + b"9" * 5000 + b"}"])
def test_a_body_that_is_no_json_is_a_problem_that_says_so(client, body):
    answer = client.post("/v1/search", content=body, headers={"Content-Type": "application/json"})
    assert 400 <= answer.status_code < 500
    assert "JSON" in answer.json()["detail"]


def test_requests_and_slow_searches_are_logged_as_json_with_their_id(engine):
    lines = io.StringIO()
    with serving(engine, log=lines, slow_ms=0.001) as client:
        answer = client.post("/v1/search", json={"query": "fig\n{}"}, headers={"X-Request-ID": "mine"})
        assert answer.headers["x-request-id"] == "mine"
        bad = client.get("/health", headers={"X-Request-ID": "x" * 65})
        assert len(bad.headers["x-request-id"]) == 32
    slow, request = [json.loads(line) for line in lines.getvalue().splitlines()]
    assert (slow["event"], slow["id"], slow["query"]) == ("slow", "mine", "fig\n{}")
    assert (request["event"], request["path"], request["status"]) == ("request", "/v1/search", 200)


def test_too_much_at_once_is_429_with_a_time_to_wait_and_health_answers(engine):
    with serving(engine, threads=1, max_waiting=1) as client:
        client.app.state.admission.in_flight = 2
        answer = client.post("/v1/search", json={"query": "fig"})
        assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")
        assert client.get("/ready").status_code == 503
        assert client.get("/health").status_code == client.get("/metrics").status_code == 200
        client.app.state.admission.in_flight = 0
        assert ids(client.post("/v1/search", json={"query": "kiwi"})) == []


def test_short_searches_are_answered_at_once_as_threads_answer_them(tmp_path, monkeypatch):
    members = {"words": vizsla.Recipe.of("bm25"), "typos": vizsla.Recipe.of("typo_tolerant", base="words")}
    with vizsla.Engine.create(tmp_path / "quick", members=members, default="words") as engine:
        engine.add(FRUIT)
        with serving(engine) as client:
            state, submitted = client.app.state, []
            submit = state.admission._executor.submit

            def counted(*arguments):
                submitted.append(arguments)
                return submit(*arguments)

            monkeypatch.setattr(state.admission._executor, "submit", counted)
            plain = {"query": "fig tree", "k": 5}
            assert ids(client.post("/v1/search", json=plain)) == ["fig", "apple", "date"]  # reads what was added
            assert len(submitted) == 1
            for text, offset in (("fig tree", 0), ("  fig \ttree", 1), ("", 0), ("no", 0), ("date fig apple", 2)):
                asked, before = {"k": 2, "offset": offset}, len(submitted)
                at_once = client.post("/v1/search", json={"query": text, **asked}).json()
                assert len(submitted) == before
                by_thread = client.post("/v1/search", json={"queries": [text], **asked}).json()["answers"][0]
                assert len(submitted) == before + 1
                assert at_once.pop("took_ms") > 0
                for answer in (at_once, by_thread):
                    del answer["query_id"], answer["ms"], answer["cost"]["ms"]
                assert at_once == by_thread
            for more in (
                {"query": "kind:tree +fig"},
                {"facets": ["price"]},
                {"highlights": True},
                {"using": "typos"},
                {"query": "nothing"},  # looked for among the words near it
                {"explain": True},
            ):
                before = len(submitted)
                assert client.post("/v1/search", json={**plain, **more}).status_code == 200
                assert len(submitted) == before + 1
            several = [
                client.post("/v1/search", json={**plain, "count_to": most}).json() for most in (0, 2, 3, 2**64, 10**30)
            ]
            assert all(1 <= each["total"] <= 3 for each in several)
            assert [each["total"] for each in several if each["total_is_exact"]][-3:] == [3, 3, 3]
            engine.add([{"id": "new", "text": "fig tree fig tree"}])
            assert "new" in ids(client.post("/v1/search", json=plain))
            state.admission.in_flight += state.admission.limit
            assert client.post("/v1/search", json=plain).status_code == 429
            state.admission.in_flight -= state.admission.limit


def test_rare_and_joined_words_are_looked_up_at_once_when_the_words_of_the_texts_are_known(tmp_path):
    with vizsla.Engine.create(tmp_path / "rare", members={"words": vizsla.Recipe.of("bm25")}) as engine:
        engine.add(
            {f"b{at}": "firefox browser" for at in range(60)}
            | {"rare": "firefex"}
            | dict.fromkeys("xyz", "a fire, a fox")
        )
        with serving(engine) as client:
            backend, engine = client.app.state.backend, client.app.state.backend.target
            known, joined, rare, unknown = "firefox browser", "a fire fox", "firefex", "firefax"

            def quick():
                return [text for text in (known, joined, rare, unknown) if backend.quick("", text) is not None]

            assert ids(client.post("/v1/search", json={"query": known}))
            assert quick() == [known, joined]
            expected = client.post("/v1/search", json={"queries": [joined, rare]}).json()["answers"]
            assert quick() == [known, joined, rare]
            for query, by_thread in zip((joined, rare), expected, strict=True):
                at_once = backend.answer_plain(SearchRequest(query=query), backend.quick("", query))
                shown = [(hit["id"], hit["score"]) for hit in at_once["results"]]
                assert shown == [(hit["id"], hit["score"]) for hit in by_thread["results"]] and len(shown) == 10
                assert (at_once["total"], at_once.get("hints")) == (by_thread["total"], by_thread.get("hints"))
            engine.add({"new": "firefax"})  # no word of the new moment is known
            assert quick() == []
            assert ids(client.post("/v1/search", json={"query": known}))
            assert quick() == [known, joined]


def test_the_event_loop_builds_no_member(tmp_path):
    members = {"weighed": vizsla.Recipe.of("bm25", fields={"text": 2, "kind": 1}), "words": vizsla.Recipe.of("bm25")}
    with vizsla.Engine.create(tmp_path / "mixed", members=members, default="words") as engine:
        engine.add(FRUIT)
        with serving(engine) as client:
            assert ids(client.post("/v1/search", json={"query": "fig"}))
            backend = client.app.state.backend
            assert backend.quick("words", "fig") is not None and backend.quick("weighed", "fig") is None
            assert not engine._follower._wholes
            assert ids(client.post("/v1/search", json={"query": "fig", "using": "weighed"}))
            assert engine._follower._wholes


def test_search_takes_the_web_syntax_facets_groups_sort_and_pages(client, engine):
    def found(**body):
        answer = client.post("/v1/search", json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    assert ids(client.post("/v1/search", json={"query": 'tree -apple "fig tree"'})) == ["fig"]
    assert ids(client.post("/v1/search", json={"query": "tree -apple", "syntax": "plain"})) == ["apple", "fig"]
    page = found(query="fig tree", facets=["kind"], sort=["price:desc"], k=2)
    assert [hit["id"] for hit in page["results"]] == ["apple", "fig"] and page["total"] == 3
    assert {each["value"]: each["count"] for each in page["facets"]["kind"]["values"]} == {"tree": 2, "fruit": 1}
    grouped = found(query="fig tree", group="kind")
    assert [hit["id"] for hit in grouped["results"]] == ["fig", "date"] and grouped["groups"] == 2
    assert grouped["results"][0]["more"] == 1
    whole = [hit["id"] for hit in found(query="fig tree")["results"]]
    assert [hit["id"] for hit in found(query="fig tree", k=1, offset=1)["results"]] == whole[1:2]
    several = found(queries=["fig", "pears"], k=1)
    assert [each["results"][0]["id"] for each in several["answers"]] == ["fig", "pear"]
    marked = found(query="figs", highlights=True, explain=True)["results"][0]
    start, end = marked["highlights"]["text"][0]
    assert marked["text"][start:end].lower() == "fig"
    assert marked["why"]["score"] == pytest.approx(marked["score"])


def test_an_artifact_forgives_typos_and_completes_titles(tmp_path):
    vizsla.bm25(vizsla.Dataset.of(FRUIT, keep_texts=True)).save(tmp_path / "fruit.idx")
    with serving(tmp_path / "fruit.idx") as client:
        answer = client.post("/v1/search", json={"query": "autumm"}).json()
        assert [hit["id"] for hit in answer["results"]] == ["pear"]
        assert answer["hints"] == ["Did you mean 'autumn'?"]


def test_an_engine_forgives_typos_by_default_as_it_is_after_every_change(tmp_path):
    in_fields = vizsla.Recipe.of("bm25", fields={"title": 3.0, "text": 1.0})
    members = {"words": vizsla.Recipe.of("bm25"), "fields": in_fields, "best": "words + fields"}
    with vizsla.Engine.create(tmp_path / "fruit", members=members, default="words") as engine:
        engine.add([*FRUIT, {"id": "old", "title": "Autumn", "text": "the orchards of autumn"}])
        with serving(engine) as client:

            def found(query, **options):
                answer = client.post("/v1/search", json={"query": query, **options}).json()
                return [hit["id"] for hit in answer["results"]], answer.get("hints")

            for name in members:
                exact, hints = found("autumn", using=name)
                assert set(exact) == {"pear", "old"} and hints is None
                assert found("autumm", using=name) == (exact, ["Did you mean 'autumn'?"])
                assert found("autumm", using=name, typos=False)[0] == []
            assert found("autumm kiwi")[0] == exact
            engine.add([{"id": "typo", "text": "autumm"}])
            assert found("autumm")[0] == ["typo"]  # a word that an item holds stands for itself
            engine.delete(["typo", "old"])
            assert found("autumm")[0] == ["pear"] and found("orchads")[0] == []
            engine.flush()
            engine.upsert([{"id": "pear", "text": "a pear of orchards"}])
            assert found("orchads") == (["pear"], ["Did you mean 'orchards'?"])
            assert found("autumm")[0] == []
            why = client.post("/v1/explain", json={"query": "orchads", "item": "pear"}).json()
            best = client.post("/v1/search", json={"query": "orchads"}).json()["results"][0]
            assert why["score"] == pytest.approx(best["score"])


def test_members_are_compared_side_by_side(tmp_path):
    members = {"words": vizsla.Recipe.of("bm25"), "letters": vizsla.Recipe.of("tfidf")}
    with fruit_engine(tmp_path, members=members) as engine, serving(engine) as client:
        found = client.post("/v1/compare", json={"query": "fig tree", "members": ["words", "letters"], "k": 2}).json()
        mine = {name: engine.search("fig tree", 2, using=name).ids[0] for name in members}
        assert {each["member"]: [hit["id"] for hit in each["results"]] for each in found["answers"]} == mine
        shared = len({*mine["words"]} & {*mine["letters"]})
        assert found["overlaps"][0]["shared"] == shared
        assert client.post("/v1/compare", json={"query": "fig", "members": ["words"]}).status_code == 422


def test_hits_that_are_not_sure_enough_are_left_out_on_request(engine):
    data = world()
    confident = vizsla.bm25(data).with_confidence(data)
    query = data.queries[0].text
    everything = {hit.id: hit.confidence for hit in confident(query, 10)[0]}
    middle = sorted(everything.values())[len(everything) // 2]
    with serving(confident) as client:
        found = client.post("/v1/search", json={"query": query, "min_confidence": middle}).json()["results"]
        assert {hit["id"] for hit in found} == {id for id, sure in everything.items() if sure >= middle}
        whole = confident(query, 300)[0]
        sure = [hit.id for hit in whole if hit.confidence >= middle]
        body = {"query": query, "min_confidence": middle, "k": 2}
        pages = [client.post("/v1/search", json={**body, "offset": at}).json() for at in range(0, len(sure), 2)]
        assert [hit["id"] for page in pages for hit in page["results"]] == sure
        assert {page["total"] for page in pages} == {len(sure)}
        assert client.post("/v1/search", json={"query": query, "min_confidence": 1.5}).status_code == 422
    with serving(engine) as client:
        answer = client.post("/v1/search", json={"query": "fig", "min_confidence": 0.5})
        assert answer.status_code == 400 and "with_confidence" in answer.json()["detail"]


@pytest.mark.parametrize("where", ["kind=\ud800", {"type": "eq", "key": "kind", "value": "\ud800"}])
def test_half_a_surrogate_pair_is_answered(client, where):
    def send(path, body):
        return client.post(path, content=json.dumps(body), headers={"content-type": "application/json"})

    assert ids(send("/v1/search", {"query": "fig", "where": where})) == []
    assert send("/v1/rerank", {"query": "a", "documents": [{"text": "\ud800"}]}).status_code == 400


def test_rerank_names_what_scored(client):
    body = {"query": "fig", "documents": ["a fig"]}
    assert client.post("/v1/rerank", json=body).json()["model"] == "bm25"


def test_an_unexpected_error_is_a_problem_that_tells_nothing_but_the_request_id(engine, monkeypatch):
    def fail(*_):
        raise RuntimeError("a secret")

    log = io.StringIO()
    service = app(engine, settings=ServiceSettings(), log=JsonLog(log))
    monkeypatch.setattr(service.state.backend, "get", fail)
    with TestClient(service, raise_server_exceptions=False) as client:
        answer = client.get("/v1/items/fig", headers={"X-Request-Id": "r1"})
    assert answer.status_code == 500 and answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["title"] == "Internal Server Error" and "r1" in answer.json()["detail"]
    assert "secret" not in answer.text
    assert answer.headers["x-request-id"] == "r1" and answer.headers["x-content-type-options"] == "nosniff"
    assert [line["error"] for line in map(json.loads, log.getvalue().splitlines()) if line["event"] == "error"] == [
        "RuntimeError"
    ]
