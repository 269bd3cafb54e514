"""Pages: the time of facets, orders and groups over catalogs of growing size; and how far confidence can be trusted.

``python -m benchmarks.facets counts [ITEMS ...]`` times ten facets of up to 10,000 values over 10,000 matches.
``python -m benchmarks.facets confidence [PLOT.png]`` learns confidence on the demo's train clicks and measures, on its
test queries and as many without an answer, calibration and precision against the share of queries that are answered.
"""

from __future__ import annotations

import sys
from time import process_time

import numpy as np

from vizsla.compose.confidence import calibration_error
from vizsla.core.catalog import Catalog
from vizsla.core.strings import Strings
from vizsla.data.columns import NumberColumn, TextColumn, table
from vizsla.data.metadata import ItemMetadata
from vizsla.demo.python_docs import python_docs
from vizsla.methods.bm25 import Bm25, bm25

MATCHES, VALUES, ROUNDS = 10_000, 10_000, 15
SHARES = (0.25, 0.5, 0.75, 1.0)


def world(items: int) -> Bm25:
    """Return BM25 over items of which 10,000 hold "fig", with ten fields of up to 10,000 values."""
    pick = np.random.default_rng(0)
    texts = ["fig tree" if n % (items // MATCHES) == 0 else f"word{n % 1000}" for n in range(items)]
    columns = {}
    for field in range(10):
        values = VALUES // (1 + field)
        codes = (pick.zipf(1.3, items) % values).astype(np.int32)
        if field % 2:
            columns[f"f{field}"] = NumberColumn(
                codes, np.arange(values) / 4, table([str(n / 4) for n in range(values)])
            )
        else:
            columns[f"f{field}"] = TextColumn(codes, table(sorted(f"value {n}" for n in range(values))))
    search = bm25(texts)
    search._items = Catalog(Strings.of(list(search.items)), ItemMetadata(columns, items))
    return search


def ms(search: Bm25, **options: object) -> float:
    """Return the CPU milliseconds of a page, the median of several rounds."""
    times = []
    for _ in range(ROUNDS):
        start = process_time()
        page = search.page("fig", 10, **options)
        times.append((process_time() - start) * 1e3)
    assert page.total == MATCHES and page.total_is_exact
    return float(np.median(times))


def counts(sizes: list[int]) -> None:
    """Print the CPU milliseconds of each kind of page."""
    names = [f"f{field}" for field in range(10)]
    ways = {
        "a page with its total": {},
        "10 facets by value": {"facets": names},
        "5 histograms": {"facets": dict.fromkeys(names[1::2], 20)},
        "sorted by a number": {"sort": "f1:desc"},
        "10 groups of 10,000 values": {"distinct": "f0"},
    }
    made = {size: world(size) for size in sizes}
    print("| " + " | ".join(["page of 10, CPU ms", *(f"{size:,} items" for size in sizes)]) + " |")
    print("|---|" + "---:|" * len(sizes))
    for way, options in ways.items():
        print(f"| {way} | " + " | ".join(f"{ms(made[size], **options):.2f}" for size in sizes) + " |")


def confidence(plot: str | None) -> None:
    """Print calibration and precision on the demo's test queries, half of them made unanswerable by a filter."""
    dataset = python_docs()
    search = bm25(dataset).with_confidence(dataset)
    print(search.report.summary)
    asked = [split for split in dataset.splits if split.startswith("test")]
    texts, ids = [query.text for query in dataset.queries], list(dataset.item_ids)
    matrix = sum(dataset.qrels(split) for split in asked).tocsr()
    rows = np.flatnonzero(np.diff(matrix.indptr)).tolist()
    judged = {row: {ids[item] for item in matrix[[row]].indices} for row in rows}
    sure, right = [], []
    every, hits = [], []
    for number, (query, wanted) in enumerate(sorted(judged.items())):
        hidden = number % 2 == 1
        allowed = None if not hidden else np.array([id not in wanted for id in search.items])
        found = search(texts[query], 10, where=allowed)[0]
        if not hidden:
            every += [hit.confidence for hit in found]
            hits += [hit.id in wanted for hit in found]
        if found:
            sure.append(found[0].confidence)
            right.append(found[0].id in wanted)
    confidences, clicked = np.array(every), np.array(hits)
    order = np.argsort(-np.array(sure), kind="stable")
    correct = np.cumsum(np.array(right)[order]) / np.arange(1, len(order) + 1)
    print(f"test hits {len(clicked):,}, relevant {clicked.mean():.3f}, confidence {confidences.mean():.3f}, "
          f"calibration error {calibration_error(confidences, clicked):.3f}")  # fmt: skip
    print("| answered share | precision of the first hit |\n|---:|---:|")
    for share in SHARES:
        print(f"| {share:.0%} | {correct[max(0, round(share * len(correct)) - 1)]:.3f} |")
    if plot is not None:
        import matplotlib.pyplot as plt

        groups = np.array_split(np.argsort(confidences), 10)
        figure, (left, other) = plt.subplots(1, 2, figsize=(9, 4))
        left.plot([0, 1], [0, 1], color="gray", linestyle=":")
        left.plot([confidences[g].mean() for g in groups], [clicked[g].mean() for g in groups], marker="o")
        left.set(xlabel="confidence", ylabel="share that is relevant", title="reliability on test queries")
        other.plot(np.arange(1, len(correct) + 1) / len(correct), correct)
        other.set(xlabel="share of queries answered", ylabel="precision of the first hit", title="half unanswerable")
        figure.tight_layout()
        figure.savefig(plot, dpi=110)


if __name__ == "__main__":
    if sys.argv[1:2] == ["confidence"]:
        confidence(sys.argv[2] if len(sys.argv) > 2 else None)
    else:
        counts([int(size) for size in sys.argv[2:]] or [100_000, 1_000_000])
