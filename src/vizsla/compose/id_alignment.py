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
from vizsla.core.catalog import Catalog, details_of
from vizsla.core.strings import Strings
from vizsla.data.filter import Filter
from vizsla.data.metadata import ItemMetadata, TextPacker
from vizsla.data.metadata_builder import described
from vizsla.errors import InputError

S = TypeVar("S", bound=Scorer)


class ReindexedPart(Generic[S]):
    """A part of a composition that speaks the composition's item numbers.

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
        moved = found.with_catalog(self.merged, self._to_merged[found.items])
        if found.scores is None:
            return moved
        ranked = moved.with_scores(PairScores(found.scores, found.stats))  # equals go by the composition's numbers
        return ranked.with_ceilings(found.upper_bounds)

    def score(self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int) -> PairScores:
        """Score candidates that are in the composition's numbers, in their order; no model sees a pair twice."""
        own = candidates
        if self._from_merged is not None:
            own = candidates.with_catalog(self.part.items, self._checked(self._from_merged[candidates.items]))
        return self.part._score_once(queries, own, self.own_filter(filter), threads)

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


def with_details(ids: Strings, sources: Sequence[Strings]) -> Strings:
    """Return ids with all fields and texts that some catalogs know of them; the first that knows a field wins.

    Where the catalogs hold the same items, whole columns are taken over. Where they differ, an item that the first does
    not know, or has no value for, gets the next one's.

    Examples
    --------
    >>> from vizsla.data.dataset import Dataset
    >>> one = Dataset.of([{"id": "f", "text": "fig", "price": 3}]).item_ids
    >>> other = Dataset.of([{"id": "f", "text": "fig", "price": 4, "color": "green"}]).item_ids
    >>> details_of(with_details(one, [one, other])).of(0)
    {'price': 3, 'color': 'green'}
    """
    known = [(source, details) for source in sources if (details := details_of(source)) is not None]
    if not all(source == ids for source, _ in known):
        return _with_texts(described(ids, sources), sources)
    distinct = list({id(details): details for _, details in known}.values())
    if not distinct:
        return ids
    first, fields = distinct[0], {field for details in distinct for field in details.fields}
    if details_of(ids) is first and fields == {*first.fields}:
        return ids
    names = dict.fromkeys(name for details in distinct for name in details.columns)
    columns = {name: next(details.columns[name] for details in distinct if name in details.columns) for name in names}
    texts = next((details.texts for details in distinct if details.texts is not None), None)
    return Catalog(ids, ItemMetadata(columns, len(ids), texts))


def _with_texts(ids: Strings, sources: Sequence[Strings]) -> Strings:
    """Add the texts, of the first catalog that has one of an item; an item without any has an empty one."""
    known = [(source, details) for source in sources if (details := details_of(source)) is not None]
    holding = [(source, details) for source, details in known if details.texts is not None]
    own = details_of(ids)
    if not holding or (own is not None and own.texts is not None):
        return ids
    packer = TextPacker()
    numbers = [source.find_all(ids).tolist() for source, _ in holding]
    for row in zip(*numbers, strict=True):
        at = next((place for place, number in enumerate(row) if number >= 0), None)
        packer.add("" if at is None else holding[at][1].text(row[at]) or "")
    return Catalog(ids, ItemMetadata({} if own is None else own.columns, len(ids), packer.packed()))


def merged_numbers(items: Strings, others: Strings) -> NDArray[np.int32]:
    """Return for each item its number among the others, -1 where it is not there."""
    return others.find_all(items).astype(np.int32)


def _own_filter(filter: Filter, from_merged: NDArray[np.int32], count: int) -> Filter:
    mask = np.zeros(count, np.bool_)
    numbers = from_merged[filter.mask]
    mask[numbers[numbers >= 0]] = True
    return Filter.piece(mask)
