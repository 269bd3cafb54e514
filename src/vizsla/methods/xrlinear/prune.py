"""Drops small weights of a trained model: smaller, faster, and a little less found (the paper's Table 3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

from vizsla.errors import InputError
from vizsla.indexes.tree import NodeWeights, TreeIndex
from vizsla.indexes.tree_matchers import all_matchers

if TYPE_CHECKING:
    from vizsla.methods.xrlinear.model import XrLinear

Model = TypeVar("Model", bound="XrLinear")


def prune(model: Model, threshold: float) -> Model:
    """Return the model without the weights up to `threshold`, as if it had been trained with it (Eq. 7).

    Items without clicks keep matchers made from unpruned ones, so a model that was trained with it can differ
    a little in them.

    Parameters
    ----------
    model : XrLinear
        A trained model.
    threshold : float
        Weights up to this size are dropped; at least that of training to have any effect.

    Examples
    --------
    >>> from vizsla.dataset import Dataset
    >>> from vizsla.methods.xrlinear.train import train_xrlinear
    >>> model = train_xrlinear(Dataset.of(["a fig", "a pear"], clicks=[("sweet", "0"), ("green", "1")]), threshold=0)
    >>> prune(model, 0.3).index.nbytes < model.index.nbytes
    True
    """
    if not 0 <= threshold < np.inf:
        raise InputError(f"`threshold` must be 0 or more. Got {threshold!r}.")
    return model._with(index=pruned_index(model.index, threshold))


def pruned_index(index: TreeIndex, threshold: float) -> TreeIndex:
    """Return the index without the weights up to `threshold`."""
    return index.with_matchers([_without_small(layer, threshold) for layer in all_matchers(index)])


def _without_small(nodes: NodeWeights, threshold: float) -> NodeWeights:
    large = np.abs(nodes.values) > threshold
    kept = np.concatenate([[0], np.cumsum(large)])
    return NodeWeights(kept[nodes.offsets].astype(np.int64), nodes.features[large], nodes.values[large])
