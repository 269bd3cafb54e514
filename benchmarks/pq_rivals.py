"""Other ways to code, as Faiss has them: the unsupervised rows of Table 1 of the JPQ paper, and RaBitQ.

A DPQ-style baseline, supervised but with a reconstruction loss, is a row of `benchmarks.jpq --ablation`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.corpus import data_folder
from benchmarks.pq_quality import SIZES, SPLITS, Collection, K, Search, ours
from benchmarks.rows import Row
from vizsla.indexes._faiss import faiss_threads, load_faiss
from vizsla.indexes.flat import FlatIndex

ROUNDS = 5
"""Of OPQ before HNSW and IMI: fifty take minutes, and change the third digit."""
PROBES = 128
"""Of the 1,024 cells of an inverted multi-index."""


def rival_rows(name: str, *, quick: bool) -> Iterator[Row]:
    """Yield a row for each way to code, beside exact vectors."""
    data = Collection(data_folder() / name, 300 if quick else None)
    flat = {split: data.quality(ours(FlatIndex.build(data.vectors)), split) for split in SPLITS}
    yield from _row(data, flat, "RaBitQ, a bit a dimension", "RaBitQ", inner=True)
    for bytes in SIZES[:1] if quick else SIZES:
        for what, (factory, inner) in rivals(bytes, data.vectors.shape[1]).items():
            yield from _row(data, flat, f"{bytes} B, {what}", factory, inner=inner)


def faiss_search(factory: str, vectors: np.ndarray, *, inner: bool = True) -> tuple[Search, int]:
    """Return the search of a Faiss index by its factory's name, and its bytes an item."""
    faiss = load_faiss()
    metric = faiss.METRIC_INNER_PRODUCT if inner else faiss.METRIC_L2
    index = faiss.index_factory(vectors.shape[1], factory, metric)
    if factory.startswith("OPQ"):
        faiss.downcast_VectorTransform(faiss.downcast_index(index).chain.at(0)).niter = ROUNDS
    with faiss_threads(1):
        index.train(vectors)
        index.add(vectors)
        if "IMI" in factory:
            faiss.extract_index_ivf(index).nprobe = PROBES
    return lambda queries: index.search(queries, K)[1], _code_size(index)


def _code_size(index: Any) -> int:
    """Return the bytes of an item's code, or 0 for a graph, which has more than a code."""
    try:
        return int(index.sa_code_size())
    except RuntimeError:
        return 0


def rivals(bytes: int, dim: int) -> dict[str, tuple[str, bool]]:
    """Return factories of other codes of so many bytes."""
    near = {"LSH": (f"LSH{8 * bytes}r", False), "ITQ": (f"ITQ{8 * bytes},LSH", False)}
    near["scalar, 8 bits after PCA"] = (f"PCA{bytes},SQ8", True)
    near["scalar, 4 bits after PCA"] = (f"PCA{2 * bytes},SQ4", True)
    near["IMI + OPQ"] = (f"OPQ{bytes},IMI2x5,PQ{bytes}", False)
    near["HNSW + PQ"] = (f"OPQ{bytes},HNSW32_PQ{bytes}", False)
    return near if 8 * bytes <= dim else {}


def _row(
    data: Collection, flat: dict[str, tuple[float, float]], what: str, factory: str, *, inner: bool
) -> Iterator[Row]:
    try:
        search, size = faiss_search(factory, data.vectors, inner=inner)
    except RuntimeError as error:
        yield Row(f"{data.name}, {what}: R@10", None, "", None, "", note=f"Faiss refuses {factory}: {str(error)[-80:]}")
        return
    for split in SPLITS:
        recall, rank = data.quality(search, split)
        note = f"MRR@10 {rank:.3f}, flat {flat[split][0]:.3f}/{flat[split][1]:.3f}, {size} B"
        yield Row(f"{data.name}, {what}, {split}: R@10", recall, "", None, "", "", False, note)
