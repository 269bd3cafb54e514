"""Which instances a node's children learn from, besides those that chose one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vizsla.errors import InputError, check_choice
from vizsla.indexes.tree import NodeWeights, TreeIndex
from vizsla.methods.xrlinear.matchers import Negatives, layer_labels
from vizsla.sparse_rows import SparseRows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vizsla.methods.xrlinear.matchers import LayerWeights
    from vizsla.methods.xrlinear.tree import LabelTree
    from vizsla.sparse_rows import Matrix

SCHEMES = ("tfn", "man", "tfn+man")


def matcher_aware(features: SparseRows, tree: LabelTree, *, beam: int, bias: float, threads: int) -> Negatives:
    """Return the nodes to which the layers trained so far lead each instance (matcher-aware negatives, MAN).

    These are the mistakes that the next layer will have to cope with.
    """

    def find(number: int, trained: Sequence[LayerWeights]) -> SparseRows:
        layers = [offsets.astype(np.int32) for offsets in tree.layers[:number]]
        nodes = int(layers[-1][-1])
        matchers = [NodeWeights(*layer[:3]) for layer in trained]
        leaves = np.arange(nodes, dtype=np.int32)
        upper = TreeIndex.build(layers, leaves, matchers, dim=features.width, bias=bias, beam=beam)
        found = upper.search(features, min(beam, nodes), threads=threads).to_csr(items=nodes)
        return SparseRows.of(found, name="negatives").with_values(np.ones(found.nnz, np.float32))

    return find


def given(matrix: Matrix, tree: LabelTree, rows: NDArray[np.int64], instances: int) -> Negatives:
    """Return the nodes above items that the user says were shown and not chosen.

    Parameters
    ----------
    matrix : CSR matrix
        The dataset's queries × items; every entry is a negative.
    tree : LabelTree
        Where the items are.
    rows : int array
        The dataset's row of each instance that is a query; the other instances have no negatives.
    instances : int
        How many instances there are.
    """
    shown = SparseRows.of(matrix, name="negatives")
    if shown.width != len(tree) or (len(rows) and len(shown) <= rows.max()):
        raise InputError(f"`negatives` must have the shape of the dataset's clicks. Got {len(shown), shown.width}.")
    counts = np.diff(shown.offsets)[rows]
    offsets = np.concatenate([[0], np.cumsum(counts), np.full(instances - len(rows), counts.sum())]).astype(np.int64)
    at = np.repeat(shown.offsets[rows] - offsets[: len(rows)], counts) + np.arange(int(counts.sum()))
    labels = layer_labels(SparseRows(offsets, shown.columns[at], np.ones(len(at), np.float32), shown.width), tree)
    return lambda number, trained: labels[number]


def check_scheme(scheme: object) -> None:
    """Raise unless this can be `negatives`."""
    if isinstance(scheme, str):
        check_choice("negatives", scheme, SCHEMES)
    elif not callable(scheme) and not hasattr(scheme, "shape"):
        raise InputError(f"`negatives` must be a scheme, a matrix or a function. Got {type(scheme).__name__}.")
