"""`shards([a, b, c])`: retrievers over disjoint parts of a catalog, searched as one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla._internal.lazy import cached_property
from vizsla.base.queries import Queries
from vizsla.base.recipe import Recipe, builds
from vizsla.base.retriever import Retriever
from vizsla.compose.composition import Composition, check_nesting, part_recipes
from vizsla.compose.updates import Memo
from vizsla.compose.weighted_sum import _common_scale
from vizsla.core.candidates import Candidates, PairScores, Stats
from vizsla.core.explanation import Explanation
from vizsla.core.strings import Strings
from vizsla.core.validation import validate_args
from vizsla.data.filter import Filter
from vizsla.data.metadata_join import described
from vizsla.errors import CompositionError, InputError
from vizsla.text.streams import left_ids
from vizsla.typing import Float32Array, Int32Array, Int64Array

if TYPE_CHECKING:
    from vizsla.data.dataset import Dataset


class Shards(Composition):
    """Retrievers over disjoint items, whose results are merged by score.

    Items are numbered part after part. With parts that score an item as the whole would, the answer is the whole's,
    bit for bit: BM25 with shared `Statistics`, dense retrieval with one encoder and an exact index.

    Parameters
    ----------
    parts : sequence of Retriever
        One scale, no item in two of them; those with statistics must share them.
    """

    operation = "shards"

    @validate_args
    def __init__(self, parts: Sequence[Retriever]):
        if not len(parts):
            raise CompositionError("`parts` must be at least one retriever. Got none.")
        for part in parts:
            if not isinstance(part, Retriever):
                raise CompositionError(f"A part must be a Retriever. Got {type(part).__name__}.")
        check_nesting(parts)
        # Numbers are moved by adding: no maps between catalogs, unlike other compositions.
        self.parts, self._aligned = list(parts), []
        self._starts = np.cumsum([0, *(len(part.items) for part in parts)])
        _ = self._all_items  # raises where an item is in two parts
        self.scale = _common_scale(self.parts)
        self.model_calls = any(part.model_calls for part in self.parts)
        for name in ("statistics", "weighting"):
            _check_shared(self.parts, name)

    def __str__(self) -> str:
        return "shards(" + ", ".join(map(str, self.parts)) + ")"

    @cached_property
    def _all_items(self) -> Strings:
        """All parts' item ids, part after part."""
        tables = [part.items for part in self.parts]
        return described(_joined(tables), tables)

    def _with_items(self, items: Any, memo: Memo) -> Self:
        raise InputError("New items must go to one shard: give them to it, and join the shards anew.")

    def _search(self, queries: Queries, k: int, filter: Filter | None, threads: int) -> Candidates:
        filters = self._filters(filter)
        found = [part._search_checked(queries, k, own, threads) for part, own in zip(self.parts, filters, strict=True)]
        return merged(found, self._starts, self.items, k)

    def _score(self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int) -> PairScores:
        filters, scores, stats = self._filters(filter), np.empty(len(candidates.items), np.float32), Stats()
        for number, part in enumerate(self.parts):
            own, places = self._own_candidates(candidates, number)
            if len(places):
                scored = part._score_once(queries, own, filters[number], threads)
                scores[places], stats = scored.scores, stats + scored.stats
        return PairScores(scores, stats)

    def _explain(self, queries: Queries, item: int, filter: Filter | None) -> Explanation:
        number = int(np.searchsorted(self._starts, item, side="right")) - 1
        return self.parts[number]._explain(queries, item - int(self._starts[number]), self._filters(filter)[number])

    def _matches(self, queries: Queries, threads: int) -> Int32Array | None:
        found: list[Int32Array] = []
        for start, part in zip(self._starts.tolist(), self.parts, strict=False):
            matches = part._matches(queries, threads)
            if matches is None:
                return None
            found.append(matches + np.int32(start))
        return np.concatenate(found)

    def _count_matches(
        self, queries: Queries, filter: Filter | None, up_to: int, threads: int
    ) -> tuple[int, bool] | None:
        total, exact = 0, True
        for part, own in zip(self.parts, self._filters(filter), strict=True):
            counted = part._count_matches(queries, own, up_to, threads)
            if counted is None:
                return None
            total, exact = total + counted[0], exact and counted[1]
        return total, exact

    def _ask_for(self, queries: Queries, item: str, text: str | None) -> bool:
        owner = int(np.searchsorted(self._starts, self.items.number(item), side="right")) - 1
        return self.parts[owner]._ask_for(queries, item, text)

    def _steady_depth(self, filter: Filter | None) -> float:
        filters = self._filters(filter)
        return min(part._steady_depth(own) for part, own in zip(self.parts, filters, strict=True))

    def _own_candidates(self, candidates: Candidates, number: int) -> tuple[Candidates, NDArray[np.int64]]:
        """Return the candidates of one part, in its numbers, and their places."""
        low, high = self._starts[number : number + 2]
        inside = (candidates.items >= low) & (candidates.items < high)
        places = np.flatnonzero(inside)
        offsets = np.searchsorted(places, candidates.offsets).astype(np.int64)
        items = (candidates.items[places] - low).astype(np.int32)
        return Candidates.unchecked(offsets, items, None, self.parts[number].items, Stats()), places

    def _filters(self, filter: Filter | None) -> list[Filter] | list[None]:
        if filter is None:
            return [None] * len(self.parts)
        return filter.form(self, self._split)

    def _split(self, filter: Filter) -> list[Filter]:
        bounds = zip(self._starts[:-1], self._starts[1:], self.parts, strict=True)
        return [Filter.piece(filter.mask[low:high], part.items) for low, high, part in bounds]

    def _options(self) -> dict[str, Any]:
        return {}

    @property
    def _known_recipe(self) -> Recipe | None:
        recipes = part_recipes(self.parts)
        if recipes is None:
            return None
        return Recipe("shards", {"parts": recipes, "sizes": [len(part.items) for part in self.parts]}).owned_by(self)

    @classmethod
    def _rebuild(cls, parts: list[Any], options: dict[str, Any]) -> Self:
        return cls(parts)


def shards(parts: Sequence[Retriever]) -> Shards:
    """Search retrievers over disjoint parts of a catalog as one.

    Parameters
    ----------
    parts : sequence of Retriever
        One scale, no item in two of them. BM25 shards must be built with the same `Statistics`.

    Examples
    --------
    >>> from vizsla.methods.bm25 import bm25
    >>> from vizsla.methods.bm25_statistics import Statistics
    >>> one, two = {"a": "a fig tree", "b": "figs"}, {"c": "an apple tree"}
    >>> both = Statistics.of(one).merged(Statistics.of(two))
    >>> whole = shards([bm25(one, statistics=both), bm25(two, statistics=both)])
    >>> whole("apple tree").ids
    [['c', 'a']]
    >>> whole("apple tree") == bm25(one | two)("apple tree")
    True
    """
    return Shards(parts)


@builds("shards", data="dataset", noted=False)
def build_shards(dataset: Dataset, parts: Sequence[Recipe], sizes: Sequence[int], *, threads: int = 1) -> Shards:
    """Build shards over runs of a dataset's items, in its order.

    Parameters
    ----------
    dataset : Dataset
        Items, and clicks for parts that learn.
    parts : sequence of Recipe
        How each shard is built.
    sizes : sequence of int
        How many items each shard has, of the dataset or in proportion to it.
    threads : int
        For each part.
    """
    if len(parts) != len(sizes) or not sizes or min(sizes) < 1:
        raise InputError(f"`sizes` must be a number of items above 0 for each part. Got {sizes!r:.60}.")
    ends = np.rint(np.cumsum(sizes) / sum(sizes) * len(dataset.items)).astype(np.int64)
    starts = np.concatenate([[0], ends[:-1]])
    runs = [np.arange(start, end) for start, end in zip(starts, ends, strict=True)]
    return Shards([part.build(_items_of(dataset, run), threads=threads) for part, run in zip(parts, runs, strict=True)])


def _items_of(dataset: Dataset, numbers: NDArray[np.int64]) -> Dataset:
    """Return the dataset with some of its items only."""
    from vizsla.data.dataset import Dataset

    items = dataset.items.only(numbers, left_ids(dataset.item_ids, numbers))
    return Dataset(items, dataset.queries, clicks=dataset.clicks.tocsc()[:, numbers].tocsr())


def merged(found: Sequence[Candidates], starts: NDArray[np.int64], catalog: Strings, k: int) -> Candidates:
    """Return the best `k` of all answers; part `p`'s item `i` is item ``starts[p] + i`` of the catalog."""
    stats = reduce(Stats.__add__, [part.stats for part in found])
    moved = [part.items + start for part, start in zip(found, starts.astype(np.int32), strict=False)]
    scores = [part._required_scores() for part in found]
    if len(found[0]) == 1:  # one query: its row is all rows
        items = np.concatenate(moved)
        offsets, joined = np.array((0, len(items))), np.concatenate(scores)
    else:
        offsets, items, joined = _rows_joined(found, moved, scores)
    return Candidates.unchecked(offsets, items, joined, catalog, stats).with_scores(PairScores(joined, stats), k=k)


def _rows_joined(
    found: Sequence[Candidates], moved: list[Int32Array], given: list[Float32Array]
) -> tuple[Int64Array, Int32Array, Float32Array]:
    """Put row after row, and in each row part after part."""
    lengths = np.array([np.diff(part.offsets) for part in found])
    offsets = np.concatenate([[0], np.cumsum(lengths.sum(axis=0))]).astype(np.int64)
    items, scores = np.empty(offsets[-1], np.int32), np.empty(offsets[-1], np.float32)
    begins = offsets[:-1] + np.cumsum(lengths, axis=0) - lengths  # where each part's row begins in the joined row
    for number, part in enumerate(found):
        places = np.arange(len(part.items)) + np.repeat(begins[number] - part.offsets[:-1], lengths[number])
        items[places], scores[places] = moved[number], given[number]
    return offsets, items, scores


def _joined(tables: list[Strings]) -> Strings:
    """Return all ids in one table; the bytes are copied as they lie."""
    if len(tables) == 1:
        return tables[0]
    data = np.concatenate([table.data for table in tables])
    ends = np.cumsum([0, *(table.offsets[-1] for table in tables)])
    starts = [table.offsets[:-1] + end for table, end in zip(tables, ends[:-1], strict=True)]
    offsets = np.concatenate([*starts, ends[-1:]]).astype(np.int64)
    slots, repeats = _native.build_slots(data, offsets)
    joined = Strings(data, offsets, slots)
    if len(repeats):
        twice = joined[int(repeats[0])]
        raise CompositionError(f"Shards must share no item. Got {twice!r} twice: give each item to one shard.")
    return joined


def _check_shared(parts: Sequence[Retriever], name: str) -> None:
    """Raise unless the parts that have statistics or a weighting share them: else one word has two weights."""
    given = [getattr(part, name, None) for part in parts]
    if any(value != given[0] for value in given[1:]):
        raise CompositionError(
            f"Shards must share their {name}, or their scores mean different things. Got unlike ones: build each with "
            "bm25(items, statistics=s, ...), where s = Statistics.of(all items), or of parts that were merged."
        )
