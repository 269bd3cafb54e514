"""Admission control: how many requests are accepted, the threads that answer them, and joined calls of slow members."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from vizsla.errors import VizslaError

T = TypeVar("T")

FORGOTTEN = 0.998
"""What is left of the time of joined requests with each request that was answered alone."""


class BusyError(VizslaError):
    """The service has accepted as many requests as it can answer in time; try again later."""


class TimeLimitError(VizslaError):
    """A request was not answered within the time limit."""


class Admission:
    """Counts accepted requests and runs them in threads of its own.

    A request is accepted while fewer than `threads + max_waiting` are in flight, and refused at once otherwise, so
    that the time in the queue stays bounded. A call that exceeds the time limit is answered, but keeps its place
    until its thread is free again: the count never understates the work.

    Parameters
    ----------
    threads : int
        How many calls run at a time.
    max_waiting : int
        How many more may wait.
    timeout_s : float
        The time limit of a call, waiting included.
    """

    def __init__(self, threads: int, max_waiting: int, timeout_s: float):
        self.threads, self.limit, self.timeout_s = threads, threads + max_waiting, timeout_s
        self.in_flight = self.rejected = 0
        self._lock = threading.Lock()
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="vizsla-serve")

    @property
    def is_full(self) -> bool:
        """Whether the next request is refused."""
        return self.in_flight >= self.limit

    async def run(self, call: Callable[..., T], *arguments: Any, **named: Any) -> T:
        """Return what the call returns; raise BusyError when too much is in flight, TimeLimitError when it is late."""
        return await self.wait(lambda: self._executor.submit(call, *arguments, **named))

    async def wait(self, submit: Callable[[], Future[T]]) -> T:
        """Return the result of work that is submitted once the request is accepted."""
        with self._lock:
            if self.is_full:
                self.rejected += 1
                raise BusyError(f"{self.in_flight} requests are in flight. Try again later.")
            self.in_flight += 1
        try:
            work = submit()
        except BaseException:
            self._release(None)
            raise
        work.add_done_callback(self._release)
        future = asyncio.wrap_future(work)
        try:
            async with asyncio.timeout(self.timeout_s) as limit:
                return await asyncio.shield(future)
        except TimeoutError:
            if not limit.expired():
                raise
            work.cancel()  # has an effect while it waits; a call that runs keeps its place until it ends
            future.add_done_callback(lambda done: done.cancelled() or done.exception())
            raise TimeLimitError(f"The request took longer than {self.timeout_s:g} s.") from None

    def submit(self, call: Callable[..., T], *arguments: Any) -> Future[T]:
        """Run a call in a thread without counting it: for work that counted requests wait for."""
        return self._executor.submit(call, *arguments)

    def _release(self, _: object) -> None:
        with self._lock:
            self.in_flight -= 1

    def close(self) -> None:
        """Finish what was accepted, and end the threads."""
        self._executor.shutdown(wait=True, cancel_futures=False)


class Batcher:
    """Joins concurrent searches of one slow member into one call, where that was measured to pay.

    While a batch runs, further requests with the same key collect; the next batch takes them all: the window is the
    time that the last call took, and a lone request waits for none. Encoding sixteen queries at once takes a
    transformer a fraction of sixteen single calls. A member that answers within `slow_ms`, or whose batches take longer
    per request than the threads would one by one, is asked by a thread per request.

    Parameters
    ----------
    admission : Admission
        Counts and runs.
    slow_ms : float
        From which time per search on a member's requests are joined.
    max_batch : int
        How many requests a batch has at most.
    """

    def __init__(self, admission: Admission, *, slow_ms: float = 2.0, max_batch: int = 32):
        self._admission, self._slow_ms, self._max_batch = admission, slow_ms, max_batch
        self._alone: dict[str, float] = {}
        self._joined: dict[str, float] = {}
        self._waiting: dict[Hashable, list[tuple[Any, Future[Any]]]] = {}
        self._running: set[Hashable] = set()
        self._lock = threading.Lock()
        self.batches = self.batched = 0

    def joins(self, member: str) -> bool:
        """Return whether requests of a member are joined now."""
        alone = self._alone.get(member, 0.0)
        return alone >= self._slow_ms and self._joined.get(member, 0.0) * self._admission.threads <= alone

    async def run(
        self, member: str, key: Callable[[], Hashable], call: Callable[[list[Any]], list[Any]], request: Any
    ) -> Any:
        """Return the answer to a request: `call` answers a list of requests that have the same key.

        Parameters
        ----------
        member : str
            Whose times decide whether requests are joined.
        key : function
            Returns what requests that share a call have in common; asked for only where requests are joined.
        call : function
            Takes requests, returns an answer for each.
        request : object
            The request.
        """
        if not self.joins(member):
            return (await self._admission.run(self._timed, member, call, [request]))[0]
        return await self._admission.wait(lambda: self._join(member, (member, key()), call, request))

    def _timed(self, member: str, call: Callable[[list[Any]], list[Any]], requests: list[Any]) -> list[Any]:
        started = time.perf_counter()
        answers = call(requests)
        ms = (time.perf_counter() - started) * 1e3 / len(requests)
        times = self._alone if len(requests) == 1 else self._joined
        times[member] = 0.8 * times.get(member, ms) + 0.2 * ms
        if len(requests) == 1 and member in self._joined:
            self._joined[member] *= FORGOTTEN  # what a busy moment made slow is tried again
        return answers

    def _join(self, member: str, key: Hashable, call: Callable[[list[Any]], list[Any]], request: Any) -> Future[Any]:
        future: Future[Any] = Future()
        with self._lock:
            self._waiting.setdefault(key, []).append((request, future))
            start = key not in self._running
            self._running.add(key)
        if start:
            self._admission.submit(self._drain, member, key, call)
        return future

    def _drain(self, member: str, key: Hashable, call: Callable[[list[Any]], list[Any]]) -> None:
        while True:
            with self._lock:
                waiting = self._waiting.get(key, [])
                taken, self._waiting[key] = waiting[: self._max_batch], waiting[self._max_batch :]
                if not taken:
                    del self._waiting[key]
                    self._running.discard(key)
                    return
            batch = [(request, future) for request, future in taken if future.set_running_or_notify_cancel()]
            self._answer(member, call, batch)

    def _answer(
        self, member: str, call: Callable[[list[Any]], list[Any]], batch: list[tuple[Any, Future[Any]]]
    ) -> None:
        if not batch:
            return
        self.batches, self.batched = self.batches + 1, self.batched + len(batch)
        try:
            answers = self._timed(member, call, [request for request, _ in batch])
        except Exception as error:
            if len(batch) == 1:
                batch[0][1].set_exception(error)
            for pair in batch if len(batch) > 1 else ():  # one bad request must not fail the others
                self._answer(member, call, [pair])
            return
        for (_, future), answer in zip(batch, answers, strict=True):
            future.set_result(answer)
