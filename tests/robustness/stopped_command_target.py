"""Target "stops": every verb of the command line, and Ctrl-C at any moment of it, from outside as a terminal sends it.

The command ends soon, with 130 and no stack trace, or with 0 if it was done. What it was to write is whole or absent,
what was there before is as it was, and nothing is left in the folder for temporary files.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from tests.robustness.command_data import make_data
from tests.support.interrupts import started, tree_cpu_seconds
from tests.support.stuck import Watched, finished
from tests.support.tiny_bert import tiny_bert

COMMANDS = [
    "complete items.tsv fi",
    "index bm25 items.tsv -o out",
    "index bm25 items.tsv -o old --overwrite",
    "index tokens items.tsv -o out",
    "index statistics items.tsv -o out",
    "index tfidf items.tsv -o out",
    "index dense items.tsv --encoder lsa --dim 32 -o out",
    "index dense items.tsv --encoder lsa --dim 32 --index hnsw -o out",
    "index pq dense -o out --bytes 8 --rounds 3",
    "index anchors items.tsv --scorer dense --anchors 60 -o out",
    "train tokens items.tsv --clicks clicks.tsv --epochs 3 -o out",
    "train xrlinear items.tsv --clicks clicks.tsv -o out",
    "train jpq pq --clicks clicks.tsv --epochs 2 -o out",
    "adapt pefa dense --clicks clicks.tsv -o out",
    "adapt pefa-xl dense --clicks clicks.tsv -o out",
    "add tokens new.tsv -o out",
    "add tokens new.tsv -o old --overwrite",
    "remove tokens --from ids.txt -o out",
    "search bm25 --queries few.tsv -k 3",
    "search items.tsv w1",
    "search bm25 w1 --late vectors.db --data items.tsv",
    "engine search live w1",
    "eval bm25 items.tsv --queries queries.tsv --qrels qrels.txt --trec out",
    "compare items.tsv bm25 dense --queries queries.tsv --qrels qrels.txt --latency-queries 20",
    "sweep hnsw items.tsv --queries queries.tsv --qrels qrels.txt --plot out.png",
    "compose a|b --let a=bm25 --let b=dense -o out",
    "compose a+b --let a=bm25 --let b=dense --learn items.tsv --clicks clicks.tsv -o out",
    "runs fuse one=made.run two=made.run -o out",
    "split items.tsv --clicks clicks.tsv -o out --held-out 0.3 --cold 0",
    "inspect bm25",
    "check bm25 dense",
    "convert dataset items.tsv out --to jsonl",
    "convert dataset items.tsv out --to beir --clicks clicks.tsv",
]
SLOW = [
    "demo fig",
    "diagnose bm25 items.tsv --queries queries.tsv --qrels qrels.txt --json out",
    "export onnx model --cross-encoder -o out",
    "train cross-encoder items.tsv --clicks clicks.tsv --model model --max-tokens 32 --max-steps 4 -o out",
    "train sidr items.tsv --clicks clicks.tsv --model model --max-tokens 32 --max-steps 4 -o out",
]
STRIDE = 7
"""From one case to the next, so that a few of them are of many verbs."""
SOON = 2.0
"""CPU seconds from Ctrl-C to the end: about one, and as much again for a machine that does other things too."""
LATE = 1.1
"""The last moment, in usual CPU times of a command: some are done by then."""
RESUMED = (".encoding", ".scoring")
"""How names end of what a command leaves on purpose: it goes on from there when it is called again."""
FIRST = ("vizsla/__init__.py", "vizsla/__main__.py", "vizsla/cli/__init__.py")
"""What Python runs before the command can have a say about Ctrl-C."""
SIDECARS = ("-wal", "-shm")
"""How names end of what SQLite keeps beside a database that was not closed, and reads at the next opening."""
KEEP_THE_BEST = ("train jpq", "train cross-encoder")
"""Stopped, these write the best model so far: whole, and another than at the end."""


class StoppedCommandTarget:
    """Runs commands in a folder of its own; a case's number and the seed decide which, and when it is stopped."""

    commands = COMMANDS

    def __init__(self, scratch: Path, seed: int, only: str = ""):
        self.folder, self.temporary, self.seed = scratch / "files", scratch / "temporary", seed
        self.folder.mkdir()
        self._prepare()
        self.spare = shutil.copytree(self.folder, scratch / "spare")
        self.chosen = [command for command in self.commands if only in command]
        self.before = _contents(self.folder)
        self.usual: dict[str, tuple[float, dict[str, str]]] = {}

    def _prepare(self) -> None:
        make_data(self.folder)

    def run(self, case: int, kept: list[int] | None = None) -> tuple[str, list[str]]:
        """Run one command and stop it; the first time, it is also run to its end."""
        command = self.chosen[case * STRIDE % len(self.chosen)]
        if command not in self.usual:
            code, said, seconds, _ = self._stopped(command, np.inf)
            self.usual[command] = seconds, self._changed_then_restored()
            if code:
                return f"failure: exit code {code} without Ctrl-C", [command, said]
        usual, _ = self.usual[command]
        moment = usual * LATE * float(np.random.default_rng([self.seed, case]).random())
        code, said, _, after = self._stopped(command, moment)
        lines = [command, f"Ctrl-C after {moment:.3f} of {usual:.3f} CPU s, the end {after:.3f} later", said]
        problem = self._problem(command, code, said, after)
        return f"failure: {problem}" if problem else "refused" if code else "answered", lines

    def _stopped(self, command: str, moment: float) -> tuple[int, str, float, float]:
        """Return the exit code, what was said, and the CPU seconds: all, and those from Ctrl-C on."""
        shutil.rmtree(self.temporary, ignore_errors=True)
        self.temporary.mkdir()
        told = {"TMPDIR": str(self.temporary), "HOME": str(self.temporary.parent)}
        arguments = [sys.executable, "-m", "vizsla", *command.split()]
        return stopped(arguments, moment, cwd=self.folder, env=os.environ | told)

    def _problem(self, command: str, code: int, said: str, after: float) -> str:
        left = sorted(entry.name for entry in self.temporary.iterdir())
        changed = self._changed_then_restored()
        if code not in (0, 130, -signal.SIGINT):
            return "" if _of_python(said) else f"exit code {code}"
        if ("Traceback" in said or "Exception" in said) and not _of_python(said):
            return f"a stack trace, exit code {code}"
        if after > SOON:
            return f"{after:.1f} CPU s to the end"
        if left:
            return f"temporary files are left: {left}"
        return self._half_written(command, changed)

    def _half_written(self, command: str, changed: dict[str, str]) -> str:
        """Name what is neither as it was nor as it is after an undisturbed run."""
        _, whole = self.usual[command]
        tops = {_top(name) for name in changed if not _top(name).endswith(RESUMED)}
        if command.startswith(KEEP_THE_BEST):
            changed, whole = (dict.fromkeys(files, "") for files in (changed, whole))
        odd = [top for top in tops if _under(top, changed) != _under(top, whole)]
        return f"half-written: {odd}" if odd else ""

    def _changed_then_restored(self) -> dict[str, str]:
        """Return the files that differ from those at the beginning, and put everything back as it was."""
        now = _contents(self.folder)
        changed = {name: now.get(name, "gone") for name in now.keys() | self.before.keys()}
        changed = {name: text for name, text in changed.items() if self.before.get(name) != text}
        if changed:
            shutil.rmtree(self.folder)
            shutil.copytree(self.spare, self.folder)
        return changed


class SlowStoppedTarget(StoppedCommandTarget):
    """The verbs that import torch, or take a minute; the extras `neural` and `onnx` must be there."""

    commands = SLOW

    def _prepare(self) -> None:
        super()._prepare()
        tiny_bert(self.folder / "model")


def stopped(arguments: list[str], moment: float, **options: Any) -> tuple[int, str, float, float]:
    """Send Ctrl-C to a command once it and its children have worked for so many CPU seconds.

    Returns the exit code, what was said, and the CPU seconds: all, and those from Ctrl-C on.
    """
    before = _ended_children()
    process = started(arguments, stdin=subprocess.DEVNULL, **options)
    worked = _wait_until(process.pid, moment)
    process.send_signal(signal.SIGINT)
    said = finished(process)[1].decode(errors="replace")
    seconds = _ended_children() - before
    return process.returncode, said, seconds, seconds - worked


def _wait_until(pid: int, moment: float) -> float:
    """Return the CPU seconds of a process and its descendants when they have worked for so long, or it has ended."""
    worked, watched = 0.0, Watched(pid)
    while worked < moment and watched.state != "Z" and not watched.is_stuck():
        worked = max(worked, tree_cpu_seconds(pid))
        time.sleep(0.001)
    return worked


def _ended_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _of_python(said: str) -> bool:
    """Whether Python itself was still starting: of the library no line was reached but the very first."""
    places = re.findall(r'File "([^"]*vizsla/[^"]*)"', said)
    return "Traceback" in said and all(place.endswith(FIRST) for place in places)


def _contents(folder: Path) -> dict[str, str]:
    """Return what tells files apart: their bytes, or that they are whole where times and durations are written in."""
    files = [file for file in folder.rglob("*") if not file.is_dir() and not file.name.endswith(SIDECARS)]
    return {str(file.relative_to(folder)): _mark(file) for file in files}


def _mark(file: Path) -> str:
    data = file.read_bytes()
    if file.suffix == ".png":
        return "whole" if data.endswith(b"IEND\xaeB`\x82") else "cut short"
    if file.name in ("vectors.db", "catalog.sqlite"):  # they grow with use, and SQLite keeps them sound
        return "database"
    if file.name in ("manifest.json", "provenance.json"):
        return ",".join(json.loads(data))
    return sha256(data).hexdigest()


def _top(name: str) -> str:
    return name.partition("/")[0]


def _under(top: str, files: dict[str, str]) -> dict[str, str]:
    return {name: mark for name, mark in files.items() if _top(name) == top}
