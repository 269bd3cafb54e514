"""What a service serves: an engine, which can be changed, or an artifact, which cannot."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from math import inf
from pathlib import Path
from time import monotonic, perf_counter
from typing import Any, NamedTuple

from vizsla.artifacts.artifact import load
from vizsla.base.queries import Queries
from vizsla.base.retriever import Retriever
from vizsla.core.catalog import Item, details_of
from vizsla.core.stages import stage, timed_stages
from vizsla.core.validation import as_path
from vizsla.data.conditions import Condition
from vizsla.data.conditions import where as condition_from
from vizsla.data.filter import Where
from vizsla.data.parents import parent_texts
from vizsla.engine.catalog import NAME as CATALOG_NAME
from vizsla.engine.definitions import LIVE
from vizsla.engine.engine import Engine
from vizsla.engine.member import SlotRetriever
from vizsla.errors import InputError
from vizsla.evaluation.compare import compare
from vizsla.io.open import open_dataset
from vizsla.methods.bm25 import bm25
from vizsla.methods.typo_tolerant import TypoTolerant, forgiving
from vizsla.scale.collection import RECORD as SHARDS_RECORD
from vizsla.scale.sharded_engine import ShardedEngine
from vizsla.scorers.pair_models import PairModel, open_pair_model
from vizsla.serve.admission import TimeLimitError
from vizsla.serve.schemas import SearchRequest
from vizsla.serve.shared_state import RecentQueries
from vizsla.text.completion import Completer
from vizsla.text.web_syntax import PLAIN, WEB
from vizsla.text.word_filter import keeps_texts

ARTIFACT_MEMBER = "index"
"""What the one member of an artifact is called."""


class Pinned(NamedTuple):
    """A member as it is at one moment: one request sees one generation.

    Attributes
    ----------
    name : str
        The member.
    retriever : Retriever
        The retriever.
    generation : int
        The last transaction that it knows.
    where : function
        Prepares a condition for it.
    """

    name: str
    retriever: Retriever
    generation: int
    where: Callable[[Condition], Where]


class Backend:
    """An engine or a retriever, with what the routes ask of either.

    Parameters
    ----------
    target : Engine or Retriever
        The engine, artifact or collection to serve.
    judged : Dataset, optional
        Judged queries, for evaluation.
    reranker : PairModel, optional
        The model that scores documents of rerank requests; the words that they share with the query do without one.
    queries : RecentQueries, optional
        Where the queries of answers are remembered.
    """

    def __init__(
        self,
        target: Retriever,
        *,
        judged: Any = None,
        reranker: PairModel | None = None,
        queries: RecentQueries | None = None,
    ):
        self.target, self.judged, self.reranker = target, judged, reranker
        self.queries = RecentQueries() if queries is None else queries
        self._completer: Completer | None = None

    @classmethod
    def open(
        cls,
        target: Any,
        *,
        judged: Any = None,
        reranker: str | Path | None = None,
        queries: RecentQueries | None = None,
    ) -> Backend:
        """Open what a path names, unless it is open already."""
        if isinstance(target, str | Path) and (as_path(target) / SHARDS_RECORD).is_file():
            target = ShardedEngine.open(target)
        if isinstance(target, ShardedEngine):
            from vizsla.serve.sharded_backend import ShardedBackend

            return ShardedBackend(target, reranker=None if reranker is None else open_pair_model(reranker))
        if isinstance(target, str | Path):
            path = as_path(target)
            target = Engine.open(path) if (path / CATALOG_NAME).is_file() else load(path)
        target = forgiving(target)  # people type
        if not isinstance(target, Retriever):
            raise InputError(f"A service needs an engine or a retriever. Got {type(target).__name__}.")
        data = open_dataset(judged) if isinstance(judged, str | Path) else judged
        model = None if reranker is None else open_pair_model(reranker)
        return cls(target, judged=data, reranker=model, queries=queries)

    def close(self, *, opened_here: bool) -> None:
        """Close an engine that was opened here."""
        if opened_here and isinstance(self.target, Engine):
            self.target.close()

    def engine(self) -> Engine:
        """Return the engine, or raise where an artifact is served."""
        if not isinstance(self.target, Engine):
            raise InputError("This needs an engine. Got an artifact, which is read-only: see `vizsla engine create`.")
        return self.target

    def members(self) -> dict[str, str]:
        """Return the names of the members, with the kind or expression of each."""
        if isinstance(self.target, Engine):
            return self.target.members
        return {ARTIFACT_MEMBER: getattr(type(self.target), "kind", "") or type(self.target).__name__}

    def default(self) -> str:
        """Return the name of the member that answers unless another is named."""
        return self.target.generation().default if isinstance(self.target, Engine) else ARTIFACT_MEMBER

    def members_of(self, names: Sequence[str] | None) -> list[str]:
        """Return the members of these names, which must exist; all of them unless given."""
        known = self.members()
        for name in names or ():
            self._check_name(name, known)
        return list(names or known)

    @staticmethod
    def _check_name(name: str, known: Iterable[str]) -> None:
        if name not in known:
            raise InputError(f"`using` must be one of {', '.join(known) or 'no members'}. Got {name!r:.60}.")

    def retriever(self, using: str) -> Retriever:
        """Return a member by name, which follows every change; the default one for an empty name."""
        if using:
            self._check_name(using, self.members())
        return self.target.member(using) if isinstance(self.target, Engine) and using else self.target

    def pinned(self, using: str, *, typos: bool = True) -> Pinned:
        """Return a member as the last transaction has left it; with `typos`, members of BM25 forgive them."""
        if not isinstance(self.target, Engine):
            if using:
                self._check_name(using, (ARTIFACT_MEMBER,))
            answering = self.target
            if isinstance(answering, TypoTolerant) and not typos:
                answering = answering.base
            return Pinned(ARTIFACT_MEMBER, answering, 0, lambda condition: condition)
        generation = self.target.generation(metadata=True)
        if using:
            self._check_name(using, generation.definitions)
        name = using or generation.default
        moment = generation.forgiving() if typos else generation
        return Pinned(name, moment.retriever(name), generation.state.generation, generation.filter)

    def quick(self, using: str, text: str, *, typos: bool = True) -> Pinned | None:
        """Return a member that answers a plain query in microseconds, if it is up to date; else None."""
        generation = self.target.generation_now() if isinstance(self.target, Engine) else None
        name = using or (generation.default if generation is not None else "")
        definition = None if generation is None else generation.definitions.get(name)
        if generation is None or definition is None or definition.type != LIVE:
            return None  # a member of another type may have to be built first
        retriever = (generation.forgiving() if typos else generation).retriever(name)
        quick = isinstance(retriever, SlotRetriever) and retriever.view.is_quick_for(text)
        return Pinned(name, retriever, generation.state.generation, generation.filter) if quick else None

    def counts(self) -> dict[str, int]:
        """Return how many items there are, and the last transaction."""
        if isinstance(self.target, Engine):
            generation = self.target.generation()
            return {"items": len(generation.items), "generation": generation.state.generation}
        return {"items": len(self.target.items), "generation": 0}

    def info(self) -> dict[str, Any]:
        """Return what is served: members, fields, and an engine's sizes and staleness."""
        live = isinstance(self.target, Engine)
        items = self.target.generation(metadata=True).items if isinstance(self.target, Engine) else self.target.items
        details = details_of(items)
        fields = {} if details is None else {name: column.kind for name, column in details.columns.items()}
        known = {
            "kind": "engine" if live else "artifact",
            "members": self.members(),
            "default": self.default(),
            "fields": fields,
            "judged": self.judged is not None,
            **self.counts(),
        }
        return {**known, "engine": self.target.stats()} if isinstance(self.target, Engine) else known

    def get(self, id: str) -> Item | None:
        """Return an item by its id, with what is known of it."""
        if isinstance(self.target, Engine):
            return self.target.get(id)
        number = self.target.items.find(id)
        if number < 0:
            return None
        details = details_of(self.target.items)
        if details is None:
            return Item(id, "")
        known = details.of(number)
        return Item(id, details.text(number) or "", str(known.pop("title", "") or ""), known)

    def parent(self, id: str, of: str) -> str:
        """Return the text of the section or the document that a passage belongs to."""
        items = self.pinned("").retriever.items
        return parent_texts(items, [items.number(id)], of)[0]

    def patch(self, id: str, changes: Mapping[str, Any]) -> bool:
        """Change fields of an item in one transaction; return whether there is such an item."""
        engine = self.engine()
        item = engine.get(id)
        if item is None:
            return False
        if not {"text", "title"} & changes.keys():
            engine.update_metadata({id: changes})
            return True
        texts = {"text": item.text, "title": item.title}
        merged = {**item.metadata, **texts, **changes}
        engine.upsert([{"id": id, **{name: value for name, value in merged.items() if value is not None}}])
        return True

    def rerank_model(self) -> str:
        """Return the name of what scores the documents of rerank requests."""
        return "bm25" if self.reranker is None else str(self.reranker.reference.get("name", "reranker"))

    def score_texts(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return a score per text: by the reranking model, or else by BM25 over the texts themselves."""
        if not texts:
            return []
        if self.reranker is not None:
            return [float(score) for score in self.reranker.scores([query] * len(texts), list(texts))]
        numbered = {str(at): text for at, text in enumerate(texts)}
        found = bm25(numbered)(query, len(texts)).to_dict()
        scores = next(iter(found.values()), {})
        return [float(scores.get(name, 0.0)) for name in numbered]

    def answer(self, texts: list[str], asked: SearchRequest, deadline: float = inf) -> list[dict[str, Any]]:
        """Return one answer per query, as JSON has it; encoders see all queries in one call.

        Parameters
        ----------
        texts : list of str
            The queries.
        asked : SearchRequest
            What is asked of each.
        deadline : float
            The monotonic time from which on no further query is begun.
        """
        pinned, condition = self.pinned(asked.using, typos=asked.typos), condition_of(asked.where)
        where = None if condition is None else pinned.where(condition)
        answers: list[dict[str, Any]] = []
        for query in Queries(texts).apart() if len(texts) > 1 else [Queries(texts)]:
            if monotonic() > deadline:
                raise TimeLimitError(f"{len(answers)} of {len(texts)} queries were answered in time. Send fewer.")
            if asked.stages:
                with timed_stages() as stages:
                    answer = self._answer(query, asked, pinned, where)
                answer["stages"] = [stage.to_dict() for stage in stages]
            else:
                answer = self._answer(query, asked, pinned, where)
            answers.append(answer)
        return answers

    def answer_plain(self, asked: SearchRequest, pinned: Pinned) -> dict[str, Any]:
        """Return what `answer` does for one query without options, by a shorter way: no object per hit is made."""
        start, retriever = perf_counter(), pinned.retriever
        words = " ".join((asked.query or "").split()) if asked.syntax == WEB else asked.query or ""
        queries, items = Queries([words]), retriever.items
        end = max(1, min(asked.offset + asked.k, len(items)))
        found = retriever._search(queries, end, None, 1)
        counted = retriever._count_matches(queries, None, min(asked.count_to, len(items)), 1)
        numbers, details = found.items[asked.offset :], details_of(items)
        if counted is None or found.scores is None or details is None:
            raise InputError("A plain answer must come from a member that finds words. Got another.")
        hits = zip(
            items.take(numbers), found.scores[asked.offset :].tolist(), details.rows(numbers.tolist()), strict=True
        )
        results = []
        for rank, (id, score, (metadata, text)) in enumerate(hits, asked.offset + 1):
            hit: dict[str, Any] = {"id": id, "score": score, "rank": rank, "text": text}
            if metadata:
                hit["metadata"] = metadata
            results.append(hit)
        ms = (perf_counter() - start) * 1e3
        total = {"total": counted[0], "total_is_exact": counted[1], "offset": asked.offset, "facets": {}, "ms": ms}
        named = {"member": pinned.name, "generation": pinned.generation}
        cost = found.stats.with_ms(ms).to_dict()
        hints = {"hints": list(found.hints)} if found.hints else {}
        return {"query": asked.query, "results": results, **total, **hints, "cost": cost, **named}

    def _answer(self, query: Queries, asked: SearchRequest, pinned: Pinned, where: Where | None) -> dict[str, Any]:
        syntax = self._syntax(asked.syntax)
        page = pinned.retriever.page(
            query,
            asked.k,
            offset=asked.offset,
            where=where,
            facets=asked.facets or None,
            sort=asked.sort or None,
            distinct=asked.group,
            highlight=asked.highlights,
            parent=asked.parent,
            syntax=syntax,
            min_confidence=asked.min_confidence,
            count_to=asked.count_to,
        )
        found = page.to_dict(asked.fields)
        hits = found.pop("hits")
        if asked.explain:
            with stage("explain"):
                for hit in hits:
                    why = pinned.retriever.explain(query, hit["id"], where=where, syntax=syntax)
                    hit["why"] = why.to_dict()
        named = {"member": pinned.name, "generation": pinned.generation}
        return {"results": hits, **found, "cost": page.candidates.stats.to_dict(), **named}

    def _syntax(self, asked: str) -> str:
        """Return how queries are read: as plain words where the web syntax would need texts that are not kept."""
        return asked if isinstance(self.target, Engine) or keeps_texts(self.target.items) else PLAIN

    def explain(self, query: str, item: str, using: str) -> dict[str, Any]:
        """Return why an item has its score for a query."""
        return self.pinned(using).retriever.explain(query, item, syntax=self._syntax(WEB)).to_dict()

    def count(self, condition: Condition | None) -> int:
        """Return how many items there are, or how many fulfill a condition."""
        if isinstance(self.target, Engine):
            return self.target.count(condition)
        return len(self.target.items) if condition is None else self.target.filter(condition).count

    def complete(self, prefix: str, k: int) -> list[str]:
        """Return completions of a prefix: of an artifact, from its items' titles."""
        if isinstance(self.target, Engine):
            return self.target.complete(prefix, k)
        if self._completer is None:
            details = details_of(self.target.items)
            known = details is not None and "title" in details.fields
            titles = [details.value("title", at) for at in range(len(self.target.items))] if details and known else []
            self._completer = Completer.from_weights([(str(title), 1.0) for title in titles if title])
        return self._completer(prefix, k)

    def evaluate(self, members: Sequence[str], split: str, measures: Sequence[str]) -> dict[str, Any]:
        """Compare members on the judged queries: means, tests, cost, and each query's values for a heat map."""
        compared = compare({name: self.retriever(name) for name in members}, self.judged, split, list(measures))
        first = next(iter(compared.evaluations.values()))
        texts = dict(zip(first.queries.ids, first.queries.texts, strict=True))
        return {
            "members": compared.to_dict(),
            "tests": [test.to_dict() for test in compared.tests],
            "queries": [{"id": id, "text": text} for id, text in texts.items()],
            "values": {
                name: {measure: list(map(_or_none, values)) for measure, values in each.per_query.items()}
                for name, each in compared.evaluations.items()
            },
        }


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else round(float(value), 4)


def condition_of(given: str | Mapping[str, Any] | None) -> Condition | None:
    """Return a condition from text or JSON; None for none."""
    return None if given is None or given == "" else condition_from(given)


def overlaps(answers: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:
    """Return for each pair of answers how many ids both have, and their share of all (Jaccard).

    Examples
    --------
    >>> overlaps({"words": ["a", "b"], "best": ["b", "c"]})
    [{'members': ['words', 'best'], 'shared': 1, 'jaccard': 0.3333}]
    """
    rows = []
    for a, b in combinations(answers, 2):
        both, either = {*answers[a]} & {*answers[b]}, {*answers[a]} | {*answers[b]}
        share = round(len(both) / len(either), 4) if either else 1.0
        rows.append({"members": [a, b], "shared": len(both), "jaccard": share})
    return rows
