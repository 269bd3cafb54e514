"""Target "savers": three to six processes save to one path while others load; every save succeeds, the last wins."""

from __future__ import annotations

import os
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.artifacts.tiny import Tiny
from vizsla.artifacts import atomic_folder
from vizsla.artifacts.artifact import load
from vizsla.errors import VizslaError

FAILED, UNTYPED = 3, 4


class SaverTarget:
    """Runs cases in a folder of its own.

    Parameters
    ----------
    scratch : Path
        An empty folder.
    seed : int
        What the numbers of cases are drawn with.
    only : str
        Not used.
    """

    def __init__(self, scratch: Path, seed: int, only: str = ""):
        warnings.simplefilter("ignore")
        self.scratch, self.seed = scratch, seed
        self.rivals = [Tiny.make(number, n=3, inner=bool(number % 2)) for number in range(6)]
        self.answers = [rival.answer() for rival in self.rivals]
        self._exchange = atomic_folder.exchange

    def run(self, case: int, kept: list[int] | None = None) -> tuple[str, list[str]]:
        """Run a case; return the outcome and how many took part."""
        random = np.random.default_rng([self.seed, case])
        folder = self.scratch / f"case {case}"
        path, writers, saves = folder / "saved", int(random.integers(3, 7)), int(random.integers(2, 8))
        exchange = bool(random.random() < 0.6)
        atomic_folder.exchange = self._exchange if exchange else lambda one, other: False
        said = [f"{writers} writers, {saves} saves each, {'with' if exchange else 'without'} exchange"]
        folder.mkdir()
        if random.random() < 0.5:
            self.rivals[0].save(path)
        there = path.exists()
        begin, go = os.pipe()
        children = [
            _forked(begin, go, lambda rival=rival: _save(rival, path, saves)) for rival in self.rivals[:writers]
        ]
        children += [_forked(begin, go, lambda: self._load(path, saves * 2))] if there else []
        os.close(begin)
        os.close(go)  # all of them begin now
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        if any(codes):
            return f"failure: exit codes {codes}", said
        left = sorted(entry.name for entry in folder.iterdir())
        if left != ["saved"] or load(path).answer() not in self.answers[:writers]:
            return f"failure: {left} is left", said
        return "saved", said

    def _load(self, path: Path, count: int) -> None:
        for _ in range(count):
            if load(path).answer() not in self.answers:
                raise AssertionError("a mixture was loaded")


def _save(rival: Tiny, path: Path, count: int) -> None:
    for _ in range(count):
        rival.save(path, overwrite=True)


def _forked(begin: int, go: int, action: Callable[[], None]) -> int:
    child = os.fork()
    if child:
        return child
    code = UNTYPED
    try:
        os.close(go)
        os.read(begin, 1)  # nothing comes: the pipe's end is the sign
        action()
        code = 0
    except VizslaError as error:
        os.write(2, f"{error}\n".encode())
        code = FAILED
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        os._exit(code)
