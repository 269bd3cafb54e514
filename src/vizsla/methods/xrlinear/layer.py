"""One layer of the tree: a linear model per node, trained on the instances that reach its parent (Eq. 6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla.core.sparse import SparseRows
from vizsla.core.validation import check_seed
from vizsla.errors import InputError, check_choice, check_positive

if TYPE_CHECKING:
    from vizsla.core.sparse import Matrix

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
        Seed of the order in which instances are visited.
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
