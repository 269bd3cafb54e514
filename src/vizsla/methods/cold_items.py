"""ColdItemBoost: 1 for items without clicks, 0 for the others; a term of a sum that lifts the former."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla._internal.lazy import cached_property
from vizsla.base.queries import Queries
from vizsla.base.recipe import Recipe, builds, noted
from vizsla.base.retriever import Retriever
from vizsla.core.candidates import Candidates, PairScores, Stats
from vizsla.core.explanation import Explanation
from vizsla.core.strings import Strings
from vizsla.core.validation import check_type
from vizsla.data.dataset import Dataset
from vizsla.data.filter import Filter
from vizsla.errors import FormatError, InputError
from vizsla.learning.clicks import click_triples
from vizsla.text.streams import grown_ids, kept_items, left_ids, new_items
from vizsla.typing import Int64Array

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter

_REASONS = {True: "it has no clicks yet", False: "it has clicks"}


class ColdItemBoost(Retriever):
    """1 for every item without clicks and 0 for the others, whatever the query.

    What has learned from clicks ranks items without clicks far down, however well they fit. In a sum, this term
    lifts them by its weight; it adds to what the other parts find, and proposes no items. `fuse` chooses the weight.

    Parameters
    ----------
    items : Strings
        Item ids.
    units : int64 array
        Total click weight of each item, in 1024ths.

    Examples
    --------
    >>> from vizsla.methods.bm25 import bm25
    >>> fruit = Dataset.of({"fig": "a sweet fruit", "pear": "a sweet fruit"}, clicks=[("sweet", "fig")])
    >>> new = cold_item_boost(fruit)
    >>> (bm25(fruit).scaled() + 0.1 * new)("sweet fruit").ids
    [['pear', 'fig']]
    >>> new.with_clicks([("juicy", "pear")])
    ColdItemBoost(0 of 2 items)
    """

    kind = "cold-item-boost"
    scale = "scaled"
    generates_candidates = False
    tracks_clicks = True

    def __init__(self, items: Strings, units: Int64Array):
        check_type("items", items, Strings, "Strings")
        if not isinstance(units, np.ndarray) or units.dtype != np.int64 or units.shape != (len(items),):
            raise InputError(f"`units` must be {len(items)} whole numbers, an int64 array. Got another array.")
        if len(units) and units.min() < 0:
            raise InputError("Only clicks that are there can be taken away. Got more than there are.")
        self._items, self.units = items, units
        noted(self, Recipe("cold_item_boost", {}))

    @classmethod
    def of(cls, clicks: Any, items: Strings) -> Self:
        """Count the clicks of a Dataset, or of (query text, item id) pairs with or without a weight."""
        check_type("items", items, Strings, "Strings")
        return cls(items, _counted(clicks, items))

    @property
    def items(self) -> Strings:
        """Item ids by number."""
        return self._items

    @property
    def nbytes(self) -> int:
        """Bytes of the counts."""
        return int(self.units.nbytes)

    @property
    def max_score(self) -> float:  # type: ignore[override]
        """1 as long as there is an item without clicks."""
        return float(len(self.numbers) > 0)

    @cached_property
    def numbers(self) -> NDArray[np.int32]:
        """The numbers of the items without clicks."""
        return np.flatnonzero(self.units == 0).astype(np.int32)

    @cached_property
    def _scores(self) -> NDArray[np.float32]:
        return np.asarray(self.units == 0, np.float32)

    def __repr__(self) -> str:
        return f"ColdItemBoost({len(self.numbers):,} of {len(self.items):,} items)"

    def with_clicks(self, clicks: Any) -> Self:
        """Return it with more clicks: an item that gets its first is no longer lifted."""
        return type(self)(self.items, self.units + _counted(clicks, self.items))

    def without_clicks(self, clicks: Any) -> Self:
        """Take clicks away again; an item that loses its last is lifted again."""
        return type(self)(self.items, self.units - _counted(clicks, self.items))

    def with_items(self, items: Mapping[str, str] | Iterable[tuple[str, str]]) -> Self:
        """Return it with these items, which have no clicks; their texts are not used."""
        pairs = new_items(self.items, items)
        ids = grown_ids(self.items, [item for item, _ in pairs], items)
        return type(self)(ids, np.concatenate([self.units, np.zeros(len(pairs), np.int64)]))

    def _without_items(self, ids: list[str], memo: dict[int, Retriever]) -> Self:
        numbers = kept_items(self.items, ids)
        return type(self)(left_ids(self.items, numbers), self.units[numbers])

    def refit_on(self, dataset: Dataset, *, threads: int = 1) -> Self:
        """Count this dataset's clicks instead."""
        return type(self).of(dataset, self.items)

    def _search(self, queries: Queries, k: int, filter: Filter | None, threads: int) -> Candidates:
        numbers = self.numbers if filter is None else self.numbers[filter.mask[self.numbers]]
        best, rows = numbers[:k], len(queries)
        offsets = np.arange(rows + 1, dtype=np.int64) * len(best)
        scores = np.ones(rows * len(best), np.float32)
        return Candidates.unchecked(offsets, np.tile(best, rows), scores, self.items, Stats(exact=True))

    def _score(self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int) -> PairScores:
        return PairScores(self._scores[candidates.items], Stats(scored=len(candidates.items)))

    def _explain(self, queries: Queries, item: int, filter: Filter | None) -> Explanation:
        lifted = bool(self.units[item] == 0)
        return Explanation(float(lifted), _REASONS[lifted])

    def _write(self, writer: ArtifactWriter) -> None:
        writer.catalog("items", self.items)
        writer.array("units", self.units)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        items, units = reader.catalog("items"), reader.array("units", np.int64)
        try:
            return cls(items, units)
        except InputError as error:
            raise FormatError(f"{reader.path / 'units.npy'}: {error}") from error


@builds("cold_item_boost", data="dataset")
def cold_item_boost(dataset: Dataset) -> ColdItemBoost:
    """Return the items of a dataset that have no clicks, as a term of a sum.

    Examples
    --------
    >>> cold_item_boost(Dataset.of({"fig": "a fig", "pear": "a pear"}, clicks=[("sweet", "fig")]))
    ColdItemBoost(1 of 2 items)
    """
    check_type("dataset", dataset, Dataset, "a Dataset")
    return ColdItemBoost.of(dataset, dataset.item_ids)


def _counted(clicks: Any, items: Strings) -> Int64Array:
    """Return what each item's clicks weigh in all."""
    _, numbers, units = click_triples(clicks, items)
    counted = np.zeros(len(items), np.int64)
    np.add.at(counted, numbers, units)
    return counted
