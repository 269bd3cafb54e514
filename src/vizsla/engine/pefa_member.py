"""PefaMember: PEFA over a member that follows every change, with clicks that count at once."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from vizsla import _native
from vizsla._internal.lazy import cached_property
from vizsla.base.encoder import Encoder
from vizsla.base.index_retriever import only_rows
from vizsla.base.queries import Queries
from vizsla.base.recipe import Binding, Recipe
from vizsla.core.candidates import Candidates, PairScores, Stats
from vizsla.core.explanation import Explanation
from vizsla.data.dataset import Dataset
from vizsla.data.filter import Filter
from vizsla.encoders.cache import cached_encoder
from vizsla.engine.click_table import Clicks
from vizsla.engine.live_clicks import ClickSums, LiveClicks, PastQueries
from vizsla.engine.member import LiveMember, LiveView, SlotClicks
from vizsla.engine.vector_member import VectorMember, VectorView, merged_parts
from vizsla.errors import InputError
from vizsla.indexes.dense_index import DenseIndex
from vizsla.indexes.flat import FlatIndex
from vizsla.indexes.grouped import GroupedIndex
from vizsla.indexes.vectors import ItemVectors
from vizsla.io.builder import stored_dataset
from vizsla.learning.clicks import ClickLog
from vizsla.learning.matrices import divided, lengths_of
from vizsla.learning.selection import ChoiceWarning
from vizsla.learning.splits import too_few
from vizsla.methods.pefa.blending import blended, past_query_rows, query_rows
from vizsla.methods.pefa.build import default_scale
from vizsla.methods.pefa.options import XlSettings, XsSettings
from vizsla.methods.pefa.selection import AUTO
from vizsla.methods.pefa.xl import DEFAULT_BASE_DEPTH, PefaXl, Votes, explain_xl, with_votes
from vizsla.methods.pefa.xs import explain_xs
from vizsla.typing import BoolArray, Float32Array, Int32Array, Int64Array

UNTRAINED_XS = XsSettings(weight=0.2)
UNTRAINED_XL = XlSettings(weight=0.3, neighbors=32, votes="max", near=0.5)
"""What a member begins with where there are too few clicks to choose by: those that come shall count."""
ITEMS_SAMPLED = 200
"""Items that are looked at for it."""
MAX_UNMERGED_ITEMS = 256
"""Items with changed clicks that are kept apart before their rows join the others."""
EXTRA_NEIGHBORS = 8
"""Past queries that are looked at beyond the nearest: ties are ordered by their texts."""


class PefaMember(LiveMember):
    """PEFA-XS over flat vectors, and PEFA-XL over any live member: after every click as if built with it.

    The numbers of the formula are settled on the clicks that are there when the member is made or rebuilt. The base is
    a recipe, whose rows this member then keeps itself, or another live member of the engine.
    """

    kinds: ClassVar[tuple[str, ...]] = ("pefa",)
    learns: ClassVar[bool] = True

    def __init__(self, recipe: Recipe, settled: dict[str, Any], bindings: dict[str, Any]):
        super().__init__(recipe, settled, bindings)
        self.base, self._owned = _base_of(recipe, bindings)
        self._settings, self._half_life = _read_settings(recipe, settled), settled.get("half_life")
        self.encoder = _encoder_of(recipe, self.base, bindings)
        cached, storage = cached_encoder(self.encoder, bindings.get("cache")), self._storage(recipe)
        self._past = PastQueries(cached, storage)
        self._clicks = LiveClicks(self._past, self._half_life)
        self._size = 0
        self._touched: set[int] = set()
        self._asked: set[int] = set()
        self._state: XsState | XlState | None = None

    @classmethod
    def accepts(cls, recipe: Recipe) -> bool:
        """Return whether the rows of its base do not depend on each other; past queries are compared one by one."""
        base, settings = recipe.settings.get("base"), recipe.settings
        if settings.get("paper"):  # items without clicks move too, and only those with clicks are kept apart here
            return False
        if recipe.kind == "pefa" and _is_xl(recipe):
            flat = settings.get("index", AUTO) in (AUTO, "flat") and settings.get("storage") != "int8"
            return flat and (isinstance(base, str) or (isinstance(base, Recipe) and VectorMember.accepts(base)))
        return recipe.kind == "pefa" and isinstance(base, Recipe) and _is_flat(base)

    @classmethod
    def settle(cls, recipe: Recipe, texts: Iterable[str], bindings: dict[str, Any]) -> dict[str, Any]:
        """Return the settings where there are no clicks."""
        given = list(texts)
        if given:
            return cls.settle_on(recipe, stored_dataset(given), bindings)
        chosen = _untrained(recipe, 1.0) if _is_auto(recipe) else _given(recipe)
        return {"settings": asdict(chosen), "half_life": _days(recipe)}

    @classmethod
    def settle_on(cls, recipe: Recipe, dataset: Dataset, bindings: dict[str, Any]) -> dict[str, Any]:
        """Choose the settings on the clicks that are there; where these are too few, clicks to come count all the same.

        Where the recipe has a fixed half-life, the half-life is that; "auto" chooses one.
        """
        if not len(dataset.items):
            return cls.settle(recipe, [], bindings)
        if not dataset.clicks.nnz:
            untimed = recipe.but(half_life=None) if "half_life" in recipe.settings else recipe
            return _settled(untimed, dataset, bindings) | {"half_life": _days(recipe)}
        return _settled(recipe, dataset, bindings)

    def open(self, folders: Sequence[Path], sizes: Sequence[int]) -> None:
        """Open the base's segments if it is this member's own; vectors of past queries stay known."""
        if self._owned:
            self.base.open(folders, sizes)
        self._size = sum(sizes)
        self._past = PastQueries(self._past.encoder, self._past.storage, self._past)
        self._clicks, self._state = LiveClicks(self._past, self._half_life), None
        self._touched, self._asked = set(), set()

    def append(self, texts: Sequence[str]) -> None:
        """Give new rows to the base; they have no clicks yet."""
        if self._owned:
            self.base.append(texts)
        self._size += len(texts)

    def remove(self, slots: Int32Array, texts: Callable[[], Sequence[str]]) -> None:
        """Forget rows and their clicks."""
        if self._owned:
            self.base.remove(slots, texts)
        self._lost(self._clicks.forget(slots=slots))

    def learn(self, clicks: SlotClicks) -> None:
        """Take clicks: the items they are on are computed anew."""
        self._asked.update(self._clicks.learn(clicks).tolist())
        self._touched.update(clicks.slots.tolist())

    def unlearn(self, numbers: Int64Array) -> None:
        """Forget clicks: the items they were on are computed anew."""
        self._lost(self._clicks.forget(numbers=numbers))

    def _lost(self, clicks: Clicks) -> None:
        self._touched.update(clicks.slots.tolist())
        self._asked.update(clicks.queries.tolist())

    def view(self, live: BoolArray | None) -> LiveView:
        """Return what answers over base and clicks as they are now."""
        base = self.base.view(live)
        if isinstance(self._settings, XsSettings):
            if not isinstance(base, VectorView):
                raise InputError(f"`base` must hold vectors, for PEFA-XS. Got {type(base).__name__}.")
            if not isinstance(self._state, XsState) or self._touched:
                self._state = self._xs_state(base)
            return XsView(base, self._state, self._settings, live, self._size)
        if not isinstance(self._state, XlState) or self._touched:
            self._state = self._xl_state()
        depth = self.recipe.settings.get("depth", DEFAULT_BASE_DEPTH)
        return XlView(base, self._state, self._settings, live, self._size, depth)

    def write(self, folder: Path, slots: Int32Array) -> None:
        """Write the rows of the base, if it is this member's own; clicks are the engine's to keep."""
        if self._owned:
            self.base.write(folder, slots)

    @property
    def memory_bytes(self) -> int:
        """Bytes of the base's memory part."""
        return self.base.memory_bytes if self._owned else 0

    def _storage(self, recipe: Recipe) -> str:
        """Return how past queries are indexed: as the base's vectors are, unless the recipe says more."""
        given = recipe.settings.get("storage")
        if given is None and recipe.settings.get("index", AUTO) == AUTO and _has_flat_rows(self.base):
            given = getattr(self.base, "storage", None)
        return given or "float32"

    def _xs_state(self, base: VectorView) -> XsState:
        state = self._state
        known = state if isinstance(state, XsState) and state.clicks.moment == self._clicks.moment else None
        touched = np.array(sorted(self._touched), np.int32)
        if known is None:
            touched = np.unique(self._clicks.table.all().slots)
        self._touched.clear()
        self._asked.clear()
        storage = getattr(self.base, "storage", None) or "float32"
        return XsState.of(known, base, self._clicks, touched, self._only_xs, storage)

    @property
    def _only_xs(self) -> XsSettings:
        if not isinstance(self._settings, XsSettings):
            raise InputError("The settings must be those of PEFA-XS. Got others.")
        return self._settings

    def _xl_state(self) -> XlState:
        state, clicks = self._state, self._clicks.frozen()
        known = state if isinstance(state, XlState) and state.clicks.moment == clicks.moment else None
        made = XlState.of(known, self.encoder, clicks, self._size, self._touched, self._asked)
        self._touched.clear()
        self._asked.clear()
        return made


def _settled(recipe: Recipe, dataset: Dataset, bindings: dict[str, Any]) -> dict[str, Any]:
    base = bindings.get("base")
    known = {name: value for name, value in bindings.items() if not isinstance(value, LiveMember) and name != "cache"}
    if isinstance(base, LiveMember):
        known |= {name: value for name, value in base.bindings.items() if name != "cache"}
        recipe = recipe.but(base=base.recipe)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ChoiceWarning)
        built: Any = recipe.build(dataset, bindings=known)
    chosen = built.settings
    if too_few(built.log) and _is_auto(recipe):
        chosen = _untrained(recipe, _first_scale(built, dataset))
    return {"settings": asdict(chosen), "half_life": built.log.half_life}


def _is_auto(recipe: Recipe) -> bool:
    return bool(recipe.settings.get("weight", AUTO) == AUTO)


def _untrained(recipe: Recipe, scale: float) -> XsSettings | XlSettings:
    """Return what a member begins with where there is nothing to choose by, with the numbers that the recipe gives."""
    start: Any = UNTRAINED_XL if _is_xl(recipe) else UNTRAINED_XS
    chosen: XsSettings | XlSettings = type(start)(**(asdict(start) | {"scale": scale} | _numbers(recipe, start)))
    return chosen


def _given(recipe: Recipe) -> XsSettings | XlSettings:
    """Return the numbers of a recipe; those that clicks would have to tell are the paper's."""
    start: Any = XlSettings(1.0, UNTRAINED_XL.neighbors) if _is_xl(recipe) else XsSettings(1.0)
    chosen: XsSettings | XlSettings = type(start)(**(asdict(start) | _numbers(recipe, start)))
    return chosen


def _numbers(recipe: Recipe, like: Any) -> dict[str, Any]:
    known = {name: value for name, value in recipe.settings.items() if name in asdict(like)}
    return {name: value for name, value in known.items() if value not in (AUTO, None)}


def _first_scale(built: Any, dataset: Dataset) -> float:
    """Return what clicks are worth where no queries are known: as long as items' vectors, or as scores are spread."""
    if not isinstance(built, PefaXl):
        lengths = lengths_of(built.base.item_rows(np.arange(min(len(built.items), ITEMS_SAMPLED))))
        return float(f"{lengths.mean() or 1.0:.6g}")
    heads = [
        " ".join(item.default_text().split()[:6]) for item, _ in zip(dataset.items, range(ITEMS_SAMPLED), strict=False)
    ]
    pairs = [(head, built.items[at]) for at, head in enumerate(heads) if head]
    log = ClickLog.of(pairs, built.items, lambda texts: Queries(texts).encoded(built.encoder))
    return default_scale(built.base, log)


def _days(recipe: Recipe) -> float | None:
    days = recipe.settings.get("half_life")
    return None if days in (None, AUTO) else float(days)


def _base_of(recipe: Recipe, bindings: dict[str, Any]) -> tuple[LiveMember, bool]:
    """Return the base, and whether it is this member's own."""
    base = recipe.settings.get("base")
    if isinstance(base, Recipe):
        return VectorMember(base, {}, bindings), True
    shared = bindings.get("base")
    if not isinstance(shared, LiveMember):
        raise InputError(f"`base` must be a recipe, or a live member of the engine. Got {type(shared).__name__}.")
    if not _is_xl(recipe) and not _has_flat_rows(shared):
        raise InputError(f"`base` must hold vectors, for PEFA-XS. Got a member of kind {shared.recipe.kind!r}.")
    return shared, False


def _encoder_of(recipe: Recipe, base: LiveMember, bindings: dict[str, Any]) -> Encoder:
    """Return what makes vectors of queries: the one that the recipe names, or else the base's."""
    named = recipe.settings.get("encoder")
    encoder = bindings.get("encoder") if isinstance(named, Binding) else getattr(base, "encoder", None)
    if not isinstance(encoder, Encoder) or encoder.sparse:
        raise InputError("`encoder` must turn queries into dense vectors; this base has none. Give one.")
    if isinstance(named, Binding) and encoder.fingerprint != named.fingerprint:
        wanted = f"the one that the member was made with ({named.fingerprint!r})"
        raise InputError(f"`encoder` must be {wanted}. Got {encoder.fingerprint!r}: give that one, or rebuild.")
    return encoder


def _is_xl(recipe: Recipe) -> bool:
    return bool(recipe.settings.get("variant") == "xl")


def _is_flat(base: Recipe) -> bool:
    return VectorMember.accepts(base) and base.kind == "dense" and base.settings.get("index", "flat") == "flat"


def _has_flat_rows(base: LiveMember) -> bool:
    return isinstance(base, VectorMember) and _is_flat(base.recipe)


def _read_settings(recipe: Recipe, settled: dict[str, Any]) -> XsSettings | XlSettings:
    known = settled.get("settings")
    if not isinstance(known, dict):
        raise InputError("`settled` must hold the settings of PEFA. Got none: rebuild the member.")
    return XlSettings.of(known) if _is_xl(recipe) else XsSettings.of(known)


class MovedRows:
    """Rows of some items as the clicks have moved them, and an index over them.

    Attributes
    ----------
    owners : int32 array
        The slot of each row, ascending; with the best past query on its own, an item has several rows.
    rows : array
        As the base stores vectors.
    slots : int32 array
        The items' slots, ascending.
    """

    def __init__(self, owners: Int32Array, rows: Any):
        order = np.argsort(owners, kind="stable")
        self.owners, self.rows = owners[order], np.ascontiguousarray(rows[order])
        self.slots = np.unique(owners)

    @cached_property
    def index(self) -> FlatIndex | GroupedIndex:
        """An index over the rows; its items are the slots, by their place."""
        flat = FlatIndex(ItemVectors(self.rows))
        if len(self.owners) == len(self.slots):
            return flat
        return GroupedIndex(flat, np.searchsorted(self.slots, self.owners).astype(np.int32))

    def without(self, slots: Int32Array, more: MovedRows) -> MovedRows:
        """Return the rows but those of some slots, and more."""
        kept = ~np.isin(self.owners, slots)
        owners = np.concatenate([self.owners[kept], more.owners])
        return MovedRows(owners, np.concatenate([self.rows[kept], more.rows]))


class XsState:
    """The rows of items with clicks: most in one large part, and those that changed since in a small one.

    Attributes
    ----------
    clicks : LiveClicks
        What moved them.
    parts : tuple of MovedRows
        The large part and the small one.
    changed : int32 array
        Slots, ascending, whose rows in the large part no longer count.
    """

    def __init__(self, clicks: LiveClicks, parts: tuple[MovedRows, MovedRows], changed: Int32Array):
        self.clicks, self.parts, self.changed = clicks, parts, changed
        self.counts = ~np.isin(parts[0].slots, changed), np.ones(len(parts[1].slots), np.bool_)
        """Which items of each part count."""

    @classmethod
    def of(
        cls,
        known: XsState | None,
        base: VectorView,
        clicks: LiveClicks,
        touched: Int32Array,
        settings: XsSettings,
        storage: str,
    ) -> XsState:
        """Return the rows after a change of the clicks on the touched slots; all others are as they were known."""
        frozen = clicks.frozen()
        sums = frozen.sums(slots=touched)
        slots = np.unique(sums.slots).astype(np.int32)
        log, own = frozen.log(sums, slots), base.item_rows(slots)
        moved = blended(own, log, np.arange(len(slots)), settings)
        past, places = past_query_rows(own, log, settings)
        rows = ItemVectors.of(np.concatenate([moved, past]), storage=storage).rows
        fresh = MovedRows(np.concatenate([slots, slots[places]]).astype(np.int32), rows)
        none, nothing = np.zeros(0, np.int32), MovedRows(np.zeros(0, np.int32), rows[:0])
        if known is None:
            return cls(frozen, (fresh, nothing), none)
        large, small = known.parts
        changed, small = np.union1d(known.changed, touched).astype(np.int32), small.without(touched, fresh)
        if len(changed) > max(MAX_UNMERGED_ITEMS, len(large.slots) // 8):
            return cls(frozen, (large.without(changed, small), nothing), none)
        return cls(frozen, (large, small), changed)

    @property
    def moved(self) -> bool:
        """Whether there are items with clicks."""
        return any(bool(counts.any()) for counts in self.counts)


class XsView(LiveView):
    """Items with clicks by their moved rows, all others by the base: the better of both come first."""

    def __init__(self, base: VectorView, state: XsState, settings: XsSettings, live: BoolArray | None, size: int):
        self.base, self.state, self.settings, self.live, self.size = base, state, settings, live, size
        self.scale = base.scale
        self._moves = settings.moves and state.moved
        self._last: tuple[Any, BoolArray | None, list[Filter | None]] = (self, None, [])

    @property
    def nbytes(self) -> int:
        """Bytes of the base and of the moved rows."""
        moved = sum(part.index.nbytes for part in self.state.parts if len(part.slots)) if self._moves else 0
        return int(self.base.nbytes + moved)

    def search(self, queries: Queries, k: int, allowed: BoolArray | None, threads: int) -> Candidates:
        """Search the base and the moved rows, and merge what they find."""
        if not self._moves:
            return self.base.search(queries, k, allowed, threads)
        rest, filters = self._parts(allowed)
        found = [(0, self.base.search(queries, k, rest, threads))]
        rows: Any = self._rows(queries)
        for part, filter in zip(self.state.parts, filters, strict=True):
            if len(part.slots) and (filter is None or filter.count):
                moved = part.index.search(rows, k, filter=filter, threads=threads)
                mapped = Candidates.unchecked(moved.offsets, part.slots[moved.items], moved.scores, None, moved.stats)
                found.append((0, _only_heard(mapped, rows)))
        return merged_parts(found, len(queries), k)

    def score(self, queries: Queries, candidates: Candidates, threads: int) -> PairScores:
        """Score items with clicks by their moved rows."""
        if not self._moves:
            return self.base.score(queries, candidates, threads)
        scores, left = np.zeros(len(candidates.items), np.float32), np.ones(len(candidates.items), np.bool_)
        stats = Stats()
        for part, counts in zip(self.state.parts, self.state.counts, strict=True):
            own = np.flatnonzero(np.isin(candidates.items, part.slots[counts]))
            if len(own):
                inside = candidates.select(own)
                places = np.searchsorted(part.slots, inside.items).astype(np.int32)
                mapped = Candidates.unchecked(inside.offsets, places, None, None, Stats())
                better = part.index.scores(self._rows(queries), mapped, threads=threads)
                scores[own], left[own], stats = better.scores, False, stats + better.stats
        plain = np.flatnonzero(left)
        others = self.base.score(queries, candidates.select(plain), threads)
        scores[plain] = others.scores
        return PairScores(scores, others.stats + stats)

    def explain(self, queries: Queries, slot: int) -> Explanation:
        """Say what base and clicks add."""
        one = Candidates.from_rows([np.array([slot], np.int32)])
        own = float(self.base.score(queries, one, 1).scores[0])
        score = float(self.score(queries, one, 1).scores[0])
        row: Any = queries.encoded(self.base.encoder)
        return explain_xs(score, row[0], own, self.state.clicks.log_of(slot), 0, self.settings)

    def _rows(self, queries: Queries) -> Float32Array:
        rows: Float32Array = query_rows(queries.encoded(self.base.encoder), self.settings)
        return rows

    def _parts(self, allowed: BoolArray | None) -> tuple[BoolArray, list[Filter | None]]:
        """Return which slots the base may find, and which of those with clicks are allowed."""
        last, rest, filters = self._last
        if rest is None or last is not allowed:
            flags = self.live if allowed is None else allowed
            rest, filters = np.ones(self.size, np.bool_) if flags is None else flags.copy(), []
            for part, counts in zip(self.state.parts, self.state.counts, strict=True):
                filter = Filter(counts if flags is None else counts & flags[part.slots])
                filters.append(None if filter.allows_everything else filter)
                rest[part.slots[counts]] = False
            self._last = allowed, rest, filters
        return rest, filters


def _only_heard(found: Candidates, rows: Float32Array) -> Candidates:
    """Empty the rows of queries that say nothing."""
    heard = np.any(rows, axis=1)
    return found if heard.all() else only_rows(found, heard)


class XlState:
    """Past queries and what was clicked for them.

    Attributes
    ----------
    encoder : Encoder
        Of queries.
    clicks : LiveClicks
        The clicks.
    active : bool array
        Which past queries have clicks that count.
    clicked : bool array
        Which slots have clicks that count; later slots have none.
    """

    def __init__(self, encoder: Encoder, clicks: LiveClicks, active: BoolArray, clicked: BoolArray):
        self.encoder, self.clicks, self.active, self.clicked = encoder, clicks, active, clicked
        self.texts, stored = clicks.past.texts, clicks.past.stored
        self._rows, self._longest = stored.rows[: len(active)], stored.longest
        self.asked = int(np.count_nonzero(active))

    @classmethod
    def of(
        cls, known: XlState | None, encoder: Encoder, clicks: LiveClicks, size: int, slots: set[int], asked: set[int]
    ) -> XlState:
        """Return the state after a change of the clicks on some slots, for some past queries."""
        active, clicked = np.zeros(len(clicks.past), np.bool_), np.zeros(size, np.bool_)
        if known is None:
            sums = clicks.sums()
            active[sums.queries], clicked[sums.slots] = True, True
            return cls(encoder, clicks, active, clicked)
        active[: len(known.active)], clicked[: len(known.clicked)] = known.active, known.clicked
        queries, places = np.array(sorted(asked), np.int64), np.array(sorted(slots), np.int32)
        active[queries], clicked[places] = False, False
        active[clicks.sums(queries=queries).queries] = True
        clicked[clicks.sums(slots=places).slots] = True
        return cls(encoder, clicks, active, clicked)

    @cached_property
    def index(self) -> DenseIndex:
        """An index over all past queries, those without clicks included."""
        return FlatIndex(ItemVectors(self._rows, longest=self._longest))

    @cached_property
    def filter(self) -> Filter | None:
        """The past queries that have clicks."""
        made = Filter(self.active)
        return None if made.allows_everything else made

    def rows_of(self, past: Int32Array) -> tuple[Int32Array, ClickSums, Int64Array]:
        """Return the places of past queries in a small log of them alone, its clicks and its offsets.

        The small log has its queries in the order of their texts, in which votes are added up.
        """
        used, places = np.unique(past.astype(np.int64), return_inverse=True)
        order = self.clicks.past.by_text(used)
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        sums = self.clicks.sums(queries=used)
        rows = rank[np.searchsorted(used, sums.queries)]
        turn = np.argsort(rows, kind="stable")
        offsets = np.searchsorted(rows[turn], np.arange(len(used) + 1)).astype(np.int64)
        moved = ClickSums(rows[turn], sums.slots[turn], sums.units[turn])
        return rank[places].astype(np.int32), moved, offsets

    def neighbors(self, queries: Queries, count: int, threads: int) -> Candidates:
        """Return the nearest past queries of each query; equally near ones are ordered by their texts."""
        rows: Any = queries.encoded(self.encoder)
        unit = divided(rows, lengths_of(rows))
        depth = min(count + EXTRA_NEIGHBORS, self.asked)
        while True:
            found = self.index._search(unit, depth, self.filter, threads)
            scores = found._required_scores()
            ends = found.offsets[1:] - 1
            if depth >= self.asked or not (scores[found.offsets[:-1] + count - 1] == scores[ends]).any():
                return self._ordered(found, scores, count)
            depth = min(4 * depth, self.asked)

    def _ordered(self, found: Candidates, scores: Float32Array, count: int) -> Candidates:
        items, offsets, parts = found.items, found.offsets.tolist(), []
        for start, end in pairwise(offsets):
            near, similar = items[start:end], scores[start:end]
            if (similar[1:] == similar[:-1]).any():
                order = sorted(range(end - start), key=lambda at: (-similar[at], self.texts[near[at]]))
                near, similar = near[order], similar[order]
            parts.append((near[:count], similar[:count]))
        ends = np.cumsum([0, *(len(near) for near, _ in parts)], dtype=np.int64)
        near = np.concatenate([np.zeros(0, np.int32), *(part[0] for part in parts)])
        similar = np.concatenate([np.zeros(0, np.float32), *(part[1] for part in parts)])
        return Candidates.unchecked(ends, near, similar, None, found.stats)


class XlView(LiveView):
    """A base's view, and the nearest past queries vote for what was clicked for them."""

    def __init__(
        self,
        base: LiveView,
        state: XlState,
        settings: XlSettings,
        live: BoolArray | None,
        size: int,
        depth: int = DEFAULT_BASE_DEPTH,
    ):
        self.base, self.state, self.settings, self.live, self.size = base, state, settings, live, size
        self.scale, self.depth = base.scale, depth

    @property
    def nbytes(self) -> int:
        """Bytes of the base, of the past queries' vectors and of their clicks."""
        return self.base.nbytes + self.state.index.nbytes + 36 * len(self.state.clicks)

    @cached_property
    def _clicked(self) -> BoolArray:
        clicked = np.zeros(self.size, np.bool_)
        clicked[: len(self.state.clicked)] = self.state.clicked
        return clicked

    def search(self, queries: Queries, k: int, allowed: BoolArray | None, threads: int) -> Candidates:
        """Let the base find items, and score those that only the votes name."""
        votes, cost = self._votes(queries, allowed, threads)
        if votes is None:
            return self.base.search(queries, k, allowed, threads)
        found = self.base.search(queries, max(k, self.depth), allowed, threads)
        joined = _native.VotedSum((found.offsets, found.items, found._required_scores()), votes, self.size)
        missing: Any = joined.missing()
        stats = found.stats.with_exact(False)
        if missing is not None:
            offsets, items = map(np.frombuffer, missing, (np.int64, np.int32))
            wanted = Candidates.unchecked(offsets, items, None, None, Stats())
            scored = self.base.score(queries, wanted, threads)
            joined.fill(np.ascontiguousarray(scored.scores, np.float32))
            stats = stats + scored.stats
        arrays = joined.best(self.settings.worth, self.settings.threshold, self._clicked, k)
        offsets, numbers, scores = map(np.frombuffer, arrays, (np.int64, np.int32, np.float32))
        return Candidates.unchecked(offsets, numbers, scores, None, stats + cost)

    def score(self, queries: Queries, candidates: Candidates, threads: int) -> PairScores:
        """Add the votes to the base's scores."""
        scored = self.base.score(queries, candidates, threads)
        votes, cost = self._votes(queries, None, threads)
        if votes is None:
            return scored
        totals = with_votes(candidates, scored.scores, votes, self.settings, self._clicked)
        return PairScores(totals, scored.stats + cost)

    def explain(self, queries: Queries, slot: int) -> Explanation:
        """Say what the base and each past query add."""
        base, state, voters = self.base.explain(queries, slot), self.state, []
        if state.asked and self.settings.weight < 1:
            near = state.neighbors(queries, self.settings.neighbors, 1)
            places, sums, offsets = state.rows_of(near.items)
            similar = near._required_scores().tolist()
            for past, place, similarity in zip(near.items.tolist(), places.tolist(), similar, strict=True):
                own = slice(int(offsets[place]), int(offsets[place + 1]))
                units = sums.units[own]
                for share in (units[sums.slots[own] == slot] / units.max()).tolist():
                    voters.append((state.texts[past], share, similarity))
        return explain_xl(base, voters, self.settings, clicked=bool(self._clicked[slot]))

    def _votes(self, queries: Queries, allowed: BoolArray | None, threads: int) -> tuple[Votes | None, Stats]:
        """Return the votes, and what finding the past queries cost; None where clicks cannot count."""
        if not self.state.asked or self.settings.weight == 1 or not len(queries):
            return None, Stats()
        how = self.settings
        near = self.state.neighbors(queries, how.neighbors, threads)
        best, similar = how.votes == "max", near._required_scores()
        places, sums, offsets = self.state.rows_of(near.items)
        counter = _native.ClickVotes(offsets, sums.slots.astype(np.int32), sums.units, self.size)
        arrays = counter.count(near.offsets, places, similar, how.neighbors, how.near, best, allowed)
        return Votes(*map(np.frombuffer, arrays, (np.int64, np.int32, np.float64))), near.stats
