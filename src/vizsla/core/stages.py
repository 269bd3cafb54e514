"""Stages: how long each part of an answer took."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from time import perf_counter
from typing import Any

MAX_STAGES = 200
"""Stages that are noted of one answer; a composition of many parts may have more."""


@dataclass(slots=True)
class Stage:
    """One step of an answer.

    Attributes
    ----------
    name : str
        The stage: "encode", "search", "score", "facets", "highlight", and the part that ran it.
    start_ms, ms : float
        When it began, from the beginning of the whole, and how long it took with what is within it.
    depth : int
        How many stages it is within.
    """

    name: str
    start_ms: float
    ms: float
    depth: int

    def to_dict(self) -> dict[str, Any]:
        """Return the stage as JSON has it."""
        return {"name": self.name, "start_ms": round(self.start_ms, 4), "ms": round(self.ms, 4), "depth": self.depth}


class StageTimer:
    """Notes stages in the order in which they began."""

    def __init__(self) -> None:
        self.stages: list[Stage] = []
        self._began, self._depth = perf_counter(), 0

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time a block."""
        if len(self.stages) >= MAX_STAGES:
            yield
            return
        began = perf_counter()
        noted = Stage(name, (began - self._began) * 1e3, 0.0, self._depth)
        self.stages.append(noted)
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            noted.ms = (perf_counter() - began) * 1e3


_UNTIMED = nullcontext()
STAGE_TIMER: ContextVar[StageTimer | None] = ContextVar("stages", default=None)
"""What notes the stages of this call; None where these were not asked for. Looked up without a call in between."""


def stage(name: str) -> AbstractContextManager[None]:
    """Return a block that is a stage where stages are noted; else one that does nothing."""
    timer = STAGE_TIMER.get()
    return _UNTIMED if timer is None else timer.stage(name)


@contextmanager
def timed_stages() -> Iterator[list[Stage]]:
    """Note the stages of the answers within the block.

    Examples
    --------
    >>> from vizsla import bm25
    >>> search = bm25({"f": "a fig", "p": "a pear"})
    >>> with timed_stages() as stages:
    ...     found = search("fig")
    >>> [(stage.name, stage.depth) for stage in stages]
    [('search: bm25', 0), ('encode: BagOfWords', 1)]
    """
    timer = StageTimer()
    token = STAGE_TIMER.set(timer)
    try:
        yield timer.stages
    finally:
        STAGE_TIMER.reset(token)
