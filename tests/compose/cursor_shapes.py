"""Random indexes and sums of all shapes for the native sum, made to tie often."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.sparse import csr_array

from tests.compose.cursor_twin import Side
from vizsla.core.candidates import Candidates
from vizsla.indexes.inverted import InvertedIndex
from vizsla.indexes.tree import NodeWeights, TreeIndex

TERMS = 12


def coarse(pick, rows, columns, density, signed=False):
    """A matrix of few distinct values."""
    values = pick.integers(1, 4, (rows, columns)) / 2
    signs = pick.choice([-1, 1], (rows, columns)) if signed else 1
    return (values * signs * (pick.random((rows, columns)) < density)).astype(np.float32)


def postings(pick, items):
    absent = pick.integers(0, 3, TERMS) / 4 if pick.random() < 0.3 else None
    return InvertedIndex.build(csr_array(coarse(pick, items, TERMS, pick.choice([0.1, 0.4]))), absent=absent)


def tree(pick, items, layers=None, transform=None):
    """A tree of so many layers, each about as many times as wide as the one above; more where a node had too many."""
    layers = max(layers or int(pick.integers(1, 5)), 1 + (items > 200) + (items > 9000))
    counts = [round(items ** (layer / layers)) for layer in range(layers + 1)]
    offsets = [_offsets(pick, above, below) for above, below in pairwise(counts)]
    matchers = [NodeWeights.of(csr_array(coarse(pick, below, TERMS + 1, 0.3, signed=True))) for below in counts[1:]]
    return TreeIndex.build(
        offsets, pick.permutation(items).astype(np.int32), matchers, dim=TERMS, beam=int(pick.choice([1, 2, 5, 1000])),
        transform=transform or str(pick.choice(["l3-hinge", "l1-hinge", "sigmoid", "none"])),
        weights=str(pick.choice(["float32", "int16", "int8"])),
    )  # fmt: skip


def _offsets(pick, above, below):
    """Uneven families, none of them empty."""
    cuts = np.arange(above + 1, dtype=np.int64) * below // above
    cuts[1:-1] += pick.integers(0, max(below // above // 2, 1), above - 1)
    return cuts.astype(np.int32)


def queries(pick, count):
    rows = coarse(pick, count, TERMS, pick.choice([0.15, 0.5]))
    rows[0] *= pick.random() < 0.7  # else it is empty
    return csr_array(rows)


def keep_leaves_by_item(index):
    """Score many items, after which a tree of some size keeps its leaves by item."""
    many = Candidates.from_rows([np.arange(min(len(index), 50), dtype=np.int32)] * 100)
    before, rows = index.nbytes, csr_array(np.ones((100, TERMS), np.float32))
    for _ in range(30):
        index.scores(rows, many)
        if index.nbytes > before:
            return


def sides(pick, items, rows):
    chosen = []
    for _ in range(int(pick.integers(1, 4))):
        index = tree(pick, items) if pick.random() < 0.5 else postings(pick, items)
        if isinstance(index, TreeIndex) and pick.random() < 0.4:
            keep_leaves_by_item(index)
        how = str(pick.choice(["none", "minmax", "zscore", "rank"]))
        numbers = pick.permutation(items).astype(np.int32) if how != "rank" and pick.random() < 0.3 else None
        weight = float(pick.choice([0.0, 0.25, 0.5, 1.0, 0.7, 3.0]))
        chosen.append(Side(index, rows, weight, how, int(pick.choice([1, 5, 20, 60, 300])), numbers))
    return chosen
