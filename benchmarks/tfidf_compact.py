"""What 16 or 8 bits an impact would do to PEFA-XS over TF-IDF: recall as they are, and after exact re-scoring."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.rows import Row
from vizsla.base.retriever import Retriever
from vizsla.core.candidates import Candidates
from vizsla.data.dataset import Dataset
from vizsla.indexes.inverted import InvertedIndex
from vizsla.methods.pefa import PefaXs

BITS, DEPTH = (16, 8), 100
ITEM_BYTES, FULL_BYTES = 4, 8


def compact_rows(name: str, full: Retriever, data: Dataset) -> list[Row]:
    """Return recall of rounded impacts, and how many answers are those of the full ones after re-scoring the best 100.

    The bytes are those of postings, an item's number and its impact; exact re-scoring needs the full ones as well.
    """
    assert isinstance(full, PefaXs)
    texts, rows = data.query_texts("test-seen")[1], []
    queries = full.encode(texts)
    exact = full.index.search(queries, 10)
    whole = _recall(exact, data)
    for bits in BITS:
        found = _rounded(full.index, bits).search(queries, DEPTH)
        again = full.index.score(queries, found)
        size = ITEM_BYTES + bits / 8
        work = f"{name} impacts of {bits} bits"
        rows.append(Row(f"{work}, R@10 as they are", _recall(found, data), "32 bits", whole, "", "", False))
        rows.append(Row(f"{work}, R@10 re-scored", _recall(again, data), "32 bits", whole, "", "", False))
        same = _same_items(found, exact)
        rows.append(Row(f"{work}, same ten items as they are", same, "32 bits", 1.0, "", "", False))
        rows.append(Row(f"{work}, same answer re-scored", _same(again, exact), "32 bits", 1.0, "", "", False))
        note = f"with exact re-scoring {size + FULL_BYTES:g}, for the full ones must be there too"
        rows.append(Row(f"{work}, bytes a posting", size, "32 bits", FULL_BYTES, "bytes", note=note))
    return rows


def _rounded(index: Any, bits: int) -> InvertedIndex:
    """Return the index with every n-gram's impacts in equal steps up to its largest; what is stored stays above 0."""
    starts, counts = index._offsets[:-1], np.diff(index._offsets)
    largest = np.zeros(len(counts), np.float32)
    filled = counts > 0
    largest[filled] = np.maximum.reduceat(index._impacts, starts[filled])
    step = np.repeat(largest / (2**bits - 1), counts)
    impacts = (np.maximum(np.rint(index._impacts / step), 1) * step).astype(np.float32)
    return InvertedIndex(len(index), index._offsets, index._items, impacts)


def _recall(found: Candidates, data: Dataset) -> float:
    judged = data.qrels("test-seen")
    rows = np.flatnonzero(np.diff(judged.indptr))
    wanted = [judged.indices[judged.indptr[row] : judged.indptr[row + 1]] for row in rows]
    return float(np.mean([np.isin(items, found.row(at)[0][:10]).mean() for at, items in enumerate(wanted)]))


def _same(found: Candidates, exact: Candidates) -> float:
    return float(np.mean([np.array_equal(found.row(at)[0][:10], exact.row(at)[0]) for at in range(len(exact))]))


def _same_items(found: Candidates, exact: Candidates) -> float:
    return float(np.mean([set(found.row(at)[0][:10]) == set(exact.row(at)[0]) for at in range(len(exact))]))
