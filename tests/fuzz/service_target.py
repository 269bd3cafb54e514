"""Target "service": bytes on the service's socket, from sound requests to noise; an answer or a problem, no error."""

from __future__ import annotations

import io
import json
import select
import socket
from pathlib import Path
from typing import Any

import numpy as np

import vizsla
from tests.serve.services import FRUIT, listening

WAIT_S = 60.0
"""How long an answer may take; a service that hangs is found by its silence."""
HEALTH = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
PATIENCE_S = 0.05
"""After how much silence no more is said: to a request that ends too soon there is no answer."""
INTENDED = {501, 503, 504}
"""Errors of the service that it sends on purpose: no extra, busy, late."""
QUERIES = [
    "fig",
    "sweet fig tree",
    '"fig tree" -apple',
    "kind:tree +fig*",
    "",
    " ",
    "\u0000",
    "\ud800",
    "ﬁg\u202e",
    "x" * 3000,
]
QUERIES += [
    "(" * 300,
    '"' * 99,
    "-",
    "+",
    "*",
    "kind:",
    "<script>alert(1)</script>",
    "' OR 1=1 --",
    "${7*7}",
    "%00%2e%2e",
]
CONDITIONS: list[Any] = [
    "price<20",
    "kind=tree",
    "price>5 and kind=fruit",
    "not (price=9)",
    "price<",
    "((((",
    "kind='a'; DROP",
]
CONDITIONS += [{"type": "eq", "key": "kind", "value": "tree"}, {"type": "in", "key": "price", "value": [9, "x", None]}]
CONDITIONS += [
    {"type": "and", "filters": []},
    {"type": "or", "filters": [{"type": "lt"}]},
    {"type": "eq", "key": "rowid"},
]
IDS = [
    "fig",
    "apple",
    "new",
    "../../etc/passwd",
    "a/../b",
    "%2e%2e",
    "\u0000",
    "ä",
    "x" * 900,
    "'; DROP TABLE items --",
]
ODD: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    1,
    2**31,
    2**63,
    -(2**70),
    1.5,
    -0.0,
    1e308,
    "",
    "a",
    [],
    {},
    [[]],
    [None],
    "\ud800",
]
CHOSEN = {"object": {"object_id": "fig"}, "position": {"ordinal": 1}}
BODIES: list[tuple[str, str, dict[str, Any]]] = [
    ("POST", "/v1/search", {"query": "fig", "k": 3, "where": "price<20", "facets": ["kind", "price:3"]}),
    ("POST", "/v1/search", {"query": "fig", "explain": True, "stages": True, "sort": ["price:desc"], "group": "kind"}),
    ("POST", "/v1/search", {"queries": ["fig", "pear"], "offset": 1, "using": "letters", "syntax": "plain"}),
    ("POST", "/v1/explain", {"query": "fig tree", "item": "fig", "using": "words"}),
    ("POST", "/v1/compare", {"query": "fig", "members": ["words", "letters"], "k": 2}),
    ("GET", "/v1/complete?q=fi&k=5", {}),
    ("GET", "/v1/items/fig", {}),
    ("POST", "/v1/items", {"id": "new", "text": "a new fig", "price": 3, "tags": ["a", "b"]}),
    ("POST", "/v1/items", {"items": [{"id": "new", "text": "one"}, {"id": "other"}], "mode": "upsert"}),
    ("POST", "/v1/items/delete", {"ids": ["new"]}),
    ("POST", "/v1/items/delete", {"where": "kind=none"}),
    ("POST", "/v1/items/count", {"where": "price<20"}),
    ("PATCH", "/v1/items/fig", {"price": 13, "text": "a small fig tree with sweet figs"}),
    ("DELETE", "/v1/items/new", {}),
    ("POST", "/v1/clicks", {"query": "fig", "item": "fig", "weight": 2.0, "time": "2026-01-01T00:00:00Z"}),
    ("POST", "/v1/clicks", {"clicks": [{"query": "fig", "item": "fig"}]}),
    ("POST", "/v1/clicks", {"action_name": "click", "user_query": "fig", "event_attributes": CHOSEN}),
    ("POST", "/v2/rerank", {"query": "fig", "documents": ["a fig", {"text": "x"}], "return_documents": True}),
    ("POST", "/rerank", {"query": "fig", "texts": ["a fig"], "raw_scores": True, "return_text": True}),
    ("POST", "/v1/admin/evaluate", {"members": ["words"], "split": "test"}),
    ("POST", "/v1/admin/rollback", {"name": "none"}),
    ("GET", "/v1/admin/history", {}),
    ("GET", "/v1/admin/jobs/x", {}),
    ("GET", "/health", {}),
    ("GET", "/ready", {}),
    ("GET", "/metrics", {}),
    ("GET", "/info", {}),
    ("GET", "/openapi.json", {}),
    ("GET", "/", {}),
    ("GET", "/page/main.js", {}),
]  # fmt: skip
PATHS = [
    "/page/../main.js",
    "/page/..%2f..%2fbackend.py",
    "//",
    "/%",
    "/%00",
    "/v1/items/%ff",
    "*",
    "http://other.example/",
    "/?" + "a=&" * 3000,
]
METHODS = ["GET", "POST", "PUT", "HEAD", "OPTIONS", "TRACE", "CONNECT", "get", "PRI", "\x00"]
HEADERS = ["Content-Length: 3", "Content-Length: -1", "Content-Length: 99999999999999999999999", "Content-Length: 1e3"]
HEADERS += [
    "Transfer-Encoding: chunked",
    "Transfer-Encoding: gzip, chunked",
    "Expect: 100-continue",
    "Upgrade: websocket",
]
HEADERS += [
    "Host: evil.example",
    "Host: 127.0.0.1",
    "Content-Encoding: gzip",
    "Content-Type: text/plain",
    "Connection: Upgrade",
]
HEADERS += [
    "X-Request-ID: a\tb",
    "X-Request-ID: " + "y" * 100,
    "Authorization: Bearer \xff",
    "X: " + "z" * 70000,
    ": x",
    "X",
    " X: y",
]
HEADERS += [
    "Sec-WebSocket-Key: x",
    "Content-Type: application/json; charset=utf-16",
    "Range: bytes=0-",
    "Cookie: a=b",
    "\x00: \x00",
]


class ServiceTarget:
    """Runs cases against a service of its own on 127.0.0.1.

    Parameters
    ----------
    scratch : Path
        An empty folder.
    seed : int
        What the numbers of cases are drawn with.
    only : str
        Not used.
    """

    def __init__(self, scratch: Path, seed: int, only: str = ""):
        self.seed, self._log, self._read = seed, io.StringIO(), 0
        members = {"words": vizsla.Recipe.of("bm25"), "letters": vizsla.Recipe.of("tfidf")}
        self._engine = vizsla.Engine.create(scratch / "engine", members=members, default="words", durability="process")
        self._engine.add(FRUIT)
        self._service = listening(self._engine, log=self._log, threads=2, max_body_bytes=200_000, timeout_s=30.0)
        address = self._service.__enter__()
        self._port = int(address.rpartition(":")[2])

    def run(self, case: int, kept: list[int] | None = None) -> tuple[str, list[str]]:
        """Run a case; return the outcome and what was sent."""
        random = np.random.default_rng([self.seed, case])
        parts, ends = _conversation(random)
        said = [repr(b"".join(parts)[:600])]
        if random.random() < 0.02:
            self._engine.upsert(FRUIT)
        try:
            answer = self._spoken(parts, ends)
        except TimeoutError:
            return "failure: no answer, and no end of the connection", said
        except OSError:
            answer = b""  # the service ended the connection while it was spoken to
        said.append(repr(answer[:300]))
        status = int(answer[9:12]) if answer[:9] == b"HTTP/1.1 " and answer[9:12].isdigit() else 0
        unexpected = [line for line in self._new_lines() if line["event"] == "error"]
        if unexpected:
            return f"failure: {unexpected[0]['error']} at a {status}", said
        if status >= 500 and status not in INTENDED:
            return f"failure: status {status}", said
        if not self._spoken([HEALTH], True).startswith(b"HTTP/1.1 200"):
            return "failure: health does not answer", said
        return "answered" if 200 <= status < 300 else "refused", said

    def _new_lines(self) -> list[dict[str, Any]]:
        text = self._log.getvalue()
        if not text.endswith("\n"):
            return []
        new, self._read = text[self._read :], len(text)
        if len(text) > 5_000_000:
            self._log.seek(0)
            self._log.truncate()
            self._read = 0
        return [json.loads(line) for line in new.splitlines()]

    def _spoken(self, parts: list[bytes], ends: bool) -> bytes:
        """Send parts, end the sending side, and return what came until the service closed."""
        with socket.create_connection(("127.0.0.1", self._port), timeout=WAIT_S) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for part in parts:
                connection.sendall(part)
            if not ends:
                return b""  # goes away without a word
            answer, over = b"", False
            while True:
                if not over and not select.select([connection], [], [], PATIENCE_S)[0]:
                    connection.shutdown(socket.SHUT_WR)  # what was sent is no whole request, or the last one
                    over = True
                part = connection.recv(1 << 16)
                if not part:
                    return answer
                answer += part


def _conversation(random: np.random.Generator) -> tuple[list[bytes], bool]:
    """Return what is sent, in parts, and whether the answer is waited for."""
    if random.random() < 0.05:
        return [random.bytes(int(2 ** random.uniform(0, 15)))], True
    whole = b"".join(_request(random) for _ in range(1 if random.random() < 0.9 else 3))
    if random.random() < 0.1:
        whole = whole[: int(random.integers(len(whole) + 1))]
    if random.random() < 0.1:
        noisy = bytearray(whole)
        for at in random.integers(0, len(noisy), 4).tolist() if noisy else ():
            noisy[at] = int(random.integers(256))
        whole = bytes(noisy)
    cut = int(random.integers(len(whole) + 1)) if random.random() < 0.3 else len(whole)
    return [part for part in (whole[:cut], whole[cut:]) if part], random.random() > 0.03


def _request(random: np.random.Generator) -> bytes:
    method, path, body = BODIES[int(random.integers(len(BODIES)))]
    if random.random() < 0.1:
        method = METHODS[int(random.integers(len(METHODS)))]
    if random.random() < 0.05:
        path = PATHS[int(random.integers(len(PATHS)))]
    content = b"" if not body else _body(random, body)
    head = f"{method} {path} HTTP/1.{int(random.random() < 0.97)}\r\n"
    headers = ["Connection: close"] if random.random() < 0.9 else []
    if random.random() < 0.97:
        headers.append("Host: 127.0.0.1")
    if content:
        headers.append("Content-Type: application/json")
        headers.append(f"Content-Length: {len(content)}" if random.random() < 0.9 else "Transfer-Encoding: chunked")
        if "chunked" in headers[-1]:
            content = b"%x\r\n%s\r\n0\r\n\r\n" % (len(content), content)
    for _ in range(int(random.integers(3)) if random.random() < 0.3 else 0):
        headers.append(HEADERS[int(random.integers(len(HEADERS)))])
    return (head + "".join(f"{header}\r\n" for header in headers) + "\r\n").encode("latin-1") + content


def _body(random: np.random.Generator, body: dict[str, Any]) -> bytes:
    """Return a body: mostly JSON with some odd values, seldom something that is none."""
    how = random.random()
    if how < 0.02:
        return b"[" * 50_000
    if how < 0.04:
        return b'{"query": ' + b"9" * 5000 + b"}"
    if how < 0.05:
        return b'{"text": "' + b"x" * 250_000 + b'"}'
    made = dict(body)
    for name in list(made):
        if random.random() < 0.2:
            made[name] = _odd(random, name)
        elif random.random() < 0.05:
            del made[name]
    if random.random() < 0.05:
        made[str(random.choice(["query", "queries", "where", "id", "extra", "__proto__", "title"]))] = _odd(
            random, "query"
        )
    return json.dumps(made).encode()


def _odd(random: np.random.Generator, name: str) -> Any:
    named = {"query": QUERIES, "where": CONDITIONS, "id": IDS, "item": IDS}.get(name)
    choices = named if named is not None and random.random() < 0.7 else ODD
    value = choices[int(random.integers(len(choices)))]
    if random.random() < 0.1:
        return [value] * int(random.integers(4))
    return value
