"""ClickMemoryMember: the items that were clicked for the very query, as a live member: a click counts at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from vizsla.base.queries import Queries
from vizsla.base.recipe import Recipe
from vizsla.core.candidates import Candidates, PairScores, Stats
from vizsla.core.explanation import Explanation
from vizsla.data.dataset import SECONDS_PER_DAY, Dataset
from vizsla.engine.click_table import ClickTable
from vizsla.engine.member import LiveMember, LiveView, SlotClicks
from vizsla.learning.clicks import WEIGHT_UNITS, click_units
from vizsla.learning.recency import MIN_DECAYED_WEIGHT
from vizsla.methods.remembered_clicks import PRIOR_CLICKS, ClickMemory, normalized_query
from vizsla.typing import BoolArray, Float32Array, Int32Array, Int64Array


class ClickMemoryMember(LiveMember):
    """Finds the items that were clicked for the same query; a change costs what it touches.

    Parameters
    ----------
    recipe, settled, bindings
        As for every member; the half-life is settled.
    """

    kinds: ClassVar[tuple[str, ...]] = ("click_memory",)
    learns: ClassVar[bool] = True

    def __init__(self, recipe: Recipe, settled: dict[str, Any], bindings: dict[str, Any]):
        super().__init__(recipe, settled, bindings)
        self.prior, self.half_life = float(recipe.settings.get("prior", PRIOR_CLICKS)), settled.get("half_life")
        self._table = ClickTable()
        self._texts: dict[str, int] = {}
        self._known: dict[str, tuple[int, ...]] = {}

    @classmethod
    def settle(cls, recipe: Recipe, texts: Iterable[str], bindings: dict[str, Any]) -> dict[str, Any]:
        """Return the half-life of the recipe; what clicks would have to choose is none."""
        days = recipe.settings.get("half_life")
        return {"half_life": None if days in (None, "auto") else float(days)}

    @classmethod
    def settle_on(cls, recipe: Recipe, dataset: Dataset, bindings: dict[str, Any]) -> dict[str, Any]:
        """Return the half-life, chosen on the clicks that are there where the recipe leaves it open."""
        if recipe.settings.get("half_life") != "auto" or not len(dataset.items) or not dataset.clicks.nnz:
            return cls.settle(recipe, (), bindings)
        made: Any = recipe.build(dataset)
        return {"half_life": made.half_life}

    def open(self, folders: Sequence[Path], sizes: Sequence[int]) -> None:
        """Forget all clicks, not the texts of their queries: the engine gives those that are left."""
        self._table = ClickTable()

    def append(self, texts: Sequence[str]) -> None:
        """Do nothing: texts say nothing here."""

    def remove(self, slots: Int32Array, texts: Callable[[], Sequence[str]]) -> None:
        """Forget the clicks on these slots."""
        self._table.forget(slots=slots)

    def learn(self, clicks: SlotClicks) -> None:
        """Take clicks."""
        for text in dict.fromkeys(clicks.queries):
            if text not in self._texts:
                number = self._texts[text] = len(self._texts)
                key = normalized_query(text)
                self._known[key] = (*self._known.get(key, ()), number)
        queries = np.fromiter((self._texts[text] for text in clicks.queries), np.int64, len(clicks.queries))
        self._table.learn(clicks.numbers, queries, clicks.slots, clicks.weights, clicks.times)

    def unlearn(self, numbers: Int64Array) -> None:
        """Forget the clicks with these numbers."""
        self._table.forget(numbers=numbers)

    def view(self, live: BoolArray | None) -> ClickMemoryView:
        """Return what answers from the clicks as they are now."""
        # The texts only grow, and a later one has no clicks in the frozen table.
        return ClickMemoryView(self._table.frozen(), self._known, self.prior, self.half_life)

    def write(self, folder: Path, slots: Int32Array) -> None:
        """Write nothing: clicks are the engine's to keep."""


class Remembered(NamedTuple):
    """The slots that were clicked for a query, ascending, what each weighs and what all do, in 1024ths."""

    slots: Int32Array
    units: Int64Array
    total: int


class ClickMemoryView(LiveView):
    """The clicks of one moment.

    Parameters
    ----------
    table : ClickTable
        The clicks by the number of their query's text.
    known : mapping of str to tuple of int
        The numbers of the texts of each normalized query.
    prior, half_life
        As for `ClickMemory`.
    """

    scale = ClickMemory.scale
    finds_matches = True

    def __init__(self, table: ClickTable, known: dict[str, tuple[int, ...]], prior: float, half_life: float | None):
        self._table, self._known, self._prior, self._half_life = table, known, prior, half_life

    @property
    def nbytes(self) -> int:
        """Bytes of the clicks."""
        return 36 * len(self._table)

    def search(self, queries: Queries, k: int, allowed: BoolArray | None, threads: int) -> Candidates:
        """Return the slots that were clicked, by their share of the query's clicks."""
        rows = [self._scored(text) for text in queries.texts]
        if allowed is not None:
            rows = [(slots[allowed[slots]], scores[allowed[slots]]) for slots, scores in rows]
        offsets = np.cumsum([0, *(len(slots) for slots, _ in rows)], dtype=np.int64)
        slots = np.concatenate([np.zeros(0, np.int32), *(each for each, _ in rows)])
        scores = np.concatenate([np.zeros(0, np.float32), *(each for _, each in rows)])
        found = Candidates.unchecked(offsets, slots, None, None, Stats())
        return found.with_scores(PairScores(scores, Stats(exact=True)), k=k)

    def score(self, queries: Queries, candidates: Candidates, threads: int) -> PairScores:
        """Return the share of each slot, 0 for one without clicks."""
        scores = np.zeros(len(candidates.items), np.float32)
        for row, text in enumerate(queries.texts):
            start, end = candidates.offsets[row : row + 2].tolist()
            known, shares = self._scored(text)
            if len(known):
                asked = candidates.items[start:end]
                at = np.minimum(np.searchsorted(known, asked), len(known) - 1)
                scores[start:end] = np.where(known[at] == asked, shares[at], 0.0)
        return PairScores(scores, Stats(scored=len(scores)))

    def explain(self, queries: Queries, slot: int) -> Explanation:
        """Say how many of the query's clicks the slot has."""
        known = self._remembered(queries.texts[0])
        if known is None:
            return Explanation(0.0, "no clicks for this query")
        own, total = known.units[known.slots == slot].sum() / WEIGHT_UNITS, known.total / WEIGHT_UNITS
        said = f"clicks for this query: {own:.4g} of {total:.4g}, against a prior of {self._prior:g}"
        one = Candidates.from_rows([np.array([slot], np.int32)])
        return Explanation(float(self.score(queries, one, 1).scores[0]), said)

    def _scored(self, text: str) -> tuple[Int32Array, Float32Array]:
        known = self._remembered(text)
        if known is None:
            return np.zeros(0, np.int32), np.zeros(0, np.float32)
        return known.slots, (known.units / (known.total + self._prior * WEIGHT_UNITS)).astype(np.float32)

    def _remembered(self, text: str) -> Remembered | None:
        """Add up a query's clicks as `click_memory` does: by text and slot, then by slot alone."""
        numbers = self._known.get(normalized_query(text))
        if numbers is None:
            return None
        found = self._table.of_queries(np.array(sorted(numbers), np.int64))
        weights, order = found.weights, np.argsort(found.numbers, kind="stable")
        if self._half_life is not None:
            weights = weights * np.exp2(-((self._table.latest - found.times) / SECONDS_PER_DAY) / self._half_life)
            order = order[weights[order] >= MIN_DECAYED_WEIGHT]
        if not len(order):
            return None
        pairs = np.stack([found.queries[order], found.slots[order].astype(np.int64)])
        distinct, places = np.unique(pairs, axis=1, return_inverse=True)
        units = click_units(np.bincount(places.reshape(-1), weights[order]))
        slots, at = np.unique(distinct[1], return_inverse=True)
        summed = np.bincount(at.reshape(-1), units).astype(np.int64)
        return Remembered(slots.astype(np.int32), summed, int(units.sum()))
