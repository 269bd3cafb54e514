"""The label tree: which items share a leaf, from the queries that chose them and their texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla._internal.lazy import cached_property
from vizsla.core.sparse import SparseRows, are_offsets
from vizsla.core.validation import as_array, check_seed, validate_args
from vizsla.errors import InputError, check_choice, check_positive, check_range

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from vizsla.core.sparse import Matrix

REPRESENTATIONS = ("pifa", "text", "concat", "blend")


def pifa(features: csr_array, clicks: csr_array) -> csr_array:
    """Return the l2-normalized sum of each item's positive instances (Eq. 5); an item without any is a zero row.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> pifa(csr_array([[3.0, 0.0], [0.0, 4.0]]), csr_array([[1.0, 0.0], [1.0, 0.0]])).toarray().tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    return unit_rows((clicks.T.tocsr().astype(np.float32) @ features).tocsr())


def item_vectors(
    how: str | Matrix, features: csr_array, clicks: csr_array, texts: csr_array | None, *, share: float = 0.5
) -> Matrix:
    """Return the vectors that the tree is built from.

    Parameters
    ----------
    how : {"pifa", "text", "concat", "blend"} or matrix
        Clicks, text, both side by side, or their weighted mean; or vectors of the user's own, a row for each item.
    features : csr_array
        Instances × features.
    clicks : csr_array
        Instances × items.
    texts : csr_array, optional
        Items × features, of the items' texts.
    share : float
        The weight of the clicks in "blend" and "concat", from 0 to 1.
    """
    check_range("share", share, 0, 1)
    if not isinstance(how, str):
        return _given(how, clicks.shape[1])
    check_choice("representation", how, REPRESENTATIONS)
    if how == "pifa":
        return pifa(features, clicks)
    if texts is None:
        raise InputError(f"The representation {how!r} must have item texts. Got none: use 'pifa'.")
    return unit_rows(texts) if how == "text" else _both(how, pifa(features, clicks), unit_rows(texts), share)


def _given(vectors: Matrix, items: int) -> Matrix:
    if getattr(vectors, "ndim", 0) != 2 or vectors.shape[0] != items:
        shape = getattr(vectors, "shape", None)
        raise InputError(f"`representation` as a matrix must have {items} rows, one for each item. Got shape {shape}.")
    return vectors


def _both(how: str, learned: csr_array, written: csr_array, share: float) -> csr_array:
    from scipy.sparse import hstack

    learned, written = learned * share, written * (1 - share)
    return unit_rows(hstack([learned, written], format="csr") if how == "concat" else (learned + written).tocsr())


def unit_rows(matrix: csr_array) -> csr_array:
    """Divide every row by its length; an empty row stays empty."""
    from scipy.sparse import csr_array

    sizes = np.diff(matrix.indptr)
    squares = np.zeros(matrix.shape[0])
    squares[sizes > 0] = np.add.reduceat(np.square(matrix.data), matrix.indptr[:-1][sizes > 0], dtype=np.float64)
    lengths = np.sqrt(np.where(squares > 0, squares, 1)).astype(np.float32)
    return csr_array((matrix.data / np.repeat(lengths, sizes), matrix.indices, matrix.indptr), shape=matrix.shape)


DEFAULT_BRANCHING, DEFAULT_MAX_LEAF = 256, 100
"""The shape that training asks for unless told otherwise; the paper's is 32 and 100."""


@dataclass(frozen=True, eq=False)
class LabelTree:
    """A tree whose nodes are numbered layer by layer, children of one node next to each other.

    Parameters
    ----------
    layers : sequence of int arrays
        Layer t says where the children of each of its nodes begin in layer t + 1, and ends with their number; it has
        one entry more than the layer has nodes. Layer 0 is the root. The children of the last layer are places for
        items.
    items : int array
        The item at each place; every item exactly once.

    Examples
    --------
    >>> tree = LabelTree([[0, 2], [0, 2, 5]], [3, 0, 1, 2, 4])
    >>> tree.depth, tree.widths, tree.leaf_of(2), tree.neighbors(2).tolist()
    (2, (2, 5), 1, [1, 2, 4])
    """

    layers: tuple[NDArray[np.int64], ...]
    items: NDArray[np.int32]

    @validate_args
    def __init__(self, layers: Sequence[object], items: object):
        offsets = tuple(_whole_numbers("layers", layer) for layer in layers)
        places = _whole_numbers("items", items)
        _check_layers(offsets, len(places))
        _check_items(places)
        object.__setattr__(self, "layers", offsets)
        object.__setattr__(self, "items", places.astype(np.int32))

    def __len__(self) -> int:
        return len(self.items)

    @property
    def depth(self) -> int:
        """The number of layers below the root; the last one is the items'."""
        return len(self.layers)

    @property
    def widths(self) -> tuple[int, ...]:
        """The number of nodes of each layer below the root."""
        return tuple(int(layer[-1]) for layer in self.layers)

    @cached_property
    def places(self) -> NDArray[np.int32]:
        """The place of each item: the inverse of `items`."""
        places = np.empty(len(self), dtype=np.int32)
        places[self.items] = np.arange(len(self), dtype=np.int32)
        return places

    def parents(self, layer: int) -> NDArray[np.int32]:
        """Return the parent of each node of the layer below `layer`.

        Examples
        --------
        >>> LabelTree([[0, 2], [0, 1, 3]], [0, 1, 2]).parents(1).tolist()
        [0, 1, 1]
        """
        sizes = np.diff(self.layers[layer])
        return np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)

    def path(self, item: int) -> tuple[int, ...]:
        """Return the nodes from the root's child down to the item's place.

        Examples
        --------
        >>> LabelTree([[0, 2], [0, 1, 3]], [0, 1, 2]).path(2)
        (1, 2)
        """
        self._check_item(item)
        nodes = [int(self.places[item])]
        for layer in reversed(self.layers[1:]):
            nodes.append(int(np.searchsorted(layer, nodes[-1], side="right")) - 1)
        return tuple(reversed(nodes))

    def leaf_of(self, item: int) -> int:
        """Return the number of the cluster that holds the item."""
        self._check_item(item)
        return int(np.searchsorted(self.layers[-1], self.places[item], side="right")) - 1

    def neighbors(self, item: int) -> NDArray[np.int32]:
        """Return the items that share the item's cluster, itself included."""
        return self.items_under(self.depth - 1, self.leaf_of(item))

    def items_under(self, layer: int, node: int) -> NDArray[np.int32]:
        """Return the items below a node; layer 0 is the root.

        Examples
        --------
        >>> LabelTree([[0, 2], [0, 1, 3]], [2, 1, 0]).items_under(1, 1).tolist()
        [1, 0]
        """
        first, last = node, node + 1
        for offsets in self.layers[layer:]:
            first, last = int(offsets[first]), int(offsets[last])
        return self.items[first:last]

    def _check_item(self, item: int) -> None:
        if not 0 <= item < len(self):
            raise InputError(f"`item` must be between 0 and {len(self) - 1}. Got {item}.")


def tree_shape(items: int, *, branching: int = 32, max_leaf: int = 100) -> tuple[NDArray[np.int64], ...]:
    """Return the layers of the shallowest balanced tree that keeps to these limits.

    All nodes branch alike, into fewer than `branching` where that is enough, and sizes within a layer differ by one at
    most.

    Parameters
    ----------
    items : int
        The number of items.
    branching : int
        The most children of a node above the leaves (the paper's B).
    max_leaf : int
        The most items of a leaf.

    Examples
    --------
    >>> [len(layer) - 1 for layer in tree_shape(6829)]
    [1, 9, 69]
    """
    items, max_leaf = check_positive("items", items), check_positive("max_leaf", max_leaf)
    if check_positive("branching", branching) < 2:
        raise InputError("`branching` must be at least 2. Got 1.")
    leaves = -(-items // max_leaf)
    depth = 0
    while branching**depth < leaves:
        depth += 1
    widths = [_root_ceil(leaves**t, depth) for t in range(depth)] + [leaves, items]
    return tuple(_even_offsets(below, above) for above, below in pairwise(widths))


def cluster_items(
    vectors: Matrix | SparseRows,
    *,
    branching: int = 32,
    max_leaf: int = 100,
    iterations: int = 8,
    starts: int = 4,
    sample: int = 32768,
    seed: int = 0,
    threads: int = 1,
) -> LabelTree:
    """Build a tree by balanced spherical k-means from the root down.

    A node's items are cut in two by 2-means, and the halves again, until each child has its own: sizes are exact, and
    the same vectors and seed give the same tree with any number of threads. Items without a vector are spread evenly.

    Parameters
    ----------
    vectors : CSR matrix or float32 array
        A row for each item; made unit length here.
    branching, max_leaf : int
        See `tree_shape`.
    iterations : int
        The most rounds of a cut; it stops when no item moves.
    starts : int
        How many random beginnings a cut tries; the one with the tightest halves goes on.
    sample : int
        Cuts of more items than this find their two mean directions on a sample of this size.
    seed : int
        Seed of the random starts.
    threads : int
        How many to use.

    Examples
    --------
    >>> cluster_items(np.eye(4)[[0, 1, 0, 1]], max_leaf=2, branching=2).items.tolist()
    [0, 2, 1, 3]
    """
    rows = vectors.shape[0]
    layers = tree_shape(rows, branching=branching, max_leaf=max_leaf)
    iterations, starts = check_positive("iterations", iterations), check_positive("starts", starts)
    sample, threads = check_positive("sample", sample), check_positive("threads", threads)
    seed = check_seed(seed)
    try:
        if isinstance(vectors, np.ndarray):
            dense = np.ascontiguousarray(vectors, dtype=np.float32)
            items = _native.cluster_dense(dense, layers, iterations, starts, sample, seed, threads)
        else:
            rows = SparseRows.of(vectors, name="vectors")
            items = _native.cluster_sparse(
                rows.offsets, rows.columns, rows.values, rows.width, layers, iterations, starts, sample, seed, threads
            )
    except ValueError as error:
        raise InputError(f"The item vectors cannot be clustered: {error}.") from None
    return LabelTree(layers, items)


def _root_ceil(power: int, degree: int) -> int:
    """Return the smallest whole number whose `degree`-th power is at least `power`, without trusting floats."""
    root: int = round(power ** (1 / degree))
    while root**degree >= power and root > 1:
        root -= 1
    while root**degree < power:
        root += 1
    return root


def _even_offsets(total: int, parts: int) -> NDArray[np.int64]:
    return np.arange(parts + 1, dtype=np.int64) * total // parts


def _whole_numbers(name: str, values: object) -> NDArray[np.int64]:
    array = as_array(name, values, np.int64)
    if array.ndim != 1:
        raise InputError(f"`{name}` must be whole numbers in one dimension. Got shape {array.shape}.")
    return array


def _check_layers(layers: tuple[NDArray[np.int64], ...], items: int) -> None:
    nodes = 1
    for number, layer in enumerate(layers):
        if not len(layer) or not are_offsets(layer, int(layer[-1]), rows=nodes):
            raise InputError(f"Layer {number} must be {nodes + 1} ascending offsets from 0. Got {layer!r:.80}.")
        nodes = int(layer[-1])
    if not layers or nodes != items:
        raise InputError(f"The last of `layers` must end with the number of items, {items}. Got {nodes}.")


def _check_items(items: NDArray[np.int64]) -> None:
    if not np.array_equal(np.sort(items), np.arange(len(items))):
        raise InputError("`items` must hold every item's number once. Some are missing, repeated or out of range.")
