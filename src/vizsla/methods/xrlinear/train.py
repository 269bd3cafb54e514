"""Training: from a dataset with clicks to an XrLinear model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vizsla.encoder import Encoder
from vizsla.errors import InputError, check_choice
from vizsla.indexes.inverted import InvertedIndex
from vizsla.indexes.tree import NodeWeights, TreeIndex
from vizsla.methods.xrlinear.calibrate import calibrate
from vizsla.methods.xrlinear.cold import Calibration, choose_leaves, cold_matchers, nearest
from vizsla.methods.xrlinear.csr import Csr, as_csr
from vizsla.methods.xrlinear.instances import training_instances
from vizsla.methods.xrlinear.matchers import LayerWeights, Negatives, train_matchers
from vizsla.methods.xrlinear.model import XrLinear
from vizsla.methods.xrlinear.negatives import NEGATIVES, matcher_aware
from vizsla.methods.xrlinear.representation import item_vectors
from vizsla.methods.xrlinear.taught import Taught
from vizsla.methods.xrlinear.tree import LabelTree, cluster_items
from vizsla.text.ngrams import NgramTfidf

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from vizsla.dataset import Dataset


def train_xrlinear(
    dataset: Dataset,
    *,
    encoder: Encoder | None = None,
    item_texts: bool = True,
    cold_start: bool = True,
    representation: Any = "pifa",
    tree: LabelTree | None = None,
    branching: int = 32,
    max_leaf: int = 100,
    negatives: str | Negatives = "tfn",
    loss: str = "squared_hinge",
    C: float = 1.0,
    bias: float = 1.0,
    weighted: bool = False,
    threshold: float = 0.1,
    max_nonzeros: int | None = None,
    transform: str = "l3-hinge",
    weights: str = "float32",
    beam: int = 10,
    neighbours: int = 10,
    seed: int = 0,
    threads: int = 1,
) -> XrLinear:
    """Learn."""
    instances = training_instances(dataset, item_texts=item_texts, weighted=weighted)
    encoder = encoder or NgramTfidf.fit(instances.texts)
    features = encoder.queries(instances.texts)
    texts = encoder.items([item.default_text() for item in dataset.items])
    warm = np.diff(instances.clicks[: instances.queries].tocsc().indptr) > 0
    vectors = item_vectors(representation, features, instances.clicks, texts)
    text_index = InvertedIndex.build(texts)
    near = _without_self(text_index, texts, warm, neighbours)
    if cold_start and not warm.all():
        tree = cluster_items(vectors[np.flatnonzero(warm)], branching=branching, max_leaf=max_leaf, seed=seed, threads=threads)
        tree = with_cold(tree, warm, near)
    else:
        tree = cluster_items(vectors, branching=branching, max_leaf=max_leaf, seed=seed, threads=threads)
    layers = train_matchers(as_csr(features, "f"), as_csr(instances.clicks, "c"), tree, loss=loss, C=C, bias=bias,
        threshold=threshold, max_nonzeros=max_nonzeros, seed=seed, threads=threads)
    from scipy.sparse import csr_array
    last = layers[-1]
    by_item = csr_array((last.values, last.features, last.offsets), shape=(len(tree), encoder.dim + 1))[tree.places]
    leaf_of = np.searchsorted(tree.layers[-1], tree.places, side="right") - 1
    cal = calibrate(near, by_item, texts, features[: instances.queries], instances.clicks[: instances.queries], leaf_of, bias=bias, seed=seed)
    if cold_start and not warm.all():
        cold = np.flatnonzero(~warm)
        new = cold_matchers(near[cold], by_item, texts[cold], cal)
        by_item = _replaced(by_item, cold, new)
    rows = by_item[tree.items]
    matchers = [NodeWeights(*l[:3]) for l in layers[:-1]] + [NodeWeights(rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data.astype(np.float32))]
    index = TreeIndex.build([l.astype(np.int32) for l in tree.layers], tree.items, matchers, dim=encoder.dim, bias=bias, transform=transform, weights=weights, beam=beam)
    taught = Taught.of(instances.texts[: instances.queries], instances.clicks)
    return XrLinear(dataset.item_ids, encoder, index, taught, texts=text_index, calibration=cal)


def _without_self(texts, vectors, warm, count):
    found = texts.search(vectors, count + 1, allowed=warm).to_csr(items=len(texts))
    rows = np.repeat(np.arange(found.shape[0]), np.diff(found.indptr))
    found.data[rows == found.indices] = 0
    found.eliminate_zeros()
    rows = np.repeat(np.arange(found.shape[0]), np.diff(found.indptr))
    sums = np.bincount(rows, found.data, minlength=found.shape[0])
    found.data = (found.data / sums[rows]).astype(np.float32)
    return found


def with_cold(tree, warm, near):
    w = np.flatnonzero(warm)
    cold = np.flatnonzero(~warm)
    leaf_of = np.full(len(warm), 0, dtype=np.int64)
    leaf_of[w] = np.searchsorted(tree.layers[-1], tree.places, side="right") - 1
    sizes = np.diff(tree.layers[-1])
    leaf_of[cold] = choose_leaves(near[cold], leaf_of, sizes)
    order = np.lexsort((np.arange(len(warm)), ~warm, leaf_of))
    offsets = np.concatenate([[0], np.cumsum(np.bincount(leaf_of, minlength=len(sizes)))])
    return LabelTree([*tree.layers[:-1], offsets], order)


def _replaced(matrix, rows, new):
    from scipy.sparse import vstack
    n = matrix.shape[0]
    at = np.arange(n); at[rows] = n + np.arange(len(rows))
    return vstack([matrix, new], format="csr")[at]
