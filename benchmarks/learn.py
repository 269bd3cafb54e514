"""`learn` against every method by itself, a dictionary of past clicks, and a fusion with equal weights.

    python -m benchmarks.learn                       # 30,000 items and 50,000 clicks
    python -m benchmarks.learn --items 4000 --clicks 7000 --seeds 3   # smaller, and learned three times
    python -m benchmarks.learn --keep rows --seeds 0   # the other rows alone; kept, so that a stopped run goes on

The log is drawn by `benchmarks.dated_log` from three real sets; its last month is held out and is not seen by `learn`,
which splits what comes before by itself. CPU seconds are reported, since other processes may run beside it.
"""

from __future__ import annotations

import argparse
import resource
import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from pathlib import Path
from time import perf_counter, process_time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from benchmarks.dated_log import DatedLog, LogShape, dated_log
from vizsla._internal.terminal import markdown_table
from vizsla.autopilot.learn import learn
from vizsla.autopilot.proposals import Workshop, proposed
from vizsla.autopilot.searches import Searches
from vizsla.compose.weighted_sum import Sum
from vizsla.core.candidates import Candidates, Stats
from vizsla.data.dataset import Dataset
from vizsla.learning.query_mix import Mix

EQUAL_PARTS = ("bm25_fields", "tokens", "tfidf_clicks", "tree", "memory")
SLICES = {"all": ("repeated", "warm", "cold"), "repeated": ("repeated",), "new": ("warm", "cold")}


class Row(NamedTuple):
    """A system: nDCG@10 of every held-out search, and CPU seconds to build it."""

    name: str
    values: NDArray[np.float64]
    seconds: float


class Rows:
    """Measured rows, kept in a folder where one is given.

    Parameters
    ----------
    folder : Path, optional
        Where each row is a file, named by the log's shape and the row.
    shape : object
        How the log was drawn, or the name of a set.
    """

    def __init__(self, folder: Path | None, shape: object):
        self._folder, self._shape = folder, sha256(str(shape).encode()).hexdigest()[:12]

    def get(self, name: str, measure: Callable[[], tuple[NDArray[np.float64], float]]) -> Row:
        """Return a row: read, or measured and kept."""
        file = None if self._folder is None else self._folder / f"{self._shape} {name}.npz"
        if file is not None and file.exists():
            with np.load(file) as known:
                return Row(name, known["values"], float(known["seconds"]))
        values, seconds = measure()
        print(f"{name}: {values.mean():.3f}, {seconds:.1f} CPU s", file=sys.stderr, flush=True)
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            np.savez(file, values=values, seconds=seconds)
        return Row(name, values, seconds)


def held_searches(log: DatedLog) -> Searches:
    """Return the searches of the last month, each with the item that was clicked."""
    past = log.past
    numbers = past.item_ids.find_all(log.items)
    shape = (len(log.texts), len(past.item_ids))
    wanted = csr_array((np.ones(len(numbers), np.float32), (np.arange(len(numbers)), numbers)), shape=shape)
    asked = {query.text for query in past.queries}
    clicked = np.bincount(past.clicks.indices, minlength=shape[1]) > 0
    kinds = [
        "repeated" if text in asked else "warm" if clicked[item] else "cold"
        for text, item in zip(log.texts, numbers.tolist(), strict=True)
    ]
    shares = [kinds.count(kind) / len(kinds) for kind in ("repeated", "warm", "cold")]
    return Searches(log.texts, wanted, np.array(kinds), Mix(shares[0], shares[1], shares[2], "times"))


def dictionary_then(past: Dataset, searches: Searches, base: Candidates) -> Candidates:
    """Return, for each different text, the items that were clicked for it, most clicks first, and then the base's."""
    texts = [query.text for query in past.queries]
    clicks: dict[str, Counter[int]] = defaultdict(Counter)
    for query, item in zip(past.events.queries.tolist(), past.events.items.tolist(), strict=True):
        clicks[texts[query]][item] += 1
    rows = []
    for at, text in enumerate(dict.fromkeys(searches.texts)):
        known = [item for item, _ in clicks[text].most_common(10)]
        found = base.items[base.offsets[at] : base.offsets[at + 1]].tolist()
        rows.append([*known, *(item for item in found if item not in known)][:10])
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    items = np.array([item for row in rows for item in row], np.int32)
    return Candidates.unchecked(offsets, items, None, past.item_ids, Stats())


def single_rows(past: Dataset, searches: Searches, kept: Rows) -> list[Row]:
    """Build every method by itself on the whole past, then a dictionary before BM25F, and an equal sum."""
    workshop = Workshop(past, proposed(past))

    def single(name: str) -> tuple[NDArray[np.float64], float]:
        start = process_time()
        built = workshop.built(name)
        seconds = process_time() - start
        return searches.measure(searches.answers(built)), seconds

    def dictionary() -> tuple[NDArray[np.float64], float]:
        start = process_time()
        answers = dictionary_then(past, searches, searches.answers(workshop.built("bm25_fields")))
        return searches.measure(answers), process_time() - start

    rows = [kept.get(name, partial(single, name)) for name in workshop.candidates]
    rows.append(kept.get("dictionary, then bm25_fields", dictionary))
    rows.append(kept.get("equal weights", lambda: equal_row(workshop, searches)))
    return rows


def equal_row(workshop: Workshop, searches: Searches) -> tuple[NDArray[np.float64], float]:
    """Add the z-scores of one method of each family."""
    parts = [(1 / len(EQUAL_PARTS), workshop.built(name).normalized("zscore")) for name in EQUAL_PARTS]
    return searches.measure(searches.answers(Sum(parts))), 0.0


def table(rows: list[Row], searches: Searches) -> str:
    """Return the rows with nDCG@10 on every slice, and how `learn`, the last row, differs."""
    ours, lines = rows[-1], []
    for row in rows:
        cells = [row.name]
        for kinds in SLICES.values():
            kept = np.isin(searches.kinds, kinds)
            value = searches.interval(row.values, kept).mean
            gain = searches.interval(ours.values - row.values, kept)
            mark = "" if row is ours or not gain.significant else "−" if gain.mean > 0 else "+"
            cells.append(f"{value:.3f}{mark}")
        lines.append([*cells, f"{row.seconds:.1f}"])
    return markdown_table(["system", *SLICES, "CPU s"], lines)


def run(shape: LogShape, *, time: str, seeds: int, keep: Path | None) -> str:
    """Draw a log, measure all rows, and return Markdown."""
    log = dated_log(shape)
    searches = held_searches(log)
    rows = single_rows(log.past, searches, Rows(keep, shape))
    if not seeds:
        return table(rows, searches)
    for seed in reversed(range(seeds)):
        start, began = process_time(), perf_counter()
        made = learn(log.past, time=time, seed=seed, watch=lambda one: print(one, file=sys.stderr, flush=True))
        seconds, wall = process_time() - start, perf_counter() - began
        name = f"learn, seed {seed}" if seed else "learn"
        rows.append(Row(name, searches.measure(searches.answers(made)), seconds))
    report = made.report
    reported = report.measured[0]
    counts = Counter(searches.kinds.tolist())
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    said = [
        f"{shape}. {len(searches):,} held-out searches: {dict(counts)}. Peak memory {memory:.1f} GB.",
        f"`learn` took {wall:.0f} s of time.",
        "",
        table(rows, searches),
        "",
        f"Winner: `{report.winner}`.",
        "",
        f"Its own report: {reported.quality:.3f} ({reported.low:.3f} to {reported.high:.3f}); from choosing to "
        f"reporting it lost {report.shrinkage:+.3f} ({report.shrinkage_low:+.3f} to {report.shrinkage_high:+.3f}).",
    ]
    return "\n".join(said)


def main() -> None:
    """Run and print Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=LogShape.items)
    parser.add_argument("--clicks", type=int, default=LogShape.clicks)
    parser.add_argument("--seeds", type=int, default=1, help="how often to learn, each time with another seed")
    parser.add_argument("--time", default="10m")
    parser.add_argument("--keep", type=Path, help="a folder for measured rows, which are not measured again")
    given = parser.parse_args()
    shape = LogShape(items=given.items, clicks=given.clicks)
    print(run(shape, time=given.time, seeds=given.seeds, keep=given.keep))


if __name__ == "__main__":
    main()
