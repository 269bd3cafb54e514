"""Which instances a matcher learns from besides those that chose one of its siblings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vizsla.indexes.tree import NodeWeights, TreeIndex

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vizsla.methods.xrlinear.csr import Csr
    from vizsla.methods.xrlinear.matchers import LayerWeights
    from vizsla.methods.xrlinear.tree import LabelTree

NEGATIVES = ("tfn", "man", "tfn+man")


def matcher_aware(
    features: Csr, tree: LabelTree, trained: Sequence[LayerWeights], *, beam: int, bias: float, threads: int
) -> Csr:
    """Return instances × nodes: where the layers trained so far would lead each instance.

    These are the mistakes that the next layer will have to cope with (matcher-aware negatives, MAN).
    """
    from vizsla.methods.xrlinear.csr import Csr

    layers = [offsets.astype(np.int32) for offsets in tree.layers[: len(trained)]]
    nodes = int(layers[-1][-1])
    upper = TreeIndex.build(
        layers,
        np.arange(nodes, dtype=np.int32),
        [NodeWeights(*layer[:3]) for layer in trained],
        dim=features.width,
        bias=bias,
    )
    found = upper.search_rows(
        features.offsets, features.columns, features.values, min(beam, nodes), threads=threads, beam=beam
    )
    matrix = found.to_csr(items=nodes)
    return Csr(
        matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), np.ones(matrix.nnz, np.float32), nodes
    )
