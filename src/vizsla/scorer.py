"""Scorer: scores given (query, item) pairs, and counts them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter

import numpy as np

from vizsla.candidates import Candidates, Scores
from vizsla.errors import InputError
from vizsla.stats import Stats
from vizsla.strings import Strings


def query_list(queries: str | Sequence[str], *, rows: int | None = None) -> list[str]:
    """Return the query texts as a list; anything but text, or another count than `rows`, raises.

    Examples
    --------
    >>> query_list("fig tree")
    ['fig tree']
    """
    texts = [queries] if isinstance(queries, str) else list(queries)
    wrong = next((text for text in texts if not isinstance(text, str)), None)
    if wrong is not None:
        raise InputError(f"`queries` must be a text or a sequence of texts. Got {type(wrong).__name__} in it.")
    if rows is not None and len(texts) != rows:
        raise InputError(f"`queries` must be as many as the candidates' rows ({rows}). Got {len(texts)}.")
    return texts


class Scorer(ABC):
    """Scores candidates. Every Retriever is one; so is a cross-encoder or any Python function."""

    scale: str = "unnamed"
    """What the scores mean. Only scores of one scale may be added without normalisation."""

    @property
    @abstractmethod
    def items(self) -> Strings:
        """The ids of the items that can be scored."""

    @property
    def nbytes(self) -> int:
        """Bytes that scoring needs; 0 for code."""
        return 0

    @abstractmethod
    def score(self, queries: str | Sequence[str], candidates: Candidates) -> Candidates:
        """Score each query's candidates and rank them.

        The answer keeps the candidates' catalogue and query ids; its `stats` are the cost of this scoring alone,
        with the number of scored pairs as `scorer_calls`. An item that the scorer does not know raises.
        """


class FunctionScorer(Scorer):
    """Any Python function as a scorer of (query text, item texts).

    Parameters
    ----------
    function : callable
        From a query text and a list of item texts to as many numbers, higher is better.
    texts : mapping
        Item texts by id.
    scale : str
        The name of what the function measures.

    Examples
    --------
    >>> shared = FunctionScorer(lambda q, ts: [len(set(q) & set(t)) for t in ts], {"a": "fig", "b": "pear"})
    >>> shared.score("pea", Candidates.from_dict({"0": {"a": 0.0, "b": 0.0}})).to_dict()
    {'0': {'b': 3.0, 'a': 0.0}}
    """

    def __init__(
        self,
        function: Callable[[str, list[str]], Sequence[float]],
        texts: Mapping[str, str],
        *,
        scale: str = "function",
    ):
        self._function, self._texts, self.scale = function, texts, scale
        self._items = Strings.of(texts)
        self.calls = 0

    @property
    def items(self) -> Strings:
        """The ids that have a text."""
        return self._items

    def score(self, queries: str | Sequence[str], candidates: Candidates) -> Candidates:
        """Call the function once a query."""
        texts = query_list(queries, rows=len(candidates))
        start = perf_counter()
        rows = [self._score_given(text, ids) for text, ids in zip(texts, candidates.ids, strict=True)]
        self.calls += len(candidates.items)
        stats = Stats(ms=(perf_counter() - start) * 1e3, scorer_calls=len(candidates.items))
        return Candidates.ranked(
            candidates.offsets,
            candidates.items,
            np.concatenate([np.zeros(0, np.float32), *rows]),
            catalogue=candidates.catalogue,
            query_ids=candidates.query_ids,
            stats=stats,
        )

    def _score_given(self, query: str, ids: list[str]) -> Scores:
        missing = next((item for item in ids if item not in self._texts), None)
        if missing is not None:
            raise InputError(f"Every candidate must have a text. Got {missing!r}, which has none.")
        scores = np.asarray(self._function(query, [self._texts[item] for item in ids]), dtype=np.float32)
        if scores.shape != (len(ids),):
            raise InputError(f"The scorer must return {len(ids)} numbers. Got shape {scores.shape}.")
        return scores
