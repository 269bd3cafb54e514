"""One shard: an engine over its own folder, whose words weigh what they weigh in the whole collection."""

from __future__ import annotations

import itertools
import os
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from vizsla.base.queries import Queries
from vizsla.base.retriever import Retriever
from vizsla.core.catalog import Item
from vizsla.core.explanation import Explanation
from vizsla.data.conditions import Condition
from vizsla.engine import administration
from vizsla.engine.catalog import NAME
from vizsla.engine.changes import FieldFacts, known_fields
from vizsla.engine.engine import Engine
from vizsla.engine.follower import Layout
from vizsla.engine.lexical_member import Bm25Member, Bm25View
from vizsla.engine.live_words import LiveCounts
from vizsla.engine.member import SlotRetriever
from vizsla.engine.word_segments import SegmentLists
from vizsla.errors import ShardLostError
from vizsla.typing import Float64Array, Int32Array, Int64Array, Uint64Array

PINNED = 8
"""Moments of a shard that are kept, so that a search can ask all shards about the moment whose words were counted."""
FEW = 3
"""So many ids show whether folders are in the order in which ids were routed."""
NOWHERE = 2**64 - 1
"""The order of a list that no item is in."""
PLACE_BITS = 32
"""An order is a slot and a place in its text; between shards, a row number and the place."""

TermFacts = dict[str, tuple[int, int]]
"""How many items a list has, and where it is named first."""


class WordFacts(NamedTuple):
    """What a shard knows of the words of some queries at one moment.

    Attributes
    ----------
    moment : int
        Counts the transactions of the shard.
    size : int
        How many items it has.
    documents, length : arrays
        How many items each language has, and how long they are; None for a member that counts no words.
    terms : dict
        The lists that the queries ask for.
    names : dict
        Which lists each query asks for.
    """

    moment: int
    size: int
    documents: Int64Array | None
    length: Float64Array | None
    terms: TermFacts
    names: dict[str, tuple[str, ...]]


class SharedWords(NamedTuple):
    """What all shards together know of the words of some queries.

    Attributes
    ----------
    moments : tuple of int
        The moment of each shard.
    documents, length : arrays
        How many items each language has, and how long they are.
    terms : dict
        The lists that the queries ask for.
    """

    moments: tuple[int, ...]
    documents: Int64Array
    length: Float64Array
    terms: TermFacts


class ShardHits(NamedTuple):
    """The best items of a shard: for each query ids, scores and row numbers; None where the shard has moved on."""

    moment: int
    size: int
    rows: list[tuple[list[str], list[float], list[int]]] | None
    exact: bool


class ShardReasons(NamedTuple):
    """Why items have their scores, by id, without those that are gone; None where the shard has moved on."""

    moment: int
    found: dict[str, Explanation] | None


class _AskedLists(SegmentLists):
    """Lists that note which names are looked up."""

    def __init__(self, segments: Sequence[Any]):
        super().__init__(segments)
        self.asked: dict[str, tuple[int, int]] = {}

    def find(self, names: list[str]) -> tuple[Int32Array, Int64Array, Uint64Array]:
        ids, holders, orders = super().find(names)
        self.asked.update(zip(names, zip(holders.tolist(), orders.tolist(), strict=True), strict=True))
        return ids, holders, orders


class _SharedLists(SegmentLists):
    """Lists of one shard whose holders and orders are those of all shards."""

    def __init__(self, segments: Sequence[Any], terms: Mapping[str, tuple[int, int]]):
        super().__init__(segments)
        self._terms = terms

    def find(self, names: list[str]) -> tuple[Int32Array, Int64Array, Uint64Array]:
        ids = super().find(names)[0]
        known = [self._terms.get(name, (0, NOWHERE)) for name in names]
        holders = np.array([count for count, _ in known], np.int64)
        return ids, holders, np.array([order for _, order in known], np.uint64)


@dataclass
class _Moment:
    """A shard at one moment, and the view whose words weigh what all shards say."""

    layout: Layout
    shared: tuple[Any, Retriever, TermFacts] | None = None


class EngineShard:
    """Answers for one shard; lives in a thread or an actor.

    Parameters
    ----------
    path : str
        The engine's folder.
    bindings : mapping, optional
        Live objects that recipes name.
    """

    def __init__(self, path: str, bindings: Mapping[str, Any] | None = None):
        self._folder, self._bindings = Path(path), bindings
        self._opened: Engine | None = None
        self._file: tuple[int, int] | None = None
        self._moments: OrderedDict[int, _Moment] = OrderedDict()

    @property
    def _engine(self) -> Engine:
        """The engine of the folder that is there now: it may have been lost, and restored from a backup."""
        file = self._catalog_file()
        if self._opened is None or file != self._file:
            self.close()
            self._opened, self._file = Engine.open(self._folder, bindings=self._bindings), file
        return self._opened

    def _catalog_file(self) -> tuple[int, int]:
        try:
            found = (self._folder / NAME).stat()
        except OSError as error:
            raise ShardLostError(
                f"Every shard must have its folder. Got none at {self._folder} ({error.strerror}): restore a backup of "
                "the shard there."
            ) from None
        return found.st_dev, found.st_ino

    def _stored(self, count: int) -> int:
        """Return what was stored, if it is in the folder that is there now: else it must not be acknowledged."""
        if self._catalog_file() != self._file:
            raise ShardLostError(f"A shard must keep its folder. Got another at {self._folder}: repeat the write.")
        return count

    def look(self, texts: Sequence[str], using: str) -> WordFacts:
        """Return what this shard knows now of the words of queries."""
        number, moment = self._now()
        layout = moment.layout
        member, segments = self._words(layout, using)
        size = len(layout.generation.items)
        if member is None:
            return WordFacts(number, size, None, None, {}, dict.fromkeys(texts, ()))
        terms: TermFacts = {}
        names: dict[str, tuple[str, ...]] = {}
        counts = member.counts(segments)
        lists = _AskedLists(segments)
        view = Bm25View(member, segments, counts=counts, lists=lists)
        for text in texts:
            before = set(lists.asked)
            view._terms = {}
            if view._mixed is not None:
                view._mixed._words, view._mixed.facts = {}, {}
            noted, lists.asked = lists.asked, {}
            view._asked(Queries.of(text))
            names[text] = tuple(lists.asked)
            lists.asked = {**noted, **lists.asked}
            for name in lists.asked.keys() - before:
                holders, order = lists.asked[name]
                terms[name] = holders, self._global_order(layout, order)
        return WordFacts(number, size, counts.documents, counts.length, terms, names)

    def search(
        self,
        texts: Sequence[str],
        k: int,
        where: Any,
        using: str,
        moment: int,
        shared: SharedWords | None,
        pinned: bool,
    ) -> ShardHits:
        """Return the best items by the statistics of all shards, of a moment; of an older one only if `pinned`."""
        number, now = self._now(metadata=isinstance(where, Condition))
        if number != moment:
            if not (pinned and moment in self._moments):
                return ShardHits(number, 0, None, exact=True)
            now = self._moments[moment]
        layout = now.layout
        generation = layout.generation
        retriever = generation.retriever(using) if shared is None else self._shared(now, using, shared)
        filter = generation.filter(where) if isinstance(where, Condition) else where
        if filter is not None and not isinstance(where, Condition):
            filter = [id for id in where if generation.items.find(id) >= 0]
        found = retriever(list(texts), k, where=filter)
        slots = found.items if generation.slots is None else generation.slots.of_items(found.items)
        rows = layout.numbers[slots].tolist()
        scores = found._required_scores().tolist()
        ids = generation.items.take(found.items)
        bounds = found.offsets.tolist()
        pieces = [(list(ids[low:high]), scores[low:high], rows[low:high]) for low, high in itertools.pairwise(bounds)]
        return ShardHits(moment, len(generation.items), pieces, exact=bool(found.stats.exact))

    def explain(
        self, text: str, ids: Sequence[str], using: str, moment: int, shared: SharedWords | None
    ) -> ShardReasons:
        """Say why items have their scores, by the statistics of all shards."""
        number, now = self._now()
        if number != moment:
            return ShardReasons(number, None)
        generation = now.layout.generation
        retriever = generation.retriever(using) if shared is None else self._shared(now, using, shared)
        there = [id for id in ids if generation.items.find(id) >= 0]
        return ShardReasons(number, {id: retriever.explain(text, id) for id in there})

    def upsert(self, items: Sequence[Any], numbers: Sequence[int], fields: FieldFacts) -> int:
        """Store items under row numbers of the whole collection, and what its fields are; may be repeated."""
        engine = self._engine
        changes = engine._changes()
        changes.settle_fields(fields)
        changes.upsert_numbered(items, numbers)
        return self._stored(engine._store(changes.apply))

    def delete(self, ids: Sequence[str]) -> int:
        """Delete items; ids that are none are left out, so that a write may be repeated."""
        return self._stored(self._engine.delete(list(ids), unknown="ignore"))

    def clicks(self, clicks: Sequence[Sequence[Any]]) -> int:
        """Note clicks."""
        return self._stored(self._engine.clicks(clicks))

    def update_metadata(self, changes: Mapping[str, Mapping[str, Any]], fields: FieldFacts) -> int:
        """Change fields of items."""
        engine = self._engine
        made = engine._changes()
        made.settle_fields(fields)
        made.update_metadata(changes)
        return self._stored(engine._store(made.apply))

    def fields(self) -> FieldFacts:
        """Return what is known of fields."""
        return administration.read(self._engine._follower, known_fields)

    def some_ids(self) -> list[str]:
        """Return the ids of a few items."""
        return list(itertools.islice(self._engine.generation().items, FEW))

    def known(self, ids: Sequence[str]) -> list[str]:
        """Return which of these ids are items."""
        items = self._engine.generation().items
        return [id for id in ids if items.find(id) >= 0]

    def get(self, id: str) -> Any:
        """Return an item."""
        return self._engine.get(id)

    def items(self, ids: Sequence[str]) -> list[Item]:
        """Return those of these items that there are."""
        return [item for id in ids if (item := self._engine.get(id)) is not None]

    def delete_where(self, where: Condition) -> int:
        """Delete the items that fulfill a condition."""
        return self._stored(self._engine.delete(where=where))

    def last_number(self) -> int:
        """Return the largest row number that was given."""
        return administration.read(self._engine._follower, administration.last_item)

    def size(self, where: Condition | None = None) -> int:
        """Return how many items there are, or how many fulfill a condition."""
        return self._engine.count(where)

    def stats(self) -> dict[str, Any]:
        """Return counts, and bytes on the disk."""
        return self._engine.stats()

    def rows(self, after: int, most: int) -> list[tuple[int, Item]]:
        """Return live items with their row numbers, in the order of these."""
        return administration.read(
            self._engine._follower, lambda connection: administration.numbered_items(connection, after, most)
        )

    def all_clicks(self) -> list[tuple[str, str, float, float]]:
        """Return all clicks: query, item, weight and time."""
        return administration.read(self._engine._follower, administration.all_clicks)

    def maintain(self) -> None:
        """Flush, and merge segments where that is due."""
        self._engine.maintain()

    def backup(self, path: str) -> None:
        """Copy the engine to a new folder."""
        self._engine.backup(path)

    def process(self) -> int:
        """Return the number of the process."""
        return os.getpid()

    def close(self) -> None:
        """Close the engine."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None
        self._moments.clear()

    def _now(self, *, metadata: bool = False) -> tuple[int, _Moment]:
        layout = self._engine._follower.layout(metadata=metadata)
        number = layout.generation.state.generation
        known = self._moments.get(number)
        if known is None or (metadata and not known.layout.generation.items.details.is_loaded):
            self._moments[number] = known = _Moment(layout)
            while len(self._moments) > PINNED:
                self._moments.popitem(last=False)
        return number, known

    def _words(self, layout: Layout, using: str) -> tuple[Bm25Member | None, Sequence[Any]]:
        """Return the member that counts words, and its segments at this moment; None for one that does not."""
        generation = layout.generation
        name = using or generation.default
        generation.retriever(name)  # an unknown one raises
        member = layout.members.get(name)
        view = generation._views.get(name)
        if not isinstance(member, Bm25Member) or not isinstance(view, Bm25View):
            return None, ()
        return member, view.lists.segments

    def _shared(self, moment: _Moment, using: str, shared: SharedWords) -> Retriever:
        """Return the member with what all shards say; of the same moments of all shards it is the same one."""
        key = using, shared.moments
        if moment.shared is None or moment.shared[0] != key:
            member, segments = self._words(moment.layout, using)
            generation = moment.layout.generation
            if member is None:
                return generation.retriever(using)
            terms: TermFacts = {}
            counts = LiveCounts(shared.documents, shared.length)
            view = Bm25View(member, segments, counts=counts, lists=_SharedLists(segments, terms))
            moment.shared = key, SlotRetriever(generation.items, view, generation.slots), terms
        moment.shared[2].update(shared.terms)
        return moment.shared[1]

    def _global_order(self, layout: Layout, order: int) -> int:
        """Return an order in which the row number takes the place of the slot."""
        if order == NOWHERE:
            return NOWHERE
        slot, place = order >> PLACE_BITS, order & ((1 << PLACE_BITS) - 1)
        return int(layout.numbers[slot]) << PLACE_BITS | place
