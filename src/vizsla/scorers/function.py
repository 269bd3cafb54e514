"""FunctionScorer: any Python function as a scorer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from vizsla.base.contract import checked_numbers
from vizsla.core.validation import validate_args
from vizsla.errors import InputError, check_choice
from vizsla.scorers.text import TextScorer
from vizsla.typing import Float32Array

if TYPE_CHECKING:
    from vizsla.data.dataset import Dataset

TAKES = ("query", "pairs", "batch")


class FunctionScorer(TextScorer):
    """Any Python function of query and item texts as a scorer.

    Parameters
    ----------
    function : callable
        Returns as many numbers as it gets item texts, higher is better. What it takes is said by `takes`.
    texts : mapping or Dataset
        Item texts by id.
    takes : {"query", "pairs", "batch"}
        "query": a query text and a list of item texts, once a query. "pairs": a list of (query text, item text), once a
        call, whatever the number of queries. "batch": a list of query texts and as many lists of item texts, once a
        call; it returns as many lists of numbers. Queries without candidates are left out.
    name : str, optional
        What the function computes, with its version: "overlap 1". A ScoreCache keeps scores under it, and so wants it
        given: change it when you change the function. Without it, the function's own name is shown.
    scale : str
        The name of what the function measures.
    model_calls : bool
        Whether a pair counts as a model call, which is paid for, or as arithmetic.

    Examples
    --------
    >>> from vizsla import Candidates
    >>> shared = FunctionScorer(lambda q, ts: [len(set(q) & set(t)) for t in ts], {"a": "fig", "b": "pear"})
    >>> shared.score("pea", Candidates.from_dict({"0": {"a": 0.0, "b": 0.0}})).to_dict()
    {'0': {'b': 3.0, 'a': 0.0}}
    """

    @validate_args
    def __init__(
        self,
        function: Callable[..., Any],
        texts: Mapping[str, str] | Dataset,
        *,
        takes: str = "query",
        name: str | None = None,
        scale: str = "function",
        model_calls: bool = True,
    ):
        super().__init__(texts, scale=scale, model_calls=model_calls)
        check_choice("takes", takes, TAKES)
        if name is not None and not (isinstance(name, str) and name):
            raise InputError(f"`name` must be a text that says what the function computes. Got {name!r}.")
        self._function, self._takes, self.named = function, takes, name is not None
        self.name = name or str(getattr(function, "__qualname__", type(function).__qualname__))

    @property
    def fingerprint(self) -> str:
        """The function's name: it says nothing of its code."""
        return f"function {self.name}"

    def __repr__(self) -> str:
        return f"FunctionScorer({self.name}, {len(self._items):,} items)"

    def score_pairs(self, queries: list[str], texts: list[str]) -> Float32Array:
        """Call the function in the way that it wants to be called."""
        if self._takes == "pairs":
            return checked_numbers(self._function(list(zip(queries, texts, strict=True))), len(texts))
        asked, rows = _rows(queries, texts)
        if self._takes == "query":
            answers = [self._function(query, row) for query, row in zip(asked, rows, strict=True)]
        else:
            answers = list(self._function(asked, rows))
            if len(answers) != len(rows):
                raise InputError(f"The scorer must return {len(rows)} lists, one a query. Got {len(answers)}.")
        return np.concatenate([checked_numbers(answer, len(row)) for answer, row in zip(answers, rows, strict=True)])


def _rows(queries: list[str], texts: list[str]) -> tuple[list[str], list[list[str]]]:
    """Return the queries and their texts; pairs of one query follow each other."""
    runs = [(query, sum(1 for _ in run)) for query, run in groupby(queries)]
    remaining = iter(texts)
    return [query for query, _ in runs], [list(islice(remaining, count)) for _, count in runs]
