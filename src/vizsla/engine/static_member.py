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
from vizsla.data.filter import Filter
from vizsla.errors import InputError
from vizsla.text.highlights import Highlighter
from vizsla.typing import Int32Array

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter
    from vizsla.data.dataset import Dataset


class StaticMember:
    """The retriever of a static member, and what became of it with items that came after it was built.

    Kinds that can take items without training (`with_items`) get those that came or changed since. Others do not find
    them until the member is rebuilt.

    Parameters
    ----------
    built : Retriever
        What was built.
    last_item : int
        The largest row number that it was built of.
    """

    def __init__(self, built: Retriever, last_item: int):
        self._part, self._last = built, last_item
        self._served: tuple[tuple[int, int], ReindexedRetriever] | None = None
        self._lock = ForkLock()

    @property
    def takes_items(self) -> bool:
        """Whether items that came later are found."""
        return self._part.takes_items

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
                self._served = key, ReindexedRetriever(self._part, items)
            return self._served[1].over(items)

    def _take(self, new: Mapping[str, str]) -> None:
        """Take items that came or changed; a kind that cannot serves what it knows."""
        part = self._part
        known = [id for id in new if part.items.find(id) >= 0]
        try:
            if 0 < len(known) < len(part.items):
                part = part.without_items(known)
            fresh = {id: text for id, text in new.items() if part.items.find(id) < 0}
            self._part = part.with_items(fresh) if fresh else part
        except InputError:  # a part of it takes none
            return


class ReindexedRetriever(Retriever):
    """A retriever in the numbers of another catalog: it finds only items of that one, and scores unknown ones 0.

    Parameters
    ----------
    part : Retriever
        The retriever.
    items : Strings
        The catalog.
    """

    def __init__(self, part: Retriever, items: Strings):
        self.part, self._items, self.scale = part, items, part.scale
        self._inner: Int32Array = part.items.find_all(items).astype(np.int32)
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
