"""Items without clicks: placed beside their nearest neighbours by text, with matchers made from theirs (section 5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from vizsla.errors import InputError, check_positive
from vizsla.indexes.tree import LARGEST, NodeWeights, TreeIndex
from vizsla.indexes.tree_matchers import layer_matchers
from vizsla.linalg.largest_entries import largest_entries
from vizsla.methods.xrlinear.calibration import Calibration
from vizsla.methods.xrlinear.item_texts import ItemTexts
from vizsla.methods.xrlinear.leaves import choose_leaves, leaf_numbers
from vizsla.sparse_rows import as_scipy
from vizsla.strings import Strings
from vizsla.text.item_changes import kept_items, new_items

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from vizsla.methods.xrlinear.model import XrLinear

Model = TypeVar("Model", bound="XrLinear")


def add_items(model: Model, items: Mapping[str, str] | Iterable[tuple[str, str]], *, neighbours: int = 10) -> Model:
    """Return a model that also knows these items; see `XrLinear.with_items`."""
    texts, calibration = _text_index(model)
    pairs = new_items(model.items, items)
    if not pairs:
        return model
    ids = Strings.unique([*model.items, *(item for item, _ in pairs)], what="item id")
    vectors = as_scipy(model.encoder.items([text for _, text in pairs]))
    near = texts.nearest(vectors, check_positive("neighbours", neighbours), among=model.training_queries.counts > 0)
    matchers = matchers_by_item(model.index)
    cold = cold_matchers(near, matchers, vectors, calibration)
    last = model.index.layers[-1]
    leaf_of = leaf_numbers(last.child_offsets, model.index.positions)
    leaves = choose_leaves(near, leaf_of, np.diff(last.child_offsets))
    old = np.concatenate([np.arange(len(model.items)), np.full(len(pairs), -1)])
    return model._with(
        items=ids,
        index=with_leaf_items(model.index, matchers, cold, leaves),
        training_queries=model.training_queries.rearranged(old),
        texts=texts.with_rows(vectors),
    )


def remove_items(model: Model, ids: Iterable[str]) -> Model:
    """Return a model that has forgotten these items; see `XrLinear.without_items`."""
    numbers = kept_items(model.items, ids)
    return model._with(
        items=Strings.of(model.items.take(numbers.astype(np.int32))),
        index=with_kept_items(model.index, numbers),
        training_queries=model.training_queries.rearranged(numbers),
        texts=None if model.texts is None else model.texts.take(numbers),
    )


def cold_matchers(near: csr_array, matchers: csr_array, vectors: csr_array, how: Calibration) -> csr_array:
    """Return the matchers of new items: a share of their neighbours', a share of their own text, and a bias."""
    from scipy.sparse import csr_array, hstack

    ones = csr_array(np.full((vectors.shape[0], 1), how.bias, dtype=np.float32))
    own = hstack([vectors * np.float32(how.text), ones], format="csr")
    joined: csr_array = (near @ matchers * np.float32(how.neighbours) + own).tocsr()
    sizes = near.astype(bool).astype(np.float32) @ np.diff(matchers.indptr) / np.maximum(np.diff(near.indptr), 1)
    return largest_entries(joined, (sizes + np.diff(own.indptr)).astype(np.int64))


def matchers_by_item(index: TreeIndex) -> csr_array:
    """Return items × (features and the bias): the last layer's matchers."""
    from scipy.sparse import csr_array

    by_place = layer_matchers(index, len(index.layers) - 1)
    arrays = (by_place.values, by_place.features, by_place.offsets)
    matrix: csr_array = csr_array(arrays, shape=(len(index), index.dim + 1))
    return matrix[index.positions]


def with_leaf_items(index: TreeIndex, matchers: csr_array, cold: csr_array, leaves: NDArray[np.int64]) -> TreeIndex:
    """Return the index with new items at the ends of their leaves; their numbers follow those of the old ones."""
    from scipy.sparse import vstack

    cold = _within_range(index, cold, leaves)
    leaf_of = np.concatenate([leaf_numbers(index.layers[-1].child_offsets, index.positions), leaves])
    places = np.concatenate([index.positions, len(index) + np.arange(len(leaves))])
    return _with_last_layer(index, np.lexsort((places, leaf_of)), leaf_of, vstack([matchers, cold], format="csr"))


def with_kept_items(index: TreeIndex, kept: NDArray[np.int64]) -> TreeIndex:
    """Return the index with only these items, numbered anew in this order."""
    leaf_of = leaf_numbers(index.layers[-1].child_offsets, index.positions)[kept]
    order = np.lexsort((index.positions[kept], leaf_of))
    return _with_last_layer(index, order, leaf_of, matchers_by_item(index)[kept])


def _within_range(index: TreeIndex, cold: csr_array, leaves: NDArray[np.int64]) -> csr_array:
    """Clip weights to what their leaf can store, so that a newcomer does not change how its siblings are rounded."""
    if index.weights not in LARGEST:
        return cold
    layer = index.layers[-1]
    used = np.diff(layer.entry_offsets) > 0
    bounds = np.where(used, layer.factors * LARGEST[index.weights], np.inf)[leaves]
    clipped, rows = cold.copy(), np.repeat(np.arange(len(leaves)), np.diff(cold.indptr))
    clipped.data = np.clip(cold.data, -bounds[rows], bounds[rows]).astype(np.float32)
    return clipped


def _with_last_layer(
    index: TreeIndex, order: NDArray[np.int64], leaf_of: NDArray[np.int64], matchers: csr_array
) -> TreeIndex:
    sizes = np.bincount(leaf_of, minlength=len(index.layers[-1].child_offsets) - 1)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    return index.with_last_layer(offsets, order.astype(np.int32), NodeWeights.of(matchers[order]))


def _text_index(model: XrLinear) -> tuple[ItemTexts, Calibration]:
    if model.texts is None or model.calibration is None:
        raise InputError(
            "The model must know its items' texts to place new ones. Got one that does not: train it with "
            "`cold_start=True` on items that have texts."
        )
    return model.texts, model.calibration
