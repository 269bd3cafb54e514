"""HNSW at the paper's setting against exact search: recall@100, time."""

from __future__ import annotations

from time import process_time

import numpy as np

from benchmarks.corpus import data_folder
from benchmarks.rows import Row
from vizsla.data.dataset import Dataset
from vizsla.encoders.lsa import LsaEncoder
from vizsla.indexes.hnsw import HnswIndex

PAPER = {"M": 32, "ef_construction": 500, "ef": 300}
QUERIES = 1000


def graph_rows(name: str, index: HnswIndex, queries: np.ndarray, *, encoder: str) -> list[Row]:
    """Return the share of the exact best 100 that the graph finds, and what it takes."""
    asked = queries[:QUERIES]
    start = process_time()
    found = index.search(asked, 100)
    middle = process_time()
    exact = index.search(asked, 100, exact=True)
    times = [(t * 1e3) / len(asked) for t in (middle - start, process_time() - middle)]
    shared = [len(np.intersect1d(found.row(q)[0], exact.row(q)[0])) for q in range(len(asked))]
    work = f"{name} ({encoder}) HNSW M 32, efC 500, efS 300"
    return [
        Row(f"{work}: recall@100", float(np.mean(shared)) / 100, "0.99 of exact", 0.99, "", ">= 1", False),
        Row(f"{work}: batch", times[0], "exact", times[1], "ms CPU"),
    ]


def synopsis_rows(*, most: int | None) -> list[Row]:
    """Return the same for debian-synopsis, which has no stored vectors: with the LSA encoder's."""
    data = Dataset.open(data_folder() / "debian-synopsis")
    texts = [item.default_text() for _, item in zip(range(most or len(data.items)), data.items, strict=False)]
    encoder = LsaEncoder.fit(texts)
    index = HnswIndex.build(encoder.items(texts), threads=2, **PAPER)
    return graph_rows("debian-synopsis", index, encoder.queries(data.query_texts("test")[1]), encoder="LSA")
