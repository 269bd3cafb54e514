"""One HTTP request with a deadline for all of it: lookup, connection, TLS, sending, and every byte of the answer."""

from __future__ import annotations

import io
import json
import os
import re
import socket
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from functools import partial
from hashlib import blake2b
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from itertools import groupby
from threading import Thread
from time import monotonic, time
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError, URLError
from urllib.parse import SplitResult, unquote_plus, urlsplit
from urllib.request import HTTPHandler, HTTPRedirectHandler, HTTPSHandler, ProxyHandler, Request, build_opener

import numpy as np

from vizsla.artifacts import strict_json
from vizsla.core.validation import validate_args
from vizsla.errors import InputError, ScorerError, check_positive
from vizsla.scorers.text import TextScorer
from vizsla.typing import Float32Array

if TYPE_CHECKING:
    from vizsla.data.dataset import Dataset


LOCAL = ("127.0.0.1", "::1", "localhost")
"""Hosts that are asked without encryption, and without a proxy."""


class Deadline:
    """A moment after which nothing is waited for.

    Parameters
    ----------
    seconds : float
        From now on.
    """

    def __init__(self, seconds: float):
        self._end = monotonic() + seconds

    def left(self) -> float:
        """Return the seconds that are left; none raise TimeoutError."""
        seconds = self._end - monotonic()
        if seconds <= 0:
            raise TimeoutError("no answer in time")
        return seconds


def post(request: Request, *, timeout_s: float, most_bytes: int) -> tuple[bytes, bool]:
    """Send a request and return the answer, one byte more than `most_bytes` at most, and whether it broke off.

    A socket's own timeout begins anew with every byte, so that a service which sends one a second is never late. Here
    each step gets what is left. Redirections are not followed: a key must not go to another host. For the same reason
    no proxy is asked for an address on this machine: what goes there is not encrypted.
    """
    deadline = Deadline(timeout_s)
    direct = [ProxyHandler({})] if urlsplit(request.full_url).hostname in LOCAL else []
    opener = build_opener(_NoRedirect, _Http(deadline), _Https(deadline), *direct)
    with opener.open(request, timeout=deadline.left()) as answer:
        read: bytes = answer.read(most_bytes + 1)
        return read, bool(answer.length) and len(read) <= most_bytes


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(self, *given: Any) -> None:
        return None


class _Http(HTTPHandler):
    def __init__(self, deadline: Deadline):
        super().__init__()
        self._deadline = deadline

    def http_open(self, req: Request) -> HTTPResponse:
        return self.do_open(partial(_Connection, deadline=self._deadline), req)


class _Https(HTTPSHandler):
    def __init__(self, deadline: Deadline):
        super().__init__()
        self._deadline = deadline

    def https_open(self, req: Request) -> HTTPResponse:
        return self.do_open(partial(_SafeConnection, deadline=self._deadline), req)


class _Timed:
    """What a connection with a deadline does differently."""

    sock: Any

    def _limit(self, deadline: Deadline) -> None:
        self._deadline = deadline
        self._create_connection = partial(_connected, deadline)
        self.response_class: Any = partial(_response, deadline)

    def send(self, data: Any) -> None:
        """Send with the time that is left; http.client connects at the first call."""
        if self.sock is None:
            self.connect()  # type: ignore[attr-defined]
        self.sock.settimeout(self._deadline.left())
        super().send(data)  # type: ignore[misc]


class _Connection(_Timed, HTTPConnection):
    def __init__(self, host: str, *, deadline: Deadline, **options: Any):
        HTTPConnection.__init__(self, host, **options)
        self._limit(deadline)


class _SafeConnection(_Timed, HTTPSConnection):
    def __init__(self, host: str, *, deadline: Deadline, **options: Any):
        HTTPSConnection.__init__(self, host, **options)
        self._limit(deadline)


def _response(deadline: Deadline, sock: Any, *given: Any, **options: Any) -> HTTPResponse:
    return HTTPResponse(_TimedSocket(sock, deadline), *given, **options)  # type: ignore[arg-type]


class _TimedSocket:
    """A socket as HTTPResponse uses it: it is only asked for a file."""

    def __init__(self, sock: Any, deadline: Deadline):
        self._sock, self._deadline = sock, deadline

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_TimedFile(self._sock, self._deadline))


class _TimedFile(io.RawIOBase):
    """The bytes that arrive; every wait is for what is left of the time."""

    def __init__(self, sock: Any, deadline: Deadline):
        self._sock, self._deadline, self._file = sock, deadline, sock.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._sock.settimeout(self._deadline.left())
        count: int | None = self._file.readinto(buffer)
        return count

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def _connected(deadline: Deadline, address: tuple[str, int], *_: Any, **__: Any) -> socket.socket:
    """Connect to the first of a host's addresses that answers."""
    failure: OSError = OSError("the host has no address")
    for family, kind, protocol, _name, place in _addresses(deadline, *address):
        sock = socket.socket(family, kind, protocol)
        try:
            sock.settimeout(deadline.left())
            sock.connect(place)
            sock.settimeout(deadline.left())
            return sock
        except OSError as error:
            sock.close()
            failure = error
    raise failure


def _addresses(deadline: Deadline, host: str, port: int) -> list[Any]:
    """Look a host up in a thread: the system's own lookup knows no deadline."""
    found: list[Any] = []
    failed: list[Exception] = []

    def look_up() -> None:
        try:
            found.extend(socket.getaddrinfo(host, port, 0, socket.SOCK_STREAM))
        except (OSError, ValueError) as error:
            failed.append(error)

    thread = Thread(target=look_up, daemon=True)
    thread.start()
    thread.join(deadline.left())
    deadline.left()
    if failed:
        raise failed[0]
    return found


PASSING = (408, 425, 429, 500, 502, 503, 504)
"""Answers after which it is worth to ask again."""
MOST_BYTES = strict_json.MAX_BYTES
MOST_WAIT_S = 300.0
MOST_TIMEOUT_S = 1e6
HIDDEN = "…"
LARGEST = float(np.finfo(np.float32).max)


class HttpReranker(TextScorer):
    """Asks a service that takes `{model, query, documents, top_n}` and answers `{results: [{index, relevance_score}]}`.

    A query's texts are sent in requests of at most `batch`. Answers that may pass (429, 500, …), broken connections and
    timeouts raise ScorerError: `Retrying(HttpReranker(…))` asks again, after what Retry-After says, for what was not
    answered yet. The key is read from the environment at every call; it is neither kept nor saved. Redirections are not
    followed. What stands behind the `?` of an address may be a secret: it is sent, and shown nowhere.

    Parameters
    ----------
    texts : mapping or Dataset
        Item texts by id.
    url : str
        Where to ask: https, or http on this machine; without a user and a password.
    model : str
        What the service calls its model; part of the fingerprint, so that cached scores belong to it.
    key_variable : str, optional
        The environment variable that holds the key, sent as a bearer token; None: none is sent.
    batch : int
        Texts a request.
    timeout_s : float
        Seconds that a request may take, from looking the host up to the last byte of the answer.
    scale : str
        The name of what the scores measure.

    Examples
    --------
    >>> HttpReranker({"a": "fig"}, "https://rerank.example/v2/rerank", model="rerank-v3.5")
    HttpReranker(https://rerank.example/v2/rerank, rerank-v3.5, 1 items)
    """

    @validate_args
    def __init__(
        self,
        texts: Mapping[str, str] | Dataset,
        url: str,
        *,
        model: str,
        key_variable: str | None = None,
        batch: int = 100,
        timeout_s: float = 30.0,
        scale: str = "reranker",
    ):
        super().__init__(texts, scale=scale)
        parts = _checked_url(url)
        if not 0 < timeout_s <= MOST_TIMEOUT_S:
            raise InputError(f"`timeout_s` must be above 0 and at most {MOST_TIMEOUT_S:g}. Got {timeout_s!r}.")
        self.url, self.model, self.key_variable = _shown_url(parts), model, key_variable
        self._address, self._query = parts._replace(fragment="").geturl(), parts.query
        self.batch, self.timeout_s = check_positive("batch", batch), timeout_s

    def __repr__(self) -> str:
        return f"HttpReranker({self.url}, {self.model}, {len(self._items):,} items)"

    @property
    def fingerprint(self) -> str:
        """The address and the model's name: a service that changes its model should change its name.

        Of what stands behind the `?` of the address, parameters whose names say that they are keys (`api_key`, `token`,
        `sig`, …) are left out, so that scores stay valid when a key is replaced. Others are part of it as a digest.
        """
        plain = "&".join(part for part in self._query.split("&") if not _is_key(part))
        hidden = f"#{blake2b(plain.encode(), digest_size=8).hexdigest()}" if plain else ""
        return f"http:{self.url}{hidden}:{self.model}"

    def score_pairs(self, queries: list[str], texts: list[str]) -> Float32Array:
        """Ask for each query's texts."""
        scores: list[float] = []
        for query, some in self._requests(queries, texts):
            try:
                scores += self._asked(query, some)
            except ScorerError as failure:
                failure.answered, failure.sent = scores, len(scores) + len(some)
                raise
        return np.array(scores, np.float32)

    def _requests(self, queries: list[str], texts: list[str]) -> Iterator[tuple[str, list[str]]]:
        for query, run in groupby(zip(queries, texts, strict=True), key=lambda pair: pair[0]):
            row = [text for _, text in run]
            yield from ((query, row[start : start + self.batch]) for start in range(0, len(row), self.batch))

    def _asked(self, query: str, texts: list[str]) -> list[float]:
        body = {"model": self.model, "query": query, "documents": texts, "top_n": len(texts)}
        answer = self._sent(json.dumps(body).encode())
        try:
            if strict_json.measure(answer) > strict_json.MAX_VALUES:
                raise ValueError(f"it has more than {strict_json.MAX_VALUES:,} values")
            # As UTF-8: given bytes, json also takes UTF-16 and UTF-32, where `measure` counts wrong.
            return _scores(json.loads(answer.decode("utf-8-sig")), len(texts))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            said = self._without_secrets(str(error))
            raise InputError(
                f"{self.url} must answer with a relevance_score for each of {len(texts)} texts. Got another: {said}."
            ) from None

    def _sent(self, body: bytes) -> bytes:
        request = Request(self._address, data=body, headers=self._headers(), method="POST")
        try:
            read, broken = post(request, timeout_s=self.timeout_s, most_bytes=MOST_BYTES)
        except HTTPError as error:
            raise self._refused(error) from None  # its cause holds the request, and so the key
        except (URLError, OSError, ValueError, OverflowError) as error:
            said = self._without_secrets(f"{getattr(error, 'reason', None) or error}") or type(error).__name__
            raise ScorerError(f"{self.url} must answer. Got {said}.") from None
        except HTTPException as error:  # its message quotes the answer, which may repeat a secret
            said = f"an answer that is no HTTP ({type(error).__name__})"
            raise ScorerError(f"{self.url} must answer. Got {said}.") from None
        if broken:
            raise ScorerError(f"{self.url} must answer. Got a connection that broke after {len(read)} bytes.")
        if len(read) > MOST_BYTES:
            raise InputError(f"{self.url} must answer with at most {MOST_BYTES} bytes. Got more.")
        return read

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self.key_variable is None:
            return headers
        key = os.environ.get(self.key_variable)
        if not key or not key.isascii() or not key.isprintable():
            raise InputError(f"The environment variable {self.key_variable} must hold the service's key. Got none.")
        return headers | {"Authorization": f"Bearer {key}"}

    def _without_secrets(self, said: str) -> str:
        """Return the beginning of what a library said, without what was sent in secret."""
        key = os.environ.get(self.key_variable or "")
        values = [part.partition("=")[2] for part in self._query.split("&")]
        for secret in (self._query, *values, key):
            said = said.replace(secret, HIDDEN) if secret else said
        return said[:200]  # cut last: the beginning of a secret would not be found

    def _refused(self, error: HTTPError) -> Exception:
        said = f"{self.url} must accept the request. Got HTTP {error.code}"
        wait = _wait_s(error.headers.get("Retry-After"))
        error.close()
        if error.code in PASSING:
            return ScorerError(f"{said}: ask again later, as Retrying does.", wait_s=wait)
        return InputError(f"{said}: look at the address, the model's name and the key.")


def _checked_url(url: str) -> SplitResult:
    """Return the parts of an address that may be asked; the message of any other does not show it."""
    rule = "`url` must begin with https://, or http:// on this machine"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        host.encode("idna")
    except ValueError:
        raise InputError(f"{rule}. Got an address that is malformed: check host and port.") from None
    if parts.username is not None or parts.password is not None:
        raise InputError("`url` must hold no user and no password. Got some: give the key with `key_variable`.")
    local = host in LOCAL
    if not host or port == 0 or not (parts.scheme == "https" or (parts.scheme == "http" and local)):
        raise InputError(f"{rule}. Got {_shown_url(parts)!r:.200}.")
    if not url.isascii() or not url.isprintable() or " " in url:
        raise InputError(f"{rule}, in printable ASCII. Got other characters: percent-encode them.")
    return parts


_KEY = re.compile(r"key|token|secret|sig(?:nature)?$|passw|pwd|auth|credential", re.IGNORECASE)


def _is_key(parameter: str) -> bool:
    """Whether the name of an address's parameter says that its value is a secret.

    Examples
    --------
    >>> _is_key("api_key=hunter2"), _is_key("sig=af0e"), _is_key("api-version=2")
    (True, True, False)
    """
    return _KEY.search(unquote_plus(parameter.partition("=")[0])) is not None


def _shown_url(parts: SplitResult) -> str:
    """Return an address as it may be shown: without user, password, and the values behind `?`.

    Examples
    --------
    >>> _shown_url(urlsplit("https://rerank.example/v2?api_key=secret"))
    'https://rerank.example/v2?…'
    """
    shown = parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()
    return f"{shown}?{HIDDEN}" if parts.query else shown


def _scores(answer: Any, count: int) -> list[float]:
    """Return the scores in the texts' order; there must be one for each, that float32 can hold."""
    found: dict[int, float] = {}
    for result in answer["results"]:
        index, score = result["index"], result["relevance_score"]
        if type(index) is not int or not 0 <= index < count or index in found:
            raise ValueError(f"an index must be one of {count} whole numbers, each once, not {index!r}")
        if type(score) not in (int, float) or not abs(score) <= LARGEST:
            raise ValueError(f"a score must be a number that float32 holds, not {score!r}")
        found[index] = float(score)
    if len(found) != count:
        raise ValueError("an index is missing")
    return [found[index] for index in range(count)]


def _wait_s(said: str | None) -> float | None:
    """Read Retry-After, in seconds or as a date; None where it says nothing useful.

    Examples
    --------
    >>> _wait_s("7"), _wait_s("soon"), _wait_s("Wed, 21 Oct 2015 07:28:00 GMT")
    (7.0, None, 0.0)
    """
    if said is None:
        return None
    try:
        seconds = float(said) if said.strip().isdigit() else parsedate_to_datetime(said).timestamp() - time()
    except (ValueError, TypeError, OverflowError):
        return None
    return min(max(0.0, seconds), MOST_WAIT_S)
