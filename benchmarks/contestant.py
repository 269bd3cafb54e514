"""A contestant: ours or a peer, in a process of its own, asked by lines of JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = Path(__file__).resolve().parent / "peers"
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}


class ContestantError(Exception):
    """A contestant could not run; the message is the last line of its complaint."""


class Contestant:
    """Starts `benchmarks/peers/SCRIPT.py`, which answers each line of JSON with one.

    Contestants stay alive between questions, so that rounds of measurement can be interleaved: noise of the machine
    then falls on all alike.

    Parameters
    ----------
    script : str
        The file's name, without `.py`.
    environment : str, optional
        The folder of the virtual environment; the one we run in unless given.
    """

    def __init__(self, script: str, environment: str | None = None):
        python = Path(sys.executable) if environment is None else ROOT / environment / "bin" / "python"
        if not python.exists():
            raise ContestantError(f"{environment} is missing: run benchmarks/peers/setup.sh")
        self._stderr = tempfile.TemporaryFile("w+")  # noqa: SIM115  (a pipe that nobody reads would fill up)
        self._process = subprocess.Popen(
            [str(python), str(SCRIPTS / f"{script}.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            text=True,
            env=os.environ | ONE_THREAD,
        )

    def ask(self, what: str, **task: Any) -> Any:
        """Let the contestant do one thing and return what it says."""
        assert self._process.stdin and self._process.stdout
        try:
            self._process.stdin.write(json.dumps({"do": what, **task}) + "\n")
            self._process.stdin.flush()
            return json.loads(self._process.stdout.readline())
        except (BrokenPipeError, ValueError):
            raise ContestantError(self._complaint()) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()
        self._stderr.close()

    def _complaint(self) -> str:
        self._process.kill()
        self._process.communicate()
        self._stderr.seek(0)
        return (self._stderr.read().strip().splitlines() or ["it ended without a message"])[-1]
