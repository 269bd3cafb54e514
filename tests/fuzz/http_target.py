"""Target "http": a service on this machine that answers as none should; scores or a typed error, and no secret."""

from __future__ import annotations

import json
import socket
import traceback
import warnings
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np

import vizsla
from tests.fuzz.uses import UseError, attempt
from vizsla.core.candidates import Candidates
from vizsla.errors import VizslaError

ITEMS = {f"item-{number}": f"fig {number}" for number in range(6)}
SECRET = "hunter2-0f1e2d"
TIMEOUT_S = 0.25
NUMBERS = ["1", "-0.5", "1e39", "-1e400", "NaN", "Infinity", '"1"', "true", "null", "[]", "9" * 400, "9" * 5000]
NUMBERS += ["1e-400", "{}"]
INDEXES = ["0", "1", "5", "6", "-1", "1.0", "1.5", '"0"', "true", "null", "1e30", "9" * 30]
HEADERS = ["Content-Length: 5", "Content-Length: 99999999999999999999", "Content-Length: -1", "Content-Length: x"]
HEADERS += ["Transfer-Encoding: chunked", "Content-Encoding: gzip", "Retry-After: 99999999999", "Retry-After: \xff"]
HEADERS += ["Connection: close", "Location: http://127.0.0.1:1/?k=" + SECRET, "X: " + "a" * 70000, "\x00", ": ", "X"]
STATUS = ["200 OK"] * 4 + ["301 Moved", "302 Found", "400 Bad", "429 Busy", "500 Oops", "999 X", "0 X"]
STATUS += ["20 X", "abc", "", "100 Continue", "204 None", "304 Same", "407 Proxy", "401 Who"]
URLS = ["https://[::1", "http://127.0.0.1:{port}x/", "http://127.0.0.1:99999/", "http://me:{secret}@127.0.0.1:{port}/"]
URLS += ["http://127.0.0.1:{port}/\n", "http://127.0.0.1:{port}/é", "http://127.0.0.1:{port}?k={secret}"]
URLS += ["http://localhost:{port}/", "//127.0.0.1:{port}/", "http://127.0.0.1:/?{secret}", "http://127.0.0.1:-1/"]
URLS += ["https://a..b/?{secret}", "http://[::1]:{port}/"]


class HttpTarget:
    """Runs cases against a server of its own on 127.0.0.1.

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
        warnings.simplefilter("ignore")
        np.seterr(all="ignore")
        self.scratch, self.seed = scratch, seed
        self._server = socket.create_server(("127.0.0.1", 0))
        self._plan: list[bytes] = []
        Thread(target=self._serve, daemon=True).start()

    def run(self, case: int, kept: list[int] | None = None) -> tuple[str, list[str]]:
        """Run a case; return the outcome and what was answered."""
        random = np.random.default_rng([self.seed, case])
        port = self._server.getsockname()[1]
        url = f"http://127.0.0.1:{port}/rank?api_key={SECRET}"
        if random.random() < 0.1:
            url = str(random.choice(URLS)).format(port=port, secret=SECRET)
        self._plan = _answer(random, 1 + case % 6)
        said = [url, *(repr(part[:200]) for part in self._plan[:3])]
        try:
            return self._outcome(url, case), said
        except UseError as failure:
            return f"failure: {failure}", said

    def _outcome(self, url: str, case: int) -> str:
        told: list[str] = []
        scores: list[Any] = []

        def ask() -> None:
            try:
                scorer = vizsla.HttpReranker(ITEMS, url, model="m", timeout_s=TIMEOUT_S)
                told.extend([repr(scorer), scorer.fingerprint])
                pairs = Candidates.from_dict({"0": dict.fromkeys(list(ITEMS)[: 1 + case % 6], 0.0)})
                scores.append(scorer.score(["fig"], pairs).to_dict())
            except VizslaError as error:
                told.append("".join(traceback.format_exception(error)))
                raise

        attempt("score", ask)
        if any(SECRET in line for line in told):
            raise UseError("score: a secret is shown")
        if scores and not all(np.isfinite(np.float32(value)) for value in scores[0]["0"].values()):
            raise UseError("score: a score that float32 does not hold")
        return "answered" if scores else "refused"

    def _serve(self) -> None:
        while True:
            connection, _ = self._server.accept()
            Thread(target=self._reply, args=(connection, self._plan), daemon=True).start()

    @staticmethod
    def _reply(connection: socket.socket, plan: list[bytes]) -> None:
        with connection:
            try:
                connection.settimeout(5)
                connection.recv(1 << 16)
                for part in plan:
                    connection.sendall(part)
            except OSError:
                return


def _answer(random: np.random.Generator, count: int) -> list[bytes]:
    """Return what is sent, in parts."""
    if random.random() < 0.05:
        return [random.bytes(int(2 ** random.uniform(0, 16)))]
    if random.random() < 0.3:
        return [b"HTTP/1.1 200 OK\r\n\r\n" + _body(random, count)]
    head = f"HTTP/1.{int(random.integers(3))} {random.choice(STATUS)}\r\n".encode()
    for header in random.choice(HEADERS, int(random.integers(0, 3))):
        head += str(header).encode("latin-1") + b"\r\n"
    body = _body(random, count)
    if random.random() < 0.5:
        head += b"Content-Length: %d\r\n" % len(body)
    whole = head + b"\r\n" + body
    if random.random() < 0.2:
        whole = whole[: int(random.integers(len(whole) + 1))]
    if random.random() < 0.2:
        places = random.integers(0, max(1, len(whole)), 3)
        whole = bytes(byte ^ (1 if at in places else 0) for at, byte in enumerate(whole[:4000])) + whole[4000:]
    return [whole]


def _body(random: np.random.Generator, count: int) -> bytes:
    how = random.random()
    if how < 0.05:
        return (b"[" * 200_000) if random.random() < 0.5 else b"[" + b"[]," * int(2 ** random.uniform(10, 21)) + b"0]"
    if how < 0.1:
        return json.dumps(random.choice(["x", "", SECRET])).encode()
    wild = random.random() < 0.5
    results = []
    for index in random.permutation(count if random.random() < 0.8 else 1 + int(random.integers(6))).tolist():
        odd = wild and random.random() < 0.3
        number, place = (str(random.choice(NUMBERS)), str(random.choice(INDEXES))) if odd else ("0.5", str(index))
        results.append(f'{{"index": {place}, "relevance_score": {number}}}')
    return ('{"results": [' + ", ".join(results) + "]}").encode()
