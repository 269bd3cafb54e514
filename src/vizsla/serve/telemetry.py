"""What operators see: metrics for Prometheus, and logs as lines of JSON."""

from __future__ import annotations

import json
import os
import sys
import time
import uuid
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any, TextIO

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, multiprocess

from vizsla.serve.problems import ProblemResponse
from vizsla.serve.security import Receive, Scope, Send
from vizsla.serve.shared_state import SHARED_FOLDER, is_alive

SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
MAX_LOGGED_CHARS = 300


class Metrics:
    """Counters and histograms of one service, in the names that Prometheus expects."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        own: dict[str, Any] = {"registry": self.registry}
        self.requests = Counter("vizsla_requests", "Requests by route and status.", ["route", "status"], **own)
        self.seconds = Histogram("vizsla_request_seconds", "Time to answer.", ["route"], buckets=SECONDS, **own)
        self.searches = Histogram("vizsla_search_seconds", "Time to search.", ["member"], buckets=SECONDS, **own)
        self.rejected = Counter("vizsla_rejected", "Requests refused because too many were in flight.", **own)
        shared = {"multiprocess_mode": "livesum", **own}
        self.in_flight = Gauge("vizsla_in_flight", "Requests that are being answered.", **shared)
        newest: dict[str, Any] = {"multiprocess_mode": "mostrecent", **own}
        self.items = Gauge("vizsla_items", "Items that can be found.", **newest)
        self.generation = Gauge("vizsla_generation", "The last transaction that searches see.", **newest)

    def text(self) -> bytes:
        """Return all figures in Prometheus' text format; of all workers where there are several."""
        if not os.environ.get(SHARED_FOLDER):
            return generate_latest(self.registry)
        for file in Path(os.environ[SHARED_FOLDER]).glob("gauge_live*_*.db"):
            pid = int(file.stem.rpartition("_")[2])
            if not is_alive(pid):  # a worker that was killed has nothing in flight
                multiprocess.mark_process_dead(pid)  # type: ignore[no-untyped-call]
        every = CollectorRegistry()
        multiprocess.MultiProcessCollector(every)  # type: ignore[no-untyped-call]
        return generate_latest(every)


class JsonLog:
    """Writes events as lines of JSON."""

    def __init__(self, stream: TextIO | None = None, *, quiet: bool = False):
        self._stream, self._quiet = stream, quiet

    def write(self, event: str, **fields: Any) -> None:
        """Write one event with its fields; long texts are cut."""
        if self._quiet:
            return
        now = time.time()
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now * 1000) % 1000:03}Z"
        cut = {name: each[:MAX_LOGGED_CHARS] if isinstance(each, str) else each for name, each in fields.items()}
        stream = self._stream or sys.stderr
        stream.write(json.dumps({"time": stamp, "event": event, **cut}) + "\n")
        stream.flush()


class ObservedApp:
    """ASGI middleware: gives each request an id, counts it, times it and logs it.

    An error that nothing else answers is answered here, by a problem without details, and raised on to the server.
    """

    def __init__(self, app: Any, metrics: Metrics, log: JsonLog, *, quiet_paths: tuple[str, ...] = ()):
        self._app, self._metrics, self._log, self._quiet = app, metrics, log, quiet_paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = next((value for name, value in scope["headers"] if name == b"x-request-id"), b"")
        sound = 0 < len(given) <= 64 and given.isascii() and given.decode("latin-1").isprintable()
        request_id = given.decode("latin-1") if sound else uuid.uuid4().hex
        scope.setdefault("state", {})["request_id"] = request_id
        started, status, answered, lost = time.perf_counter(), 500, False, False

        async def send_observed(message: MutableMapping[str, Any]) -> None:
            nonlocal status, answered, lost
            if message["type"] == "http.response.start":
                status, answered = message["status"], True
                message["headers"] = [*message.get("headers", ()), (b"x-request-id", request_id.encode())]
            try:
                await send(message)
            except Exception:  # the client has gone, or sent what is no request after this one
                lost = True
                raise

        self._metrics.in_flight.inc()
        try:
            await self._app(scope, receive, send_observed)
        except Exception as error:
            if lost:
                return
            self._log.write("error", id=request_id, path=scope["path"], error=type(error).__name__)
            if not answered:
                said = f"An unexpected error; the log has it under the request id {request_id}."
                await ProblemResponse(500, said)(scope, receive, send_observed)
            raise
        finally:
            self._metrics.in_flight.dec()
            took = time.perf_counter() - started
            route = getattr(scope.get("route"), "path", "unknown")
            self._metrics.requests.labels(route, status).inc()
            self._metrics.seconds.labels(route).observe(took)
            if status == 429:
                self._metrics.rejected.inc()
            if route not in self._quiet:
                fields = {
                    "method": scope["method"],
                    "path": scope["path"],
                    "status": status,
                    "ms": round(took * 1e3, 3),
                }
                self._log.write("request", id=request_id, **fields)
