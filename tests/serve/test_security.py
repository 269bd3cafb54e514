"""Which requests are answered: tokens, hosts, sizes and headers."""

from __future__ import annotations

import socket
import time
from urllib.parse import quote

import pytest

from tests.serve.services import READ, WRITE, bearer, fruit_engine, listening, serving
from vizsla.errors import InputError
from vizsla.serve import ServiceSettings
from vizsla.serve.application import ROUTERS
from vizsla.serve.slow_clients import ImpatientProtocol

OPEN = {("GET", "/health"), ("GET", "/ready"), ("GET", "/"), ("GET", "/page/{name}")}
READING = {
    ("GET", "/metrics"),
    ("GET", "/info"),
    ("GET", "/v1/items/{id:path}"),
    ("GET", "/v1/complete"),
    ("POST", "/v1/search"),
    ("POST", "/v1/compare"),
    ("POST", "/v1/items/count"),
    ("POST", "/v1/explain"),
    ("POST", "/v1/rerank"),
    ("POST", "/v2/rerank"),
    ("POST", "/rerank"),
}
"""Every other route needs the write token: a new one is closed until it is listed here."""


@pytest.fixture
def engine(tmp_path):
    with fruit_engine(tmp_path) as engine:
        yield engine


def routes():
    found = [(method, route.path) for router in ROUTERS for route in router.routes for method in route.methods]
    assert len(found) > 20
    return found


def asked(client, method, path, token=None):
    address = path.replace("{id:path}", "fig").replace("{id}", "x").replace("{name}", "index.html")
    headers = {} if token is None else bearer(token)
    body = {} if method in ("POST", "PATCH") else None
    return client.request(method, address, headers=headers, json=body).status_code


def test_every_route_asks_for_its_token(engine):
    with serving(engine, read_token=READ, write_token=WRITE) as client:
        for method, path in routes():
            place = (method, path)
            refused = {token: asked(client, method, path, token) == 401 for token in (None, "wrong" * 9, READ, WRITE)}
            if place in OPEN:
                assert not any(refused.values()), place
            elif place in READING:
                assert list(refused.values()) == [True, True, False, False], place
            else:
                assert list(refused.values()) == [True, True, True, False], place
    assert engine.count() == 3  # DELETE with the write token, and nothing else, has changed something


def test_without_tokens_everything_is_open_and_with_a_read_token_alone_writing_is_off(engine):
    with serving(engine) as client:
        assert not any(asked(client, *place) in (401, 403) for place in routes())
    with serving(engine, read_token=READ) as client:
        writing = [place for place in routes() if place not in OPEN | READING]
        assert {asked(client, *place, READ) for place in writing} == {403}


@pytest.mark.parametrize("header", ["", "Basic x", f"bearer  {READ}x", f"Bearer{READ}", "Bearer ", f"Token {READ}"])
def test_only_a_bearer_token_that_is_equal_is_accepted(engine, header):
    with serving(engine, read_token=READ, write_token=WRITE) as client:
        answer = client.get("/info", headers={"Authorization": header})
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
        assert READ not in answer.text


def test_a_foreign_host_is_refused_unless_it_is_allowed(engine):
    with serving(engine) as client:
        assert client.get("/health", headers={"Host": "evil.example"}).status_code == 421
        for host in ("localhost:8080", "127.0.0.1", "[::1]:8080", "LOCALHOST"):
            assert client.get("/health", headers={"Host": host}).status_code == 200, host
    with serving(engine, allowed_hosts=("shop.example",)) as client:
        assert client.get("/health", headers={"Host": "shop.example:443"}).status_code == 200
        assert client.get("/health", headers={"Host": "shop.example.evil"}).status_code == 421


def test_a_large_body_is_refused_by_its_length_and_while_it_comes(engine):
    with serving(engine, max_body_bytes=1000) as client:
        assert client.post("/v1/search", content=b"x" * 1001).status_code == 413
        pieces = (b'{"query": "' + b"x" * 600, b"x" * 600 + b'"}')
        answer = client.post("/v1/search", content=iter(pieces), headers={"Content-Type": "application/json"})
        assert answer.status_code == 413
        assert answer.headers["content-type"] == "application/problem+json"


def test_every_answer_has_the_headers_that_protect_a_page(engine):
    with serving(engine) as client:
        for path in ("/", "/health", "/nothing", "/info"):
            headers = client.get(path).headers
            assert "script-src 'self'" in headers["content-security-policy"]
            assert "unsafe" not in headers["content-security-policy"]
            assert headers["x-content-type-options"] == "nosniff"
        preflight = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
        assert "access-control-allow-origin" not in client.options("/v1/search", headers=preflight).headers


def test_a_body_that_a_form_of_another_page_can_send_is_refused(engine):
    with serving(engine) as client:
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
            answer = client.post("/v1/items", content=b'{"id": "x"}', headers={"Content-Type": kind})
            assert answer.status_code == 422, kind
    assert engine.get("x") is None


def test_tokens_come_from_the_environment_or_a_file_and_are_never_shown(tmp_path, monkeypatch):
    (tmp_path / "token").write_text(f"{WRITE}\n", encoding="utf-8")
    monkeypatch.setenv("VIZSLA_READ_TOKEN", READ)
    monkeypatch.setenv("VIZSLA_WRITE_TOKEN_FILE", str(tmp_path / "token"))
    settings = ServiceSettings.from_environment()
    assert (settings.read_token, settings.write_token) == (READ, WRITE)
    assert READ not in repr(settings) and READ not in str(settings.limits())
    monkeypatch.setenv("VIZSLA_WRITE_TOKEN_FILE", str(tmp_path / "none"))
    with pytest.raises(InputError, match="VIZSLA_WRITE_TOKEN_FILE"):
        ServiceSettings.from_environment()
    with pytest.raises(InputError, match=r"16 printable ASCII characters\. Got 5 characters"):
        ServiceSettings(read_token="short")


def spoken(address, *parts, pause_s=0.0):
    """Send parts of a request with pauses, and return what came until the service ended the connection."""
    with socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2])), timeout=60) as connection:
        for part in parts:
            connection.sendall(part)
            time.sleep(pause_s)
        answer = b""
        while piece := connection.recv(65536):
            answer += piece
        return answer


def test_slow_clients_are_let_go(engine, monkeypatch):
    monkeypatch.setattr(ImpatientProtocol, "headers_s", 0.3)
    head = b"POST /v1/search HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 16\r\n"
    with listening(engine, body_timeout_s=0.3) as address:
        assert spoken(address, b"GET /health HTTP/1.1\r\nHost: 127.0") == b""  # a head that never ends
        assert spoken(address) == b""
        late = spoken(address, head + b"Connection: close\r\n\r\n", b'{"query"')  # a body that never ends
        assert late.startswith(b"HTTP/1.1 408") and b"must come within 0.3 s" in late
        twice = spoken(address, head + b"\r\n" + b'{"query": "fig"}', b"GET /health HTTP/1.1\r\nHo")
        assert twice.count(b"HTTP/1.1 200") == 1  # the first is answered, the second never ends
    monkeypatch.undo()
    with listening(engine) as address:
        whole = spoken(address, head + b"Connection: close\r\n\r\n", b'{"query"', b': "fig"}', pause_s=0.05)
        assert whole.startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("as_workers", [False, True])
def test_no_answer_waits_until_the_client_has_confirmed_its_head(engine, monkeypatch, as_workers):
    delays, made = [], ImpatientProtocol.connection_made

    def connection_made(self, transport):
        made(self, transport)
        delays.append(transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))

    monkeypatch.setattr(ImpatientProtocol, "connection_made", connection_made)
    with listening(engine, as_workers=as_workers) as address:
        answer = spoken(address, b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200") and delays and all(delays)


def test_what_an_item_holds_cannot_leave_its_place(tmp_path):
    """Paths, SQL and markup are text, whatever route they come by."""
    nasty = ["'; DROP TABLE items; --", "../../../../etc/passwd", "<script>alert(1)</script>", "%s%n", "a\nb", "{}[]"]
    with fruit_engine(tmp_path) as engine, serving(engine) as client:
        for text in nasty:
            row = {"id": text, "text": f"medlar {text}", "title": text, "kind": text}
            assert client.post("/v1/items", json=row).json() == {"stored": 1}
            for where in ({"type": "eq", "key": "kind", "value": text}, {"type": "in", "key": "kind", "value": [text]}):
                found = client.post("/v1/search", json={"query": "medlar", "where": where, "facets": ["kind"]}).json()
                assert [hit["id"] for hit in found["results"]] == [text]
            for where in (f"kind={text}", f"{text}=1", {"type": "eq", "key": text, "value": 1}):
                assert client.post("/v1/items/count", json={"where": where}).status_code in (200, 400)
        assert engine.count() == 4 + len(nasty) and engine.check() == []
        for path in ("/page/../run.py", "/page/%2e%2e%2frun.py", "/page/..%5crun.py", "/page//etc/passwd", "/page/"):
            assert client.get(path).status_code == 404
        answer = client.get("/v1/items/" + quote("<script>alert(1)</script>", safe=""))
        assert answer.headers["content-type"] == "application/json"
