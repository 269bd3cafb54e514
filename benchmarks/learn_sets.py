"""`learn` on sets with test queries of their own, against every method by hand: tldr, squad-sent, debian-deps, demo.

    python -m benchmarks.learn_sets                          # all four, 5 minutes each
    python -m benchmarks.learn_sets --sets tldr --limit "2 ms, 4 kB/item" --keep rows

`learn` gets the training clicks alone, and the stored MiniLM vectors where a set has them. By hand, each candidate is
built with its defaults on the same clicks, and the best families are added with equal weights. nDCG@10 of all test
queries as they come, of those about items with clicks (seen), and about items without (unseen).
"""

from __future__ import annotations

import argparse
import sys
import warnings
from functools import partial
from pathlib import Path
from time import process_time

import numpy as np
from numpy.typing import NDArray

from benchmarks.fusion_sets import SEEN, UNSEEN, FusionSet, open_set
from benchmarks.learn import Row, Rows
from benchmarks.pefa_collection import Collection
from vizsla._internal.terminal import markdown_table
from vizsla.autopilot.learn import learn
from vizsla.autopilot.limits import Limits, measured_cost
from vizsla.autopilot.proposals import Workshop, proposed
from vizsla.autopilot.searches import Searches
from vizsla.base.encoder import Encoder, FunctionEncoder
from vizsla.compose.weighted_sum import Sum
from vizsla.learning.query_mix import COLD, WARM, Mix

WITH_VECTORS = ("tldr", "squad-sent")
SETS = (*WITH_VECTORS, "debian-deps", "demo")
EQUAL_PARTS = ("bm25", "tfidf_clicks", "tree", "vectors_clicks")
SLICES = {"all": (WARM, COLD), SEEN: (WARM,), UNSEEN: (COLD,)}


def tested(one: FusionSet) -> Searches:
    """Return the test queries of both kinds."""
    from scipy.sparse import vstack

    texts, wanted, kinds = list[str](), [], list[str]()
    for split, kind in ((SEEN, WARM), (UNSEEN, COLD)):
        own, judged = one.texts(split), one.data.qrels(split).tocsr()
        wanted.append(judged[np.flatnonzero(np.diff(judged.indptr))])
        texts += own
        kinds += [kind] * len(own)
    share = kinds.count(COLD) / len(kinds)
    return Searches(texts, vstack(wanted).tocsr(), np.array(kinds), Mix(0.0, 1 - share, share))


def stored_vectors(name: str) -> Encoder:
    """Return an encoder that knows a collection's items and queries."""
    one = Collection(name)
    rows = dict(zip((item.default_text() for item in one.data.items), one.vectors, strict=True))

    def encoded(texts: list[str]) -> NDArray[np.float32]:
        return np.stack([rows[text] if text in rows else one.encoder.queries([text])[0] for text in texts])

    return FunctionEncoder(encoded, dim=one.vectors.shape[1], name=f"minilm {name}")


def by_hand(workshop: Workshop, searches: Searches, limits: Limits, kept: Rows) -> list[Row]:
    """Return every candidate that keeps the limits, and the sum of the best families with equal weights."""

    def single(name: str) -> tuple[NDArray[np.float64], float]:
        start = process_time()
        built = workshop.built(name)
        return searches.measure(searches.answers(built)), process_time() - start

    def equal() -> tuple[NDArray[np.float64], float]:
        names = [name for name in EQUAL_PARTS if name in workshop.candidates]
        parts = [(1 / len(names), workshop.built(name).normalized("zscore")) for name in names]
        return searches.measure(searches.answers(Sum(parts))), 0.0

    names = [name for name, one in workshop.candidates.items() if one.enters and not name.startswith("memory_")]
    if str(limits):
        names = [
            name for name in names if not limits.exceeded(measured_cost(workshop.built(name), searches.texts, calls=0))
        ]
    rows = [kept.get(name, partial(single, name)) for name in names]
    return rows if str(limits) else [*rows, kept.get("equal weights", equal)]


def run(name: str, given: argparse.Namespace) -> str:
    """Measure a set and return Markdown."""
    one = open_set(name)
    encoder = stored_vectors(name) if name in WITH_VECTORS else None
    searches = tested(one)
    workshop = Workshop(one.data, proposed(one.data, encoder=encoder))
    rows = by_hand(workshop, searches, Limits.parse(given.limit), Rows(given.keep, one.name))
    start = process_time()
    made = learn(
        one.data, time=given.time, limit=given.limit, encoder=encoder, seed=given.seed,
        watch=lambda said: print(said, file=sys.stderr, flush=True),
    )  # fmt: skip
    seconds = process_time() - start
    ours = Row("learn", searches.measure(searches.answers(made)), seconds)
    lines = []
    for row in [*sorted(rows, key=lambda each: -each.values.mean()), ours]:
        cells = [row.name]
        for kinds in SLICES.values():
            kept = np.isin(searches.kinds, kinds)
            gain = searches.interval(ours.values - row.values, kept)
            mark = "" if row is ours or not gain.significant else "−" if gain.mean > 0 else "+"
            cells.append(f"{searches.interval(row.values, kept).mean:.3f}{mark}")
        lines.append([*cells, f"{row.seconds:.1f}"])
    report = made.report
    best = max(rows, key=lambda row: row.values.mean())
    gain = searches.interval(ours.values - best.values)
    kinds = {kind: int((searches.kinds == kind).sum()) for kind in (WARM, COLD)}
    said = [
        f"## {one.name}", "",
        f"{len(searches):,} test queries ({kinds[WARM]:,} seen, {kinds[COLD]:,} unseen).",
        f"To the best by hand, {best.name}: {gain.mean:+.3f} ({gain.low:+.3f} to {gain.high:+.3f}).", "",
        markdown_table(["system", *SLICES, "CPU s"], lines), "",
        f"Winner: `{report.winner}`. {report.summary}", "",
        f"From choosing to reporting it lost {report.shrinkage:+.3f} ({report.shrinkage_low:+.3f} to "
        f"{report.shrinkage_high:+.3f}). {' '.join(report.notes)}", "",
    ]  # fmt: skip
    return "\n".join(said)


def main() -> None:
    """Run and print Markdown."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--time", default="5m")
    parser.add_argument("--limit", default="", help="as for `vizsla learn`")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="a folder for measured rows, which are not measured again")
    given = parser.parse_args()
    for name in given.sets:
        print(run(name, given), flush=True)


if __name__ == "__main__":
    main()
