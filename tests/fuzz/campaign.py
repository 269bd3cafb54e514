"""Many cases in child processes; what must not happen is collected, made small, and reported once a fault."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import Queue
from typing import Any

from tests.fuzz.child import Child

Said = Callable[[str], None]


@dataclass
class Finding:
    """A fault: the first case that showed it, made small, and how often it was met."""

    signature: str
    case: int
    outcome: str
    said: list[str]
    kept: list[int] | None = None
    count: int = 1
    alone: bool = True

    def __str__(self) -> str:
        replay = f"case {self.case}" + (f", steps {self.kept}" if self.kept is not None else "")
        note = "" if self.alone else " (not when it runs alone: a case before it may be the culprit)"
        return "\n".join([f"{self.outcome} [{self.count} ×, {replay}]{note}", *(f"    {line}" for line in self.said)])


@dataclass
class Report:
    """What a campaign saw."""

    seed: int
    outcomes: Counter[str] = field(default_factory=Counter)
    findings: dict[str, Finding] = field(default_factory=dict)
    memory: int = 0

    @property
    def cases(self) -> int:
        """How many cases were run."""
        return sum(self.outcomes.values())

    def to_dict(self) -> dict[str, Any]:
        """Return what was seen as JSON holds it."""
        faults = [vars(finding) for finding in self.findings.values()]
        return {"seed": self.seed, "outcomes": dict(self.outcomes), "memory": self.memory, "faults": faults}

    def __str__(self) -> str:
        counts = ", ".join(f"{count:,} {outcome}" for outcome, count in self.outcomes.most_common())
        head = f"{self.cases:,} cases of seed {self.seed}: {counts}; at most {self.memory >> 20} MB of memory."
        return "\n".join([head, *map(str, self.findings.values())])


def run(
    target: str, *, count: int, seed: int = 0, first: int = 0, jobs: int = 1, only: str = "", say: Said | None = None
) -> Report:
    """Run `count` cases from number `first` on.

    Parameters
    ----------
    target : str
        What is tried: a name of `worker.TARGETS`.
    count, first : int
        Which cases; a case is the same whatever runs before it.
    seed : int
        What the cases are drawn with.
    jobs : int
        How many processes at a time.
    only : str
        A part of the names of what to try, such as a kind.
    say : callable, optional
        Gets a line now and then.
    """
    report, children = Report(seed), [Child(target, seed, only) for _ in range(jobs)]
    free: Queue[Child] = Queue()
    for child in children:
        free.put(child)
    try:
        with ThreadPoolExecutor(jobs) as pool:
            replies = pool.map(lambda case: _run_case(free, case), _numbers(first, count))
            for reply in replies:
                new = _note(report, reply)
                if say is not None and new is not None:
                    say(f"a fault: {new}")
                if say is not None and report.cases % 1000 == 0:
                    say(f"{report.cases:,} cases, {len(report.findings)} faults, {report.memory >> 20} MB")
        for finding in report.findings.values():
            _make_small(finding, children[0])
    finally:
        for child in children:
            child.close()
    return report


def _numbers(first: int, count: int) -> Iterable[int]:
    return range(first, first + count)


def _run_case(free: Queue[Child], case: int) -> dict[str, Any]:
    child = free.get()
    try:
        return child.run(case)
    finally:
        free.put(child)


def _note(report: Report, reply: dict[str, Any]) -> Finding | None:
    """Count a reply; return the fault if it is a new one."""
    outcome = reply["outcome"]
    report.memory = max(report.memory, reply["memory"])
    report.outcomes[outcome.partition(":")[0]] += 1
    if outcome.startswith("failure"):
        known = report.findings.get(signature(outcome))
        if known is None:
            found = Finding(signature(outcome), reply["case"], outcome, reply["said"])
            report.findings[signature(outcome)] = found
            return found
        known.count += 1
    return None


def signature(outcome: str) -> str:
    """Return what two outcomes of one fault have in common: the error and its place, without the values."""
    error = re.search(r"(\w+) at ([\w.]+:\d+)", outcome)
    return f"{error[1]} {error[2]}" if error else re.sub(r"\d+", "#", outcome)


def _make_small(finding: Finding, child: Child) -> None:
    """Leave out steps for as long as the case still fails in the same way."""
    again = child.run(finding.case)
    finding.alone = signature(again["outcome"]) == finding.signature
    finding.said = again["said"] or finding.said
    kept, left = list(range(3)), True
    while finding.alone and left:
        left = False
        for step in kept if len(kept) > 1 else ():
            fewer = [other for other in kept if other != step]
            tried = child.run(finding.case, fewer)
            if signature(tried["outcome"]) == finding.signature:
                finding.outcome, finding.said, finding.kept = tried["outcome"], tried["said"], fewer
                kept, left = fewer, True
                break
