"""Budget: at most so many calls of a scorer; the call that would exceed it is not made."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vizsla.candidates import Candidates
from vizsla.errors import BudgetError, InputError, ScorerError, check_positive
from vizsla.filter import Filter
from vizsla.queries import Queries
from vizsla.scored import Scored
from vizsla.scorer import Scorer
from vizsla.spending import Spending, sent_pairs
from vizsla.wrapped_scorer import WrappedScorer


class Budget(WrappedScorer):
    """A scorer with a limit on its calls, over its whole life; use it wherever a scorer goes: `a >> Budget(ce, …)`.

    A call is one (query, item) pair that is really scored: by a model, or by arithmetic for a scorer that calls none.
    What a composition or a ScoreCache remembers costs nothing, whether the cache is inside or outside: the budget
    counts right before the scorer that makes the calls. A call that would exceed the limit raises a BudgetError before
    it is made. A call that fails half-way is counted, because nobody can tell what it has cost, unless the scorer tells
    how much of it was sent.

    Parameters
    ----------
    scorer : Scorer
        A cross-encoder, a function, a ScoreCache around them, or a retriever that is no composition.
    calls : int, optional
        The most calls in all, until `reset`.
    per_query : int, optional
        The most calls for each query of one call.

    Examples
    --------
    >>> from vizsla import FunctionScorer, bm25
    >>> items = {"a": "fig tree", "b": "fig", "c": "pear"}
    >>> short = Budget(FunctionScorer(lambda query, texts: [-len(text) for text in texts], items), calls=3)
    >>> search = bm25(items) >> short
    >>> search("fig").ids, short.spent, short.left
    ([['b', 'a']], 2, 1)
    >>> search("fig")
    Traceback (most recent call last):
    vizsla.errors.BudgetError: `calls` must cover every call. Got 2 to make with 1 of 3 left; none was made. ...
    """

    def __init__(self, scorer: Scorer, *, calls: int | None = None, per_query: int | None = None):
        super().__init__(scorer)
        if calls is None and per_query is None:
            raise InputError("`calls` or `per_query` must say how many calls are allowed. Got neither.")
        self.calls = None if calls is None else check_positive("calls", calls)
        self.per_query = None if per_query is None else check_positive("per_query", per_query)
        self._spending = spending = Spending(self.calls, self.per_query)
        self._given = scorer
        self.wrapped = scorer._inserted(lambda inner: _Metered(inner, spending))

    @property
    def spent(self) -> int:
        """Calls that were made since the beginning or the last `reset`."""
        return self._spending.spent

    @property
    def left(self) -> int | None:
        """Calls that may still be made; None when only each query is limited."""
        return None if self.calls is None else max(0, self.calls - self.spent)

    def reset(self) -> None:
        """Begin anew with nothing spent."""
        self._spending.reset()

    def __repr__(self) -> str:
        limits = {"calls": self.calls, "per_query": self.per_query}
        said = ", ".join(f"{name}={limit:,}" for name, limit in limits.items() if limit is not None)
        return f"Budget({self._given}, {said}, {self.spent:,} spent)"


class _Metered(WrappedScorer):
    """Stands right before the scorer that makes the calls, and reserves them."""

    def __init__(self, scorer: Scorer, spending: Spending):
        super().__init__(scorer)
        self._spending = spending

    def _score(self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int) -> Scored:
        pairs = np.diff(candidates.offsets)
        self._spending.reserve(queries, pairs)
        try:
            return self.wrapped._score(queries, candidates, filter, threads)
        except BudgetError:  # of another budget around the same scorer: the call was not made
            self._spending.give_back(queries, pairs)
            raise
        except ScorerError as failure:
            sent = sent_pairs(failure, len(candidates.items))
            self._spending.give_back(queries, np.diff(np.maximum(candidates.offsets, sent)))
            raise

    def _afford(self, queries: Queries, pairs: NDArray[np.int64]) -> None:
        self._spending.check(queries, pairs)
        self.wrapped._afford(queries, pairs)

    def __repr__(self) -> str:
        return repr(self.wrapped)
