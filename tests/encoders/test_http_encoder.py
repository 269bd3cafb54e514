"""An embedding service, played by a server on this machine: in three shapes, and as none should answer."""

from __future__ import annotations

import json
import pickle
import socket
import traceback
from contextlib import suppress
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from threading import Barrier, Event, Thread

import numpy as np
import pytest

import vizsla
from vizsla.encoders import EmbeddingCache, HttpEncoder
from vizsla.errors import FormatError, InputError, ServiceError
from vizsla.io import json_service

DIM = 4
KEY = "hunter2-0f1e2d"
PATIENT = {"timeout_s": 3600.0, "deadline_s": 36000.0}
"""The machine may stand still for minutes."""


def vector(text, dim=DIM):
    """What the service says of a text."""
    return [byte / 255 - 0.5 for byte in sha256(text.encode()).digest()[:dim]]


def truth(texts):
    rows = np.array([vector(text) for text in texts])
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


class Service(BaseHTTPRequestHandler):
    """Answers in the shape of its path; `answers` are given before it does."""

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, asked, {name.lower(): value for name, value in self.headers.items()}))
        if self.server.together is not None:
            self.server.together.wait(60)
        status, headers, body = self.server.answers.pop(0) if self.server.answers else (200, {}, None)
        body = self.server_answer(asked) if body is None else body
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body.encode())

    def server_answer(self, asked):
        if self.path == "/embed":
            return json.dumps([vector(text) for text in asked["inputs"]])
        if self.path == "/v2/embed":
            return json.dumps({"embeddings": {"float": [vector(text) for text in asked["texts"]]}})
        rows = [{"index": at, "embedding": vector(text)} for at, text in enumerate(asked["input"])]
        return json.dumps({"object": "list", "data": rows[::-1]})

    def log_message(self, *given):
        pass


@pytest.fixture
def service():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    server.asked, server.answers, server.together = [], [], None
    thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


PATHS = {"openai": "/v1/embeddings", "cohere": "/v2/embed", "tei": "/embed"}


def encoder(server, shape="openai", **options):
    url = f"http://127.0.0.1:{server.server_port}{PATHS[shape]}"
    made = HttpEncoder(url, model="small", dim=DIM, shape=shape, **PATIENT | options)
    made._sleep = server.pauses.append if hasattr(server, "pauses") else (lambda seconds: None)
    return made


@pytest.mark.parametrize("shape", PATHS)
def test_every_shape_gives_the_vectors_in_the_texts_order(service, shape):
    texts = ["fig", "pear", "fig", "plum", "leek"]
    made = encoder(service, shape, batch=2, concurrency=1)
    np.testing.assert_allclose(made.items(texts), truth(texts), rtol=1e-6)
    field = {"openai": "input", "cohere": "texts", "tei": "inputs"}[shape]
    assert [asked[field] for _, asked, _ in service.asked] == [["fig", "pear"], ["plum", "leek"]]  # each text once
    made.queries(["fig"])
    if shape == "cohere":
        kinds = [asked["input_type"] for _, asked, _ in service.asked]
        assert kinds == ["search_document", "search_document", "search_query"]
    assert made.queries([]).shape == (0, DIM)


def test_prompts_options_and_unnormalized(service):
    made = encoder(service, query_prompt="query: ", item_prompt="passage: ", normalize=False, shorten=True)
    assert made.queries(["fig"])[0].tolist() == pytest.approx(vector("query: fig"))
    assert made.items(["fig"])[0].tolist() == pytest.approx(vector("passage: fig"))
    assert service.asked[0][1]["dimensions"] == DIM and service.asked[0][1]["model"] == "small"


def test_requests_are_made_at_a_time(service):
    """All four wait for each other: one at a time would never end."""
    service.together = Barrier(4)
    texts = [f"text {number}" for number in range(8)]
    np.testing.assert_allclose(encoder(service, batch=2, concurrency=4).items(texts), truth(texts), rtol=1e-6)


def test_a_busy_service_is_asked_again_when_it_says(service):
    service.pauses = []
    service.answers[:] = [(429, {"Retry-After": "3"}, "{}"), (503, {}, "{}"), (200, {}, None)]
    made = encoder(service)
    np.testing.assert_allclose(made.items(["fig"]), truth(["fig"]), rtol=1e-6)
    first, second = service.pauses
    assert first == 3.0 and 0.5 <= second <= 1.0


def test_attempts_and_the_deadline_end(service):
    service.pauses = []
    service.answers[:] = [(500, {}, '{"error": {"message": "the model is loading"}}')] * 3
    with pytest.raises(ServiceError, match=r"HTTP 500 \(the model is loading\)") as failure:
        encoder(service, retries=2).items(["fig"])
    assert len(service.asked) == 3 and failure.value.status == 500
    service.answers[:] = [(429, {"Retry-After": "200"}, "{}")]
    with pytest.raises(ServiceError, match="within 100 s"):
        encoder(service, deadline_s=100.0).items(["fig"])  # it would wait for longer than that, and does not begin
    assert len(service.asked) == 4 and len(service.pauses) == 2


@pytest.mark.parametrize(
    "body", ['{"detail": "no such model"}', '{"message": "no such model"}', '{"error": "no such model"}']
)
def test_the_services_own_message_is_told(service, body):
    service.answers[:] = [(404, {}, body)]
    with pytest.raises(InputError, match=r"HTTP 404 \(no such model\)"):
        encoder(service).items(["fig"])
    assert len(service.asked) == 1


def data(*rows):
    return json.dumps({"data": [{"index": at, "embedding": row} for at, row in rows]})


GOOD = [0.5] * DIM
ODD = [
    "no JSON",
    "[]",
    "{}",
    '{"data": 3}',
    data((0, GOOD)),
    data((0, GOOD), (0, GOOD)),
    data((0, GOOD), (2, GOOD)),
    data((0, GOOD), (True, GOOD)),
    data((0, GOOD), (1, GOOD), (2, GOOD)),
    data((0, GOOD), (1, GOOD[:-1])),
    data((0, [*GOOD, 1.0]), (1, [*GOOD, 1.0])),
    data((0, GOOD), (1, [0.1, 0.2, 0.3, float("nan")])),
    data((0, GOOD), (1, [0.1, 0.2, 0.3, float("inf")])),
    data((0, GOOD), (1, [0.1, 0.2, 0.3, 1e39])),
    data((0, GOOD), (1, [0.1, 0.2, 0.3, "0.4"])),
    data((0, GOOD), (1, [0.1, 0.2, 0.3, None])),
    data((0, GOOD), (1, [0.1, 0.2, 0.3, [1]])),
    data((0, GOOD), (1, "0.5")),
    data((0, GOOD), (1, [10**400] * DIM)),
    "[" * 100_000,
]


@pytest.mark.parametrize("body", ODD, ids=range(len(ODD)))
def test_an_answer_of_another_shape_is_refused(service, body):
    service.answers[:] = [(200, {}, body)]
    with pytest.raises(InputError, match="must answer with 2 vectors of 4 finite numbers"):
        encoder(service).items(["fig", "pear"])


def test_a_huge_answer_is_cut(service, monkeypatch):
    monkeypatch.setattr(json_service, "MAX_ANSWER_BYTES", 1000)
    service.answers[:] = [(200, {}, " " * 5000)]
    with pytest.raises(InputError, match="at most 1000 bytes"):
        encoder(service).items(["fig"])


def test_a_slow_drip_does_not_outlast_the_deadline(monkeypatch):
    """Every byte comes long before a socket's own timeout; the clock goes on by a second a look."""
    seconds, sent, over = count(), [], Event()
    monkeypatch.setattr(json_service, "monotonic", lambda: float(next(seconds)))
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            connection, _ = server.accept()
            with connection, suppress(OSError):
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
                while len(sent) < 2000 and not over.wait(0.01):
                    connection.sendall(b" ")
                    sent.append(1)

        thread = Thread(target=serve, daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        with pytest.raises(ServiceError, match="must answer"):
            HttpEncoder(url, model="small", dim=DIM, timeout_s=60.0, deadline_s=60.0).items(["fig"])
        over.set()
        thread.join()
    assert len(sent) < 2000


def test_secrets_are_shown_and_saved_nowhere(service, monkeypatch, tmp_path):
    monkeypatch.setenv("VIZSLA_TEST_KEY", KEY)
    monkeypatch.setenv("VIZSLA_TEST_HEADER", f"{KEY}-other")
    made = encoder(service, key_variable="VIZSLA_TEST_KEY", headers={"api-key": "$VIZSLA_TEST_HEADER", "X-Team": "a"})
    search = vizsla.dense({"f": "a fig", "p": "a pear"}, encoder=made)
    sent = service.asked[0][2]
    assert sent["authorization"] == f"Bearer {KEY}" and sent["api-key"] == f"{KEY}-other" and sent["x-team"] == "a"
    said = [repr(made), made.fingerprint, repr(search), repr(vars(made)), str(made.reference)]
    for status in (401, 500):
        service.answers[:] = [(status, {}, json.dumps({"message": f"wrong key {KEY} or {KEY}-other"}))] * 9
        with pytest.raises((InputError, ServiceError)) as failure:
            made.items(["plum"])
        said.append("".join(traceback.format_exception(failure.value)))
        assert "wrong key" in said[-1]
    service.answers[:] = []
    search.save(tmp_path / "saved")
    said += [file.read_bytes().decode("latin-1") for file in (tmp_path / "saved").rglob("*") if file.is_file()]
    assert not [line for line in said if "hunter2" in line]
    monkeypatch.delenv("VIZSLA_TEST_KEY")
    with pytest.raises(InputError, match="VIZSLA_TEST_KEY"):
        made.items(["plum"])


@pytest.mark.parametrize(
    "headers", [{"api-key": KEY}, {"Host": "a"}, {"Authorization": "$A"}, {"a b": "c"}, {"X": "a\r\nY: b"}, {"X": "é"}]
)
def test_headers_that_are_refused(headers):
    with pytest.raises(InputError, match="header") as failure:
        HttpEncoder("https://embed.example/", model="small", dim=DIM, headers=headers)
    assert KEY not in str(failure.value)


def test_an_artifact_asks_only_services_that_are_allowed(service, monkeypatch, tmp_path):
    """Else whoever prepared an artifact could have the key of one service sent to another."""
    monkeypatch.setenv("VIZSLA_TEST_KEY", KEY)
    monkeypatch.delenv("VIZSLA_SERVICES", raising=False)
    made = encoder(service, key_variable="VIZSLA_TEST_KEY")
    search = vizsla.dense({"f": "a fig", "p": "a pear"}, encoder=made)
    wanted = search("a pear").to_dict()
    search.save(tmp_path / "saved")
    loaded, before = vizsla.load(tmp_path / "saved"), len(service.asked)
    with pytest.raises(InputError, match="VIZSLA_SERVICES"):
        loaded("a pear")
    assert len(service.asked) == before
    assert loaded.with_encoder(made)("a pear").to_dict() == wanted
    monkeypatch.setenv("VIZSLA_SERVICES", f"https://a.example, http://127.0.0.1:{service.server_port}/")
    assert loaded("a pear").to_dict() == wanted
    loaded.save(tmp_path / "again")
    assert vizsla.load(tmp_path / "again")("a pear").to_dict() == wanted


def test_an_artifact_with_another_service_than_its_fingerprint_is_refused(service, tmp_path):
    vizsla.dense({"f": "a fig"}, encoder=encoder(service)).save(tmp_path / "saved")
    for changes in ({"url": "https://evil.example/"}, {"model": 3}, {"more": 1}, {"headers": []}, {"normalize": 1}):
        described = encoder(service).reference
        description = {**described, "dim": DIM, "fingerprint": encoder(service).fingerprint}
        description["options"] = {**described["options"], **changes}
        with pytest.raises((InputError, FormatError)):
            HttpEncoder.restored(description)


def test_a_cache_sends_no_text_twice(service, tmp_path):
    made = encoder(service)
    with_cache = EmbeddingCache(made, tmp_path / "vectors.db")
    first = with_cache.items(["fig", "pear"])
    np.testing.assert_array_equal(with_cache.items(["pear", "fig"]), first[::-1])
    assert len(service.asked) == 1 and with_cache.fingerprint == made.fingerprint


def test_the_fingerprint_changes_with_what_changes_vectors():
    def of(url="https://embed.example/v1", **options):
        return HttpEncoder(url, **{"model": "small", "dim": DIM} | options).fingerprint

    others = [of(model="large"), of(dim=8), of("https://other.example/v1"), of(shape="tei"), of(normalize=False)]
    others += [of(query_prompt="q: "), of(item_prompt="q: "), of("https://embed.example/v1?api-version=2")]
    assert len({of(), *others}) == len(others) + 1
    assert of() == of(batch=3, concurrency=9, retries=0, timeout_s=1.0, key_variable="OTHER")


def test_it_can_go_to_another_process(service):
    again = pickle.loads(pickle.dumps(HttpEncoder("https://embed.example/v1", model="small", dim=DIM)))
    assert again.fingerprint.endswith("small:4")


WRONG = [{"dim": 0}, {"batch": 0}, {"batch": 200_000}, {"concurrency": 0}, {"retries": -1}, {"timeout_s": 0.0}]
WRONG += [{"deadline_s": float("nan")}, {"shape": "other"}, {"shape": "tei", "shorten": True}]


@pytest.mark.parametrize("options", WRONG, ids=str)
def test_wrong_settings_raise(options):
    with pytest.raises(InputError):
        HttpEncoder("https://embed.example/", **{"model": "small", "dim": DIM} | options)


@pytest.mark.parametrize(
    "url", ["http://embed.example/", "https://embed.example/?api_key=hunter2", "https://a:b@c.example/"]
)
def test_addresses_that_are_refused(url):
    with pytest.raises(InputError, match="url") as failure:
        HttpEncoder(url, model="small", dim=DIM)
    assert "hunter2" not in str(failure.value)
