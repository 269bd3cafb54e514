"""A collection of shards behind the routes of the service: what it can answer, and what it refuses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Any

from vizsla.core.catalog import Item
from vizsla.data.conditions import Condition
from vizsla.errors import InputError, ShardLostError
from vizsla.scale.sharded_engine import ShardedEngine
from vizsla.serve.backend import Backend, condition_of
from vizsla.text.web_syntax import WEB, parse_web

if TYPE_CHECKING:
    from vizsla.scorers.pair_models import PairModel
    from vizsla.serve.schemas import SearchRequest

LEAST_DEADLINE_S = 0.001
"""What is left to shards of a request whose time is over: they answer that it is."""
DEADLINE_S = 2.0
"""Shards that have not answered by then are left out of an answer, which says so."""


class ShardedBackend(Backend):
    """Several engines that answer as one; an answer says which share of the items was searched.

    Parameters
    ----------
    target : ShardedEngine
        The collection.
    reranker : PairModel, optional
        The model that scores documents of rerank requests.
    """

    def __init__(self, target: ShardedEngine, *, reranker: PairModel | None = None):
        self._shards = target
        super().__init__(target, reranker=reranker)  # type: ignore[arg-type]

    def close(self, *, opened_here: bool) -> None:
        """Close a collection that was opened here."""
        if opened_here:
            self._shards.close()

    def engine(self) -> Any:
        """Return what writes; members of shards are fixed."""
        return _ShardWrites(self._shards)

    def members(self) -> dict[str, str]:
        """Return the names of the members, with the kind of each."""
        return {name: str(recipe["recipe"]) for name, recipe in self._shards.members.items()}

    def default(self) -> str:
        """Return the name of the member that answers unless another is named."""
        return self._shards.default

    def retriever(self, using: str) -> Any:
        """Refuse: a member of all shards is no retriever of this process."""
        raise _refused("evaluation and comparisons")

    def counts(self) -> dict[str, int]:
        """Return how many items there were when words were last counted."""
        return {"items": sum(self._shards.sizes), "generation": 0}

    def info(self) -> dict[str, Any]:
        """Return what is served."""
        known = {"kind": "shards", "members": self.members(), "default": self.default(), "fields": {}, "judged": False}
        try:
            items = self._shards.count()
        except ShardLostError:  # what is known is told, also while a shard is restored
            items = sum(self._shards.sizes)
        return {**known, **self.counts(), "items": items, "shards": len(self._shards.folders)}

    def get(self, id: str) -> Item | None:
        """Return an item by its id."""
        return self._shards.get(id)

    def patch(self, id: str, changes: Mapping[str, Any]) -> bool:
        """Change fields of an item; return whether there is such an item."""
        item = self._shards.get(id)
        if item is None:
            return False
        if not {"text", "title"} & changes.keys():
            self._shards.update_metadata({id: changes})
            return True
        merged = {**item.metadata, "text": item.text, "title": item.title, **changes}
        self._shards.upsert([{"id": id, **{name: value for name, value in merged.items() if value is not None}}])
        return True

    def answer(self, texts: list[str], asked: SearchRequest, deadline: float = inf) -> list[dict[str, Any]]:
        """Return one answer per query; facets and what else needs all matches are refused."""
        wanted: dict[str, Any] = {
            "facets": asked.facets,
            "sort": asked.sort,
            "group": asked.group,
        }
        wanted |= {"highlights": asked.highlights, "parent": asked.parent, "min_confidence": asked.min_confidence}
        if given := [name for name, value in wanted.items() if value]:
            raise _refused(f"`{given[0]}`")
        if asked.syntax == WEB and not all(parse_web(text).is_plain for text in texts):
            raise _refused('a required, excluded or quoted word (`syntax: "plain"` searches for it)')
        if asked.using:
            self._check_name(asked.using, self._shards.members)
        end = min(monotonic() + DEADLINE_S, deadline)
        found = self._shards.search(
            texts, asked.offset + asked.k, where=condition_of(asked.where), using=asked.using, deadline_s=_left(end)
        )
        rows = [row[asked.offset :] for row in _pairs(found.candidates)]
        items = self._shards.items([id for row in rows for id, _ in row], deadline_s=_left(end))
        moment = {"member": asked.using or self.default(), "generation": self.counts()["generation"]}
        common = {"partial": found.partial, "coverage": round(found.coverage, 4), **moment}
        first = asked.offset + 1
        answers = []
        for text, row in zip(texts, rows, strict=True):
            hits = [_hit(hit, rank, items.get(hit[0]), asked.fields) for rank, hit in enumerate(row, first)]
            if asked.explain:
                ids = [hit["id"] for hit in hits]
                why = self._shards.explanations(text, ids, using=asked.using, deadline_s=_left(end))
                hits = [hit | ({"why": why[hit["id"]].to_dict()} if hit["id"] in why else {}) for hit in hits]
            answers.append({"results": hits, **common})
        return answers

    def explain(self, query: str, item: str, using: str) -> dict[str, Any]:
        """Return why an item has its score for a query."""
        if using:
            self._check_name(using, self._shards.members)
        return self._shards.explain(query, item, using=using).to_dict()

    def count(self, condition: Condition | None) -> int:
        """Return how many items there are, or how many fulfill a condition."""
        return self._shards.count(condition)

    def complete(self, prefix: str, k: int) -> list[str]:
        """Return nothing: shards keep no completions."""
        return []


class _ShardWrites:
    """The writes of a collection; what an engine can do besides is refused."""

    def __init__(self, shards: ShardedEngine):
        self.add, self.upsert, self.clicks = shards.add, shards.upsert, shards.clicks
        self._shards = shards

    def delete(self, ids: Any = None, *, where: Condition | None = None, unknown: str = "ignore") -> int:
        return self._shards.delete(ids, where=where)

    def __getattr__(self, name: str) -> Any:
        raise _refused(f"`{name}`")


def _left(end: float) -> float:
    return max(end - monotonic(), LEAST_DEADLINE_S)


def _pairs(candidates: Any) -> list[list[tuple[str, float]]]:
    return [[(hit.id, float(hit.score)) for hit in row] for row in candidates]


def _hit(hit: tuple[str, float], rank: int, item: Item | None, fields: Sequence[str] | None) -> dict[str, Any]:
    """Return a hit as the service has it; one that was deleted since, or whose shard is late, has no text."""
    shown: dict[str, Any] = {"id": hit[0], "score": hit[1], "rank": rank}
    if item is None:
        return shown
    known = {**({"title": item.title} if item.title else {}), **item.metadata}
    if fields is None:
        return shown | {"text": item.text} | ({"metadata": known} if known else {})
    metadata = {name: known[name] for name in fields if known.get(name) is not None}
    return shown | ({"text": item.text} if "text" in fields else {}) | {"metadata": metadata}


def _refused(what: str) -> InputError:
    return InputError(f"A collection of shards answers plain searches. Got {what}, which needs an engine of all items.")
