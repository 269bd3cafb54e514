"""Retriever: query texts in, Candidates out."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from time import perf_counter

import numpy as np

from vizsla.artifact import Artifact
from vizsla.candidates import Candidates, Numbers
from vizsla.composable import Composable
from vizsla.errors import InputError, check_positive
from vizsla.explanation import Explanation
from vizsla.filters import Where, allowed_items
from vizsla.index import Mask
from vizsla.scorer import Scorer, query_list
from vizsla.strings import Strings


class Retriever(Composable, Scorer, Artifact):
    """Finds, scores and explains items for query texts; combines with others by `>>`, `|`, `+`, `*` and `%`.

    A method implements `_search`, `_score` and `_explain` on item numbers; this class checks arguments, translates
    ids, and takes the time.
    """

    @property
    @abstractmethod
    def items(self) -> Strings:
        """Item ids by number."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes that answering needs, without the item ids."""

    def __call__(
        self, queries: str | Sequence[str], k: int = 10, *, where: Where | None = None, threads: int = 1
    ) -> Candidates:
        """Return the best `k` items for each query.

        Parameters
        ----------
        queries : str or sequence of str
            One query, or many.
        k : int
            How many items at most.
        where : mask, collection of ids, or function of an id, optional
            Only these items are found, and `k` of them whenever `k` of them match.
        threads : int
            How many queries are answered at a time. The answer does not depend on it.
        """
        start = perf_counter()
        texts = query_list(queries)
        allowed = None if where is None else allowed_items(where, self.items)
        found = self._search(texts, check_positive("k", k), allowed, check_positive("threads", threads))
        return found.with_ms((perf_counter() - start) * 1e3)

    def score(self, queries: str | Sequence[str], candidates: Candidates) -> Candidates:
        """Score the given candidates, whatever their catalogue, and rank them."""
        start = perf_counter()
        texts = query_list(queries, rows=len(candidates))
        if candidates.catalogue is None or candidates.catalogue is self.items or candidates.catalogue == self.items:
            scored = self._score(texts, candidates)
        else:
            scored = self._score_foreign(texts, candidates)
        return scored.with_query_ids(candidates.query_ids).with_ms((perf_counter() - start) * 1e3)

    def explain(self, query: str, item: str) -> Explanation:
        """Say why the item gets the score it gets for this query."""
        return self._explain(query, self.items.number(item))

    @abstractmethod
    def _search(self, texts: list[str], k: int, allowed: Mask | None, threads: int) -> Candidates:
        """Answer with this retriever's own item numbers and catalogue."""

    @abstractmethod
    def _score(self, texts: list[str], candidates: Candidates) -> Candidates:
        """Score candidates that carry this retriever's own item numbers."""

    def _complete(self, texts: list[str], found: Candidates, wanted: Candidates) -> Candidates:
        """Score `wanted` for a sum, given what this retriever's own search for the same queries found."""
        return self._score(texts, wanted)

    @abstractmethod
    def _explain(self, text: str, item: int) -> Explanation:
        """Explain the score of one item number."""

    def _score_foreign(self, texts: list[str], candidates: Candidates) -> Candidates:
        numbers = self._own_numbers(candidates)
        own = self._score(texts, Candidates(candidates.offsets, numbers, None, catalogue=self.items))
        back = candidates.catalogue.find_all(self.items.take(own.items))  # type: ignore[union-attr]
        return Candidates.ranked(
            own.offsets,
            back.astype(np.int32),
            own._required_scores(),
            catalogue=candidates.catalogue,
            stats=own.stats,
        )

    def _own_numbers(self, candidates: Candidates) -> Numbers:
        ids = candidates.catalogue.take(candidates.items)  # type: ignore[union-attr]
        numbers = self.items.find_all(ids)
        if (numbers < 0).any():
            unknown = ids[int(np.argmax(numbers < 0))]
            raise InputError(
                f"Every candidate must be an item of this retriever. Got {unknown!r}, which it does not know."
            )
        return numbers.astype(np.int32)
