"""Placement on this machine: threads, or processes."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from typing import Any

from vizsla.base.placement import Placement, Resident
from vizsla.errors import WorkerLostError
from vizsla.scale.bounded import NOT_GIVEN, call, call_within

ATTEMPTS = 4
"""How often a task is begun whose worker is lost each time."""


class LocalPlacement(Placement):
    """Threads of this process, or processes of this machine.

    Threads share memory and serve native work, which runs without the interpreter's lock. Processes serve functions in
    Python, and keep to the declared memory; a process that is lost is replaced, and its tasks are run again.

    Parameters
    ----------
    workers : int
        How many tasks run at a time.
    processes : bool
        Whether they run in processes.
    """

    def __init__(self, workers: int, *, processes: bool = False):
        super().__init__(workers)
        self.processes = processes
        self._residents: list[_ThreadResident] = []

    def __repr__(self) -> str:
        return f"LocalPlacement({self.workers} {'processes' if self.processes else 'threads'})"

    def _begin(self, function: Callable[..., Any], common: Any, memory_mb: float | None) -> Any:
        given = NOT_GIVEN if common is None else common
        return _Job(self.workers, function, given, memory_mb, processes=self.processes)

    def _submit(self, job: Any, task: Any) -> Future[Any]:
        submitted: Future[Any] = job.submit(task)
        return submitted

    def _first_done(self, handles: list[Any], timeout_s: float | None) -> Any:
        done, _ = wait(handles, timeout_s, FIRST_COMPLETED)
        return next((handle for handle in handles if handle in done), None)

    def _result(self, job: Any, task: Any, handle: Any) -> Any:
        for _ in range(ATTEMPTS - 1):
            try:
                return handle.result()
            except BrokenExecutor:
                job.renew()
                self.repeated += 1
                handle = job.submit(task)
        try:
            return handle.result()
        except BrokenExecutor as error:
            raise WorkerLostError(
                f"A task must leave its worker alive. Got {ATTEMPTS} lost workers for one task: it may need more "
                "memory than there is."
            ) from error

    def _cancel(self, handle: Any) -> None:
        handle.cancel()

    def _end(self, job: Any) -> None:
        job.end()

    def start(self, kind: Callable[..., Any], *arguments: Any, memory_mb: float | None = None) -> Resident:
        """Start an object in a thread of its own."""
        resident = _ThreadResident(kind, arguments)
        self._residents.append(resident)
        return resident

    def close(self) -> None:
        """End the threads of residents."""
        for resident in self._residents:
            resident.stop()
        self._residents = []


class _Job:
    """A mapped function and the workers that run it; processes are given what is common once, when they start."""

    def __init__(
        self, workers: int, function: Callable[..., Any], common: Any, memory_mb: float | None, *, processes: bool
    ):
        self._workers, self._function, self._common, self._memory_mb = workers, function, common, memory_mb
        self._processes = processes
        self._pool = self._made()
        self._given: list[Future[Any]] = []

    def _made(self) -> Executor:
        if not self._processes:
            return ThreadPoolExecutor(self._workers, thread_name_prefix="vizsla-worker")
        context = multiprocessing.get_context("spawn")  # a fork would copy threads' locks
        given = (self._function, self._common, self._memory_mb)
        return ProcessPoolExecutor(self._workers, mp_context=context, initializer=_begin_process, initargs=given)

    def submit(self, task: Any) -> Future[Any]:
        future = self._submitted(task)
        self._given = [*(each for each in self._given if not each.done()), future]
        return future

    def _submitted(self, task: Any) -> Future[Any]:
        if not self._processes:
            return self._pool.submit(call, self._function, task, self._common)
        try:
            return self._pool.submit(_call_in_process, task)
        except BrokenExecutor:
            self.renew()
            return self._pool.submit(_call_in_process, task)

    def renew(self) -> None:
        """Start new processes when one was lost, which ends the others."""
        if getattr(self._pool, "_broken", False):
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = self._made()

    def end(self) -> None:
        """End the workers. Of tasks that were given up, processes are ended, and threads end when these are done."""
        processes = list((getattr(self._pool, "_processes", None) or {}).values())
        running = [each for each in self._given if not each.done()]
        self._pool.shutdown(wait=not running, cancel_futures=True)
        for process in processes if running else ():
            process.kill()


_GIVEN: list[Any] = []
"""In a worker process: the function, what is common to its tasks, and how much memory one may take."""


def _begin_process(*given: Any) -> None:
    _GIVEN[:] = given


def _call_in_process(task: Any) -> Any:
    function, common, memory_mb = _GIVEN
    return call_within(function, task, common, memory_mb)


class _ThreadResident(Resident):
    """An object of this process, whose methods one thread calls; in a forked child a thread of the child."""

    def __init__(self, kind: Callable[..., Any], arguments: tuple[Any, ...]):
        self._begin_thread()
        self._object = self._thread.submit(kind, *arguments).result()

    def _begin_thread(self) -> None:
        self._thread, self._pid = ThreadPoolExecutor(1, thread_name_prefix="vizsla-resident"), os.getpid()

    def call(self, method: str, *arguments: Any) -> Future[Any]:
        if self._pid != os.getpid():
            self._begin_thread()
        return self._thread.submit(getattr(self._object, method), *arguments)

    def wait(self, handles: list[Any], timeout_s: float | None) -> list[bool]:
        done, _ = wait(handles, timeout_s)
        return [handle in done for handle in handles]

    def result(self, handle: Any) -> Any:
        return handle.result()

    def stop(self) -> None:
        if self._object is None:
            return
        close = getattr(self._object, "close", None)
        if close is not None:
            self.call("close").result()
        self._thread.shutdown(wait=True)
        self._object = None
