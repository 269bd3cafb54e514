"""Bounds on clients that send slowly or too much: no request holds a connection for ever."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from fastapi import HTTPException
from uvicorn.protocols.http.flow_control import CLOSE_HEADER
from uvicorn.protocols.http.h11_impl import H11Protocol

HEADERS_S = 10.0
"""How long a client may take to send the head of a request; the server ends the connection then."""
LINGER_S = 0.5
"""How long a service that ends waits for a request that may be on its way over an open connection."""

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]


class ImpatientProtocol(H11Protocol):
    """uvicorn's HTTP protocol, with a limit on the time in which the head of a request must come.

    When the service ends, a connection that is open ends after one more answer, which tells the client so. Ended at
    once, it would lose a request that is on its way.
    """

    headers_s, linger_s = HEADERS_S, LINGER_S
    _silence: asyncio.TimerHandle | None = None
    _leaving = False

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._wait()
        # Workers share a socket whose connections asyncio does not recognize as TCP: without this an answer's body
        # would wait until the client has confirmed its head, which takes 40 ms.
        connection = transport.get_extra_info("socket")
        if connection is not None and connection.family in (socket.AF_INET, socket.AF_INET6):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._stop()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        super().on_response_complete()
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Read a request."""
        super().data_received(data)
        if self._leaving:
            self._make_last()

    def shutdown(self) -> None:
        """End the connection after the answer that is under way, or the next one."""
        self._leaving = True
        self._wait(self.linger_s)
        self._make_last()

    def _make_last(self) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.keep_alive = False
            if CLOSE_HEADER not in self.headers:  # uvicorn answers as a request asks for
                self.headers.append(CLOSE_HEADER)

    def _wait(self, seconds: float | None = None) -> None:
        self._stop()
        self._silence = self.loop.call_later(self.headers_s if seconds is None else seconds, self._end_unless_busy)

    def _stop(self) -> None:
        if self._silence is not None:
            self._silence.cancel()
            self._silence = None

    def _end_unless_busy(self) -> None:
        idle = self.cycle is None or self.cycle.response_complete
        if idle and not self.transport.is_closing():
            self.transport.close()


def bounded(receive: Receive, max_bytes: int, seconds: float) -> Receive:
    """Return a reader of a body with limits of bytes and seconds.

    Parameters
    ----------
    receive : function
        What reads the next part.
    max_bytes : int
        More raises HTTPException 413.
    seconds : float
        A body that comes later raises HTTPException 408.
    """
    left, ends, whole = max_bytes, asyncio.get_running_loop().time() + seconds, False

    async def receive_bounded() -> Message:
        nonlocal left, whole
        if whole:  # what comes now is that the client goes away, whenever that is
            return await receive()
        try:
            async with asyncio.timeout_at(ends):
                message = await receive()
        except TimeoutError:
            raise HTTPException(408, f"The body must come within {seconds:g} s.") from None
        left -= len(message.get("body", b""))
        if left < 0:
            raise HTTPException(413, too_large(max_bytes))
        whole = not message.get("more_body", False)
        return message

    return receive_bounded


def too_large(max_bytes: int) -> str:
    """Return what to say of a body with more bytes."""
    return f"The body must have at most {max_bytes:,} bytes. Send it in pieces."
