"""Run what a change must pass, one step after another, and say at the end which step failed and how long each took.

    python scripts/ci.py

A failed step does not keep the others from running, and the tests that failed are named again at the end, where a
log that was cut still shows them. The last line is for programs: pytest's closing line of the
main suite when every step passed, else `N passed, N failed`, in which a step without tests counts as one failure.
Called by .ci/run.
"""

import re
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STEPS = {
    "lint": ["lint"],
    "native tests under the address sanitizer": ["sanitize", "ARGS=--quick"],
    "integrations": ["test-integrations"],
    "test suite": ["test"],
}
COUNTS = re.compile(r"(\d+) (passed|failed|errors?)\b")
FAILED = re.compile(r"^(?:FAILED|ERROR) \S")
CLOSING = re.compile(r"^(?:=+ )?(?:\d+ \w+(?:, )?)+ in [\d.]+s\b.*$")


@dataclass
class Result:
    """How one step ended."""

    name: str
    code: int
    minutes: float
    cpu_minutes: float
    closing: str
    failed: list[str]

    @property
    def verdict(self) -> str:
        """A line for people."""
        word = "passed" if self.code == 0 else "FAILED"
        return f"{word}  {self.minutes:5.1f} min  {self.cpu_minutes:5.1f} CPU min  {self.name}"

    def count(self, *words: str) -> int:
        """Sum what pytest's closing line says about these outcomes."""
        return sum(int(number) for number, word in COUNTS.findall(self.closing) if word.rstrip("s") in words)

    @property
    def failures(self) -> int:
        """At least one, if the step failed."""
        return self.count("failed", "error") or int(self.code != 0)


def main() -> int:
    """Run every step; return 0 if all passed."""
    results = [run(name, targets) for name, targets in STEPS.items()]
    failed = sum(result.failures for result in results)
    print("\n== summary", *(line for result in results for line in [result.verdict, *result.failed]), sep="\n")
    whole = results[-1]
    counted = f"{whole.count('passed')} passed, {failed} failed"
    print(counted if failed else whole.closing or counted, flush=True)
    return int(failed > 0)


def run(name: str, targets: list[str]) -> Result:
    """Run a target of the Makefile, showing what it prints, and remember pytest's closing line."""
    print(f"\n== {name}: make {' '.join(targets)}", flush=True)
    start, worked, closing, failed = time.monotonic(), cpu_seconds(), "", []
    command = ["make", *targets]
    shown = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with subprocess.Popen(command, cwd=ROOT, text=True, errors="replace", **shown) as process:
        for line in process.stdout:
            print(line, end="", flush=True)
            closing = line.strip() if CLOSING.match(line) else closing
            failed += [line.rstrip()] if FAILED.match(line) else []
    minutes, cpu_minutes = (time.monotonic() - start) / 60, (cpu_seconds() - worked) / 60
    return Result(name, process.returncode, minutes, cpu_minutes, closing, failed)


def cpu_seconds() -> float:
    """How long the steps so far have worked: on a busy machine this says more than the clock."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())
