"""Placement: where the tasks of long work run. The work is partitioned and merged by what calls it."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sized
from contextlib import closing
from itertools import islice
from statistics import median
from types import TracebackType
from typing import Any, Self, TypeVar

from vizsla._internal.terminal import progress
from vizsla.errors import InputError

T = TypeVar("T")
R = TypeVar("R")

TASKS_AHEAD = 2
"""Tasks that are handed out per worker: one runs and one waits, so that the payloads of the others are not made yet."""
SLOW_FACTOR, SLOW_S = 4.0, 30.0
"""A task that takes this many times the median of those before it, and this many seconds, is started once more."""
RUN_S, LEAST_RUN_S, RUN_TASKS = 1.0, 0.25, 32
"""Small tasks are handed out in runs of about so many seconds, at most so many tasks."""


class Placement(ABC):
    """A number of workers that run functions; answers come in the order of the tasks.

    A function that is mapped must return the same for the same task, wherever and however often it runs: tasks of a
    worker that was lost, and those that take far longer than others, are run again. Make one with
    `vizsla.scale.connect`.

    Parameters
    ----------
    workers : int
        How many tasks run at a time.
    """

    def __init__(self, workers: int):
        self.workers = workers
        self.repeated = 0

    def map(
        self,
        function: Callable[..., R],
        tasks: Iterable[T],
        *,
        common: Any = None,
        memory_mb: float | None = None,
        total: int | None = None,
        what: str = "working",
        small: bool = False,
    ) -> Iterator[R]:
        """Yield ``function(task)`` of each task, in the order of the tasks.

        Tasks are taken from the iterable as workers become free. Ctrl-C, and an error of a task, cancel those that are
        not done.

        Parameters
        ----------
        function : callable
            A function of a module, since it may run in another process.
        tasks : iterable
            What it is called with.
        common : object, optional
            A second argument, the same for all tasks; it is sent to a machine once.
        memory_mb : float, optional
            What a task takes at most. A worker process keeps to it: a task that needs more fails.
        total : int, optional
            How many tasks there are, for the progress bar.
        what : str
            What the progress bar says.
        small : bool
            Whether tasks and their results are small, so that several may be handed out at once: those that take
            milliseconds are, in runs of about a second. The results are the same.
        """
        self._check_memory(memory_mb)
        count = total if total is not None or not isinstance(tasks, Sized) else len(tasks)
        if small:
            mapped = self._in_runs(function, iter(tasks), common, memory_mb, count)
        else:
            mapped = self._mapped(function, iter(tasks), common, memory_mb)
        return progress(mapped, total=count, what=what)

    def _in_runs(
        self, function: Callable[..., R], tasks: Iterator[T], common: Any, memory_mb: float | None, count: int | None
    ) -> Iterator[R]:
        runs = _Runs(tasks, count, self.workers)
        with closing(self._mapped(_RunOf(function), runs, common, memory_mb)) as made:
            for results, seconds in made:
                runs.measured(seconds / len(results))
                yield from results

    def _mapped(
        self, function: Callable[..., R], tasks: Iterator[T], common: Any, memory_mb: float | None
    ) -> Generator[R, None, None]:
        job = self._begin(function, common, memory_mb)
        running: deque[_Running] = deque()
        times: list[float] = []
        try:
            while True:
                while len(running) < TASKS_AHEAD * self.workers:
                    task = next(tasks, _END)
                    if task is _END:
                        break
                    running.append(_Running(task, [self._submit(job, task)]))
                if not running:
                    return
                result = self._awaited(job, running[0], times)
                running.popleft()
                yield result
        finally:
            for each in running:
                for handle in each.handles:
                    self._cancel(handle)
            self._end(job)

    def _awaited(self, job: Any, running: _Running, times: list[float]) -> Any:
        """Return the result of the oldest task, which is started a second time when it takes far longer than others."""
        patience = max(SLOW_S, SLOW_FACTOR * median(times)) if times else None
        done = self._first_done(running.handles, patience)
        if done is None:
            self.repeated += 1
            running.handles.append(self._submit(job, running.task))
            done = self._first_done(running.handles, None)
        result = self._result(job, running.task, done)
        times.append(time.monotonic() - running.began)
        for handle in running.handles:
            if handle is not done:
                self._cancel(handle)
        return result

    def _check_memory(self, memory_mb: float | None) -> None:
        """Raise where no worker has this much memory."""
        if memory_mb is not None and (isinstance(memory_mb, bool) or not memory_mb > 0):
            raise InputError(f"`memory_mb` must be above 0. Got {memory_mb!r}.")

    def _begin(self, function: Callable[..., Any], common: Any, memory_mb: float | None) -> Any:
        """Return what `_submit` needs of a mapped function."""
        return function, common, memory_mb

    @abstractmethod
    def _submit(self, job: Any, task: Any) -> Any:
        """Hand a task out, and return its handle."""

    @abstractmethod
    def _first_done(self, handles: list[Any], timeout_s: float | None) -> Any:
        """Return the handle that is done first; None when the time is over."""

    @abstractmethod
    def _result(self, job: Any, task: Any, handle: Any) -> Any:
        """Return the result of a task that is done, after running it again if its worker was lost."""

    @abstractmethod
    def _cancel(self, handle: Any) -> None:
        """Give a task up."""

    def _end(self, job: Any) -> None:  # noqa: B027
        """Let go of what `_begin` made."""

    @abstractmethod
    def start(self, kind: Callable[..., Any], *arguments: Any, memory_mb: float | None = None) -> Any:
        """Start an object in a worker of its own, which is started again if it dies; return its `Resident`."""

    @abstractmethod
    def close(self) -> None:
        """End the workers that this placement has started."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


_END: Any = object()


class _Runs:
    """Yields tasks in runs: single ones until it is known how long one takes, then about a second of them.

    Parameters
    ----------
    tasks : iterator
        The tasks.
    count : int, optional
        How many there are, so that the last runs are shared among the workers.
    workers : int
        How many tasks run at a time.
    """

    def __init__(self, tasks: Iterator[Any], count: int | None, workers: int):
        self._tasks, self._left, self._workers = tasks, count, workers
        self._seconds = float("inf")

    def measured(self, seconds: float) -> None:
        """Note how long a task took; the first ones of a worker are the slowest, since it imports what they need."""
        self._seconds = max(min(self._seconds, seconds), 1e-9)

    def __iter__(self) -> _Runs:
        return self

    def __next__(self) -> list[Any]:
        wanted = RUN_S / self._seconds
        if self._left is not None:
            wanted = max(LEAST_RUN_S / self._seconds, min(wanted, self._left / self._workers))
        run = list(islice(self._tasks, int(min(max(wanted, 1), RUN_TASKS))))
        if not run:
            raise StopIteration
        if self._left is not None:
            self._left -= len(run)
        return run


class _RunOf:
    """A mapped function that is called with each task of a run; returns the results, and the seconds they took."""

    def __init__(self, function: Callable[..., Any]):
        self._function = function

    def __call__(self, run: list[Any], *common: Any) -> tuple[list[Any], float]:
        began = time.perf_counter()
        return [self._function(task, *common) for task in run], time.perf_counter() - began


class _Running:
    """A task that was handed out, once or twice."""

    def __init__(self, task: Any, handles: list[Any]):
        self.task, self.handles, self.began = task, handles, time.monotonic()


class Resident(ABC):
    """An object that lives in a worker: its methods are called there, one call at a time."""

    @abstractmethod
    def call(self, method: str, *arguments: Any) -> Any:
        """Begin a call, and return its handle."""

    @abstractmethod
    def wait(self, handles: list[Any], timeout_s: float | None) -> list[bool]:
        """Wait until calls of this and other residents of the placement are done; return which are."""

    @abstractmethod
    def result(self, handle: Any) -> Any:
        """Return what a call has returned, or raise what it has raised; of a lost worker, WorkerLostError."""

    @abstractmethod
    def stop(self) -> None:
        """End the object."""
