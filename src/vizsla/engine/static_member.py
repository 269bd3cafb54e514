"""StaticMember: an artifact that was built whole, served over the items that an engine has now."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from typing import TYPE_CHECKING, Self

import numpy as np

from vizsla._internal.forking import ForkLock
from vizsla.base.queries import Queries
from vizsla.base.retriever import Retriever
from vizsla.core.candidates import Candidates, PairScores
from vizsla.core.explanation import Explanation
from vizsla.core.strings import Strings
from vizsla.data.dataset import Dataset
from vizsla.data.filter import Filter
from vizsla.engine.vector_member import merged_parts
from vizsla.errors import InputError
from vizsla.io.builder import stored_dataset
from vizsla.methods.dense import Dense, dense
from vizsla.text.highlights import Highlighter
from vizsla.typing import BoolArray, Int32Array

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter
    from vizsla.data.dataset import Dataset

APART = ("dense", "late-interaction", "sidr")
"""Kinds whose items are scored each by itself, so that later ones can be searched beside what was built."""


class StaticMember:
    """The retriever of a static member, and what became of it with items that came after it was built.

    Kinds that can take items without training (`with_items`) get those that came or changed since. Where only the index
    takes none, as a graph over vectors, or where items do not depend on each other, later items are searched one by one
    beside it. Others do not find them until the member is rebuilt.

    Parameters
    ----------
    built : Retriever
        The built retriever.
    last_item : int
        The largest row number that it was built of.
    """

    def __init__(self, built: Retriever, last_item: int):
        self._part, self._last = built, last_item
        self._tail: Retriever | None = None
        self._late: dict[str, str] = {}
        self._served: tuple[tuple[int, int], ReindexedRetriever] | None = None
        self._lock = ForkLock()

    @property
    def takes_items(self) -> bool:
        """Whether items that came later are found."""
        return self._part.takes_items or type(self._part).kind in APART

    def over(self, items: Strings, last: int, since: Callable[[int], Mapping[str, str]]) -> Retriever:
        """Return it over these items.

        Parameters
        ----------
        items : Strings
            The live items.
        last : int
            The largest row number among them.
        since : function of a row number
            Returns ids and texts of the live items with larger numbers.
        """
        with self._lock:
            if last > self._last and self.takes_items:
                self._take(since(self._last))
                self._last, self._served = last, None
            # Rows and deletions only grow: with the same last row and as many items, they are the same items.
            key = last, len(items)
            if self._served is None or self._served[0] != key:
                self._served = key, self._reindexed(items)
            return self._served[1].over(items)

    def _reindexed(self, items: Strings) -> ReindexedRetriever:
        if self._tail is None:
            return ReindexedRetriever(self._part, items)
        return TailedRetriever(self._part, items, self._tail)

    def _take(self, new: Mapping[str, str]) -> None:
        """Take items that came or changed; a kind that cannot serves what it knows."""
        part = self._part
        if not part.takes_items:
            self._tail = self._grown(part, new)
            return
        known = [id for id in new if part.items.find(id) >= 0]
        # Where all are replaced, the last one leaves when others are in: a retriever cannot be empty.
        leaving = known[:-1] if len(known) == len(part.items) else known
        try:
            part = part.without_items(leaving) if leaving else part
            fresh = {id: text for id, text in new.items() if part.items.find(id) < 0}
            part = part.with_items(fresh) if fresh else part
            if len(leaving) < len(known) and len(part.items) > 1:
                part = part.without_items(known[-1:]).with_items({known[-1]: new[known[-1]]})
            self._part = part
        except InputError:  # a part of it takes none
            return

    def _grown(self, part: Retriever, new: Mapping[str, str]) -> Retriever | None:
        """Return a retriever of the later items, whose scores are those of the part: each is that of one item alone."""
        if not new:
            return self._tail
        if not isinstance(part, Dense):
            self._late |= new
            return part.recipe.build(stored_dataset(self._late))
        tail = self._tail
        if not isinstance(tail, Dense):
            return dense(new, part.encoder)
        known = [id for id in new if tail.items.find(id) >= 0]
        if len(known) == len(tail.items):
            return dense(new, part.encoder)
        return (tail.without_items(known) if known else tail).with_items(new)


class ReindexedRetriever(Retriever):
    """A retriever in the numbers of another catalog: it finds only items of that one, and scores unknown ones 0.

    Parameters
    ----------
    part : Retriever
        The retriever.
    items : Strings
        The catalog.
    hidden : bool array, optional
        The items of the catalog that it shall not know.
    """

    def __init__(self, part: Retriever, items: Strings, hidden: BoolArray | None = None):
        self.part, self._items, self.scale = part, items, part.scale
        self._inner: Int32Array = part.items.find_all(items).astype(np.int32)
        if hidden is not None:
            self._inner[hidden] = -1
        self._outer: Int32Array = np.full(len(part.items), -1, np.int32)
        known = self._inner >= 0
        self._outer[self._inner[known]] = np.flatnonzero(known).astype(np.int32)
        self._alive = None if (self._outer >= 0).all() else Filter.piece(self._outer >= 0)

    @property
    def items(self) -> Strings:
        """The catalog."""
        return self._items

    def over(self, items: Strings) -> Self:
        """Return it over a catalog of the same ids, whose metadata may differ."""
        same = copy(self)
        same._items = items
        return same

    @property
    def nbytes(self) -> int:
        """Bytes of the retriever and of the numbers."""
        return int(self.part.nbytes + self._inner.nbytes + self._outer.nbytes)

    def __repr__(self) -> str:
        return f"ReindexedRetriever({self.part!r})"

    def refit_on(self, dataset: Dataset, *, threads: int = 1) -> Retriever:
        """Return what the part would be had it learned from this dataset's clicks alone."""
        return self.part.refit_on(dataset, threads=threads)

    def _search(self, queries: Queries, k: int, filter: Filter | None, threads: int) -> Candidates:
        found = self.part._search_checked(queries, k, self._filter(filter), threads)
        return found.renumbered(self._items, self._outer[found.items]).with_upper_bounds(None)

    def _score(self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int) -> PairScores:
        own = self._inner[candidates.items]
        known = own >= 0
        if known.all():
            inside = candidates.with_catalog(self.part.items, own)
            return self.part._score_once(queries, inside, self._filter(filter), threads)
        offsets = np.concatenate([[0], np.cumsum(known)])[candidates.offsets].astype(np.int64)
        pairs = Candidates.unchecked(offsets, own[known], None, self.part.items, candidates.stats)
        scored = self.part._score_once(queries, pairs, self._filter(filter), threads)
        scores = np.zeros(len(own), np.float32)
        scores[known] = scored.scores
        return PairScores(scores, scored.stats)

    def _explain(self, queries: Queries, item: int, filter: Filter | None) -> Explanation:
        if self._inner[item] < 0:
            raise InputError(f"`item` must be one that {self.part!r} was built of. Got a newer one: rebuild it first.")
        return self.part._explain(queries, int(self._inner[item]), self._filter(filter))

    def _matches(self, queries: Queries, threads: int) -> Int32Array | None:
        found = self.part._matches(queries, threads)
        if found is None:
            return None
        moved = self._outer[found]
        return np.sort(moved[moved >= 0])

    def _steady_depth(self, filter: Filter | None) -> float:
        return self.part._steady_depth(self._filter(filter))

    def _highlighter(self, query: str) -> Highlighter | None:
        return self.part._highlighter(query)

    def _filter(self, filter: Filter | None) -> Filter | None:
        if filter is None:
            return self._alive
        return filter.form(self, self._inner_filter)

    def _inner_filter(self, filter: Filter) -> Filter:
        mask = np.zeros(len(self._outer), np.bool_)
        known = self._outer >= 0
        mask[known] = filter.mask[self._outer[known]]
        return Filter.piece(mask)

    def _write(self, writer: ArtifactWriter) -> None:
        raise InputError("A member of an engine must be stored by its engine. Use `engine.backup`.")

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        raise InputError("A member of an engine must be opened by its engine. Use `Engine.open`.")


class TailedRetriever(ReindexedRetriever):
    """A retriever, and another one over the items that came or changed after it was built, searched as one.

    Parameters
    ----------
    part : Retriever
        The built retriever.
    items : Strings
        The catalog.
    tail : Retriever
        Over the later items; what it has is not searched in the part.
    """

    def __init__(self, part: Retriever, items: Strings, tail: Retriever):
        self._tail = ReindexedRetriever(tail, items)
        self._is_late: BoolArray = self._tail._inner >= 0
        super().__init__(part, items, self._is_late)

    @property
    def nbytes(self) -> int:
        """Bytes of both."""
        return super().nbytes + self._tail.nbytes

    def _search(self, queries: Queries, k: int, filter: Filter | None, threads: int) -> Candidates:
        both = (super()._search(queries, k, filter, threads), self._tail._search(queries, k, filter, threads))
        joined = merged_parts([(0, found) for found in both], len(queries), k)
        return joined.with_catalog(self._items).with_stats(joined.stats.with_exact(both[0].stats.exact))

    def _score(self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int) -> PairScores:
        early = super()._score(queries, candidates, filter, threads)
        late = self._tail._score(queries, candidates, filter, threads)
        scores = np.where(self._is_late[candidates.items], late.scores, early.scores)
        return PairScores(scores, early.stats + late.stats)

    def _explain(self, queries: Queries, item: int, filter: Filter | None) -> Explanation:
        if self._is_late[item]:
            return self._tail._explain(queries, item, filter)
        return super()._explain(queries, item, filter)
