"""Parts may number their items differently: one merged catalog, and maps to and from it, made once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from vizsla.base.queries import Queries
from vizsla.base.retriever import Retriever
from vizsla.base.scorer import Scorer
from vizsla.core.candidates import Candidates, PairScores
from vizsla.core.strings import Strings
from vizsla.data.filter import Filter
from vizsla.errors import InputError

S = TypeVar("S", bound=Scorer)


class ReindexedPart(Generic[S]):
    """A part of a composition, converted to the composition's item numbers.

    Parameters
    ----------
    part : Scorer
        The part.
    merged : Strings
        The composition's catalog.

    Examples
    --------
    >>> from vizsla.methods.bm25 import bm25
    >>> part = ReindexedPart(bm25({"pear": "a pear", "fig": "a fig"}), Strings.of(["fig", "pear"]))
    >>> part.search(Queries(["pear"]), 1, None, 1).items.tolist()
    [1]
    """

    def __init__(self, part: S, merged: Strings):
        self.part, self.merged = part, merged
        same = part.items is merged or part.items == merged
        self._from_merged = None if same else merged_numbers(merged, part.items)
        self._to_merged = None if same else merged_numbers(part.items, merged)

    def search(
        self: ReindexedPart[Retriever], queries: Queries, k: int, filter: Filter | None, threads: int
    ) -> Candidates:
        """Search the part; the answer is in the composition's numbers."""
        found = self.part._search_checked(queries, k, self.own_filter(filter), threads)
        if self._to_merged is None:
            return found
        return found.renumbered(self.merged, self._to_merged[found.items])

    def score(self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int) -> PairScores:
        """Score candidates that are in the composition's numbers, in their order; no model sees a pair twice."""
        own = candidates
        if self._from_merged is not None:
            own = candidates.with_catalog(self.part.items, self._checked(self._from_merged[candidates.items]))
        return self.part._score_once(queries, own, self.own_filter(filter), threads)

    def matches(self: ReindexedPart[Retriever], queries: Queries, threads: int) -> NDArray[np.int32] | None:
        """Return all items that a search of the part can find, in the composition's numbers."""
        found = self.part._matches(queries, threads)
        return found if found is None or self._to_merged is None else np.sort(self._to_merged[found])

    @property
    def maps(self) -> tuple[NDArray[np.int32], NDArray[np.int32]] | None:
        """The composition's number of each of the part's items, and the part's of each of the composition's."""
        if self._to_merged is None or self._from_merged is None:
            return None
        return self._to_merged, self._from_merged

    def own_filter(self, filter: Filter | None) -> Filter | None:
        """Return the filter in the part's numbers."""
        if filter is None or self._from_merged is None:
            return filter
        numbers = self._from_merged
        return filter.form(self, lambda given: _own_filter(given, numbers, len(self.part.items)))

    def own_item(self, item: int) -> int:
        """Return the part's number of an item, -1 where it does not know it."""
        return item if self._from_merged is None else int(self._from_merged[item])

    def _checked(self, numbers: NDArray[np.int32]) -> NDArray[np.int32]:
        if len(numbers) and numbers.min() < 0:
            unknown = len(self.merged) - int(np.count_nonzero(self._from_merged >= 0))  # type: ignore[operator]
            raise InputError(
                f"Every candidate must be an item of {self.part!r}. Got one of {unknown} that it does not know: build "
                "the parts over one catalog."
            )
        return numbers


def align(parts: Sequence[Retriever]) -> list[ReindexedPart[Retriever]]:
    """Merge the parts' catalogs: the first one's order, then what the others add."""
    merged = merge_catalogs(parts)
    return [ReindexedPart(part, merged) for part in parts]


def merge_catalogs(parts: Sequence[Scorer]) -> Strings:
    """Return all parts' item ids, the first part's first."""
    merged = parts[0].items
    for part in parts[1:]:
        if part.items is merged or part.items == merged:
            continue
        new = [item for item in part.items if item not in merged]
        if new:
            merged = Strings.of([*merged, *new])
    return merged


def merged_numbers(items: Strings, others: Strings) -> NDArray[np.int32]:
    """Return for each item its number among the others, -1 where it is not there."""
    return others.find_all(items).astype(np.int32)


def _own_filter(filter: Filter, from_merged: NDArray[np.int32], count: int) -> Filter:
    mask = np.zeros(count, np.bool_)
    numbers = from_merged[filter.mask]
    mask[numbers[numbers >= 0]] = True
    return Filter.piece(mask)
