"""Compare what benchmarks measure with the published figures, which `results/baseline.json` holds.

    python -m benchmarks.baseline                              # the quality benchmark, which needs no peers
    python -m benchmarks.baseline --run bm25 compose           # run these, and compare their rows
    python -m benchmarks.baseline --rows bm25=bm25.json        # compare rows that `--json` wrote before
    python -m benchmarks.baseline --run quality --update       # take what was measured as the new baseline

Exit code 1 says that a figure is worse than its baseline by more than its tolerance. Quality is compared as it is,
speed as the ratio to a peer that was measured in the same run: absolute times say nothing on another machine.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from vizsla._internal.terminal import markdown_table

FILE = Path(__file__).parent / "results" / "baseline.json"
OPTIONS = {"pq": ("--only", "scan")}
"""What a benchmark is run with, beside `--json`: the part that the baseline is about."""


@dataclass(frozen=True)
class Figure:
    """One published figure.

    Parameters
    ----------
    benchmark : str
        The module of `benchmarks` that measures it.
    work : str
        What was done, as the benchmark's row says it: data set, split, measure and system, or the task that was timed.
    peer : str
        Against what a ratio was measured, as the row says it; empty for our own figures, whatever stands beside them.
    figure : {"ours", "ratio"}
        Which number of the row it is: our own, or how many times better it is than the peer's.
    value : float
        The published number.
    better : {"higher", "lower"}
        Which way it improves. A ratio is always better when higher.
    tolerance : float
        How much worse it may be, in the same unit.
    machine : {"any", "avx512", "avx2"}
        Where it was measured. Speed of another kind of machine is not compared.
    source : str
        "measured" if the value came from a run of this command, else the page that published it.
    """

    benchmark: str
    work: str
    peer: str
    figure: str
    value: float
    better: str = "higher"
    tolerance: float = 0.0005
    machine: str = "any"
    source: str = "measured"

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What the figure is of."""
        return self.benchmark, self.work, self.peer, self.figure

    def verdict(self, found: float) -> str:
        """Return "WORSE" if the found number is worse beyond the tolerance, else "better" or "same"."""
        gain = found - self.value if self.better == "higher" else self.value - found
        if gain < -self.tolerance - 1e-12:
            return "WORSE"
        return "better" if gain > self.tolerance else "same"


def load(file: Path = FILE) -> list[Figure]:
    """Read the published figures."""
    return [Figure(**row) for row in json.loads(file.read_text(encoding="utf-8"))]


def save(figures: Iterable[Figure], file: Path = FILE) -> None:
    """Write the published figures, one per line, in the order of their keys."""
    lines = [json.dumps(asdict(figure), ensure_ascii=False) for figure in sorted(figures, key=lambda one: one.key)]
    file.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


def compare(
    figures: Iterable[Figure], measured: Mapping[str, list[dict[str, Any]]], machine: str
) -> list[tuple[Figure, float | None, str]]:
    """Return each figure of the benchmarks that were measured, with the number that was found and a verdict.

    A figure that a benchmark no longer gives is "MISSING", which counts as worse. A ratio whose peer is not installed
    is "no peer", which does not.
    """
    found = {
        (name, row["work"], peer): row
        for name, rows in measured.items()
        for row in rows
        for peer in (row["peer"], "")  # our own figure is the same beside every peer
    }
    compared = []
    for figure in figures:
        if figure.benchmark not in measured:
            continue
        row = found.get((figure.benchmark, figure.work, figure.peer))
        value = None if row is None else row[figure.figure]
        if figure.machine not in ("any", machine):
            verdict = f"other machine ({figure.machine})"
        elif value is None:
            verdict = "no peer" if row is not None and figure.figure == "ratio" else "MISSING"
        else:
            verdict = figure.verdict(value)
        compared.append((figure, value, verdict))
    return compared


def updated(figures: Iterable[Figure], measured: Mapping[str, list[dict[str, Any]]], machine: str) -> list[Figure]:
    """Return the figures with the values that were measured; rows of the quality benchmark that are new are added."""
    figures = list(figures)
    values = {figure.key: value for figure, value, _ in compare(figures, measured, machine) if value is not None}
    kept = [
        replace(figure, value=values[figure.key], source="measured")
        if figure.key in values and figure.machine in ("any", machine)
        else figure
        for figure in figures
    ]
    known = {figure.key for figure in figures}
    new = [Figure("quality", row["work"], "", "ours", row["ours"]) for row in measured.get("quality", [])]
    return kept + [figure for figure in new if figure.key not in known]


def machine_kind() -> str:
    """Return "avx512" or "avx2", by what this processor has."""
    cpu = Path("/proc/cpuinfo")
    return "avx512" if cpu.exists() and "avx512f" in cpu.read_text() else "avx2"


def run(name: str) -> list[dict[str, Any]]:
    """Run a benchmark and return its rows."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.json"
        command = [sys.executable, "-m", f"benchmarks.{name}", *OPTIONS.get(name, ()), "--json", str(file)]
        subprocess.run(command, check=True)
        return list(json.loads(file.read_text(encoding="utf-8")))


def main(arguments: list[str] | None = None) -> int:
    """Compare, print, and return the exit code."""
    options = _arguments(arguments)
    figures, machine = load(options.baseline), machine_kind()
    measured = {name: json.loads(Path(file).read_text(encoding="utf-8")) for name, file in options.rows}
    for name in options.run or ([] if measured else ["quality"]):
        measured[name] = run(name)
    compared = compare(figures, measured, machine)
    if options.update:
        save(updated(figures, measured, machine), options.baseline)
    header = ["benchmark", "work", "peer", "figure", "baseline", "now", "now / baseline", "verdict"]
    print(markdown_table(header, [_cells(*one) for one in compared]))
    bad = [one for one in compared if one[2].isupper()]
    print(f"{len(compared)} figures compared, {len(bad)} worse or missing.")
    return int(bool(bad) and not options.update)


def _cells(figure: Figure, value: float | None, verdict: str) -> list[str]:
    now = "–" if value is None else f"{value:.4g}"
    ratio = "–" if value is None or not figure.value else f"{value / figure.value:.3f}"
    return [figure.benchmark, figure.work, figure.peer, figure.figure, f"{figure.value:.4g}", now, ratio, verdict]


def _arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.baseline")
    parser.add_argument("--run", nargs="+", metavar="NAME", help="benchmarks to run (default: quality)")
    parser.add_argument(
        "--rows", nargs="+", default=[], type=_named_file, metavar="NAME=FILE", help="rows that `--json` has written"
    )
    parser.add_argument("--update", action="store_true", help="take what was measured as the new baseline")
    parser.add_argument("--baseline", type=Path, default=FILE, metavar="FILE", help="the published figures")
    return parser.parse_args(arguments)


def _named_file(text: str) -> tuple[str, str]:
    name, separator, file = text.partition("=")
    if not (name and separator and file):
        raise argparse.ArgumentTypeError(f"must look like bm25=rows.json. Got {text!r}.")
    return name, file


if __name__ == "__main__":
    sys.exit(main())
