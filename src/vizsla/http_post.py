"""One HTTP request with a deadline for all of it: lookup, connection, TLS, sending, and every byte of the answer."""

from __future__ import annotations

import io
import socket
from functools import partial
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from threading import Thread
from time import monotonic
from typing import Any
from urllib.request import HTTPHandler, HTTPRedirectHandler, HTTPSHandler, Request, build_opener


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
    each step gets what is left. Redirections are not followed: a key must not go to another host.
    """
    deadline = Deadline(timeout_s)
    opener = build_opener(_NoRedirect, _Http(deadline), _Https(deadline))
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
