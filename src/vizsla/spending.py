"""Spending: how many calls a budget has left, in all and for each query of a call; safe with threads."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla.errors import BudgetError, ScorerError
from vizsla.forking.lock import ForkLock
from vizsla.queries import Queries

Counts = NDArray[np.int64]


class Spending:
    """Counts calls against limits.

    Parameters
    ----------
    calls : int or None
        The most calls in all.
    per_query : int or None
        The most calls for each query of one call.

    Examples
    --------
    >>> spending, queries = Spending(3, None), Queries(["fig"])
    >>> spending.reserve(queries, np.array([2]))
    >>> spending.spent
    2
    """

    def __init__(self, calls: int | None, per_query: int | None):
        self.calls, self.per_query = calls, per_query
        self.spent = 0
        self._lock = ForkLock()

    def check(self, queries: Queries, pairs: Counts) -> None:
        """Raise if so many calls, one count a query, would exceed a limit."""
        with self._lock:
            self._check(queries, pairs)

    def reserve(self, queries: Queries, pairs: Counts) -> None:
        """Spend the calls, or raise and spend none."""
        with self._lock:
            self._check(queries, pairs)
            self._add(queries, pairs)

    def give_back(self, queries: Queries, pairs: Counts) -> None:
        """Take back what was reserved for a call that was not made."""
        with self._lock:
            self._add(queries, -pairs)

    def reset(self) -> None:
        """Begin anew with nothing spent."""
        with self._lock:
            self.spent = 0

    def __deepcopy__(self, memo: object) -> Spending:
        """Copies of a composition spend from one budget."""
        return self

    def _check(self, queries: Queries, pairs: Counts) -> None:
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

    def _add(self, queries: Queries, pairs: Counts) -> None:
        self.spent += int(pairs.sum())
        queries.spent[self] = self._of_call(queries) + pairs

    def _of_call(self, queries: Queries) -> Any:
        """Return what each query of this call has cost so far: compositions may ask several times."""
        known = queries.spent.get(self)
        return np.zeros(len(queries), np.int64) if known is None else known


def sent_pairs(failure: Exception, pairs: int) -> int:
    """Return how many of so many pairs a call had sent when it failed: all of them, unless the failure knows better.

    Examples
    --------
    >>> sent_pairs(ScorerError("busy", sent=2), 5), sent_pairs(ConnectionError(), 5)
    (2, 5)
    """
    sent = failure.sent if isinstance(failure, ScorerError) else None
    return pairs if sent is None else min(sent, pairs)
