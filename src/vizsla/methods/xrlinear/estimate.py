"""How large an XR-Linear model will be and what its training will take, from a part of its nodes."""

from __future__ import annotations

from inspect import signature
from time import process_time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla.core.sparse import SparseRows
from vizsla.core.validation import check_type
from vizsla.errors import InputError, check_range
from vizsla.indexes.tree import Layer, NodeWeights
from vizsla.methods.xrlinear.build import SOLVER_OPTIONS, PreparedTraining, by_the_paper, prepared, xrlinear
from vizsla.methods.xrlinear.layer import LayerWeights, train_layer
from vizsla.methods.xrlinear.matchers import TrainingLayers, layer_labels
from vizsla.methods.xrlinear.subtrees import LANES, LayerProblem

if TYPE_CHECKING:
    from vizsla.data.dataset import Dataset

FEW_PARENTS = 16
"""A layer with fewer is sampled by its nodes, in groups as the solver takes them; others by their parents."""


class TrainingEstimate(NamedTuple):
    """What a training will make and take.

    Attributes
    ----------
    nodes : int
        Matchers, one for each node and item.
    weights : int
        Their weights that are not dropped.
    nbytes : int
        Bytes of the tree that searches read.
    seconds : float
        CPU seconds: features and clustering as they were measured, and what training all nodes will take.
    share : float
        The share of the weights that was trained to say so.
    """

    nodes: int
    weights: int
    nbytes: int
    seconds: float
    share: float

    def __str__(self) -> str:
        seen = f"estimated from {100 * self.share:.0f} % of the weights"
        size = f"{self.nodes:,} matchers, about {self.weights:,} weights in {self.nbytes / 1e6:.1f} MB"
        return f"{size}, and {self.seconds:.0f} CPU seconds of training; {seen}"


def estimate_xrlinear(dataset: Dataset, *, share: float = 0.1, **options: Any) -> TrainingEstimate:
    """Estimate the size and CPU time of `xrlinear(dataset, **options)`.

    Features are fitted and items clustered as in the training. Then a share of the nodes is trained, and the others are
    taken to be like them: weights in proportion to the features of a node's positives, time to those of the instances
    that reach its parent. Matchers of items without clicks are counted by their neighbors'.

    Parameters
    ----------
    dataset : Dataset
        Items and clicks.
    share : float
        The share of the nodes that is trained, above 0; 1 for all.
    **options
        Of `xrlinear`. Negatives other than "tfn", which depend on trained layers, are not possible.

    Examples
    --------
    >>> from vizsla.data.dataset import Dataset
    >>> log = Dataset.of({"fig": "", "pear": ""}, clicks=[("red fruit", "fig"), ("green fruit", "pear")])
    >>> estimate_xrlinear(log, share=1.0).nodes
    2
    """
    from vizsla.data.dataset import Dataset

    check_type("dataset", dataset, Dataset, "a Dataset")
    if check_range("share", share, 0, 1) == 0:
        raise InputError("`share` must be above 0. Got 0.")
    start, given = process_time(), _all_options(dataset, options)
    ready = prepared(given)
    seconds, nbytes, weights, seen = process_time() - start, 0.0, 0.0, 0
    tree, features = ready.tree, SparseRows.of(ready.features, name="features")
    labels = layer_labels(SparseRows.of(ready.costs, name="clicks"), tree)
    layers = TrainingLayers(labels, tree, None, True, ready.item_instances, (0.5, 0.1))
    solver = {name: given[name] for name in SOLVER_OPTIONS}
    nodes = sum(int(offsets[-1]) for offsets in tree.layers)
    for number in range(tree.depth):
        problem = layers.problem(number, [])
        part = _Part.of(problem, features, share)
        start = process_time()
        trained = train_layer(
            features, part.labels, part.reached, problem.offsets, tolerance=problem.tolerance, **solver
        )
        spent = process_time() - start
        counted = _only(trained, part.nodes)
        found = len(counted.values)
        cold = _cold_weights(ready, found / max(1, len(part.nodes))) if number == tree.depth - 1 else 0.0
        all_weights = found / part.weight_share + cold
        laid = Layer.build(problem.offsets.astype(np.int32), counted, given["weights"])
        growing = laid.buckets.nbytes + laid.entry_offsets.nbytes + laid.entries.nbytes
        nbytes += sum(array.nbytes for array in laid) + growing * (all_weights / max(1, found) - 1)
        seconds += spent / part.time_share
        weights, seen = weights + all_weights, seen + found
    nbytes += 4 * nodes + 12 * len(tree)  # the way of each item to the root
    return TrainingEstimate(nodes, round(weights), round(nbytes), seconds, seen / max(1.0, weights))


def _all_options(dataset: Dataset, options: dict[str, Any]) -> dict[str, Any]:
    """Return all arguments of `xrlinear`, checked for what cannot be estimated."""
    known = {name: one.default for name, one in signature(xrlinear).parameters.items() if name != "dataset"}
    if wrong := sorted(set(options) - set(known)):
        raise InputError(f"`options` must be those of `xrlinear`. Got {', '.join(wrong)}.")
    given = {**known, **options, "dataset": dataset}
    if not isinstance(given["negatives"], str) or given["negatives"] != "tfn":
        raise InputError(f'`negatives` must be "tfn" for an estimate. Got {given["negatives"]!r:.60}.')
    if given["half_life"] is not None:
        raise InputError(f"`half_life` must be left alone for an estimate. Got {given['half_life']!r}.")
    return by_the_paper(given) if given["paper"] else given


class _Part(NamedTuple):
    """A part of a layer: what is trained, and its share of the layer's weights and time."""

    labels: SparseRows
    reached: SparseRows
    nodes: NDArray[np.int64]
    weight_share: float
    time_share: float

    @classmethod
    def of(cls, problem: LayerProblem, features: SparseRows, share: float) -> _Part:
        """Take every so manieth parent, ordered by its work; of few parents, groups of nodes."""
        labels, reached, offsets = problem.labels, problem.reached, problem.offsets
        sizes, children = np.diff(features.offsets), np.diff(offsets)
        by_node = np.bincount(labels.columns, sizes[labels.row_numbers()], minlength=labels.width)
        by_parent = np.bincount(reached.columns, sizes[reached.row_numbers()], minlength=reached.width)
        work = by_parent * -(-children // LANES)
        if len(children) < FEW_PARENTS:
            # The solver takes nodes with alike many positives together, and so does the part.
            order = np.argsort(-by_node, kind="stable")
            groups = [order[first : first + LANES] for first in range(0, len(order), LANES)]
            nodes = np.sort(np.concatenate(groups[:: round(1 / share)]))
            kept = np.isin(labels.columns, nodes)
            labels = _entries(labels, kept)
            time_share = len(groups[:: round(1 / share)]) / len(groups)
        else:
            parents = np.argsort(-work, kind="stable")[:: round(1 / share)]
            nodes = np.concatenate([np.arange(offsets[parent], offsets[parent + 1]) for parent in np.sort(parents)])
            reached = _entries(reached, np.isin(reached.columns, parents))
            time_share = float(work[parents].sum() / max(1.0, work.sum()))
        weight_share = float((by_node[nodes].sum() + len(nodes)) / (by_node.sum() + len(by_node)))
        return cls(labels, reached, nodes, weight_share, max(time_share, 1e-9))


def _entries(matrix: SparseRows, kept: NDArray[np.bool_]) -> SparseRows:
    offsets = np.concatenate([[0], np.cumsum(kept)])[matrix.offsets].astype(np.int64)
    return SparseRows(offsets, matrix.columns[kept], matrix.values[kept], matrix.width)


def _only(trained: LayerWeights, nodes: NDArray[np.int64]) -> NodeWeights:
    """Return the weights of some nodes; the others have none."""
    sizes, kept = np.diff(trained.offsets), np.zeros(len(trained.offsets) - 1, np.bool_)
    kept[nodes] = True
    entries = np.repeat(kept, sizes)
    offsets = np.concatenate([[0], np.cumsum(sizes * kept)]).astype(np.int64)
    return NodeWeights(offsets, trained.features[entries], trained.values[entries])


def _cold_weights(ready: PreparedTraining, mean: float) -> float:
    """Return how many weights the items without clicks get: their neighbors' in the mean, and their texts'."""
    if ready.cold is None:
        return 0.0
    cold = ~ready.cold.warm
    own = np.diff(ready.cold.texts.vectors.indptr)[cold]
    return float(cold.sum() * (mean + 1) + own.sum())
