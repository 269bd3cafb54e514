"""LiveClicks: the clicks that a live member has learned from, and the vectors of their queries."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from vizsla.base.encoder import Encoder
from vizsla.base.queries import Queries
from vizsla.core.strings import Strings
from vizsla.data.dataset import SECONDS_PER_DAY
from vizsla.engine.click_table import Clicks, ClickTable
from vizsla.engine.member import SlotClicks
from vizsla.engine.vector_member import GrowingRows
from vizsla.indexes.vectors import ItemVectors
from vizsla.learning.clicks import ClickLog, click_units, summed_units
from vizsla.learning.matrices import says, unit_rows
from vizsla.learning.recency import MIN_DECAYED_WEIGHT
from vizsla.typing import Float64Array, Int32Array, Int64Array

HALF_LIVES_PER_EPOCH = 4
"""Half-lives after which the moment moves at which a click weighs what it was given."""


class PastQueries:
    """Texts of clicked queries, each with a number and a vector of length 1; a text that is known is not encoded again.

    Parameters
    ----------
    encoder : Encoder
        A dense one, which may be a cache.
    storage : {"float32", "float16"}
        How an index over them stores the vectors.
    known : PastQueries, optional
        Whose vectors may be taken over.
    """

    def __init__(self, encoder: Encoder, storage: str = "float32", known: PastQueries | None = None):
        self.encoder, self.storage, self._known = encoder, storage, known
        if known is not None:
            known._known = None
        self.texts: list[str] = []
        self._numbers: dict[str, int] = {}
        self.vectors = GrowingRows(encoder.dim, np.dtype(np.float32))
        self.heard = GrowingRows(1, np.dtype(np.bool_))
        self.stored = self.vectors if storage == "float32" else GrowingRows(encoder.dim, np.dtype(storage))

    def __len__(self) -> int:
        return len(self.texts)

    def numbers(self, texts: list[str]) -> Int64Array:
        """Return the number of each text; those that are new get one, and a vector."""
        new = [text for text in dict.fromkeys(texts) if text not in self._numbers]
        if new:
            rows = self._rows(new)
            self.vectors.append(rows, ItemVectors.of(rows).longest)
            self.heard.append(says(rows)[:, None], 0.0)
            if self.stored is not self.vectors:
                halves = ItemVectors.of(rows, storage=self.storage)
                self.stored.append(halves.rows, halves.longest)
            self._numbers.update(zip(new, range(len(self.texts), len(self.texts) + len(new)), strict=True))
            self.texts += new
        return np.fromiter((self._numbers[text] for text in texts), np.int64, len(texts))

    def by_text(self, numbers: Int64Array) -> Int64Array:
        """Return the order of these queries by their texts, in which a fresh log numbers them."""
        texts = [self.texts[number] for number in numbers.tolist()]
        return np.array(sorted(range(len(texts)), key=texts.__getitem__), np.int64)

    def _rows(self, texts: list[str]) -> Any:
        old = {} if self._known is None else self._known._numbers
        rows = np.zeros((len(texts), self.encoder.dim), np.float32)
        missing = [at for at, text in enumerate(texts) if text not in old]
        if self._known is not None:
            there = [at for at, text in enumerate(texts) if text in old]
            rows[there] = self._known.vectors.rows[[old[texts[at]] for at in there]]
        if missing:
            rows[missing] = unit_rows(Queries([texts[at] for at in missing]).encoded(self.encoder))
        return rows


class ClickSums(NamedTuple):
    """What all clicks of a query on a slot weigh, by query, then by slot, in 1024ths."""

    queries: Int64Array
    slots: Int64Array
    units: Int64Array


class LiveClicks:
    """The clicks of a member and the vectors of their queries; a change costs what it touches.

    With a half-life, a click weighs twice as much as one that is so many days older. What it weighs is counted from a
    moment that depends only on the latest click, and moves every four half-lives: nothing that is stored changes.

    Parameters
    ----------
    past : PastQueries
        The clicked queries.
    half_life : float, optional
        Days.
    """

    def __init__(self, past: PastQueries, half_life: float | None):
        self.past, self.half_life, self.table = past, half_life, ClickTable()

    def __len__(self) -> int:
        return len(self.table)

    def learn(self, clicks: SlotClicks) -> Int64Array:
        """Add clicks; return the numbers of their queries."""
        queries = self.past.numbers(clicks.queries)
        self.table.learn(clicks.numbers, queries, clicks.slots, clicks.weights, clicks.times)
        return queries

    def forget(self, *, numbers: Int64Array | None = None, slots: Int32Array | None = None) -> Clicks:
        """Drop the clicks with these numbers, or on these slots; return those that were there."""
        return self.table.forget(numbers=numbers, slots=slots)

    @property
    def moment(self) -> float:
        """The moment at which a click weighs what it was given; where it moves, all weights are others."""
        if self.half_life is None or not len(self):
            return 0.0
        span = HALF_LIVES_PER_EPOCH * self.half_life * SECONDS_PER_DAY
        return float(np.floor(self.table.latest / span) * span)

    def sums(self, *, slots: Int32Array | None = None, queries: Int64Array | None = None) -> ClickSums:
        """Return what the clicks weigh: those on some slots, of some queries, or all; each slot or query given once.

        Queries that say nothing are left out.
        """
        if slots is not None:
            found = self.table.of_slots(slots)
        else:
            found = self.table.all() if queries is None else self.table.of_queries(queries)
        weights = self._aged(found.weights, found.times)
        kept = self.past.heard.rows[found.queries, 0]
        if self.half_life is not None:
            kept = kept & (weights >= MIN_DECAYED_WEIGHT)
        places = found.slots[kept].astype(np.int64)
        return ClickSums(*summed_units(found.queries[kept], places, click_units(weights[kept])))

    def log(self, sums: ClickSums, slots: Int32Array) -> ClickLog:
        """Return the clicks of some slots as a log whose items are these slots, numbered from 0."""
        used, rows = np.unique(sums.queries, return_inverse=True)
        order = self.past.by_text(used)
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        rows, items = place[rows], np.searchsorted(slots, sums.slots)
        turn = np.lexsort((items, rows))
        offsets = np.searchsorted(rows[turn], np.arange(len(used) + 1)).astype(np.int64)
        vectors = self.past.vectors.rows[used[order]] if len(used) else self.past.vectors.rows[:0]
        names = Strings.of(self.past.texts[number] for number in used[order].tolist())
        clicks = offsets, items[turn].astype(np.int32), sums.units[turn]
        return ClickLog(names, vectors, *clicks, width=len(slots), half_life=self.half_life)

    def frozen(self) -> LiveClicks:
        """Return the clicks as they are now; these may change afterwards."""
        same = object.__new__(LiveClicks)
        same.past, same.half_life, same.table = self.past, self.half_life, self.table.frozen()
        return same

    def log_of(self, slot: int) -> ClickLog:
        """Return the clicks of one slot as a log of one item."""
        slots = np.array([slot], np.int32)
        return self.log(self.sums(slots=slots), slots)

    def _aged(self, weights: Float64Array, times: Float64Array) -> Float64Array:
        if self.half_life is None or not len(times):
            return weights
        aged: Float64Array = weights * np.exp2((times - self.moment) / (self.half_life * SECONDS_PER_DAY))
        return aged
