"""A worker seen from outside: it may crash, hang or grow, and is then started anew."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.support.stuck import Watched

ROOT = Path(__file__).resolve().parents[2]
HANG = 20.0
"""CPU seconds after which a case counts as stuck: what else the machine does must not decide."""
ASLEEP = 300.0
"""Seconds of sleep after which a case counts as stuck; to be stopped, or to wait for a CPU, is no sleep."""
START = 600.0
"""CPU seconds that a worker may take to begin."""


class Child:
    """Runs cases of a target in a process, one after another.

    Parameters
    ----------
    target : str
        A name of `worker.TARGETS`.
    seed : int
        The campaign's.
    only : str
        A part of the names of what to try.
    """

    def __init__(self, target: str, seed: int, only: str = ""):
        self._arguments = [target, str(seed)], only
        self._process: subprocess.Popen | None = None
        self.starts = 0

    def run(self, case: int, kept: list[int] | None = None) -> dict[str, Any]:
        """Run a case and return its reply; a crash, a hang and a lack of memory are outcomes too."""
        if self._process is None:
            self._start()
        try:
            self._send({"case": case, "kept": kept})
            reply = self._receive(HANG)
        except (BrokenPipeError, EOFError):
            reply = {"outcome": f"failure: crash, exit code {self._ended()}"}
        except TimeoutError:
            reply = {"outcome": f"failure: hang over {HANG:g} s"}
        if reply["outcome"].startswith(("failure: crash", "failure: hang")) or "resident memory" in reply["outcome"]:
            self.close()
        return {"case": case, "said": [], "memory": 0, **reply}

    def close(self) -> None:
        """End the process and remove its folder."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            shutil.rmtree(self._scratch, ignore_errors=True)
        self._process = None

    def _start(self) -> None:
        self._scratch = tempfile.mkdtemp(prefix="vizsla-fuzz-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None)
        (target, seed), only = self._arguments
        command = [sys.executable, "-m", "tests.fuzz.worker", target, seed, self._scratch, only]
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "PYTHONFAULTHANDLER": "1"}
        errors = (Path(self._scratch) / "errors").open("wb")
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, cwd=ROOT, env=environment
        )
        self.starts += 1
        try:
            self._receive(START)
        except EOFError:
            raise RuntimeError(f"the worker does not start:\n{self.errors()}") from None

    def errors(self) -> str:
        """Return the end of what the process wrote to stderr."""
        return (Path(self._scratch) / "errors").read_text(errors="replace")[-3000:]

    def _send(self, asked: dict[str, Any]) -> None:
        self._process.stdin.write(json.dumps(asked).encode() + b"\n")
        self._process.stdin.flush()

    def _receive(self, patience: float) -> dict[str, Any]:
        watched = Watched(self._process.pid, asleep=ASLEEP, working=patience)
        while not select.select([self._process.stdout], [], [], 1.0)[0]:
            if watched.is_stuck():
                raise TimeoutError
        line = self._process.stdout.readline()
        if not line:
            raise EOFError
        return json.loads(line)

    def _ended(self) -> str:
        code = self._process.wait()
        written = self.errors().splitlines()
        lines = [line.strip() for line in written if "File" in line and "vizsla" in line]
        return f"{code}, {' < '.join(lines[:3])}; {' '.join(written[-1:]):.200}"
