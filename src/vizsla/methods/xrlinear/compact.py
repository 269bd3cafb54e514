"""Stores the weights of a trained model in fewer bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from vizsla.indexes.tree_matchers import all_matchers

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
    >>> from vizsla.dataset import Dataset
    >>> from vizsla.methods.xrlinear.train import train_xrlinear
    >>> model = train_xrlinear(Dataset.of(["a fig", "a pear"], clicks=[("sweet", "0"), ("green", "1")]))
    >>> compact(model).index.nbytes < model.index.nbytes
    True
    """
    return model._with(index=model.index.with_matchers(all_matchers(model.index), weights=weights))
