"""FunctionRetriever: any Python function that finds items as a retriever."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

import numpy as np

from vizsla.artifacts.reader import ArtifactReader
from vizsla.artifacts.writer import ArtifactWriter
from vizsla.base.contract import checked_numbers
from vizsla.base.queries import Queries
from vizsla.base.retriever import Retriever
from vizsla.core.candidates import Candidates, PairScores, Stats
from vizsla.core.explanation import Explanation
from vizsla.core.strings import Strings
from vizsla.core.validation import validate_args
from vizsla.data.filter import Filter
from vizsla.errors import CompositionError, InputError
from vizsla.typing import Float32Array

Found = Mapping[str, float] | Iterable[tuple[str, float]]


class FunctionRetriever(Retriever):
    """Any Python function of a query and a number of items as a retriever: another engine, a service, a rule.

    It filters, combines and is evaluated like any other. It cannot be saved, because a function cannot: a class with a
    `kind` of its own can (docs/how-to/extend.md).

    Parameters
    ----------
    function : callable
        `function(query, k)` returns the best `k` items at most, `{item id: score}` or pairs of both; higher is better.
    items : iterable of str
        All ids that it may find.
    score : callable, optional
        `score(query, ids)` returns a number for each id. Sums and re-ranking ask for scores of items that others found;
        without it, only what `function` itself finds has one.
    scale : str
        The name of what the scores measure.

    Examples
    --------
    >>> texts = {"fig": "a fig tree", "pear": "a pear"}
    >>> def rule(query, k):
    ...     return {item: float(query in text) for item, text in texts.items() if query in text}
    >>> search = FunctionRetriever(rule, texts)
    >>> search("fig").ids, search("a", where={"pear"}).ids
    ([['fig']], [['pear']])
    """

    @validate_args
    def __init__(
        self,
        function: Callable[..., Any],
        items: Iterable[str],
        *,
        score: Callable[..., Any] | None = None,
        scale: str = "function",
    ):
        self._function, self._scoring, self.scale = function, score, scale
        self._items = Strings.unique(items)

    def __repr__(self) -> str:
        name = getattr(self._function, "__qualname__", type(self._function).__qualname__)
        return f"FunctionRetriever({name}, {len(self._items):,} items)"

    @property
    def items(self) -> Strings:
        """Item ids by number."""
        return self._items

    @property
    def nbytes(self) -> int:
        """Nothing that is known here: what the function needs is its own affair."""
        return 0

    def _search(self, queries: Queries, k: int, filter: Filter | None, threads: int) -> Candidates:
        rows = [self._best(text, k, filter) for text in queries.texts]
        offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        items = np.array([item for row in rows for item in row], np.int32)
        scores = np.array([score for row in rows for score in row.values()], np.float32)
        everything = Candidates.ranked(offsets, items, scores, catalog=self._items)
        return everything.top(k)

    def _best(self, query: str, k: int, filter: Filter | None) -> dict[int, float]:
        """Ask for more as long as the filter leaves too few and the function has more to give."""
        wanted = k
        while True:
            found = self._found(query, wanted)
            kept = found if filter is None else {n: score for n, score in found.items() if filter.mask[n]}
            if filter is None or len(kept) >= min(k, filter.count) or len(found) < wanted or wanted >= len(self._items):
                return kept
            wanted = min(4 * wanted, len(self._items))

    def _found(self, query: str, k: int) -> dict[int, float]:
        answer = self._function(query, k)
        answer = answer.items() if isinstance(answer, Mapping) else answer
        pairs = list(answer) if isinstance(answer, Iterable) else [answer]
        if odd := [pair for pair in pairs if not _is_pair(pair)]:
            raise InputError(f"The function must return {{item id: score}}, or pairs of both. Got {odd[0]!r:.60}.")
        numbers = self._items.find_all(str(item) for item, _ in pairs)
        if (numbers < 0).any():
            unknown = pairs[int(np.argmax(numbers < 0))][0]
            raise InputError(f"The function must find items of the catalog. Got {unknown!r}: give it in `items`.")
        scores = checked_numbers([score for _, score in pairs], len(pairs))
        return dict(zip(numbers.tolist(), scores.tolist(), strict=True))

    def _score(self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int) -> PairScores:
        rows = [self._scored(text, candidates.row(row)[0].tolist()) for row, text in enumerate(queries.texts)]
        return PairScores(np.concatenate([np.zeros(0, np.float32), *rows]), Stats(scored=len(candidates.items)))

    def _scored(self, query: str, numbers: list[int]) -> Float32Array:
        if not numbers:
            return np.zeros(0, np.float32)
        if self._scoring is not None:
            return checked_numbers(self._scoring(query, self._items.take(np.array(numbers, np.int32))), len(numbers))
        found = self._found(query, len(self._items))
        unknown = next((number for number in numbers if number not in found), None)
        if unknown is not None:
            raise CompositionError(
                f"{self!r} has no score for {self._items[unknown]!r}, which it does not find. Give it `score=`, or "
                'join by what needs none: `a | b`, `a.normalized("rank")`.'
            )
        return np.array([found[number] for number in numbers], np.float32)

    def _explain(self, queries: Queries, item: int, filter: Filter | None) -> Explanation:
        return Explanation(self._score_one(queries, item), f"{self.scale}, as the function has it")

    def _write(self, writer: ArtifactWriter) -> None:
        raise InputError("A function cannot be saved. Write a Retriever class with a `kind` (docs/how-to/extend.md).")

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        raise InputError("A function cannot be loaded.")


def _is_pair(value: object) -> bool:
    return isinstance(value, tuple | list) and len(value) == 2
