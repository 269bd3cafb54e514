"""LearningReport: what was tried, what won, by how much on searches that nothing was chosen by, and where it loses."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from vizsla._internal.terminal import abbreviate, print_table
from vizsla.autopilot.searches import Difference95, Searches
from vizsla.data.dataset import Dataset
from vizsla.evaluation.report import write_text
from vizsla.learning.query_mix import QUERY_KINDS
from vizsla.text.languages import LANGUAGES, clear_language
from vizsla.typing import BoolArray, Float64Array

KINDS_SAID = {"repeated": "repeated", "warm": "new, item with clicks", "cold": "new, item without clicks"}
"""What kinds of searches are called where people read."""
HEAD_CLICKS = 5
"""Minimum number of earlier clicks of a head query."""
MIN_LANGUAGE_SEARCHES = 10
"""Fewer searches that are clearly in a language are no slice."""
MAX_REGRESSIONS = 10
SHOWN_HITS = 3


@dataclass(frozen=True)
class Measured:
    """A system on the report split.

    Parameters
    ----------
    name, expression : str
        Its name and its description.
    quality, low, high : float
        nDCG@10 with its 95 % confidence interval.
    chosen : float or None
        nDCG@10 on the split that chose; None for a system that was only reported.
    ms, bytes_per_item, calls : float or None
        The cost of a search.
    behind, behind_low, behind_high : float
        Its loss against the winner, with the interval; below 0 if it is better.
    """

    name: str
    expression: str
    quality: float
    low: float
    high: float
    chosen: float | None
    ms: float | None
    bytes_per_item: float | None
    calls: float | None
    behind: float
    behind_low: float
    behind_high: float

    @property
    def verdict(self) -> str:
        """Whether the winner is better, worse, or equal to within noise."""
        if self.behind_low <= 0 <= self.behind_high:
            return "equal to within noise"
        return "worse" if self.behind > 0 else "better"


@dataclass
class LearningReport:
    """Everything that a search was chosen by: the `report` of what `learn` returns.

    Parameters
    ----------
    summary : str
        The winner and the evidence for it, in sentences.
    winner : str
        Its expression over `members`.
    members : dict
        The recipe of each candidate that the winner is made of, as JSON.
    data, split : dict
        The training data, and their splits.
    limits : str
        The limits, as they were read.
    trials, finalists : list of dict
        Every trial, and what could have won.
    measured : list of Measured
        The winner, its parts and its rivals on the report split.
    shrinkage, shrinkage_low, shrinkage_high : float
        nDCG@10 on the split that chose less that on the report split, with its interval.
    slices : list of dict
        The winner and the baseline on kinds of searches.
    regressions : list of dict
        The searches on which the winner is behind the baseline most, as texts.
    notes : list of str
        Methods that could not be trained, or were left out.
    seconds : float
        How long it took.
    lock : dict
        From which the winner is built again.
    curve : list of dict
        Quality of the best learning part after shares of the clicks.
    advice : list of str
        Data that would improve the result.
    """

    summary: str
    winner: str
    members: dict[str, Any]
    data: dict[str, Any]
    split: dict[str, Any]
    limits: str
    trials: list[dict[str, Any]]
    finalists: list[dict[str, Any]]
    measured: list[Measured]
    shrinkage: float
    shrinkage_low: float
    shrinkage_high: float
    slices: list[dict[str, Any]]
    regressions: list[dict[str, Any]]
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0
    lock: dict[str, Any] = field(default_factory=dict)
    curve: list[dict[str, float]] = field(default_factory=list)
    advice: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return self.summary

    def show(self) -> None:
        """Print the summary, the systems and the slices."""
        print(self.summary)
        header = ["system", "nDCG@10", "95 %", "to winner", "ms p95", "bytes/item"]
        print_table(header, [_row(each, best=not at) for at, each in enumerate(self.measured)])
        rows = [[one["slice"], f"{one['searches']:,}", f"{one['winner']:.3f}", f"{one['baseline']:.3f}",
                 f"{one['gain']:+.3f}", f"{one['low']:+.2f} {one['high']:+.2f}"] for one in self.slices]  # fmt: skip
        if rows:
            print_table(["searches", "count", "winner", "baseline", "gain", "95 %"], rows)
        for note in [*self.notes, *self.advice]:
            print(note)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return asdict(self)

    def to_json(self, path: str | Path | None = None) -> str:
        """Return `to_dict` as JSON; with `path`, also write it there."""
        text = json.dumps(self.to_dict(), indent=1, ensure_ascii=False, default=_plain) + "\n"
        return write_text(text, path)

    def to_html(self, path: str | Path | None = None) -> str:
        """Return a page that needs neither scripts nor a network; with `path`, also write it there."""
        from vizsla.autopilot.report_page import learning_page

        return write_text(learning_page(json.loads(self.to_json())), path)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else str(value)


def signed(value: float) -> str:
    """Return a difference with its sign, and none below 0 that is shown as 0.

    Examples
    --------
    >>> signed(-0.0001), signed(-0.25)
    ('+0.000', '-0.250')
    """
    return f"{round(value, 3) + 0.0:+.3f}"


def _row(one: Measured, *, best: bool) -> list[str]:
    costs = (one.ms, one.bytes_per_item)
    said = [
        "–" if cost is None or np.isnan(cost) else f"{cost:,.2f}" if cost < 10 else f"{cost:,.0f}" for cost in costs
    ]
    verdict = "" if best else f"{signed(-one.behind)} {one.verdict.split()[0]}"
    return [one.name, f"{one.quality:.3f}", f"{one.low:.3f}–{one.high:.3f}", verdict, *said]


def measured_system(
    name: str,
    expression: str,
    searches: Searches,
    values: Float64Array,
    winner: Float64Array,
    *,
    chosen: float | None = None,
    cost: Any = None,
) -> Measured:
    """Return a system's figures beside those of the winner."""
    own, behind = searches.interval(values), searches.interval(winner - values)
    ms = None if cost is None or np.isnan(cost.ms) else cost.ms
    return Measured(
        name, expression, own.mean, own.low, own.high, chosen, ms,
        None if cost is None else cost.bytes_per_item, None if cost is None else cost.calls,
        behind.mean, behind.low, behind.high,
    )  # fmt: skip


def shrinkage(choose: Searches, chosen: Float64Array, report: Searches, reported: Float64Array) -> Difference95:
    """Return what a figure lost from the split that chose to the one that reports."""
    before, after = choose.interval(chosen), report.interval(reported)
    return Difference95(before.mean - after.mean, float(np.hypot(before.error, after.error)))


def slices_of(
    searches: Searches, counts: Mapping[str, float], winner: Float64Array, baseline: Float64Array
) -> list[dict[str, Any]]:
    """Compare the winner with the baseline on kinds of searches.

    Parameters
    ----------
    searches : Searches
        The report split.
    counts : mapping of str to float
        How many clicks each text had before.
    winner, baseline : arrays
        nDCG@10 of every search.
    """
    words = np.array([len(text.split()) for text in searches.texts])
    before = np.array([counts.get(text, 0.0) for text in searches.texts])
    kept: dict[str, BoolArray] = {"all": np.ones(len(searches), np.bool_)}
    kept |= {KINDS_SAID[kind]: np.asarray(searches.kinds == kind) for kind in QUERY_KINDS}
    kept |= {
        f"head ({HEAD_CLICKS} clicks or more)": before >= HEAD_CLICKS,
        "tail": (before > 0) & (before < HEAD_CLICKS),
        "1 word": words <= 1,
        "2 or 3 words": (words > 1) & (words < 4),
        "4 words or more": words >= 4,
        "not ASCII": np.array([not text.isascii() for text in searches.texts]),
        **_languages(searches.texts),
    }
    found = []
    for name, rows in kept.items():
        if not rows.any():
            continue
        gain = searches.interval(winner - baseline, rows)
        found.append({
            "slice": name, "searches": int(rows.sum()), "winner": searches.interval(winner, rows).mean,
            "baseline": searches.interval(baseline, rows).mean, "gain": gain.mean, "low": max(gain.low, -1.0),
            "high": min(gain.high, 1.0),
        })  # fmt: skip
    return found


def _languages(texts: list[str]) -> dict[str, BoolArray]:
    """Return which searches are clearly in which language, where there are several."""
    spoken = np.array([clear_language(text.lower().split(), LANGUAGES) for text in texts])
    counts = Counter(at for at in spoken.tolist() if at >= 0)
    common = [at for at, count in counts.most_common() if count >= MIN_LANGUAGE_SEARCHES]
    return {f"in {LANGUAGES[at].capitalize()}": spoken == at for at in common} if len(common) > 1 else {}


def regressions_of(
    searches: Searches,
    dataset: Dataset,
    winner: tuple[Float64Array, Any],
    baseline: tuple[Float64Array, Any],
) -> list[dict[str, Any]]:
    """Return the texts on which the winner is behind the baseline most, with both answers and what was clicked.

    Parameters
    ----------
    searches : Searches
        The report split.
    dataset : Dataset
        Whose items they are about.
    winner, baseline : pair of array and Candidates
        The values, and the answers to the different texts.
    """
    losses = baseline[0] - winner[0]
    different = list(dict.fromkeys(searches.texts))
    place = {text: at for at, text in enumerate(different)}
    found: list[dict[str, Any]] = []
    for row in np.argsort(-losses, kind="stable").tolist():
        text = searches.texts[row]
        if losses[row] <= 0 or len(found) == MAX_REGRESSIONS:
            break
        if any(one["query"] == text for one in found):
            continue
        wanted = searches.wanted.indices[searches.wanted.indptr[row] : searches.wanted.indptr[row + 1]]
        found.append({
            "query": text, "kind": KINDS_SAID[str(searches.kinds[row])], "loss": float(losses[row]),
            "wanted": _texts(dataset, wanted),
            "winner": _texts(dataset, _hits(winner[1], place[text])),
            "baseline": _texts(dataset, _hits(baseline[1], place[text])),
        })  # fmt: skip
    return found


def _hits(found: Any, row: int) -> Any:
    return found.items[found.offsets[row] : found.offsets[row + 1]][:SHOWN_HITS]


def _texts(dataset: Dataset, numbers: Any) -> list[str]:
    chosen = np.asarray(numbers, np.int64).tolist()[:SHOWN_HITS]
    return [f"{item.id}: {abbreviate(item.default_text())}" for item in (dataset.items[at] for at in chosen)]
