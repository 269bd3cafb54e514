"""Bags of tokens against Seismic (`pyseismic-lsr`), approximate search over sparse vectors, at what it finds.

One thread, CPU time. Run it with `python -m benchmarks.sidr_seismic [--quick|--full] [--json FILE]`; Seismic lives in
`.venv-peers`, see `benchmarks/peers/setup.sh`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from benchmarks.contestant import Contestant, ContestantError
from benchmarks.rows import Row, arguments, median, report
from benchmarks.sidr import LENGTH, TOKENS, K, bags, question
from vizsla.core.sparse import SparseRows
from vizsla.indexes.tokens import TokenIndex

WEIGHTS = (64, 256)
SETTINGS = [(10, 0.9), (20, 0.8), (40, 0.7), (64, 0.5), (256, 0.3)]
"""How many of a query's tokens Seismic follows, and how far below the k-th best it looks."""


def main() -> None:
    options = arguments("sidr_seismic")
    documents = 5_000 if options.quick else 300_000 if options.full else 100_000
    report(list(rows(documents, rounds=5 if options.quick else 20)), options.json)


def rows(documents: int, *, rounds: int) -> Iterator[Row]:
    """Yield a row for each setting of Seismic, and what building takes."""
    items = bags(documents)
    lengths = np.diff(items.offsets)
    norms = (1 / (1.7 + 0.5 * lengths / LENGTH)).astype(np.float32)
    start = process_time()
    index = TokenIndex.build(items, norms=norms)
    ours = process_time() - start
    try:
        with tempfile.TemporaryDirectory() as folder, Contestant("sparse_seismic", ".venv-peers") as seismic:
            file = _written(items.with_values(np.repeat(norms, lengths)), Path(folder) / "items.npz")
            theirs = seismic.ask("index", file=file, postings=max(documents // 30, 3500))
            yield Row(f"indexing {documents:,} documents", ours, "Seismic", theirs, "CPU s")
            for weights in WEIGHTS:
                yield from _searching(seismic, index, items, weights, rounds, Path(folder))
    except ContestantError as error:
        yield Row(f"indexing {documents:,} documents", ours, "Seismic", None, "CPU s", note=str(error))


def _searching(
    seismic: Contestant, index: TokenIndex, items: SparseRows, weights: int, rounds: int, folder: Path
) -> Iterator[Row]:
    frequencies = np.bincount(items.columns, minlength=TOKENS)
    asked = [question(items, frequencies, weights, seed) for seed in range(rounds)]
    file = _written(SparseRows.stacked(asked, TOKENS), folder / f"{weights}.npz")
    exact, times = [], []
    for one in asked:
        start = process_time()
        exact.append(set(index.search(one, K).items.tolist()))
        times.append((process_time() - start) * 1e3)
    for cut, factor in SETTINGS:
        found: Any = seismic.ask("search", file=file, k=K, cut=cut, factor=factor)
        shares = [len(best & set(answer)) / K for best, (_, answer) in zip(exact, found, strict=True)]
        peer = f"Seismic, cut {cut}, factor {factor}, {np.mean(shares):.1%} of the exact answer"
        yield Row(f"query, {len(index):,} documents, {weights} weights, exact", median(times), peer,
                  median([ms for ms, _ in found]), "ms")  # fmt: skip


def _written(rows: SparseRows, file: Path) -> str:
    np.savez(file, offsets=rows.offsets, columns=rows.columns, values=rows.values, width=rows.width)
    return str(file)


if __name__ == "__main__":
    main()
