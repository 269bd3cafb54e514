"""Index structures over encoded items."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vizsla._internal.lazy import lazy_attribute

if TYPE_CHECKING:
    from vizsla.indexes.flat import FlatIndex as FlatIndex
    from vizsla.indexes.grouped import GroupedIndex as GroupedIndex
    from vizsla.indexes.hnsw import HnswIndex as HnswIndex
    from vizsla.indexes.inverted import InvertedIndex as InvertedIndex
    from vizsla.indexes.ivf import IvfIndex as IvfIndex
    from vizsla.indexes.pq.ann_over_pq import HnswPqIndex as HnswPqIndex
    from vizsla.indexes.pq.ann_over_pq import IvfPqIndex as IvfPqIndex
    from vizsla.indexes.pq.pq_index import PqIndex as PqIndex
    from vizsla.indexes.tokens import TokenIndex as TokenIndex
    from vizsla.indexes.tree import TreeIndex as TreeIndex

_PUBLIC = {
    "FlatIndex": "vizsla.indexes.flat",
    "GroupedIndex": "vizsla.indexes.grouped",
    "HnswIndex": "vizsla.indexes.hnsw",
    "HnswPqIndex": "vizsla.indexes.pq.ann_over_pq",
    "InvertedIndex": "vizsla.indexes.inverted",
    "IvfIndex": "vizsla.indexes.ivf",
    "IvfPqIndex": "vizsla.indexes.pq.ann_over_pq",
    "PqIndex": "vizsla.indexes.pq.pq_index",
    "TokenIndex": "vizsla.indexes.tokens",
    "TreeIndex": "vizsla.indexes.tree",
}

__all__ = list(_PUBLIC)


def __getattr__(name: str) -> Any:
    return lazy_attribute(__name__, _PUBLIC, name)
