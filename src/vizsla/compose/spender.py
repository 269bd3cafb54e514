"""Spender: a retriever that buys scores once in a call, and answers all that the call asks of it from these."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from vizsla.candidates import Candidates
from vizsla.chosen_pairs import chosen_pairs
from vizsla.compose.bought import Bought
from vizsla.filter import Filter
from vizsla.queries import Queries
from vizsla.retriever import Retriever
from vizsla.scored import Scored
from vizsla.stats import Stats


class Spender(Retriever):
    """A search under a budget, which holds over everything that one call asks of it.

    A composition may ask several times: for candidates, for a scale, for scores of what other parts have found. The
    first request buys scores, as many as the budget allows; they stand in the call's `Queries`, and every request is
    answered from them. An item that was not bought has an estimate as its score, which depends on the query alone.
    """

    composed = True

    @abstractmethod
    def _buy(self, queries: Queries, filter: Filter | None, threads: int) -> Bought:
        """Spend the budget of each query on items that the filter allows."""

    @abstractmethod
    def _guess(self, queries: Queries, bought: Bought, pairs: Candidates, threads: int) -> Scored:
        """Return estimates of pairs that were not bought: a pair's is the same in any company."""

    def _search(self, queries: Queries, k: int, filter: Filter | None, threads: int) -> Candidates:
        return self._bought(queries, filter, threads).best(k, filter)

    def _score(self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int) -> Scored:
        bought = self._bought(queries, filter, threads)
        (scores, missing), stats = bought.scores_of(candidates), bought.bill()
        if len(missing):
            guessed = self._guess(queries, bought, chosen_pairs(candidates, missing), threads)
            scores[missing] = np.clip(guessed.scores, np.finfo(np.float32).min, min(self.highest, _LARGEST))
            stats = stats + guessed.stats + Stats(estimated=len(missing))
        return Scored(scores, stats)

    def _ignored_cut(self) -> int | None:
        return None  # who is asked for scores searches first

    def _settle(self, queries: Queries, threads: int) -> None:
        self._bought(queries, None, threads)

    def _bought(self, queries: Queries, filter: Filter | None, threads: int) -> Bought:
        known: Bought | None = queries.spent.get(self)
        if known is None:
            known = queries.spent[self] = self._buy(queries, filter, threads)
        return known


_LARGEST = float(np.finfo(np.float32).max)
