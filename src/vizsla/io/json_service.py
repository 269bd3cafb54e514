"""One JSON request to a service, with a deadline for all of it: lookup, connection, TLS, sending, and every byte."""

from __future__ import annotations

import io
import json
import os
import random
import re
import socket
from collections.abc import Callable, Mapping, Sequence
from email.utils import parsedate_to_datetime
from functools import partial
from hashlib import blake2b
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic, time
from typing import Any, TypeVar
from urllib.error import HTTPError, URLError
from urllib.parse import SplitResult, unquote_plus, urlsplit
from urllib.request import HTTPHandler, HTTPRedirectHandler, HTTPSHandler, ProxyHandler, Request, build_opener

from vizsla._internal.terminal import escape_control
from vizsla.artifacts import strict_json
from vizsla.errors import InputError, ServiceError

T = TypeVar("T")

LOCAL_HOSTS = ("127.0.0.1", "::1", "localhost")
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


def post(request: Request, *, timeout_s: float, max_bytes: int) -> tuple[bytes, bool]:
    """Send a request and return the answer, one byte more than `max_bytes` at most, and whether it broke off.

    A socket's own timeout restarts with every byte, so that a service which sends one a second is never late. Here
    each step gets what is left. Redirections are not followed: a key must not go to another host. For the same reason
    no proxy is asked for an address on this machine: what goes there is not encrypted.
    """
    deadline = Deadline(timeout_s)
    direct = [ProxyHandler({})] if urlsplit(request.full_url).hostname in LOCAL_HOSTS else []
    opener = build_opener(_NoRedirect, _Http(deadline), _Https(deadline), *direct)
    with opener.open(request, timeout=deadline.left()) as answer:
        read: bytes = answer.read(max_bytes + 1)
        return read, bool(answer.length) and len(read) <= max_bytes


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


RETRIED_STATUSES = (408, 425, 429, 500, 502, 503, 504)
"""Answers after which it is worth to ask again."""
MAX_ANSWER_BYTES = strict_json.MAX_BYTES
MAX_ERROR_BYTES = 1 << 16
"""How much of an error's body is read, for the service's own message."""
MAX_WAIT_S = 300.0
MAX_TIMEOUT_S = 1e6
MAX_MESSAGE_CHARS = 200
REDACTED = "…"
HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
RESERVED_HEADERS = ("authorization", "content-type", "content-length", "host", "transfer-encoding", "connection")


class JsonService:
    """A service that answers JSON to JSON.

    Answers that may pass (429, 500, …), broken connections and timeouts raise a ServiceError with `wait_s`, what is
    wrong with the request an InputError; both hold the service's own message, without what was sent in secret. The key
    and secret headers are read from the environment at every request, and kept nowhere. Redirections are not followed.

    Parameters
    ----------
    url : str
        Where to ask: https, or http on this machine; without a user and a password.
    key_variable : str, optional
        The environment variable that holds the key, sent as a bearer token.
    headers : mapping of str to str, optional
        What else is sent. A value that begins with `$` names an environment variable: `{"api-key": "$AZURE_KEY"}`. A
        header whose name says that it is a secret must be given so.
    """

    def __init__(self, url: str, *, key_variable: str | None = None, headers: Mapping[str, str] | None = None):
        parts = _checked_url(url)
        self.url, self.key_variable, self.headers = _shown_url(parts), key_variable, dict(headers or {})
        self.address, self._query = parts._replace(fragment="").geturl(), parts.query
        for name, value in self.headers.items():
            _check_header(name, value)

    @property
    def identity(self) -> str:
        """The address as part of a fingerprint: the same when a key is replaced.

        Of what stands behind the `?`, parameters whose names say that they are keys (`api_key`, `token`, `sig`, …) are
        left out. Others are part of it as a digest.
        """
        plain = "&".join(part for part in self._query.split("&") if not _is_key(part))
        return f"{self.url}#{blake2b(plain.encode(), digest_size=8).hexdigest()}" if plain else self.url

    @property
    def holds_key(self) -> bool:
        """Whether the address itself holds what its name says is a key."""
        return any(_is_key(part) for part in self._query.split("&") if part)

    def ask(self, body: Any, timeout_s: float, read: Callable[[Any], T], expected: str) -> T:
        """Return what `read` makes of the answer; an answer that it cannot read raises InputError.

        Parameters
        ----------
        body : dict
            What is sent.
        timeout_s : float
            Seconds for all of it.
        read : callable
            From the parsed answer to the result; ValueError, KeyError and TypeError say that it has another shape.
        expected : str
            What the answer must have, for the message.
        """
        answer = self._sent(json.dumps(body).encode(), timeout_s)
        try:
            if strict_json.measure(answer) > strict_json.MAX_VALUES:
                raise ValueError(f"it has more than {strict_json.MAX_VALUES:,} values")
            # As UTF-8: given bytes, json also takes UTF-16 and UTF-32, where `measure` counts wrong.
            return read(json.loads(answer.decode("utf-8-sig"), object_pairs_hook=strict_json.distinct))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            said = self._without_secrets(str(error))
            raise InputError(f"{self.url} must answer with {expected}. Got another: {said}.") from None

    def _sent(self, body: bytes, timeout_s: float) -> bytes:
        request = Request(self.address, data=body, headers=self._headers(), method="POST")
        try:
            read, broken = post(request, timeout_s=timeout_s, max_bytes=MAX_ANSWER_BYTES)
        except HTTPError as error:
            raise self._refused(error) from None  # its cause holds the request, and so the key
        except (URLError, OSError, ValueError, OverflowError) as error:
            said = self._without_secrets(f"{getattr(error, 'reason', None) or error}") or type(error).__name__
            raise ServiceError(f"{self.url} must answer. Got {said}.") from None
        except HTTPException as error:  # its message quotes the answer, which may repeat a secret
            said = f"an answer that is no HTTP ({type(error).__name__})"
            raise ServiceError(f"{self.url} must answer. Got {said}.") from None
        if broken:
            raise ServiceError(f"{self.url} must answer. Got a connection that broke after {len(read)} bytes.")
        if len(read) > MAX_ANSWER_BYTES:
            raise InputError(f"{self.url} must answer with at most {MAX_ANSWER_BYTES} bytes. Got more.")
        return read

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        for name, value in self.headers.items():
            headers[name] = _from_environment(value[1:]) if value.startswith("$") else value
        if self.key_variable is not None:
            headers["Authorization"] = f"Bearer {_from_environment(self.key_variable)}"
        return headers

    def _without_secrets(self, said: str) -> str:
        """Return the beginning of what a library or a service said, without what was sent in secret."""
        named = [self.key_variable or "", *(value[1:] for value in self.headers.values() if value.startswith("$"))]
        values = [part.partition("=")[2] for part in self._query.split("&")]
        secrets = [self._query, *values, *map(unquote_plus, values), *(os.environ.get(name, "") for name in named)]
        for secret in sorted(filter(None, secrets), key=len, reverse=True):
            said = said.replace(secret, REDACTED)
        return escape_control(said[:MAX_MESSAGE_CHARS])  # cut last: the beginning of a secret would not be found

    def _refused(self, error: HTTPError) -> Exception:
        said = f"{self.url} must accept the request. Got HTTP {error.code}"
        wait, message = _wait_s(error.headers.get("Retry-After")), self._without_secrets(_message_of(error))
        error.close()
        said += f" ({message})" if message else ""
        if error.code in RETRIED_STATUSES:
            return ServiceError(f"{said}: ask again later.", error.code, wait_s=wait)
        return InputError(f"{said}: look at the address, the model's name and the key.")


def _message_of(error: HTTPError) -> str:
    """Return what a service says of an error, in the shapes that services use; nothing where it says nothing."""
    try:
        body = error.read(MAX_ERROR_BYTES)
        found = strict_json.parse(body)
    except (ValueError, OSError, HTTPException, RecursionError):
        return ""
    for _ in range(3):  # {"error": {"message": …}}, {"message": …}, {"detail": …}, {"error": …}, [{"msg": …}]
        if isinstance(found, list):
            found = found[0] if found else ""
        if isinstance(found, dict):
            found = next((found[name] for name in ("message", "detail", "error", "msg", "title") if name in found), "")
    return " ".join(found.split()) if isinstance(found, str) else ""


def _check_header(name: Any, value: Any) -> None:
    if not isinstance(name, str) or not HEADER_NAME.fullmatch(name) or name.lower() in RESERVED_HEADERS:
        raise InputError(f"`headers` must have names that a request may have beside its own. Got {name!r:.60}.")
    if not isinstance(value, str) or not value.isascii() or not value.isprintable():
        raise InputError(f"`headers` must have printable ASCII values. Got another for {name!r:.60}.")
    if _is_key(name) and not value.startswith("$"):
        raise InputError(
            f"A secret header must name an environment variable, as {{{name!r:.60}: '$NAME'}}. Got its value."
        )


def _from_environment(name: str) -> str:
    value = os.environ.get(name)
    if not value or not value.isascii() or not value.isprintable():
        raise InputError(f"The environment variable {name} must hold the service's key. Got none.")
    return value


def backoff_s(attempt: int, pause_s: float, max_s: float, chance: random.Random, asked_s: float | None) -> float:
    """Return how long to wait after failure number `attempt`, from 0 on: doubled each time, half of it at random.

    A pause that the service itself asks for is never shortened.

    Examples
    --------
    >>> 2.0 <= backoff_s(2, 1.0, 30.0, random.Random(0), None) <= 4.0, backoff_s(0, 1.0, 30.0, random.Random(0), 7.0)
    (True, 7.0)
    """
    pause = min(max_s, pause_s * 2.0**attempt)
    return max(pause * chance.uniform(0.5, 1.0), asked_s or 0.0)


class PartlyAnswered(Exception):  # noqa: N818 - it carries results, and never reaches a user
    """One of several calls failed.

    Parameters
    ----------
    cause : Exception
        The failure of the first call that failed.
    answered : list
        The results of the calls before it.
    begun : int
        How many calls were made, those included; calls are begun in their order.
    """

    def __init__(self, cause: Exception, answered: list[Any], begun: int):
        super().__init__(str(cause))
        self.cause, self.answered, self.begun = cause, answered, begun


def call_all(act: Callable[[Any], T], given: Sequence[Any], concurrency: int) -> list[T]:
    """Return the result of `act` for each, a number at a time; after a failure no other call is made.

    The threads are daemons: Ctrl-C is answered at once, and the process may end while a request is under way.

    Examples
    --------
    >>> call_all(lambda number: number + 1, [1, 2, 3], 2)
    [2, 3, 4]
    """
    results: dict[int, Any] = {}
    failures: dict[int, Exception] = {}
    if concurrency == 1 or len(given) < 2:
        for at, each in enumerate(given):
            try:
                results[at] = act(each)
            except Exception as error:
                raise PartlyAnswered(error, list(results.values()), at + 1) from None
        return list(results.values())
    waiting: SimpleQueue[int] = SimpleQueue()
    for at in range(len(given)):
        waiting.put(at)
    done: SimpleQueue[None] = SimpleQueue()
    begun: list[int] = []

    def work() -> None:
        try:
            while not failures:
                at = waiting.get_nowait()
                begun.append(at)
                try:
                    results[at] = act(given[at])
                except Exception as error:
                    failures[at] = error
        except Empty:
            pass
        finally:
            done.put(None)

    workers = [Thread(target=work, daemon=True) for _ in range(min(concurrency, len(given)))]
    try:
        for worker in workers:
            worker.start()
        for _ in workers:
            done.get()
    except BaseException as error:
        failures[len(given)] = InputError(f"The call was interrupted by {type(error).__name__}.")  # stops the others
        raise
    if failures:
        first = min(failures)
        before = [results[at] for at in range(first)]
        raise PartlyAnswered(failures[first], before, max(begun) + 1)
    return [results[at] for at in range(len(given))]


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
    local = host in LOCAL_HOSTS
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
    return f"{shown}?{REDACTED}" if parts.query else shown


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
    return min(max(0.0, seconds), MAX_WAIT_S)
