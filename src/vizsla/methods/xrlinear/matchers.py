"""One linear model per node and item of the tree, trained layer by layer, and its negatives (Eq. 6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla._internal.terminal import progress
from vizsla.core.sparse import SparseRows
from vizsla.core.validation import check_seed
from vizsla.errors import InputError, check_choice, check_positive
from vizsla.indexes.tree import NodeWeights, TreeIndex

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vizsla.core.sparse import Matrix
    from vizsla.methods.xrlinear.tree import LabelTree

LOSSES = ("squared_hinge", "hinge", "logistic")


class LayerWeights(NamedTuple):
    """The weights of one layer, node after node.

    Attributes
    ----------
    offsets : int64 array
        Where each node's entries begin.
    features, values : int32 and float32 arrays
        Ascending features, and their weights, none of them 0. Feature number `dim` is the bias: its weight counts times
        the `bias` that the layer was trained with.
    epochs : int32 array
        How many passes over its instances each node took; as many as allowed means that it did not settle.
    """

    offsets: NDArray[np.int64]
    features: NDArray[np.int32]
    values: NDArray[np.float32]
    epochs: NDArray[np.int32]


def train_layer(
    X: Matrix | SparseRows,
    labels: Matrix | SparseRows,
    reached: Matrix | SparseRows,
    child_offsets: NDArray[np.int64],
    *,
    loss: str = "squared_hinge",
    C: float = 1.0,
    bias: float = 1.0,
    tolerance: float = 0.1,
    epochs: int = 100,
    threshold: float = 0.1,
    max_nonzeros: int | None = None,
    seed: int = 0,
    threads: int = 1,
) -> LayerWeights:
    """Train the nodes of one layer, each against its siblings, on the instances that reach their parent.

    A node's weights minimize |w|²/2 + C · sum over instances of (cost · loss(y, w·x)), where the cost of a positive is
    its value in `labels` and that of a negative is 1.

    Parameters
    ----------
    X : CSR matrix
        Instances by features.
    labels : CSR matrix
        Instances by nodes of this layer: the weights of positives, above 0.
    reached : CSR matrix
        Instances by nodes of the layer above; every entry puts the instance into the training set of all the node's
        children.
    child_offsets : int64 array
        Where the children of each node of the layer above begin.
    loss : {"squared_hinge", "hinge", "logistic"}
        The loss of a margin.
    C : float
        Weight of the losses against the regularizer.
    bias : float
        Value of the feature that every instance has besides its own; 0 for none.
    tolerance : float
        A node is done when the projected gradients of a pass lie within this much of each other.
    epochs : int
        The most passes.
    threshold : float
        Weights up to this size are dropped (Eq. 7); 0 keeps all that are not zero.
    max_nonzeros : int, optional
        The most weights kept for a node, the largest first.
    seed : int
        Of the order in which instances are visited.
    threads : int
        How many to use; the weights do not depend on it.

    Examples
    --------
    >>> X, labels = np.array([[1, 0], [0, 1]], np.float32), np.eye(2, dtype=np.float32)
    >>> layer = train_layer(X, labels, np.ones((2, 1)), np.array([0, 2]), bias=0, tolerance=1e-4, threshold=0)
    >>> layer.features.tolist(), [round(float(value), 3) for value in layer.values]
    ([0, 1, 0, 1], [0.667, -0.667, -0.667, 0.667])
    """
    check_choice("loss", loss, LOSSES)
    features, positives = SparseRows.of(X, name="X"), SparseRows.of(labels, name="labels")
    instances = SparseRows.of(reached, name="reached")
    offsets = np.ascontiguousarray(child_offsets, dtype=np.int64)
    if len(offsets) == 0 or positives.width != offsets[-1]:
        raise InputError(f"`labels` must have a column for each child. Got {positives.width}.")
    kept = np.iinfo(np.int64).max if max_nonzeros is None else check_positive("max_nonzeros", max_nonzeros)
    try:
        arrays = _native.train_layer(
            features.offsets, features.columns, features.values, features.width,
            positives.offsets, positives.columns, positives.values, instances.offsets, instances.columns, offsets,
            loss=loss, cost=C, bias=bias, tolerance=tolerance, epochs=check_positive("epochs", epochs),
            threshold=threshold, max_nonzeros=int(kept), seed=check_seed(seed),
            threads=check_positive("threads", threads),
        )  # fmt: skip
    except ValueError as error:
        raise InputError(f"The layer cannot be trained: {error}.") from None
    return LayerWeights(*arrays)


Negatives = Callable[[int, list[LayerWeights]], "Matrix | SparseRows | None"]


def train_matchers(
    X: Matrix | SparseRows,
    clicks: Matrix | SparseRows,
    tree: LabelTree,
    *,
    negatives: Negatives | None = None,
    teacher_forcing: bool = True,
    item_instances: NDArray[np.bool_] | None = None,
    tolerance: float = 0.1,
    tolerance_above: float = 0.5,
    **options: Any,
) -> list[LayerWeights]:
    """Train every layer from the root down.

    Parameters
    ----------
    X : CSR matrix
        Instances by features.
    clicks : CSR matrix
        Instances by items: the weight of each click, above 0.
    tree : LabelTree
        Where the items are.
    negatives : callable, optional
        Called for each layer below the first with its number and the weights of the layers above it; returns instances
        by nodes of the layer above (entries: further instances for these nodes' children) or None.
    teacher_forcing : bool
        Train a node's children on the instances that have a positive among them. Without it, and with `negatives`,
        only on those that `negatives` gives.
    item_instances : bool array, optional
        Which instances the items' own layer learns from; by default all of them.
    tolerance : float
        That of the items' own layer; see `train_layer`.
    tolerance_above : float
        That of the layers above, which only lead the way: on held-out clicks of two logs 0.5 found as much as 0.1 in
        half the time.
    options
        See `train_layer`.

    Examples
    --------
    >>> from vizsla.methods.xrlinear.tree import LabelTree
    >>> tree = LabelTree([[0, 2], [0, 1, 2]], [0, 1])
    >>> [layer.offsets.tolist() for layer in train_matchers(np.eye(2), np.eye(2), tree)]
    [[0, 2, 4], [0, 2, 4]]
    """
    features, labels = SparseRows.of(X, name="X"), layer_labels(SparseRows.of(clicks, name="clicks"), tree)
    trained: list[LayerWeights] = []
    for number, offsets in enumerate(progress(tree.layers, what="training the tree's layers")):
        reached = labels[number]
        more = negatives(number, trained) if negatives is not None and number > 0 else None
        if more is not None:
            further = SparseRows.of(more, name="negatives")
            reached = union(reached, further) if teacher_forcing else further
        last = number == tree.depth - 1
        if last and item_instances is not None:
            reached = with_rows(reached, item_instances)
        wanted = tolerance if last else tolerance_above
        trained.append(train_layer(features, labels[number + 1], reached, offsets, tolerance=wanted, **options))
    return trained


def layer_labels(clicks: SparseRows, tree: LabelTree) -> list[SparseRows]:
    """Return the positives of every layer, from the root to the items' places.

    A node is positive for an instance when an item below it is; its weight is the largest of theirs.

    Examples
    --------
    >>> from vizsla.methods.xrlinear.tree import LabelTree
    >>> tree = LabelTree([[0, 2], [0, 1, 2]], [1, 0])
    >>> [layer.columns.tolist() for layer in layer_labels(SparseRows.of(np.eye(2), name="clicks"), tree)]
    [[0, 0], [1, 0], [1, 0]]
    """
    if clicks.width != len(tree):
        raise InputError(f"`clicks` must have a column for each of the tree's {len(tree)} items. Got {clicks.width}.")
    rows = clicks.row_numbers()
    columns, values = tree.places[clicks.columns].astype(np.int64), clicks.values
    labels = [_largest(rows, columns, values, (len(clicks), len(tree)))]
    for number in range(tree.depth - 1, -1, -1):
        below, parents = labels[0], tree.parents(number)
        shape = (len(clicks), len(tree.layers[number]) - 1)
        labels.insert(0, _largest(below.row_numbers(), parents[below.columns].astype(np.int64), below.values, shape))
    return labels


def with_rows(matrix: SparseRows, kept: NDArray[np.bool_]) -> SparseRows:
    """Return the pattern with only these rows' entries.

    Examples
    --------
    >>> with_rows(SparseRows.of(np.eye(2), name="matrix"), np.array([False, True])).offsets.tolist()
    [0, 0, 1]
    """
    rows = matrix.row_numbers()
    entries = kept[rows]
    return SparseRows.of_entries(rows[entries], matrix.columns[entries].astype(np.int64), (len(matrix), matrix.width))


def union(a: SparseRows, b: SparseRows) -> SparseRows:
    """Return the pattern of both matrices together.

    Examples
    --------
    >>> union(SparseRows.of(np.eye(2), name="a"), SparseRows.of(np.eye(2)[::-1], name="b")).columns.tolist()
    [0, 1, 0, 1]
    """
    if (len(a), a.width) != (len(b), b.width):
        raise InputError(f"`negatives` must have shape {len(a), a.width}. Got {len(b), b.width}.")
    rows = np.concatenate([a.row_numbers(), b.row_numbers()])
    return SparseRows.of_entries(rows, np.concatenate([a.columns, b.columns]).astype(np.int64), (len(a), a.width))


def _largest(
    rows: NDArray[np.int64], columns: NDArray[np.int64], values: NDArray[np.float32], shape: tuple[int, int]
) -> SparseRows:
    """Build the matrix of these entries; of several in one place the largest value counts."""
    keys = rows * shape[1] + columns
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    pattern = SparseRows.of_entries(rows, columns, shape)
    largest = np.maximum.reduceat(values[order], starts) if len(starts) else values[:0]
    return pattern.with_values(np.ascontiguousarray(largest, dtype=np.float32))


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


def explicit_negatives(matrix: Matrix, tree: LabelTree, rows: NDArray[np.int64], instances: int) -> Negatives:
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
