"""Reads a tree's layout back: the matcher of a node, or of all nodes of a layer."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vizsla.indexes.tree import WEIGHTS, Layer, NodeWeights, TreeIndex

SLOTS = 8
EMPTY = np.uint32(0xFFFFFFFF)
TYPES = {"float32": np.float32, "int16": np.int16, "int8": np.int8}


def layer_matchers(index: TreeIndex, number: int) -> NodeWeights:
    """Return the matchers of all nodes of a layer, the inverse of `TreeIndex.build`."""
    layer = index.layers[number]
    chunks = np.repeat(np.arange(len(layer.entry_offsets) - 1), np.diff(layer.entry_offsets))
    nodes = layer.child_offsets[chunks] + layer.children
    features = _features_of_entries(layer)
    values = layer.weights.view(TYPES[index.weights]).astype(np.float32) * layer.factors[chunks]
    order = np.lexsort((features, nodes))
    counts = np.bincount(nodes, minlength=int(layer.child_offsets[-1]))
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return NodeWeights(offsets, features[order], values[order])


def node_matcher(index: TreeIndex, number: int, node: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return the ascending features of one node's matcher, and their weights."""
    layer = index.layers[number]
    chunk = int(np.searchsorted(layer.child_offsets, node, side="right")) - 1
    alone = _chunk_alone(layer, chunk, WEIGHTS[index.weights])
    mine = np.flatnonzero(alone.children == node - layer.child_offsets[chunk])
    features = _features_of_entries(alone)[mine]
    values = alone.weights.view(TYPES[index.weights])[mine].astype(np.float32) * alone.factors[0]
    order = np.argsort(features)
    return features[order], values[order]


def _chunk_alone(layer: Layer, chunk: int, width: int) -> Layer:
    buckets = slice(*(layer.bucket_offsets[chunk : chunk + 2] * 2 * SLOTS).tolist())
    first, last = layer.entry_offsets[chunk : chunk + 2].tolist()
    return Layer(
        layer.child_offsets[chunk : chunk + 2] - layer.child_offsets[chunk],
        layer.bucket_offsets[chunk : chunk + 2] - layer.bucket_offsets[chunk],
        layer.buckets[buckets],
        layer.entry_offsets[chunk : chunk + 2] - first,
        layer.children[first:last],
        layer.weights[first * width : last * width],
        layer.factors[chunk : chunk + 1],
    )


def _features_of_entries(layer: Layer) -> NDArray[np.int32]:
    words = layer.buckets.reshape(-1, 2, SLOTS)
    chunks = np.repeat(np.arange(len(layer.bucket_offsets) - 1), np.diff(layer.bucket_offsets))
    taken = words[:, 0] != EMPTY
    places = words[:, 1][taken].astype(np.int64)
    starts = layer.entry_offsets[np.repeat(chunks, SLOTS).reshape(-1, SLOTS)[taken]] + (places >> 8)
    counts = (places & 0xFF) + 1
    at = np.repeat(starts - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts) + np.arange(int(counts.sum()))
    features = np.zeros(len(layer.children), dtype=np.int32)
    features[at] = np.repeat(words[:, 0][taken].astype(np.int32), counts)
    return features
