"""What coding costs in quality: R@10 and MRR@10 of exact vectors, and of our codes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter

import numpy as np

from benchmarks.corpus import data_folder
from benchmarks.rows import Row
from vizsla.data.dataset import Dataset
from vizsla.indexes.flat import FlatIndex
from vizsla.indexes.pq.pq_index import PqIndex

K = 10
SPLITS = ("test-seen", "test-unseen")
SIZES = (8, 16, 24, 48)
OPQ_SEEN = {
    "squad-sent": {8: 0.595, 16: 0.744, 24: 0.777, 48: 0.829},
    "tldr": {8: 0.296, 16: 0.348, 24: 0.385, 48: 0.421},
}
"""R@10 of Faiss's OPQ with 8 bits on test-seen, as measured before."""

Found = np.ndarray
Search = Callable[[np.ndarray], Found]


class Collection:
    """The vectors of a data set, its test queries by split, and what is relevant for them."""

    def __init__(self, folder: Path, most: int | None):
        vectors = np.load(folder / "emb" / "corpus.minilm-l6-v2.f16.npy")
        self.name, self.vectors = folder.name, vectors.astype(np.float32)
        asked, data = np.load(folder / "emb" / "queries.minilm-l6-v2.f16.npy"), Dataset.open(folder)
        self.queries, self.relevant = {}, {}
        for split in SPLITS:
            judged = data.qrels(split)
            rows = np.flatnonzero(np.diff(judged.indptr))[:most]
            self.queries[split] = asked[rows].astype(np.float32)
            self.relevant[split] = [judged.indices[judged.indptr[row] : judged.indptr[row + 1]] for row in rows]

    def quality(self, search: Search, split: str) -> tuple[float, float]:
        """Return R@10 and MRR@10."""
        recalls, ranks = [], []
        for found, relevant in zip(search(self.queries[split]), self.relevant[split], strict=True):
            hits = np.isin(found, relevant)
            recalls.append(hits.sum() / len(relevant))
            ranks.append(1 / (1 + np.argmax(hits)) if hits.any() else 0.0)
        return float(np.mean(recalls)), float(np.mean(ranks))


def ours(index: FlatIndex | PqIndex) -> Search:
    return lambda queries: index.search(queries, K).items.reshape(len(queries), -1)


def quality_rows(name: str, *, quick: bool) -> Iterator[Row]:
    """Yield a row for each way to code, against exact vectors."""
    data = Collection(data_folder() / name, 300 if quick else None)
    flat = {split: data.quality(ours(FlatIndex.build(data.vectors)), split) for split in SPLITS}
    for split, (recall, rank) in flat.items():
        yield Row(f"{name}, flat, {split}: R@10", recall, "", None, "", "", False, f"MRR@10 {rank:.3f}")
    for bytes in SIZES[:1] if quick else SIZES:
        for bits in (8, 4):
            for opq in (False, True):
                yield from _ours(data, flat, bytes, bits, opq=opq)


def _ours(data: Collection, flat: dict[str, tuple[float, float]], bytes: int, bits: int, *, opq: bool) -> Iterator[Row]:
    start = perf_counter()
    index = PqIndex.build(data.vectors, bytes=bytes, bits=bits, opq=opq)
    seconds, what = perf_counter() - start, f"{data.name}, {bytes} B, {'OPQ' if opq else 'PQ'}, {bits} bits"
    for split in SPLITS:
        recall, rank = data.quality(ours(index), split)
        note = f"MRR@10 {rank:.3f}, flat {flat[split][0]:.3f}/{flat[split][1]:.3f}, built in {seconds:.0f} s"
        known = OPQ_SEEN.get(data.name, {}).get(bytes) if opq and bits == 8 and split == "test-seen" else None
        target = "" if known is None else ">= 0.98"
        yield Row(f"{what}, {split}: R@10", recall, "OPQ of Faiss" if known else "", known, "", target, False, note)
