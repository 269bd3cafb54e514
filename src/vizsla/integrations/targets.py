"""What the adapters share: a target that answers, and where frameworks keep conditions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from vizsla.artifacts.artifact import load
from vizsla.base.retriever import Retriever
from vizsla.core.validation import as_path
from vizsla.data.conditions import Condition, where
from vizsla.engine.catalog import NAME as CATALOG_NAME
from vizsla.engine.engine import Engine
from vizsla.errors import InputError, check_positive
from vizsla.serve.client import Client


class FoundDocument(NamedTuple):
    """An item of an answer, as frameworks want it: with its text."""

    id: str
    text: str
    score: float
    metadata: dict[str, Any]


class SearchTarget:
    """What an adapter searches.

    Parameters
    ----------
    target : Retriever, Engine, Client, or path
        A path names an engine or an artifact, which is opened.
    using : str
        The member of an engine or a service that answers; the default one unless given.

    Examples
    --------
    >>> from vizsla import Dataset, bm25
    >>> fruit = bm25(Dataset.of([{"id": "f", "text": "a fig", "price": 3}], keep_texts=True))
    >>> SearchTarget(fruit).documents("fig", 5, "price<5")[0].metadata
    {'price': 3}
    """

    def __init__(self, target: Any, using: str = ""):
        self.path = str(target) if isinstance(target, str | Path) else None
        if isinstance(target, str | Path):
            path = as_path(target)
            target = Engine.open(path) if (path / CATALOG_NAME).is_file() else load(path)
        if not isinstance(target, Retriever | Client):
            raise InputError(
                f"`target` must be a retriever, an engine, a client or a path. Got {type(target).__name__}."
            )
        if using and isinstance(target, Retriever) and not isinstance(target, Engine):
            raise InputError(f"`using` must name a member of an engine. Got {using!r:.60} for {type(target).__name__}.")
        self.target, self.using = target, using
        self.retriever() if isinstance(target, Retriever) else None  # an unknown member raises now

    def retriever(self) -> Retriever:
        """Return the retriever that answers; a client raises."""
        if isinstance(self.target, Client):
            raise InputError("This needs a retriever or an engine. Got a client.")
        return self.target.member(self.using) if isinstance(self.target, Engine) and self.using else self.target

    def engine(self) -> Engine:
        """Return the engine; anything else cannot be changed, and raises."""
        if not isinstance(self.target, Engine):
            raise InputError(f"This needs an engine, which can be changed. Got {type(self.target).__name__}.")
        return self.target

    def documents(self, query: str, k: int, condition: Any = None) -> list[FoundDocument]:
        """Return the best `k` items of a query with their texts, best first; items without texts raise."""
        asked = _as_where(condition)
        if isinstance(self.target, Client):
            hits: Any = self.target.search(query, check_positive("k", k), where=asked, using=self.using).hits
        else:
            hits = self.retriever().page(query, check_positive("k", k), where=asked).hits
        return [_document(hit) for hit in hits]

    def answers(self, queries: list[str], k: int, condition: Any = None, threads: int = 1) -> list[Any]:
        """Return the hits of many queries, in one call."""
        if not queries:
            return []
        if isinstance(self.target, Engine):
            self.target.generation(metadata=True)  # hits know their texts
        return list(self.retriever()(queries, check_positive("k", k), where=_as_where(condition), threads=threads))


def _as_where(condition: Any) -> Any:
    """Return a condition from text or JSON; None where there is none."""
    if isinstance(condition, str | Mapping):
        return where(condition) if condition else None
    return condition


def _document(hit: Any) -> FoundDocument:
    if hit.text is None:
        raise InputError(
            f"Items must keep their texts to become documents. Got {hit.id!r:.60} without one: build with "
            "keep_texts=True (on the command line --keep-texts), or search an engine."
        )
    return FoundDocument(hit.id, hit.text, 0.0 if hit.score is None else float(hit.score), dict(hit.metadata))


OPERATORS = {"==": "eq", "!=": "ne", ">": "gt", ">=": "gte", "<": "lt", "<=": "lte", "in": "in", "not in": "nin"}
"""How filters write comparisons, and their names in a condition."""
MAX_FILTER_DEPTH = 50
"""How deep filters may be nested."""


def nested_condition(filters: Mapping[str, Any]) -> Condition:
    """Return a condition from Haystack's filters: {operator, conditions} around {field, operator, value}.

    Examples
    --------
    >>> cheap = {"field": "meta.price", "operator": "<", "value": 5}
    >>> nested_condition({"operator": "NOT", "conditions": [cheap, {"field": "stock", "operator": "==", "value": 0}]})
    where('not (price < 5 and stock = 0)')
    """
    return where(_filter(filters, 0))


def _filter(given: Any, depth: int) -> dict[str, Any]:
    if not isinstance(given, Mapping) or "operator" not in given or depth > MAX_FILTER_DEPTH:
        raise InputError(f"A filter must be a dict with an operator, nested {MAX_FILTER_DEPTH} times at most.")
    operator = str(given["operator"]).lower()
    if "conditions" in given:
        parts = given["conditions"]
        if operator not in ("and", "or", "not") or not isinstance(parts, Sequence) or isinstance(parts, str):
            raise InputError(f"A filter with conditions must join them by AND, OR or NOT. Got {operator!r:.40}.")
        inner = [_filter(each, depth + 1) for each in parts]
        joined = inner[0] if len(inner) == 1 else {"type": "or" if operator == "or" else "and", "filters": inner}
        return {"type": "not", "filters": [joined]} if operator == "not" else joined
    field, value = str(given.get("field", "")).removeprefix("meta."), given.get("value")
    if operator not in OPERATORS or not field:
        raise InputError(f"A filter must compare a field by one of {', '.join(OPERATORS)}. Got {operator!r:.40}.")
    if value is None and operator in ("==", "!="):
        missing = {"type": "isnull", "key": field}
        return missing if operator == "==" else {"type": "not", "filters": [missing]}
    return {"type": OPERATORS[operator], "key": field, "value": value}
