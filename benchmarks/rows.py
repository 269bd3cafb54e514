"""One shape for all benchmarks: rows of ours against a peer's, a computed verdict, a table and JSON."""

from __future__ import annotations

import argparse
import json
import math
import operator
import re
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vizsla._internal.terminal import markdown_table

MET = {True: "yes", False: "NO", None: ""}
COMPARISONS = {">=": operator.ge, "<=": operator.le}


@dataclass(frozen=True)
class Row:
    """One comparison.

    Parameters
    ----------
    work : str
        What was done.
    ours : float or None
        Our figure, None where it could not be measured.
    peer : str
        Against whom, or against what limit.
    theirs : float or None
        The peer's figure; None when the peer cannot be installed or run.
    unit : str
        Of both figures.
    target : str
        What the ratio must be, such as ">= 1.5"; empty for a figure without a goal.
    lower_is_better : bool
        For times and bytes: the ratio is then theirs / ours. It is better when larger either way.
    note : str
        Why a figure is missing.
    """

    work: str
    ours: float | None
    peer: str
    theirs: float | None
    unit: str
    target: str = ""
    lower_is_better: bool = True
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """How many times better ours is."""
        above, below = (self.theirs, self.ours) if self.lower_is_better else (self.ours, self.theirs)
        if above is None or below is None:
            return None
        return above / below if below else math.inf

    @property
    def met(self) -> bool | None:
        """Whether the ratio meets the target; a row without a peer does not, and one without a target is not asked."""
        if not self.target:
            return None
        match = re.fullmatch(r"(>=|<=) ([0-9.e+-]+)", self.target)
        if match is None:
            raise ValueError(f"A target must look like '>= 1.5'. Got {self.target!r}.")
        return self.ratio is not None and bool(COMPARISONS[match[1]](self.ratio, float(match[2])))

    def to_dict(self) -> dict[str, Any]:
        """Return the row as the JSON file holds it."""
        ratio = self.ratio if self.ratio is None or math.isfinite(self.ratio) else None
        row = {"work": self.work, "ours": _rounded(self.ours), "peer": self.peer, "theirs": _rounded(self.theirs)}
        row |= {"unit": self.unit, "ratio": _rounded(ratio), "target": self.target, "met": self.met}
        return row | ({"note": self.note} if self.note else {})


def arguments(name: str, *, own: Callable[[argparse.ArgumentParser], None] | None = None) -> argparse.Namespace:
    """Read the arguments that every benchmark has; `own` adds more."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="small data: shows that everything runs")
    size.add_argument("--full", action="store_true", help="more repeats and larger data")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there")
    if own is not None:
        own(parser)
    return parser.parse_args()


def report(rows: Sequence[Row], file: Path | None) -> None:
    """Print the table; with `file`, also write the rows as JSON."""
    header = ["work", "ours", "peer", "theirs", "unit", "ratio", "target", "met"]
    cells = [
        [r.work, _cell(r.ours), r.peer, _cell(r.theirs), r.unit, _cell(r.ratio), r.target, MET[r.met]] for r in rows
    ]
    print(markdown_table(header, cells))
    for row in rows:
        if row.note:
            print(f"{row.work} / {row.peer}: {row.note}")
    if file is not None:
        file.write_text(json.dumps([row.to_dict() for row in rows], indent=1, ensure_ascii=False) + "\n")


def told(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield the rows, and print each when it comes: what takes hours is not to be lost."""
    for row in rows:
        print(row.work, _cell(row.ours), row.unit, flush=True)
        yield row


def median(values: Sequence[float]) -> float | None:
    """Return the median, or None of nothing."""
    return statistics.median(values) if values else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")


def _cell(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
