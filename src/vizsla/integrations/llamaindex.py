"""LlamaIndex: a retriever that returns nodes with scores (extra `llamaindex`)."""

from __future__ import annotations

import asyncio
from typing import Any

from vizsla.errors import MissingExtraError, check_positive
from vizsla.integrations.targets import FoundDocument, SearchTarget

try:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
except ImportError:
    raise MissingExtraError("The LlamaIndex integration", "llamaindex") from None


class VizslaNodeRetriever(BaseRetriever):
    """A retriever for LlamaIndex: `retrieve` and `aretrieve` return nodes with scores, for query engines and agents.

    Parameters
    ----------
    target : Retriever, Engine, Client, or path
        The retriever, engine or artifact to search. Items must keep their texts.
    similarity_top_k : int
        How many nodes at most.
    where : str, dict or Condition, optional
        Only these items are found.
    using : str
        The member of an engine that answers; the default one unless given.
    **options
        Options of LlamaIndex's BaseRetriever, such as `callback_manager`.
    """

    def __init__(
        self,
        target: Any,
        *,
        similarity_top_k: int = 10,
        where: Any = None,
        using: str = "",
        **options: Any,
    ):
        self._searched = SearchTarget(target, using)
        self._where = where
        self.similarity_top_k = check_positive("similarity_top_k", similarity_top_k)
        super().__init__(**options)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = self._searched.documents(query_bundle.query_str, self.similarity_top_k, self._where)
        return [NodeWithScore(node=_node(each), score=each.score) for each in found]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


def _node(found: FoundDocument) -> TextNode:
    """Return a node; its metadata stay out of what is embedded and shown to a model, which the text says already."""
    names = list(found.metadata)
    return TextNode(
        id_=found.id,
        text=found.text,
        metadata=found.metadata,
        excluded_embed_metadata_keys=names,
        excluded_llm_metadata_keys=names,
    )
