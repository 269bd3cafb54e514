"""Target "artifacts": every kind that the contract suite knows, mutated, loaded and used.

A case's number and the seed decide everything. One case in four is raw damage, one is damage that nobody checks for
(`verify=False`), and two are hostile values whose checksums were made right again.
"""

from __future__ import annotations

import os
import shutil
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import vizsla
from tests.contract.test_artifact import ARTIFACTS
from tests.fuzz.agreement import agree
from tests.fuzz.picking import NothingLeftError
from tests.fuzz.resigning import resign
from tests.fuzz.steps import SIGNED, Step, damage, flip_bits
from tests.fuzz.uses import UseError, attempt, described, use
from vizsla.artifacts.inspect import check, inspect
from vizsla.errors import FormatError, VizslaError

NAMES = list(ARTIFACTS)
MODES = ("damaged", "unverified", "signed", "signed")
MOST_STEPS = 3
UNDONE = (NothingLeftError, ValueError, TypeError, LookupError, AttributeError, OSError, RecursionError)
"""What a step, which never calls the library, may stumble over in what earlier steps left: it is then left out."""


class ArtifactTarget:
    """Runs cases in a folder of its own.

    Parameters
    ----------
    scratch : Path
        An empty folder.
    seed : int
        What the numbers of cases are drawn with.
    only : str
        A part of the names of the kinds to try; empty for all.
    """

    def __init__(self, scratch: Path, seed: int, only: str = ""):
        warnings.simplefilter("ignore")
        np.seterr(all="ignore")
        self.scratch, self.seed = scratch, seed
        self.names = [name for name in NAMES if only in name]

    def about(self, case: int) -> tuple[str, str, int]:
        """Return the kind, the mode and the number of steps of a case."""
        name, turn = self.names[case % len(self.names)], case // len(self.names)
        steps = 1 + int(self._random(case, -1).choice(MOST_STEPS, p=[0.6, 0.25, 0.15]))
        return name, MODES[turn % len(MODES)], steps

    def steps(self, case: int) -> int:
        """Return how many steps there are to leave out."""
        return self.about(case)[2]

    def run(self, case: int, kept: list[int] | None = None) -> tuple[str, list[str]]:
        """Run a case, or only these of its steps; return the outcome and what the steps did."""
        name, mode, count = self.about(case)
        copy, said = self.scratch / "mutated", [f"{name}, {mode}"]
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self._saved(name), copy, copy_function=os.link)
        for step in range(count) if kept is None else kept:
            with suppress(*UNDONE):
                said.append(self._step(case, step, mode)(copy, self._random(case, step)))
        if mode == "signed":
            resign(copy)
            if self._random(case, -2).random() < 0.5:
                agree(copy)
                resign(copy)
        try:
            return self._outcome(name, mode, copy, self._random(case, -3)), said
        except UseError as failure:
            return f"failure: {failure}", said

    def _random(self, case: int, step: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, case, step + 3])

    def _step(self, case: int, step: int, mode: str) -> Step:
        if mode != "signed":
            return damage if mode == "damaged" else flip_bits
        weights = np.array(list(SIGNED.values()))
        return list(SIGNED)[self._random(case, step + 100).choice(len(SIGNED), p=weights / weights.sum())]

    @cache  # noqa: B019 - one target a process
    def _saved(self, name: str) -> Path:
        return ARTIFACTS[name]()[0].save(self.scratch / f"saved {NAMES.index(name)}")

    @cache  # noqa: B019
    def _answer(self, name: str) -> tuple[Any, Any]:
        artifact, answer = ARTIFACTS[name]()
        return answer, answer(artifact)

    def _outcome(self, name: str, mode: str, copy: Path, random: np.random.Generator) -> str:
        answer, expected = self._answer(name)
        if random.random() < 0.25:
            attempt("inspect", lambda: str(inspect(copy)))
            attempt("check", lambda: check(copy))
        try:
            verify = mode == "damaged" or (mode == "signed" and random.random() < 0.2)
            loaded = vizsla.load(copy, mmap=bool(random.integers(2)), verify=verify)
        except FormatError:
            return "refused"
        except VizslaError as error:
            raise UseError(f"load: not a FormatError but {described(error)}") from error
        except Exception as error:
            raise UseError(f"load: {described(error)}") from error
        if mode == "damaged":
            return self._unharmed(loaded, answer, expected)
        use(loaded, answer, self.scratch, random)
        return "answered"

    def _unharmed(self, loaded: Any, answer: Any, expected: Any) -> str:
        """Damage that a load did not notice must not have changed anything."""
        try:
            same = answer(loaded) == expected
        except Exception as error:
            raise UseError(f"answer: {described(error)}") from error
        if not same:
            raise UseError("load: damage was not noticed and the answer is another one")
        return "unharmed"
