"""Make a trained model smaller: fewer bytes per weight, and fewer weights (Table 3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

from vizsla.errors import InputError
from vizsla.indexes.tree import NodeWeights, TreeIndex, all_matchers

if TYPE_CHECKING:
    from vizsla.methods.xrlinear.model import XrLinear

Model = TypeVar("Model", bound="XrLinear")


def compact(model: Model, weights: str = "int8") -> Model:
    """Return the model with its weights as 16-bit or 8-bit integers, one factor for each node's children.

    Parameters
    ----------
    model : XrLinear
        A trained model.
    weights : {"float32", "int16", "int8"}
        How to store them. What was rounded before stays rounded.

    Examples
    --------
    >>> from vizsla.data.dataset import Dataset
    >>> from vizsla.methods.xrlinear.build import xrlinear
    >>> model = xrlinear(Dataset.of(["a fig", "a pear"], clicks=[("sweet", "0"), ("green", "1")]))
    >>> compact(model).index.nbytes < model.index.nbytes
    True
    """
    return model._with(index=model.index.with_matchers(all_matchers(model.index), weights=weights))


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
    >>> from vizsla.data.dataset import Dataset
    >>> from vizsla.methods.xrlinear.build import xrlinear
    >>> model = xrlinear(Dataset.of(["a fig", "a pear"], clicks=[("sweet", "0"), ("green", "1")]), threshold=0)
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
