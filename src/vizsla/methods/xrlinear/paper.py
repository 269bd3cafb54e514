"""The tree and the features of the XR-Linear paper: spherical B-means from the root down, TF-IDF n-grams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from vizsla.core.sparse import as_scipy
from vizsla.core.validation import check_seed, validate_args
from vizsla.errors import InputError, check_positive
from vizsla.methods.xrlinear.cold_start import MAX_CHILDREN
from vizsla.methods.xrlinear.instances import training_instances
from vizsla.methods.xrlinear.tree import LabelTree, pifa, unit_rows
from vizsla.text.ngrams import NgramTfidf
from vizsla.typing import Int64Array

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from vizsla.base.encoder import Encoder
    from vizsla.data.dataset import Dataset

PAPER_BRANCHING, PAPER_MAX_LEAF = 32, 100
"""Section 5.1 of the paper: B, and L / B^(D-1), the mean size of a cluster."""
MEANS_ROUNDS = 20
"""The most rounds of a B-means."""


@validate_args
def means_tree(
    vectors: csr_array,
    *,
    branching: int = PAPER_BRANCHING,
    depth: int | None = None,
    rounds: int = MEANS_ROUNDS,
    seed: int = 0,
) -> LabelTree:
    """Return the tree of Eq. 3 and 4: spherical B-means cuts every cluster of a layer into B, so that K_t = B^t.

    Clusters are as large as the means make them. A cluster of fewer than B items has as many children as items, so a
    layer can have fewer than B^t nodes. Items without a vector are dealt to the clusters in turn.

    Parameters
    ----------
    vectors : csr_array
        A row for each item; made unit length here.
    branching : int
        B.
    depth : int, optional
        D: the layers below the root, the last of which are the items. Unless given, the least with which a cluster
        has 100 items in the mean, L / B^(D-1) <= 100, and 256 at most.
    rounds : int
        The most rounds of a B-means.
    seed : int
        Draws where the means begin.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> tree = means_tree(csr_array(np.eye(4)[[0, 1, 0, 1]]), branching=2, depth=2)
    >>> tree.widths, sorted(sorted(tree.items_under(1, node).tolist()) for node in (0, 1))
    ((2, 4), [[0, 2], [1, 3]])
    """
    if check_positive("branching", branching) < 2 or branching > MAX_CHILDREN:
        raise InputError(f"`branching` must be between 2 and {MAX_CHILDREN}. Got {branching}.")
    rows = unit_rows(as_scipy(vectors).tocsr().astype(np.float32))
    layers = paper_depth(rows.shape[0], branching) if depth is None else check_positive("depth", depth)
    random = np.random.default_rng(check_seed(seed))
    clusters: list[Int64Array] = [np.arange(rows.shape[0], dtype=np.int64)]
    offsets: list[list[int]] = []
    while len(offsets) < layers - 1 or (depth is None and max(map(len, clusters)) > MAX_CHILDREN):
        children, starts = [], [0]
        for items in clusters:
            children += spherical_means(rows, items, branching, rounds=rounds, random=random)
            starts.append(len(children))
        clusters = children
        offsets.append(starts)
    largest = max(map(len, clusters))
    if largest > MAX_CHILDREN:
        raise InputError(
            f"`depth` must leave at most {MAX_CHILDREN} items in a cluster. Got {largest} with {layers}: take more."
        )
    offsets.append(np.cumsum([0, *map(len, clusters)]).tolist())
    return LabelTree(offsets, np.concatenate(clusters))


def paper_depth(items: int, branching: int) -> int:
    """Return the least D with L / B^(D-1) <= 100.

    Examples
    --------
    >>> paper_depth(100, 32), paper_depth(6829, 32), paper_depth(100_000_000, 32)
    (1, 3, 5)
    """
    depth = 1
    while items > PAPER_MAX_LEAF * branching ** (depth - 1):
        depth += 1
    return depth


def spherical_means(
    rows: csr_array, items: Int64Array, count: int, *, rounds: int, random: np.random.Generator
) -> list[Int64Array]:
    """Cut items into clusters around mean directions (Dhillon and Modha 2001): no cluster is empty.

    Means begin at items drawn at random. An item goes to the mean with the largest inner product, of equals the first;
    a mean that loses all its items restarts at the item that is farthest from its own.

    Parameters
    ----------
    rows : csr_array
        Vectors of length 1, or 0, of all items.
    items : int64 array
        Which are cut.
    count : int
        How many clusters; fewer items become a cluster each.
    rounds : int
        The most rounds; it stops when no item moves.
    random : numpy generator
        Draws where the means begin.
    """
    if len(items) <= count:
        return [items[at : at + 1] for at in range(len(items))]
    own, empty = rows[items], np.diff(rows.indptr)[items] == 0
    means = own[np.sort(random.permutation(len(items))[:count])].toarray()
    labels = np.full(len(items), -1)
    for _ in range(rounds):
        products = np.asarray(own @ means.T)
        moved = products.argmax(axis=1)
        moved[empty] = np.arange(int(empty.sum())) % count
        _fill(moved, products, count)
        if np.array_equal(moved, labels):
            break
        labels = moved
        means = _mean_directions(own, labels, count)
    return [items[labels == number] for number in range(count)]


def _fill(labels: Int64Array, products: Any, count: int) -> None:
    """Fill each empty cluster with the item farthest from its mean, among clusters of several items."""
    sizes = np.bincount(labels, minlength=count)
    if sizes.all():
        return
    near = products[np.arange(len(labels)), labels]
    order = iter(np.argsort(near, kind="stable").tolist())
    for number in np.flatnonzero(sizes == 0).tolist():
        at = next(at for at in order if sizes[labels[at]] > 1)
        sizes[labels[at]] -= 1
        labels[at], sizes[number] = number, 1


def _mean_directions(own: csr_array, labels: Int64Array, count: int) -> Any:
    from scipy.sparse import csr_array

    members = csr_array((np.ones(len(labels), np.float32), (labels, np.arange(len(labels)))), (count, len(labels)))
    return unit_rows((members @ own).tocsr()).toarray()


def paper_features(texts: list[str]) -> NgramTfidf:
    """Return the features of section 3.4: word unigrams, word bigrams and character trigrams in one TF-IDF row.

    Vocabularies have at most a million, three millions and 200,000 n-grams; counts are not damped, and the row has
    length 1. N-grams outside of a vocabulary share one feature a kind.

    Examples
    --------
    >>> rows = paper_features(["fig fig", "pear"]).queries(["fig"])
    >>> round(float((rows.values**2).sum()), 3)
    1.0
    """
    return NgramTfidf.fit(texts, sublinear=False)


def paper_parts(
    dataset: Dataset, encoder: Encoder | None, *, branching: int, depth: int | None, seed: int
) -> tuple[Encoder, LabelTree]:
    """Return the features of the queries alone, and the tree of their PIFA vectors over binary clicks."""
    instances = training_instances(dataset, item_texts=False)
    features = paper_features(instances.texts) if encoder is None else encoder
    rows = as_scipy(features.queries(instances.texts))
    clicks = instances.clicks.astype(np.float32)
    clicks.data[:] = 1
    return features, means_tree(pifa(rows, clicks), branching=branching, depth=depth, seed=seed)
