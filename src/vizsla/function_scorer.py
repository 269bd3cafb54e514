"""FunctionScorer: any Python function as a scorer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from vizsla.candidates import Candidates, Scores
from vizsla.errors import InputError, check_choice
from vizsla.filter import Filter
from vizsla.queries import Queries
from vizsla.scored import Scored
from vizsla.scorer import Scorer
from vizsla.stats import Stats
from vizsla.strings import Strings

TAKES = ("query", "pairs", "batch")


class FunctionScorer(Scorer):
    """Any Python function of query and item texts as a scorer.

    Parameters
    ----------
    function : callable
        Returns as many numbers as it gets item texts, higher is better. What it takes is said by `takes`.
    texts : mapping
        Item texts by id.
    takes : {"query", "pairs", "batch"}
        "query": a query text and a list of item texts, once a query. "pairs": a list of (query text, item text), once a
        call, whatever the number of queries. "batch": a list of query texts and as many lists of item texts, once a
        call; it returns as many lists of numbers.
    scale : str
        The name of what the function measures.
    model_calls : bool
        Whether a pair counts as a model call, which is paid for, or as arithmetic.

    Examples
    --------
    >>> shared = FunctionScorer(lambda q, ts: [len(set(q) & set(t)) for t in ts], {"a": "fig", "b": "pear"})
    >>> shared.score("pea", Candidates.from_dict({"0": {"a": 0.0, "b": 0.0}})).to_dict()
    {'0': {'b': 3.0, 'a': 0.0}}
    """

    def __init__(
        self,
        function: Callable[..., Any],
        texts: Mapping[str, str],
        *,
        takes: str = "query",
        scale: str = "function",
        model_calls: bool = True,
    ):
        check_choice("takes", takes, TAKES)
        self._function, self._texts, self._takes = function, texts, takes
        self.scale, self.model_calls = scale, model_calls
        self._items = Strings.of(texts)

    @property
    def items(self) -> Strings:
        """The ids that have a text."""
        return self._items

    def __repr__(self) -> str:
        return f"FunctionScorer({getattr(self._function, '__name__', 'function')}, {len(self._items):,} items)"

    def _score(self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int) -> Scored:
        pairs = len(candidates.items)
        stats = Stats(model_calls=pairs) if self.model_calls else Stats(scored=pairs)
        return Scored(self._called(queries.texts, self._rows(candidates)), stats)

    def _rows(self, candidates: Candidates) -> list[list[str]]:
        texts = [self._texts[item] for item in self._items.take(candidates.items)]
        bounds = candidates.offsets.tolist()
        return [texts[start:end] for start, end in pairwise(bounds)]

    def _called(self, queries: list[str], rows: list[list[str]]) -> Scores:
        if self._takes == "pairs":
            pairs = [(query, text) for query, row in zip(queries, rows, strict=True) for text in row]
            return _numbers(self._function(pairs) if pairs else [], len(pairs))
        if self._takes == "batch":
            answers = list(self._function(queries, rows))
            if len(answers) != len(rows):
                raise InputError(f"The scorer must return {len(rows)} lists, one a query. Got {len(answers)}.")
        else:
            answers = [self._function(query, row) if row else [] for query, row in zip(queries, rows, strict=True)]
        parts = [_numbers(answer, len(row)) for answer, row in zip(answers, rows, strict=True)]
        return np.concatenate([np.zeros(0, np.float32), *parts])


def _numbers(given: Any, count: int) -> Scores:
    scores = np.asarray(given, dtype=np.float32)
    if scores.shape != (count,):
        raise InputError(f"The scorer must return {count} numbers. Got shape {scores.shape}.")
    return scores
