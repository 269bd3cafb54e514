"""A re-ranking service, played by a server on this machine."""

from __future__ import annotations

import json
import os
import socket
import stat
import traceback
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from threading import Barrier, Event, Thread

import pytest

from vizsla.core.candidates import Candidates
from vizsla.errors import CompositionError, InputError, ScorerError
from vizsla.io import json_service
from vizsla.methods.bm25 import bm25
from vizsla.scorers.cache import ScoreCache
from vizsla.scorers.http import HttpReranker
from vizsla.scorers.wrappers import Budget, Retrying

ITEMS = {"a": "fig", "b": "fig tree", "c": "fig tree leaf"}
WANTED = Candidates.from_dict({"0": dict.fromkeys(ITEMS, 0.0), "1": {"c": 0.0}})
KEY = "a secret"
PATIENT = {"timeout_s": 3600.0}
"""The machine may stand still for minutes."""


class Service(BaseHTTPRequestHandler):
    """Scores by length, worst first; `answers` are given before it does."""

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((asked, self.headers.get("Authorization")))
        self.server.headers.append(dict(self.headers))
        if self.server.together is not None:
            self.server.together.wait(60)
        self.server.paths.append(self.path)
        status, headers, body = self.server.answers.pop(0) if self.server.answers else (200, {}, None)
        if body is None:
            name, texts = ("score", asked["texts"]) if "texts" in asked else ("relevance_score", asked["documents"])
            results = [{"index": at, name: len(text)} for at, text in enumerate(texts)][::-1]
            body = json.dumps(results if "texts" in asked else {"results": results})
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body if isinstance(body, bytes) else body.encode())

    def log_message(self, *given):
        pass


@pytest.fixture
def service():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    server.asked, server.answers, server.paths, server.headers = [], [], [], []
    server.together = None
    thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def reranker(server, **options):
    return HttpReranker(ITEMS, f"http://127.0.0.1:{server.server_port}/v2/rerank", model="rerank", **PATIENT | options)


def test_scores_come_back_in_the_texts_order(service):
    scorer = reranker(service, batch=2)
    found = scorer.score(["fig", "tree"], WANTED)
    assert found.to_dict() == {"0": {"c": 13.0, "b": 8.0, "a": 3.0}, "1": {"c": 13.0}}
    assert found.stats.model_calls == 4
    sizes = [(asked["query"], len(asked["documents"])) for asked, _ in service.asked]
    assert sizes == [("fig", 2), ("fig", 1), ("tree", 1)]
    assert all(asked["model"] == "rerank" and asked["top_n"] == len(asked["documents"]) for asked, _ in service.asked)


def test_the_key_is_read_from_the_environment_and_kept_nowhere(service, monkeypatch, tmp_path):
    scorer = reranker(service, key_variable="VIZSLA_TEST_KEY")
    monkeypatch.delenv("VIZSLA_TEST_KEY", raising=False)
    with pytest.raises(InputError, match="VIZSLA_TEST_KEY"):
        scorer.score(["fig", "tree"], WANTED)
    monkeypatch.setenv("VIZSLA_TEST_KEY", KEY)
    scorer.score(["fig", "tree"], WANTED)
    assert {said for _, said in service.asked} == {f"Bearer {KEY}"}
    assert KEY not in repr(vars(scorer)) and KEY not in scorer.fingerprint
    service.answers[:] = [(429, {}, "{}")]
    with pytest.raises(ScorerError) as failure:
        scorer.score(["fig", "tree"], WANTED)
    assert failure.value.__cause__ is None and KEY not in str(failure.value)
    with pytest.raises(CompositionError, match="artifact"):
        (bm25(ITEMS) >> scorer).save(tmp_path / "saved")


def test_a_busy_service_is_asked_again_when_it_says(service):
    service.answers[:] = [(429, {"Retry-After": "3"}, "{}"), (500, {"Retry-After": "soon"}, "{}"), (503, {}, "{}")]
    budget = Budget(reranker(service), calls=100)
    scorer = Retrying(budget, pause_s=0.0)
    pauses = []
    scorer._sleep = pauses.append
    assert scorer.score(["fig", "tree"], WANTED).stats.model_calls == 3 + 3 + 3 + 4 == budget.spent
    assert pauses == [3.0, 0.0, 0.0]


@pytest.mark.parametrize("inside", [True, False])
def test_what_was_answered_before_a_failure_is_not_asked_again(service, inside):
    ok, busy = (200, {}, None), (503, {}, "{}")
    service.answers[:] = [ok, busy, busy, ok, busy]  # a request may fail twice, and then all attempts begin anew
    inner = reranker(service, batch=2)
    budget = Budget(inner if inside else Retrying(inner, attempts=3, pause_s=0.0), calls=100)
    scorer = Retrying(budget, attempts=3, pause_s=0.0) if inside else budget
    found = scorer.score(["fig", "tree"], WANTED)
    assert found.to_dict() == {"0": {"c": 13.0, "b": 8.0, "a": 3.0}, "1": {"c": 13.0}}
    sent = [len(asked["documents"]) for asked, _ in service.asked]
    assert sent == [2, 1, 1, 1, 1, 1] and found.stats.model_calls == sum(sent) == budget.spent


@pytest.mark.parametrize("patient", [True, False])
def test_a_cache_keeps_what_was_answered_before_a_failure(service, patient, tmp_path):
    ok, busy = (200, {}, None), (503, {}, "{}")
    service.answers[:] = [ok, busy, ok, busy] if patient else [ok, ok, busy]
    inner = reranker(service, batch=2)
    cache = ScoreCache(Retrying(inner, attempts=1) if patient else inner, tmp_path / "scores.db")
    with pytest.raises(ScorerError) as failure:
        cache.score(["fig", "tree"], WANTED)
    assert len(cache) == (2 if patient else 3) and not failure.value.answered
    if patient:
        with pytest.raises(ScorerError):
            cache.score(["fig", "tree"], WANTED)
        assert len(cache) == 3
    assert cache.score(["fig", "tree"], WANTED).stats.model_calls == 1
    assert cache.known("fig").to_dict() == {"0": {"c": 13.0, "b": 8.0, "a": 3.0}}


@pytest.mark.parametrize(
    ("headers", "body"),
    [({"Content-Length": "1000"}, '{"res'), ({"Transfer-Encoding": "chunked"}, "zz"), ({"Content-Length": "9"}, "")],
)
def test_an_answer_that_breaks_off_may_be_asked_for_again(service, headers, body):
    service.answers[:] = [(200, headers, body)]
    scorer = Retrying(reranker(service), attempts=2, pause_s=0.0)
    assert scorer.score(["fig", "tree"], WANTED).to_dict()["1"] == {"c": 13.0}
    service.answers[:] = [(200, headers, body)]
    with pytest.raises(ScorerError, match="must answer"):
        reranker(service).score(["fig", "tree"], WANTED)


@pytest.mark.parametrize("status", [400, 401, 404, 302])
def test_what_will_not_pass_is_not_asked_again(service, status):
    service.answers[:] = [(status, {"Location": "http://127.0.0.1:1/"}, "{}")]
    with pytest.raises(InputError, match=f"HTTP {status}"):
        Retrying(reranker(service), pause_s=0.0).score(["fig", "tree"], WANTED)
    assert len(service.asked) == 1


def results(*pairs):
    return json.dumps({"results": [{"index": at, "relevance_score": score} for at, score in pairs]})


ODD = ["no JSON", "[]", "{}", '{"results": 3}', '{"results": [{"index": 0}]}', "[" * 100_000]
ODD += [results((0, 1)), results((0, 1), (1, 1), (2, float("nan"))), results((0, 1), (1, 1), (3, 1))]


@pytest.mark.parametrize("body", ODD, ids=range(len(ODD)))
def test_an_answer_of_another_shape_is_refused(service, body):
    service.answers[:] = [(200, {}, body)]
    with pytest.raises(InputError, match="relevance_score"):
        reranker(service).score(["fig", "tree"], WANTED)


def test_nobody_there(service):
    service.shutdown()
    service.server_close()
    with pytest.raises(ScorerError, match="must answer"):
        reranker(service, timeout_s=5.0).score(["fig", "tree"], WANTED)


def test_only_safe_addresses():
    for url in ("http://rerank.example/", "file:///etc/hosts", "rerank", "ftp://127.0.0.1/", ""):
        with pytest.raises(InputError, match="url"):
            HttpReranker(ITEMS, url, model="rerank")


DRIPS = {
    "headers": (b"HTTP/1.1 200 OK\r\n", b"X: drip\r\n"),
    "one header": (b"HTTP/1.1 200 OK\r\nX: ", b"d"),
    "body": (b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", b" "),
    "chunks": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
    "silence": (b"", b""),
}
MANY = 2000


@pytest.mark.parametrize("kind", DRIPS)
def test_the_timeout_is_for_the_whole_request(kind, monkeypatch):
    """Every byte comes long before a socket's own timeout; the clock goes on by a second a look."""
    seconds = count()
    if kind != "silence":
        monkeypatch.setattr(json_service, "monotonic", lambda: float(next(seconds)))
    sent, over = [], Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            connection, _ = server.accept()
            begin, drip = DRIPS[kind]
            with connection, suppress(OSError):
                connection.sendall(begin)
                while len(sent) < MANY and not over.wait(0.01):
                    connection.sendall(drip)
                    sent.append(drip)

        thread = Thread(target=serve, daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        with pytest.raises(ScorerError, match="must answer"):
            HttpReranker(ITEMS, url, model="rerank", timeout_s=0.3 if kind == "silence" else 60.0).score(
                ["fig", "tree"], WANTED
            )
        over.set()
        thread.join()
    assert kind == "silence" or len(sent) < MANY


WILD = [
    results((0, 1), (1, 1), (2, 1e39)),
    results((0, 1), (1, 1), (2, -(10**400))),
    results((0, 1), (1, 1), (2, True)),
    results((0, 1), (1, 1), (2, "1")),
    results((0, 1), (1, 1), (2, None)),
    results((0, 1), (1, 1), (1, 2), (2, 1)),
    results((0, 1), (1, 1), (2.0, 1)),
    results((0, 1), (1, 1), (1.5, 1)),
    results((0, 1), (True, 1), (2, 1)),
    results((0, 1), (1, 1), (-1, 1)),
    results((0, 1), (1, 1), (10**30, 1)),
    '{"results": [{"index": 0, "relevance_score": ' + "9" * 5000 + "}]}",
    '{"results": [{"index": 0, "relevance_score": Infinity}]}',
    "[" + "[]," * 3_000_000 + "[]]",
    results((0, 1), (1, 1), (2, 1)).replace('{"results"', '{"results": [], "results"'),
    results((0, 1), (1, 1), (2, 1)).replace('"relevance_score": 1', '"relevance_score": 1, "relevance_score": 2'),
]


@pytest.mark.parametrize("body", WILD, ids=range(len(WILD)))
def test_wild_numbers_are_refused(service, body):
    service.answers[:] = [(200, {}, body)]
    with pytest.raises(InputError, match="relevance_score"):
        reranker(service).score(["fig"], Candidates.from_dict({"0": dict.fromkeys(ITEMS, 0.0)}))


def test_scores_at_the_edge_of_float32_are_taken(service):
    largest = 3.4028234663852886e38
    service.answers[:] = [(200, {}, results((0, largest), (1, -largest), (2, 0)))]
    found = reranker(service).score(["fig"], Candidates.from_dict({"0": dict.fromkeys(ITEMS, 0.0)}))
    assert found.to_dict() == {"0": {"a": largest, "c": 0.0, "b": -largest}}


def test_an_endless_answer_is_cut(service, monkeypatch):
    monkeypatch.setattr(json_service, "MAX_ANSWER_BYTES", 1000)
    service.answers[:] = [(200, {}, " " * 5000)]
    with pytest.raises(InputError, match="at most 1000 bytes"):
        reranker(service).score(["fig", "tree"], WANTED)


MALFORMED = ["https://[::1", "https://host:port/", "https://host:99999/", "https://host:0/", "https://a b/"]
MALFORMED += ["https://host/\n", "https://host/\x00", "https://host/ä", f"https://{'a' * 70}.example/", "https://:1/"]
MALFORMED += ["https://\ud800.example/", "http://127.0.0.1.example/", "https://exa mple/"]


@pytest.mark.parametrize("url", MALFORMED)
def test_malformed_addresses_are_refused(url):
    with pytest.raises(InputError, match="url"):
        HttpReranker(ITEMS, url, model="rerank")


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), float("inf"), 1e300])
def test_timeouts_that_no_socket_takes_are_refused(seconds):
    with pytest.raises(InputError, match="timeout_s"):
        HttpReranker(ITEMS, "https://rerank.example/", model="rerank", timeout_s=seconds)


def test_secrets_of_an_address_are_shown_nowhere(service, tmp_path):
    url = f"http://127.0.0.1:{service.server_port}/rank?api_key=hunter2&v=1#hunter2"
    scorer = HttpReranker(ITEMS, url, model="rerank", **PATIENT)
    said = [repr(scorer), str(scorer), scorer.fingerprint, scorer.url, repr(bm25(ITEMS) >> scorer)]
    cache = ScoreCache(scorer, tmp_path / "scores.db")
    cache.score(["fig", "tree"], WANTED)
    cache.close()
    for status, headers, body in [
        (429, {}, "{}"),
        (401, {}, "{}"),
        (302, {"Location": url}, "{}"),
        (200, {"Content-Length": "9"}, ""),
        (200, {}, "hunter2"),
        (200, {}, json.dumps({"results": [{"index": "hunter2", "relevance_score": 1}]})),
    ]:
        service.answers[:] = [(status, headers, body)]
        with pytest.raises((ScorerError, InputError)) as failure:
            scorer.score(["fig", "tree"], WANTED)
        said.append("".join(traceback.format_exception(failure.value)))
    with pytest.raises(InputError, match="no user and no password") as failure:
        HttpReranker(ITEMS, "https://me:hunter2@rerank.example/", model="rerank")
    said.append(str(failure.value))
    with pytest.raises(InputError, match="must begin with") as failure:
        HttpReranker(ITEMS, "http://rerank.example/?api_key=hunter2", model="rerank")
    said.append(str(failure.value))
    assert not [line for line in said if "hunter2" in line]
    stored = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"rerank" in stored and b"hunter2" not in stored
    assert all("api_key=hunter2" in path for path in service.paths)
    other = HttpReranker(ITEMS, url.replace("v=1", "v=2"), model="rerank")
    assert other.fingerprint != scorer.fingerprint and other.url == scorer.url


@pytest.mark.parametrize("before", range(0, 260, 3))
def test_no_beginning_of_a_secret_is_left_where_a_message_is_cut(service, before):
    url = f"http://127.0.0.1:{service.server_port}/rank?api_key=hunter2-0f1e2d"
    scorer = HttpReranker(ITEMS, url, model="rerank", **PATIENT)
    for place in ({"index": "x" * before + "hunter2-0f1e2d"}, {"relevance_score": "x" * before + "hunter2-0f1e2d"}):
        result = {"index": 0, "relevance_score": 1.0} | place
        service.answers[:] = [(200, {}, json.dumps({"results": [result]}))]
        with pytest.raises(InputError) as failure:
            scorer.score(["fig", "tree"], WANTED)
        assert "hun" not in str(failure.value) and len(str(failure.value)) < 400


@pytest.mark.parametrize(
    "head", [b"HTTP/1.1 abc hunter2\r\n\r\n", b"hunter2\r\n\r\n", b"HTTP/1.1 200 OK\r\nhunter2" * 9999]
)
def test_an_answer_that_is_no_http_is_not_repeated(head):
    """What a service says in place of a status line may hold anything, such as the key of another request."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def reply():
            connection, _ = server.accept()
            with connection, suppress(OSError):
                connection.recv(1 << 16)
                connection.sendall(head)

        thread = Thread(target=reply, daemon=True)
        thread.start()
        scorer = HttpReranker(ITEMS, f"http://127.0.0.1:{server.getsockname()[1]}/", model="rerank", **PATIENT)
        with pytest.raises(ScorerError, match="must answer") as failure:
            scorer.score(["fig"], Candidates.from_dict({"0": {"a": 0.0}}))
        thread.join()
    assert "hunter2" not in "".join(traceback.format_exception(failure.value))


def test_caches_are_for_their_owner_alone(service, tmp_path):
    before = os.umask(0)
    try:
        cache = ScoreCache(reranker(service), tmp_path / "scores.db")
        cache.score(["fig", "tree"], WANTED)
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert {"scores.db", "scores.db-wal"} <= modes.keys() and set(modes.values()) == {0o600}


def test_replacing_a_key_keeps_the_fingerprint(service):
    def made(query):
        return HttpReranker(ITEMS, f"https://rerank.example/rank?{query}", model="rerank").fingerprint

    assert made("api_key=one&v=1") == made("api_key=two&v=1") == made("v=1&X-Amz-Signature=3") == made("v=1")
    assert made("v=1") != made("v=2") != made("v=2&w=1")
    assert made("subscription%2Dkey=one") == made("access_token=two") == made("sig=3")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_no_proxy_sees_what_goes_to_this_machine(service, monkeypatch, host):
    seen = []

    class Proxy(BaseHTTPRequestHandler):
        def do_POST(self):
            seen.append((self.path, self.headers.get("Authorization")))
            self.send_error(502)

        def log_message(self, *given):
            pass

    proxy = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    Thread(target=proxy.serve_forever, args=(0.01,), daemon=True).start()
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.server_port}")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.setenv("RERANK_KEY", KEY)
    url = f"http://{host}:{service.server_port}/rank?key=hunter2"
    scorer = HttpReranker(ITEMS, url, model="rerank", key_variable="RERANK_KEY", **PATIENT)
    try:
        assert scorer.score(["fig", "tree"], WANTED)
    finally:
        proxy.shutdown()
        proxy.server_close()
    assert seen == [] and service.paths == ["/rank?key=hunter2"] * 2


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32", "utf-32-be"])
def test_an_answer_must_be_utf8(service, encoding):
    body = json.dumps({"results": [{"index": at, "relevance_score": 1} for at in range(3)]})
    service.answers[:] = [(200, {}, body.encode(encoding))]
    with pytest.raises(InputError, match="must answer with a relevance_score"):
        reranker(service).score(["fig", "tree"], WANTED)


def test_an_answer_may_begin_with_a_byte_order_mark(service):
    body = json.dumps({"results": [{"index": 0, "relevance_score": 7}]})
    service.answers[:] = [(200, {}, body.encode("utf-8-sig"))]
    scorer = HttpReranker({"a": "fig"}, f"http://127.0.0.1:{service.server_port}/", model="rerank", **PATIENT)
    assert scorer.score_pairs(["fig"], ["fig"]).tolist() == [7.0]


@pytest.mark.parametrize(
    ("said", "wait"),
    [("0", 0.0), ("7", 7.0), ("300", 300.0), ("301", 300.0), ("99999999999", 300.0), ("-5", None), ("1e3", None)],
)
def test_no_service_makes_a_caller_wait_for_longer_than_five_minutes(service, said, wait):
    service.answers[:] = [(503, {"Retry-After": said}, "{}")]
    with pytest.raises(ScorerError) as failure:
        reranker(service).score(["fig", "tree"], WANTED)
    assert failure.value.wait_s == wait


def test_a_date_to_wait_for_is_no_longer_wait(service):
    for said, wait in [("Fri, 31 Dec 2999 23:59:59 GMT", 300.0), ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0)]:
        service.answers[:] = [(429, {"Retry-After": said}, "{}")]
        with pytest.raises(ScorerError) as failure:
            reranker(service).score(["fig", "tree"], WANTED)
        assert failure.value.wait_s == wait


def test_the_shape_of_text_embeddings_inference(service):
    found = reranker(service, shape="tei", batch=2).score(["fig", "tree"], WANTED)
    assert found.to_dict() == {"0": {"c": 13.0, "b": 8.0, "a": 3.0}, "1": {"c": 13.0}}
    assert service.asked[0][0] == {"query": "fig", "texts": ["fig", "fig tree"], "truncate": True}
    service.answers[:] = [(200, {}, json.dumps([{"index": 0, "relevance_score": 1}]))]
    with pytest.raises(InputError, match="a score for each"):
        reranker(service, shape="tei").score(["fig", "tree"], WANTED)


def test_headers_are_sent_and_secret_ones_come_from_the_environment(service, monkeypatch):
    monkeypatch.setenv("VIZSLA_TEST_KEY", KEY)
    scorer = reranker(service, headers={"X-Team": "search", "api-key": "$VIZSLA_TEST_KEY"})
    scorer.score(["fig", "tree"], WANTED)
    sent = {name.lower(): value for name, value in service.headers[0].items()}
    assert sent["x-team"] == "search" and sent["api-key"] == KEY and KEY not in repr(vars(scorer._service))
    with pytest.raises(InputError, match="environment variable"):
        reranker(service, headers={"api-key": KEY})


def test_the_services_own_message_is_told_without_the_key(service, monkeypatch):
    monkeypatch.setenv("VIZSLA_TEST_KEY", KEY)
    for status, kind in ((400, InputError), (503, ScorerError)):
        service.answers[:] = [(status, {}, json.dumps({"message": f"no model \x1b[31m named rerank for {KEY}"}))]
        with pytest.raises(kind, match=r"no model \\x1b\[31m named rerank for …") as failure:
            reranker(service, key_variable="VIZSLA_TEST_KEY").score(["fig", "tree"], WANTED)
        assert KEY not in "".join(traceback.format_exception(failure.value))


def test_requests_are_made_at_a_time(service):
    """All three wait for each other: one at a time would never end."""
    service.together = Barrier(3)
    found = reranker(service, batch=2, concurrency=3).score(["fig", "tree"], WANTED)
    assert found.to_dict() == {"0": {"c": 13.0, "b": 8.0, "a": 3.0}, "1": {"c": 13.0}}


def test_of_several_requests_at_a_time_the_first_that_were_answered_are_kept(service):
    """A failure tells the scores before it, and all that was sent; the rest is asked for again."""
    service.answers[:] = [(503, {}, "{}")]
    budget = Budget(Retrying(reranker(service, batch=1, concurrency=4), attempts=3, pause_s=0.0), calls=100)
    found = budget.score(["fig", "tree"], WANTED)
    assert found.to_dict() == {"0": {"c": 13.0, "b": 8.0, "a": 3.0}, "1": {"c": 13.0}}
    assert found.stats.model_calls == budget.spent == len(service.asked)


@pytest.mark.parametrize("failing", [{0}, {2}, {0, 3}, {1, 2}, {2, 3}, {0, 1, 2, 3}])
def test_of_calls_that_fail_together_the_first_counts(failing):
    """All are under way before any of them ends, so that several may fail."""
    begun = Barrier(4)

    def act(number: int) -> int:
        begun.wait(PATIENT["timeout_s"])
        if number in failing:
            raise ValueError(number)
        return number

    with pytest.raises(json_service.PartlyAnswered) as failure:
        json_service.call_all(act, range(4), 4)
    first = min(failing)
    told = failure.value
    assert (told.cause.args, told.answered, told.begun) == ((first,), list(range(first)), 4)


@pytest.mark.parametrize("order", [("abc", "abcdef"), ("abcdef", "abc")])
@pytest.mark.parametrize("place", ["address", "environment"])
def test_of_a_secret_that_begins_with_another_nothing_is_left(service, monkeypatch, order, place):
    url, options = f"http://127.0.0.1:{service.server_port}/rank", {}
    if place == "address":
        url += "?a={}&b={}".format(*order)
    else:
        for name, secret in zip(("FIRST", "SECOND"), order, strict=True):
            monkeypatch.setenv(f"VIZSLA_TEST_{name}", secret)
        options = {"key_variable": "VIZSLA_TEST_FIRST", "headers": {"api-key": "$VIZSLA_TEST_SECOND"}}
    service.answers[:] = [(400, {}, json.dumps({"message": "keys abcdef, abc and xabcdefx"}))]
    with pytest.raises(InputError, match="keys …, … and x…x") as failure:
        HttpReranker(ITEMS, url, model="rerank", **options, **PATIENT).score(["fig", "tree"], WANTED)
    assert "def" not in str(failure.value)


def test_every_address_of_a_host_is_tried_in_what_is_left_of_one_timeout(monkeypatch):
    """Three addresses do not answer: the second is given what the first left, and the third is not tried."""
    now, waits = [0.0], []

    class Silent:
        def __init__(self, *kind):
            self.wait = None

        def settimeout(self, seconds):
            self.wait = seconds

        def connect(self, place):
            waits.append(self.wait)
            now[0] += 4.0
            raise TimeoutError("timed out")

        def close(self):
            pass

    where = [(socket.AF_INET, socket.SOCK_STREAM, 0, "", (f"10.0.0.{number}", 80)) for number in range(3)]
    monkeypatch.setattr(json_service, "monotonic", lambda: now[0])
    monkeypatch.setattr(json_service.socket, "getaddrinfo", lambda *given: where)
    monkeypatch.setattr(json_service.socket, "socket", Silent)
    with pytest.raises(TimeoutError):
        json_service._connected(json_service.Deadline(7.0), ("rerank.example", 80))
    assert waits == [7.0, 3.0]
