"""Items without clicks: placed beside their nearest neighbours by text, with matchers made from theirs (section 5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla.errors import InputError, check_positive
from vizsla.indexes.inverted import InvertedIndex
from vizsla.indexes.tree import NodeWeights, TreeIndex
from vizsla.indexes.tree_matchers import layer_matchers
from vizsla.strings import Strings

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from vizsla.methods.xrlinear.model import XrLinear

MOST_CHILDREN = 256
"""A leaf holds no more items: an entry names its child by one byte."""


class Calibration(NamedTuple):
    """The matcher of an item without clicks is `neighbours` × the mean of its neighbours' + `text` × its text + `bias`."""

    neighbours: float
    text: float
    bias: float


def add_items(
    model: XrLinear, items: Mapping[str, str] | Iterable[tuple[str, str]], *, neighbours: int = 10
) -> Any:
    """Return a model that also knows these items; see `XrLinear.with_items`."""
    texts, calibration = _text_index(model)
    pairs = list(items.items() if isinstance(items, Mapping) else items)
    if not pairs:
        return model
    ids = Strings.unique([*model.items, *(item for item, _ in pairs)], what="item id")
    vectors = model.encoder.items([text for _, text in pairs])
    warm = np.diff(model.taught.offsets) > 0
    near = nearest(texts, vectors, warm, check_positive("neighbours", neighbours))
    matchers = matchers_by_item(model.index)
    cold = cold_matchers(near, matchers, vectors, calibration)
    leaves = choose_leaves(near, leaf_of_items(model.index), leaf_sizes(model.index))
    index = with_leaf_items(model.index, matchers, cold, leaves)
    old = np.concatenate([np.arange(len(model.items)), np.full(len(pairs), -1)])
    return model._with(
        items=ids, index=index, taught=model.taught.rearranged(old), texts=_joined(texts, vectors)
    )


def remove_items(model: XrLinear, ids: Iterable[str]) -> Any:
    """Return a model that has forgotten these items; see `XrLinear.without_items`."""
    numbers = {model.items.number(item) for item in ids}
    kept = np.array([number for number in range(len(model.items)) if number not in numbers], dtype=np.int64)
    if not len(kept):
        raise InputError("At least one item must be left. Got the ids of all of them.")
    texts = None if model.texts is None else InvertedIndex.build(_vectors_of(model.texts)[kept])
    return model._with(
        items=Strings.of(model.items.take(kept.astype(np.int32))),
        index=with_kept_items(model.index, kept),
        taught=model.taught.rearranged(kept),
        texts=texts,
    )


def nearest(texts: InvertedIndex, vectors: csr_array, warm: NDArray[np.bool_], count: int) -> csr_array:
    """Return new items × items: how near the nearest items with clicks are, each row summing to 1."""
    found = texts.search(vectors, count, allowed=warm).to_csr(items=len(texts))
    sums = np.asarray(found.sum(axis=1)).ravel()
    rows = np.repeat(np.arange(found.shape[0]), np.diff(found.indptr))
    found.data = (found.data / sums[rows]).astype(np.float32)
    return found


def cold_matchers(near: csr_array, matchers: csr_array, vectors: csr_array, how: Calibration) -> csr_array:
    """Return the matchers of new items: a share of their neighbours', a share of their own text, and a bias."""
    from scipy.sparse import csr_array, hstack

    ones = csr_array(np.full((vectors.shape[0], 1), how.bias, dtype=np.float32))
    own = hstack([vectors * np.float32(how.text), ones], format="csr")
    joined: csr_array = (near @ matchers * np.float32(how.neighbours) + own).tocsr()
    counts = (near.astype(bool).astype(np.float32) @ np.diff(matchers.indptr)) / np.maximum(np.diff(near.indptr), 1)
    return largest_entries(joined, (counts + np.diff(own.indptr)).astype(np.int64))


def largest_entries(matrix: csr_array, counts: NDArray[np.int64]) -> csr_array:
    """Keep the `counts` largest entries of every row, so that a mean of many matchers costs no more than one."""
    from scipy.sparse import csr_array

    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    order = np.lexsort((matrix.indices, -np.abs(matrix.data), rows))
    ranks = np.empty(matrix.nnz, dtype=np.int64)
    ranks[order] = np.arange(matrix.nnz) - matrix.indptr[rows]
    kept = ranks < counts[rows]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(rows[kept], minlength=matrix.shape[0]))])
    return csr_array((matrix.data[kept], matrix.indices[kept], offsets), shape=matrix.shape).sorted_indices()


def choose_leaves(near: csr_array, leaf_of: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each new item the leaf that holds the largest share of its neighbours and has room left."""
    room = MOST_CHILDREN - sizes
    if int(room.sum()) < near.shape[0]:
        raise InputError(f"The tree has room for {int(room.sum())} more items. Got {near.shape[0]}: train it again.")
    leaves = np.empty(near.shape[0], dtype=np.int64)
    for item in range(near.shape[0]):
        row = slice(near.indptr[item], near.indptr[item + 1])
        shares = np.bincount(leaf_of[near.indices[row]], near.data[row], minlength=len(sizes))
        # Items without a neighbour go where most room is; equal shares to the lower leaf.
        leaves[item] = int(np.lexsort((np.arange(len(sizes)), -room, -np.where(room > 0, shares, -1.0)))[0])
        room[leaves[item]] -= 1
    return leaves


def matchers_by_item(index: TreeIndex) -> csr_array:
    """Return items × (features and the bias): the last layer's matchers."""
    from scipy.sparse import csr_array

    by_place = layer_matchers(index, len(index.layers) - 1)
    arrays = (by_place.values, by_place.features, by_place.offsets)
    matrix: csr_array = csr_array(arrays, shape=(len(index), index.dim + 1))
    return matrix[index.positions]


def leaf_of_items(index: TreeIndex) -> NDArray[np.int64]:
    """Return the number of each item's leaf."""
    offsets = index.layers[-1].child_offsets
    return np.searchsorted(offsets, index.positions, side="right").astype(np.int64) - 1


def leaf_sizes(index: TreeIndex) -> NDArray[np.int64]:
    """Return how many items each leaf holds."""
    return np.diff(index.layers[-1].child_offsets).astype(np.int64)


def with_leaf_items(index: TreeIndex, matchers: csr_array, cold: csr_array, leaves: NDArray[np.int64]) -> TreeIndex:
    """Return the index with new items at the ends of their leaves; their numbers follow those of the old ones."""
    from scipy.sparse import vstack

    leaf_of = np.concatenate([leaf_of_items(index), leaves])
    places = np.concatenate([index.positions, len(index) + np.arange(len(leaves))])
    return _with_last_layer(index, np.lexsort((places, leaf_of)), leaf_of, vstack([matchers, cold], format="csr"))


def with_kept_items(index: TreeIndex, kept: NDArray[np.int64]) -> TreeIndex:
    """Return the index with only these items, numbered anew in this order."""
    leaf_of = leaf_of_items(index)[kept]
    order = np.lexsort((index.positions[kept], leaf_of))
    return _with_last_layer(index, order, leaf_of, matchers_by_item(index)[kept])


def _with_last_layer(
    index: TreeIndex, order: NDArray[np.int64], leaf_of: NDArray[np.int64], matchers: csr_array
) -> TreeIndex:
    sizes = np.bincount(leaf_of, minlength=len(index.layers[-1].child_offsets) - 1)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    rows = matchers[order]
    last = NodeWeights(rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data.astype(np.float32))
    return index.with_last_layer(offsets, order.astype(np.int32), last)


def _text_index(model: XrLinear) -> tuple[InvertedIndex, Calibration]:
    if model.texts is None or model.calibration is None:
        raise InputError("The model must know its items' texts to place new ones. Train it with `cold_start=True`.")
    return model.texts, model.calibration


def _vectors_of(texts: InvertedIndex) -> csr_array:
    return texts.to_csr()


def _joined(texts: InvertedIndex, vectors: csr_array) -> InvertedIndex:
    from scipy.sparse import vstack

    return InvertedIndex.build(vstack([_vectors_of(texts), vectors], format="csr"))
