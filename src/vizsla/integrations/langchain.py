"""LangChain: a retriever, and a vector store over an engine (extra `langchain`)."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Self

from pydantic import ConfigDict, Field, PrivateAttr

from vizsla.base.recipe import Recipe
from vizsla.core.catalog import Item
from vizsla.engine.engine import Engine
from vizsla.errors import InputError, MissingExtraError
from vizsla.integrations.targets import FoundDocument, SearchTarget

try:
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.vectorstores import VectorStore
except ImportError:
    raise MissingExtraError("The LangChain integration", "langchain") from None


class VizslaRetriever(BaseRetriever):
    """A retriever for LangChain: `invoke` and `ainvoke` return documents, with `score` among their metadata.

    Parameters
    ----------
    target : Retriever, Engine, Client, or path
        The retriever, engine or artifact to search. Items must keep their texts.
    k : int
        How many documents at most; `invoke(query, k=3)` overrides it.
    where : str, dict or Condition, optional
        Only these items are found; `invoke(query, where="price<5")` overrides it.
    using : str
        The member of an engine that answers; the default one unless given.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    target: Any = Field(exclude=True, repr=False)
    k: int = 10
    where: Any = None
    using: str = ""
    _searched: SearchTarget = PrivateAttr()

    def model_post_init(self, context: Any) -> None:
        """Open the target; a wrong one raises."""
        super().model_post_init(context)
        self._searched = SearchTarget(self.target, self.using)

    def _get_relevant_documents(
        self, query: str, *, run_manager: Any, k: int | None = None, where: Any = None
    ) -> list[Document]:
        wanted, condition = self.k if k is None else k, self.where if where is None else where
        return [_scored(found) for found in self._searched.documents(query, wanted, condition)]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: Any, k: int | None = None, where: Any = None
    ) -> list[Document]:
        return await asyncio.to_thread(self._get_relevant_documents, query, run_manager=None, k=k, where=where)


class VizslaVectorStore(VectorStore):
    """An engine as a vector store: documents are added and deleted, and the next search knows it.

    Which method searches is the engine's affair: BM25, vectors, or a fusion of members. So there is no embedding here;
    a member that needs vectors has its own encoder.

    Parameters
    ----------
    target : Engine or path
        The engine.
    using : str
        The member that answers; the default one unless given.
    """

    def __init__(self, target: Engine | str | Path, *, using: str = ""):
        self._searched = SearchTarget(target, using)
        self.engine = self._searched.engine()

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Any = None,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        path: str | Path | None = None,
        members: Any = None,
        **options: Any,
    ) -> Self:
        """Make an engine at `path`, with BM25 unless other members are given, and add the texts to it."""
        if embedding is not None:
            raise InputError("`embedding` must be None: a member of the engine that needs vectors has its own encoder.")
        if path is None:
            raise InputError("`path` must say where the engine is made. Got none.")
        store = cls(Engine.create(path, members=members or {"words": Recipe.of("bm25")}, **options))
        store.add_texts(texts, metadatas, ids=ids)
        return store

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **options: Any,
    ) -> list[str]:
        """Store texts in one transaction, in place of those that have the same ids; return the ids."""
        listed = list(texts)
        named = [None] * len(listed) if ids is None else ids
        known = [{}] * len(listed) if metadatas is None else metadatas
        if not len(listed) == len(named) == len(known):
            said = f"{len(listed)} texts, {len(named)} ids and {len(known)} metadatas"
            raise InputError(f"`texts`, `ids` and `metadatas` must be equally many. Got {said}.")
        rows = [
            Item(id or str(uuid.uuid4()), text, metadata=_plain(metadata))
            for id, text, metadata in zip(named, listed, known, strict=True)
        ]
        if rows:
            self.engine.upsert(rows)
        return [row.id for row in rows]

    def add_documents(self, documents: list[Document], **options: Any) -> list[str]:
        """Store documents in one transaction, in place of those that have the same ids; return the ids."""
        ids = options.pop("ids", None) or [document.id for document in documents]
        return self.add_texts([each.page_content for each in documents], [each.metadata for each in documents], ids=ids)

    def delete(self, ids: list[str] | None = None, *, where: Any = None, **options: Any) -> bool:
        """Delete documents by id, or those that fulfill a condition; unknown ids are ignored."""
        if ids is None and where is None:
            raise InputError("`ids` or `where` must say what is deleted. Got neither.")
        if ids is not None:
            self.engine.delete(ids, unknown="ignore")
        else:
            from vizsla.data.conditions import where as condition

            self.engine.delete(where=condition(where))
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return the documents that exist, by id."""
        items = [item for item in map(self.engine.get, ids) if item is not None]
        return [Document(page_content=item.default_text(), metadata=dict(item.metadata), id=item.id) for item in items]

    def similarity_search(self, query: str, k: int = 4, *, filter: Any = None, **options: Any) -> list[Document]:
        """Return the best `k` documents; `filter` is a condition as text, dict or Condition."""
        return [document for document, _ in self.similarity_search_with_score(query, k, filter=filter)]

    def similarity_search_with_score(
        self, query: str, k: int = 4, *, filter: Any = None, **options: Any
    ) -> list[tuple[Document, float]]:
        """Return the best `k` documents with their scores, higher is better."""
        found = self._searched.documents(query, k, filter)
        return [(_document(each), each.score) for each in found]


def _document(found: FoundDocument) -> Document:
    return Document(page_content=found.text, metadata=found.metadata, id=found.id)


def _scored(found: FoundDocument) -> Document:
    return Document(page_content=found.text, metadata={**found.metadata, "score": found.score}, id=found.id)


def _plain(metadata: dict[str, Any]) -> dict[str, Any]:
    """Leave out a score that a search has put among the metadata, and what is None."""
    return {name: value for name, value in metadata.items() if name != "score" and value is not None}
