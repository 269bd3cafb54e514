"""Which requests are answered: tokens, hosts, body sizes, and the headers that protect the page."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from fastapi import HTTPException, Request

from vizsla.serve.problems import ProblemResponse
from vizsla.serve.service_settings import LOCAL_HOSTS, ServiceSettings
from vizsla.serve.slow_clients import bounded, too_large

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = [
    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]


class ProtectedApp:
    """ASGI middleware: refuses foreign hosts, large and slow bodies, and adds security headers to every answer.

    The Host header is compared so that a page elsewhere cannot reach a local service by rebinding its name.
    """

    def __init__(self, app: Any, settings: ServiceSettings):
        self._app, self._limit, self._seconds = app, settings.max_body_bytes, settings.body_timeout_s
        allowed = {host.lower() for host in settings.allowed_hosts}
        self._hosts = None if "*" in allowed else allowed | set(LOCAL_HOSTS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_protected(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *HEADERS]
            await send(message)

        refused = self._refused(scope)
        if refused is not None:
            await refused(scope, receive, send_protected)
            return
        await self._app(scope, bounded(receive, self._limit, self._seconds), send_protected)

    def _refused(self, scope: Scope) -> ProblemResponse | None:
        headers = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1").lower()
        name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
        if self._hosts is not None and name.strip("[]") not in self._hosts:
            said = "The Host header must name this service. Start it with --allowed-host to answer to another name."
            return ProblemResponse(421, said)
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length[:20]) > self._limit:
            return ProblemResponse(413, too_large(self._limit))
        return None


async def require_read(request: Request) -> None:
    """Raise 401 unless the request carries the read or the write token, where one is asked for.

    A coroutine, though nothing is awaited: a plain function would be run in another thread.
    """
    settings: ServiceSettings = request.app.state.settings
    _require(request, [token for token in (settings.read_token, settings.write_token) if settings.read_token])


async def require_write(request: Request) -> None:
    """Raise 401 unless the request carries the write token, where one is asked for."""
    settings: ServiceSettings = request.app.state.settings
    if not settings.write_token and settings.read_token:
        raise HTTPException(403, "Writing is off: the service has a read token, but no write token.")
    _require(request, [settings.write_token] if settings.write_token else [])


def _require(request: Request, accepted: list[str]) -> None:
    if not accepted:
        return
    kind, _, given = request.headers.get("authorization", "").partition(" ")
    offered = given.strip().encode() if kind.lower() == "bearer" else b""
    # Every token is compared, in time that does not depend on where they differ.
    equal = [hmac.compare_digest(offered, token.encode()) for token in accepted if token]
    if not any(equal):
        raise HTTPException(
            401, "A token is needed: `Authorization: Bearer …`.", headers={"WWW-Authenticate": "Bearer"}
        )
