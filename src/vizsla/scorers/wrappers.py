"""Wrappers around a scorer: a budget of calls, and retries."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla._internal.forking import ForkLock
from vizsla.base.queries import Queries
from vizsla.base.scorer import Scorer
from vizsla.core.candidates import Candidates, PairScores, Stats
from vizsla.core.strings import Strings
from vizsla.core.validation import validate_args
from vizsla.data.filter import Filter
from vizsla.errors import BudgetError, CompositionError, InputError, ScorerError, check_positive
from vizsla.io.json_service import backoff_s
from vizsla.typing import Float32Array, Int64Array


class WrappedScorer(Scorer):
    """Base class of scorers around another one, with its items and its scale.

    Parameters
    ----------
    scorer : Scorer
        The scorer that is limited.
    """

    wrapped: Scorer

    def __init__(self, scorer: Scorer):
        if not isinstance(scorer, Scorer):
            raise CompositionError(f"`scorer` must be a Scorer. Got {type(scorer).__name__}.")
        if scorer.is_composite or scorer.scale == "none":
            name = type(self).__name__
            raise CompositionError(
                f"A {name} must stand around the one scorer that makes the calls. Got {scorer}: write "
                f"a >> {name}(scorer, …)."
            )
        self.wrapped, self.scale, self.model_calls = scorer, scorer.scale, scorer.model_calls
        self.max_score = scorer.max_score

    @property
    def items(self) -> Strings:
        """The ids of the items that the scorer inside can score."""
        return self.wrapped.items

    @property
    def nbytes(self) -> int:
        """Bytes of the scorer inside."""
        return self.wrapped.nbytes

    def _byte_counts(self) -> dict[Any, int]:
        return self.wrapped._byte_counts()

    def _score(self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int) -> PairScores:
        return self.wrapped._score(queries, candidates, filter, threads)

    def _afford(self, queries: Queries, pairs: NDArray[np.int64]) -> None:
        self.wrapped._afford(queries, pairs)

    def _inserted(self, wrap: Callable[[Scorer], Scorer]) -> Scorer:
        return self._around(self.wrapped._inserted(wrap))

    def _around(self, scorer: Scorer) -> Self:
        other = copy(self)
        other.wrapped = scorer
        return other


class CallCounter:
    """Counts calls against limits.

    Parameters
    ----------
    calls : int or None
        The most calls in all.
    per_query : int or None
        The most calls for each query of one call.

    Examples
    --------
    >>> spending, queries = CallCounter(3, None), Queries(["fig"])
    >>> spending.reserve(queries, np.array([2]))
    >>> spending.spent
    2
    """

    def __init__(self, calls: int | None, per_query: int | None):
        self.calls, self.per_query = calls, per_query
        self.spent = 0
        self._lock = ForkLock()

    def check(self, queries: Queries, pairs: Int64Array) -> None:
        """Raise if these calls, one count per query, would exceed a limit."""
        with self._lock:
            self._check(queries, pairs)

    def reserve(self, queries: Queries, pairs: Int64Array) -> None:
        """Spend the calls, or raise and spend none."""
        with self._lock:
            self._check(queries, pairs)
            self._add(queries, pairs)

    def give_back(self, queries: Queries, pairs: Int64Array) -> None:
        """Take back what was reserved for a call that was not made."""
        with self._lock:
            self._add(queries, -pairs)

    def reset(self) -> None:
        """Reset the counts."""
        with self._lock:
            self.spent = 0

    def __deepcopy__(self, memo: object) -> CallCounter:
        """Copies of a composition spend from one budget."""
        return self

    def _check(self, queries: Queries, pairs: Int64Array) -> None:
        wanted = int(pairs.sum())
        if self.calls is not None and self.spent + wanted > self.calls:
            left = max(0, self.calls - self.spent)
            raise BudgetError(
                f"`calls` must cover every call. Got {wanted:,} to make with {left:,} of {self.calls:,} left; none was "
                "made. Ask for fewer (a smaller depth, fewer queries), raise `calls`, or `reset()` the budget."
            )
        most = int((self._of_call(queries) + pairs).max(initial=0))
        if self.per_query is not None and most > self.per_query:
            raise BudgetError(
                f"`per_query` must cover every query's calls. Got {most:,} for one query with at most "
                f"{self.per_query:,}; none of this step was made. Use a smaller depth, or raise `per_query`."
            )

    def _add(self, queries: Queries, pairs: Int64Array) -> None:
        self.spent += int(pairs.sum())
        queries.spent[self] = self._of_call(queries) + pairs

    def _of_call(self, queries: Queries) -> Any:
        """Return what each query of this call has cost so far: compositions may ask several times."""
        known = queries.spent.get(self)
        return np.zeros(len(queries), np.int64) if known is None else known


def sent_pairs(failure: Exception, pairs: int) -> int:
    """Return how many of its pairs a call had sent when it failed: all of them, unless the failure has the number.

    Examples
    --------
    >>> sent_pairs(ScorerError("busy", sent=2), 5), sent_pairs(ConnectionError(), 5)
    (2, 5)
    """
    sent = failure.sent if isinstance(failure, ScorerError) else None
    return pairs if sent is None else min(sent, pairs)


class Budget(WrappedScorer):
    """A scorer with a limit on its calls, over its whole life; use it wherever a scorer goes: `a >> Budget(ce, …)`.

    A call is one (query, item) pair that is really scored: by a model, or by arithmetic for a scorer that calls none.
    What a composition or a ScoreCache remembers costs nothing, whether the cache is inside or outside: the budget
    counts right before the scorer that makes the calls. A call that would exceed the limit raises a BudgetError before
    it is made. A call that fails half-way is counted, because its cost is unknown, unless the scorer tells
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
        self._spending = spending = CallCounter(self.calls, self.per_query)
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
        """Reset the counts."""
        self._spending.reset()

    def __repr__(self) -> str:
        limits = {"calls": self.calls, "per_query": self.per_query}
        listed = ", ".join(f"{name}={limit:,}" for name, limit in limits.items() if limit is not None)
        return f"Budget({self._given}, {listed}, {self.spent:,} spent)"


class _Metered(WrappedScorer):
    """Reserves calls right before the scorer makes them."""

    def __init__(self, scorer: Scorer, spending: CallCounter):
        super().__init__(scorer)
        self._spending = spending

    def _score(self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int) -> PairScores:
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


class Retrying(WrappedScorer):
    """Repeats failed calls of a scorer, with pauses that double each time.

    Every attempt counts: `stats` hold what was sent, failed or not, and a `Budget` inside, `Retrying(Budget(…))`, is
    charged for each. A ScoreCache goes outside, `ScoreCache(Retrying(…), …)`, so that what was answered is kept. Only
    failures of the declared kinds are tried again; any other, and the last, goes to the caller. A scorer that tells
    what it has answered before it failed, as an HttpReranker does, is asked for the rest only, with all attempts again.

    Parameters
    ----------
    scorer : Scorer
        The scorer whose calls are repeated.
    attempts : int
        Maximum number of consecutive calls without an answer.
    pause_s : float
        Seconds before the second attempt.
    most_pause_s : float
        No pause is longer, except one that the scorer itself asks for.
    failures : tuple of exception types
        Errors to retry: `ScorerError`, broken connections and timeouts unless given.
    seed : int
        Fixes the jitter: a pause is drawn between half of it and all of it, so that many callers do not return at once.

    Examples
    --------
    >>> from vizsla import FunctionScorer
    >>> tried = []
    >>> def sometimes(query, texts):
    ...     tried.append(query)
    ...     if len(tried) == 1:
    ...         raise ScorerError("busy")
    ...     return [len(text) for text in texts]
    >>> scorer = Retrying(FunctionScorer(sometimes, {"a": "fig"}), pause_s=0.0)
    >>> found = scorer.score("fruit", Candidates.from_dict({"0": {"a": 0.0}}))
    >>> found.to_dict(), found.stats.model_calls
    ({'0': {'a': 3.0}}, 2)
    """

    @validate_args
    def __init__(
        self,
        scorer: Scorer,
        *,
        attempts: int = 4,
        pause_s: float = 0.5,
        most_pause_s: float = 30.0,
        failures: tuple[type[Exception], ...] = (ScorerError, ConnectionError, TimeoutError),
        seed: int = 0,
    ):
        super().__init__(scorer)
        self.attempts = check_positive("attempts", attempts)
        if not 0 <= pause_s <= most_pause_s:
            raise InputError(f"`pause_s` must be between 0 and `most_pause_s`. Got {pause_s!r} and {most_pause_s!r}.")
        if not failures or not all(isinstance(kind, type) and issubclass(kind, Exception) for kind in failures):
            raise InputError(f"`failures` must be types of exceptions. Got {failures!r}.")
        self.pause_s, self.most_pause_s, self.failures = pause_s, most_pause_s, tuple(failures)
        self._random = random.Random(seed)
        self._sleep: Callable[[float], None] = time.sleep

    def __repr__(self) -> str:
        return f"Retrying({self.wrapped}, attempts={self.attempts})"

    def _score(self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int) -> PairScores:
        scores, stats, left, failed = np.zeros(0, np.float32), Stats(), candidates, 0
        while True:
            try:
                last = self.wrapped._score(queries, left, filter, threads)
                return PairScores(np.concatenate([scores, last.scores]), stats + last.stats)
            except self.failures as failure:
                known = np.array(getattr(failure, "answered", ()), np.float32)
                scores, stats = np.concatenate([scores, known]), stats + self._bill(failure, left)
                failed = 1 if len(known) else failed + 1
                if failed >= self.attempts:
                    _tell(failure, scores)
                    raise
                left = left.select(np.arange(len(known), len(left.items)))
                self._sleep(self._pause(failed - 1, failure))

    def _bill(self, failure: Exception, asked: Candidates) -> Stats:
        """Return what a failed attempt sent."""
        sent = sent_pairs(failure, len(asked.items))
        return Stats(model_calls=sent) if self.model_calls else Stats(scored=sent)

    def _pause(self, attempt: int, failure: Exception) -> float:
        asked = failure.wait_s if isinstance(failure, ScorerError) else None
        return backoff_s(attempt, self.pause_s, self.most_pause_s, self._random, asked)


def _tell(failure: Exception, scores: Float32Array) -> None:
    """Let the last failure tell all that was answered: a cache outside keeps it."""
    if isinstance(failure, ScorerError):
        failure.answered, failure.sent = scores.tolist(), None
