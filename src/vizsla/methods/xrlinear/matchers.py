"""One linear model per node and item of the tree, trained layer by layer, and its negatives (Eq. 6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla._internal.terminal import progress
from vizsla.core.sparse import SparseRows
from vizsla.errors import InputError, check_choice
from vizsla.indexes.tree import NodeWeights, TreeIndex
from vizsla.methods.xrlinear.layer import LayerWeights, train_layer
from vizsla.methods.xrlinear.subtrees import LayerProblem, train_on

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vizsla.base.placement import Placement
    from vizsla.core.sparse import Matrix
    from vizsla.methods.xrlinear.tree import LabelTree

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
    on: Placement | None = None,
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
    on : Placement, optional
        Where parts of the tree are trained; the weights do not depend on it.
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
    rule = TrainingLayers(labels, tree, negatives, teacher_forcing, item_instances, (tolerance_above, tolerance))
    trained: list[LayerWeights] = []
    if on is None:
        for number in progress(range(tree.depth), what="training the tree's layers"):
            problem = rule.problem(number, trained)
            trained.append(
                train_layer(
                    features, problem.labels, problem.reached, problem.offsets, tolerance=problem.tolerance, **options
                )
            )
        return trained
    given = {**options, "threads": 1, "dim": features.width}
    # Negatives that the layers above lead to are known when these are trained; all others beforehand.
    steps = [range(tree.depth)] if negatives is None else [range(n, n + 1) for n in range(tree.depth)]
    for numbers in steps:
        problems = [rule.problem(number, trained) for number in numbers]
        trained += train_on(on, features, problems, first_layer=numbers[0], options=given)
    return trained


class TrainingLayers(NamedTuple):
    """The training data of each layer.

    Attributes
    ----------
    labels : list of SparseRows
        See `layer_labels`.
    tree, negatives, teacher_forcing, item_instances
        See `train_matchers`.
    tolerances : pair of float
        Those of the layers above, and of the items' own.
    """

    labels: list[SparseRows]
    tree: LabelTree
    negatives: Negatives | None
    teacher_forcing: bool
    item_instances: NDArray[np.bool_] | None
    tolerances: tuple[float, float]

    def problem(self, number: int, trained: list[LayerWeights]) -> LayerProblem:
        """Return what a layer is trained from, when those above are trained."""
        reached, last = self.labels[number], number == self.tree.depth - 1
        more = self.negatives(number, trained) if self.negatives is not None and number > 0 else None
        if more is not None:
            further = SparseRows.of(more, name="negatives")
            reached = union(reached, further) if self.teacher_forcing else further
        if last and self.item_instances is not None:
            reached = with_rows(reached, self.item_instances)
        offsets = np.ascontiguousarray(self.tree.layers[number], dtype=np.int64)
        return LayerProblem(self.labels[number + 1], reached, offsets, self.tolerances[last])


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
