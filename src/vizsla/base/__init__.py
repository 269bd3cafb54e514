"""Interfaces: encoder, index, scorer and retriever, and the contract of user-defined kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vizsla._internal.lazy import lazy_attribute

if TYPE_CHECKING:
    from vizsla.base.encoder import Encoder as Encoder
    from vizsla.base.index import Index as Index
    from vizsla.base.index_retriever import IndexRetriever as IndexRetriever
    from vizsla.base.index_retriever import RowSpaceRetriever as RowSpaceRetriever
    from vizsla.base.queries import Queries as Queries
    from vizsla.base.recipe import Recipe as Recipe
    from vizsla.base.retriever import Retriever as Retriever
    from vizsla.base.scorer import Scorer as Scorer

_PUBLIC = {
    "Encoder": "vizsla.base.encoder",
    "Index": "vizsla.base.index",
    "IndexRetriever": "vizsla.base.index_retriever",
    "Queries": "vizsla.base.queries",
    "Recipe": "vizsla.base.recipe",
    "Retriever": "vizsla.base.retriever",
    "RowSpaceRetriever": "vizsla.base.index_retriever",
    "Scorer": "vizsla.base.scorer",
}

__all__ = list(_PUBLIC)


def __getattr__(name: str) -> Any:
    return lazy_attribute(__name__, _PUBLIC, name)
