"""Reads a tree's layout back: the matcher of a node, or of all nodes of a layer."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla.indexes.tree import WEIGHTS, Layer, NodeWeights, TreeIndex

SLOTS = 8
EMPTY = np.uint32(0x7FFFFFFF)
"""Also what is left of a feature's word without the mark of its bucket."""
TYPES = {"float32": np.float32, "int16": np.int16, "int8": np.int8}


def layer_matchers(index: TreeIndex, number: int) -> NodeWeights:
    """Return the matchers of all nodes of a layer, the inverse of `TreeIndex.build`."""
    layer = index.layers[number]
    entries = _entries(layer, index.weights, index.dim)
    nodes = layer.child_offsets[entries.chunks] + entries.children
    order = np.lexsort((entries.features, nodes))
    counts = np.bincount(nodes, minlength=int(layer.child_offsets[-1]))
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return NodeWeights(offsets, entries.features[order], entries.values[order])


def all_matchers(index: TreeIndex) -> list[NodeWeights]:
    """Return the matchers of every layer, from the root's children to the items."""
    return [layer_matchers(index, number) for number in range(len(index.layers))]


def node_matcher(index: TreeIndex, number: int, node: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return the ascending features of one node's matcher, and their weights."""
    layer = index.layers[number]
    chunk = int(np.searchsorted(layer.child_offsets, node, side="right")) - 1
    entries = _entries(_chunk_alone(layer, chunk, 1 + WEIGHTS[index.weights]), index.weights, index.dim)
    mine = np.flatnonzero(entries.children == node - layer.child_offsets[chunk])
    order = np.argsort(entries.features[mine])
    return entries.features[mine][order], entries.values[mine][order]


class _Entries(NamedTuple):
    chunks: NDArray[np.int64]
    features: NDArray[np.int32]
    children: NDArray[np.uint8]
    values: NDArray[np.float32]


def _entries(layer: Layer, weights: str, dim: int) -> _Entries:
    """Return all entries of a layer, row after row in the order of the buckets."""
    chunk_of_row, features, firsts, counts = _rows(layer, dim)
    rows = np.repeat(np.arange(len(counts)), counts)
    within = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    chunks, width = chunk_of_row[rows], WEIGHTS[weights]
    begins = ((layer.entry_offsets[chunk_of_row] + firsts) * (1 + width))[rows]
    children = layer.entries[begins + counts[rows] * width + within]
    raw = layer.entries[(begins + within * width)[:, None] + np.arange(width)]
    values = raw.view(TYPES[weights]).ravel().astype(np.float32) * layer.factors[chunks]
    sound = children < np.diff(layer.child_offsets)[chunks]
    return _Entries(chunks[sound], features[rows][sound], children[sound], values[sound])


def _rows(layer: Layer, dim: int) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """Return each row's chunk, feature, first entry in it and length.

    As in search, what a damaged file claims beyond its bounds is left out: features above the bias, which is `dim`,
    rows that lead out of their chunk, and rows that together have more entries than the chunk.
    """
    words = layer.buckets.reshape(-1, 2, SLOTS)
    features = words[:, 0] & EMPTY
    taken = features <= dim
    chunks = np.repeat(np.arange(len(layer.bucket_offsets) - 1), np.diff(layer.bucket_offsets))
    chunk_of_row = np.repeat(chunks, SLOTS).reshape(-1, SLOTS)[taken]
    places = words[:, 1][taken].astype(np.int64)
    firsts, counts = places >> 8, (places & 0xFF) + 1
    room = np.diff(layer.entry_offsets)
    sound = firsts + counts <= room[chunk_of_row]
    sound[sound] = _running(counts[sound], chunk_of_row[sound]) <= room[chunk_of_row[sound]]
    return chunk_of_row[sound], features[taken][sound].astype(np.int32), firsts[sound], counts[sound]


def _running(counts: NDArray[np.int64], groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the sum so far within each of the ascending groups.

    Examples
    --------
    >>> _running(np.array([1, 2, 5, 1]), np.array([0, 0, 3, 3])).tolist()
    [1, 3, 5, 6]
    """
    sums = np.cumsum(counts)
    firsts = np.searchsorted(groups, groups)
    return np.asarray(sums - (sums[firsts] - counts[firsts]) if len(counts) else sums)


def _chunk_alone(layer: Layer, chunk: int, entry_bytes: int) -> Layer:
    buckets = slice(*(layer.bucket_offsets[chunk : chunk + 2] * 2 * SLOTS).tolist())
    first, last = layer.entry_offsets[chunk : chunk + 2].tolist()
    return Layer(
        layer.child_offsets[chunk : chunk + 2] - layer.child_offsets[chunk],
        layer.bucket_offsets[chunk : chunk + 2] - layer.bucket_offsets[chunk],
        layer.buckets[buckets],
        layer.entry_offsets[chunk : chunk + 2] - first,
        layer.entries[first * entry_bytes : last * entry_bytes],
        layer.factors[chunk : chunk + 1],
    )
