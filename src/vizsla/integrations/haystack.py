"""Haystack: a component that returns documents (extra `haystack`)."""

from __future__ import annotations

import asyncio
from typing import Any

from vizsla.data.conditions import Condition, where
from vizsla.errors import InputError, MissingExtraError, check_positive
from vizsla.integrations.targets import SearchTarget, nested_condition

try:
    from haystack import Document, component, default_from_dict, default_to_dict
except ImportError:
    raise MissingExtraError("The Haystack integration", "haystack") from None


@component
class VizslaTextRetriever:
    """A component for Haystack pipelines, with the interface of its text retrievers.

    A component that was made from a path can be stored in a pipeline's YAML: `to_dict` holds the path. Haystack reads
    classes of others only if they are allowed: `Pipeline.loads(text, allowed_modules=["vizsla.integrations.*"])`.

    Parameters
    ----------
    target : Retriever, Engine, Client, or path
        The retriever, engine or artifact to search. Items must keep their texts.
    top_k : int
        How many documents at most.
    filters : dict, optional
        Haystack's filters: `{"field": "meta.price", "operator": "<", "value": 5}`, joined by AND, OR and NOT.
    using : str
        The member of an engine that answers; the default one unless given.
    """

    def __init__(self, target: Any, top_k: int = 10, filters: dict[str, Any] | None = None, using: str = ""):
        self._searched = SearchTarget(target, using)
        self.top_k, self.filters, self.using = check_positive("top_k", top_k), filters, using
        self._condition(None)  # wrong filters raise now

    @component.output_types(documents=list[Document])
    def run(self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None) -> dict[str, Any]:
        """Return the best documents of a query, best first.

        Parameters
        ----------
        query : str
            The query.
        filters : dict, optional
            In place of the component's own.
        top_k : int, optional
            In place of the component's own.
        """
        found = self._searched.documents(query, self.top_k if top_k is None else top_k, self._condition(filters))
        return {
            "documents": [
                Document(id=each.id, content=each.text, meta=each.metadata, score=each.score) for each in found
            ]
        }

    @component.output_types(documents=list[Document])
    async def run_async(
        self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, Any]:
        """Return the same in a thread, for asynchronous pipelines."""
        return await asyncio.to_thread(self.run, query, filters, top_k)

    def to_dict(self) -> dict[str, Any]:
        """Return the component as a pipeline stores it; one that was not made from a path raises."""
        if self._searched.path is None:
            raise InputError("A component must be made from a path to be stored. Got one from an open object.")
        held: dict[str, Any] = default_to_dict(
            self, target=self._searched.path, top_k=self.top_k, filters=self.filters, using=self.using
        )
        return held

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> VizslaTextRetriever:
        """Make the component that `to_dict` described."""
        made: VizslaTextRetriever = default_from_dict(cls, data)
        return made

    def _condition(self, filters: dict[str, Any] | None) -> Condition | None:
        chosen = filters or self.filters
        if not chosen:
            return None
        return where(chosen) if "type" in chosen else nested_condition(chosen)
