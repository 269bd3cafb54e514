"""Why an item is where it is: the path, the n-grams that carried it, the training queries that chose it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vizsla.errors import InputError
from vizsla.explanation import Explanation
from vizsla.indexes.tree_matchers import node_matcher
from vizsla.text.ngrams import NgramTfidf

if TYPE_CHECKING:
    from vizsla.methods.xrlinear.model import XrLinear
    from vizsla.queries import Queries

MOST_FEATURES = 5


def explain(model: XrLinear, queries: Queries, item: int) -> Explanation:
    """Return the item's score as the sum of its path's log activations, and what made each of them."""
    rows = model._rows(queries)
    query = dict(zip(rows.columns.tolist(), rows.values.tolist(), strict=True))
    score = model._score_one(queries, item)
    path = model.index.path(item)
    steps = [_step(model, number, node, query) for number, node in enumerate(path)]
    reason = f"xrlinear: the sum of {len(path)} log activations on the way to the item"
    return Explanation(score, reason, [*steps, *_training_queries(model, item)])


def _step(model: XrLinear, number: int, node: int, query: dict[int, float]) -> Explanation:
    features, weights = node_matcher(model.index, number, node)
    bias = dict(zip(features.tolist(), weights.tolist(), strict=True)).get(model.index.dim, 0.0) * model.index.bias
    shared = [(f, query[f] * w) for f, w in zip(features.tolist(), weights.tolist(), strict=True) if f in query]
    margin = bias + sum(share for _, share in shared)
    largest = sorted(shared, key=lambda pair: (-abs(pair[1]), pair[0]))[:MOST_FEATURES]
    parts = [Explanation(share, _name(model, feature)) for feature, share in largest]
    last = number == len(model.index.layers) - 1
    place = "the item itself" if last else f"layer {number + 1}, node {node}"
    reason = f"{place}: margin {margin:.4f} = bias {bias:.4f} + {len(shared)} n-grams, the largest of them:"
    return Explanation(log_activation(margin, model.index.transform), reason, parts)


def log_activation(margin: float, transform: str) -> float:
    """Return the logarithm of the activation of a margin.

    Examples
    --------
    >>> log_activation(0.0, "l3-hinge"), log_activation(2.0, "l3-hinge")
    (-1.0, -0.0)
    """
    if transform == "none":
        return margin
    if transform == "sigmoid":
        return float(-np.logaddexp(0, -margin))
    return float(-(max(0.0, 1 - margin) ** int(transform[1])))


def _name(model: XrLinear, feature: int) -> str:
    return repr(model.encoder.feature_name(feature)) if isinstance(model.encoder, NgramTfidf) else f"feature {feature}"


def _training_queries(model: XrLinear, item: int) -> list[Explanation]:
    count = model.training_queries.count(item)
    if count == 0:
        return [Explanation(0.0, "no training query: placed by its text")]
    queries = [Explanation(weight, repr(text)) for text, weight in model.training_queries.of_item(item)]
    what = "training query" if count == 1 else "training queries"
    reason = f"chosen for {count} {what} (with the clicks' weights), the heaviest first:"
    return [Explanation(0.0, reason, queries)]


def top_features(model: XrLinear, layer: int, node: int, *, most: int = 10) -> list[tuple[str, float]]:
    """Return the features with the largest weights of a node's matcher: what the node stands for."""
    _check_node(model, layer, node)
    features, weights = node_matcher(model.index, layer, node)
    real: NDArray[np.bool_] = features < model.index.dim
    order = np.argsort(-weights[real], kind="stable")[:most]
    return [(_name(model, int(f)), float(w)) for f, w in zip(features[real][order], weights[real][order], strict=True)]


def _check_node(model: XrLinear, layer: int, node: int) -> None:
    layers = model.index.layers
    if not 0 <= layer < len(layers):
        raise InputError(f"`layer` must be from 0 to {len(layers) - 1}, the items' layer. Got {layer}.")
    nodes = int(layers[layer].child_offsets[-1])
    if not 0 <= node < nodes:
        raise InputError(f"`node` must be from 0 to {nodes - 1} in layer {layer}. Got {node}.")
