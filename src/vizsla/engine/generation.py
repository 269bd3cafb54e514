"""An engine at one moment: its items, and its members as retrievers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from functools import partial
from typing import Any

from vizsla.base.recipe import Recipe
from vizsla.base.retriever import Retriever
from vizsla.compose.parser import parse
from vizsla.data.conditions import Condition
from vizsla.data.dataset import Dataset
from vizsla.data.filter import Filter
from vizsla.data.metadata import TEXT_FIELD
from vizsla.engine.catalog import State
from vizsla.engine.definitions import (
    COMPOSITE,
    LIVE,
    STATIC,
    Definition,
    check_member,
    inlined,
    member_class,
)
from vizsla.engine.fields_member import FieldsView
from vizsla.engine.lexical_member import Bm25View
from vizsla.engine.live_items import LiveCatalog
from vizsla.engine.member import LiveView, SlotRetriever
from vizsla.engine.query_memory import QueryMemory, RememberedRetriever
from vizsla.engine.slots import SlotMap
from vizsla.engine.static_member import ReindexedRetriever
from vizsla.engine.typo_member import ForgivingFieldsView, ForgivingView
from vizsla.errors import InputError
from vizsla.methods.bm25 import bm25

FORGIVING: dict[type[LiveView], type[ForgivingView]] = {Bm25View: ForgivingView, FieldsView: ForgivingFieldsView}
"""What forgives typos in place of views that do not."""
MAX_CACHED_FILTERS = 64
"""Prepared conditions that a generation keeps."""


class Generation:
    """An engine at one moment: it never changes, and any number of threads may ask it.

    Attributes
    ----------
    state : State
        The moment.
    items : LiveCatalog
        The live items.
    definitions : dict of str to Definition
        The members.
    default : str
        The name of the member that answers unless another is named.
    slots : SlotMap, optional
        Which slots have an item; None where all have.
    size : int
        The number of slots.
    """

    def __init__(
        self,
        state: State,
        items: LiveCatalog,
        slots: SlotMap,
        members: tuple[dict[str, Definition], str],
        views: dict[str, LiveView],
        static: Callable[[Definition, LiveCatalog], Retriever],
        whole: Callable[..., Retriever],
        memory: QueryMemory | None = None,
        objects: Mapping[str, Any] | None = None,
    ):
        self.state, self.items, self.size = state, items, slots.size
        self.slots = slots if len(slots.holes) else None
        self.definitions, self.default = members
        self._views, self._static, self._whole = views, static, whole
        self._memory, self._objects = memory, objects
        self._made: dict[str, Retriever] = {}
        self._filters: dict[str, Filter] = {}
        self._forgiving: Generation | None = None
        self._forgives = False

    def forgiving(self) -> Generation:
        """Return the same moment with members of plain BM25 that forgive typos, and others that are made of these."""
        if self._forgives:
            return self
        made = self._forgiving
        if made is None:
            made = copy(self)
            made._views = {name: self._forgiving_view(view) for name, view in self._views.items()}
            made._whole, made._made, made._forgives = partial(self._whole, forgiving_typos=True), {}, True
            self._forgiving = made
        return made

    def _forgiving_view(self, view: LiveView) -> LiveView:
        words = self.items.details.row_words
        kind = FORGIVING.get(type(view))
        if kind is None or words is None or not isinstance(view, Bm25View):
            return view
        return kind(view, partial(words, TEXT_FIELD))

    def retriever(self, name: str = "") -> Retriever:
        """Return a member; the default one unless named."""
        chosen = name or self.default or (next(iter(self.definitions)) if len(self.definitions) == 1 else "")
        made = self._made.get(chosen)
        if made is None:
            made = self._made[chosen] = self._make(chosen)
            made.label, made.member_name = made.label or chosen, made.member_name or chosen
        return made

    def filter(self, condition: Condition) -> Filter:
        """Return a condition as a filter over the items; the last ones that were asked for are kept."""
        key = str(condition)
        found = self._filters.get(key)
        if found is None:
            found = self.items.filter(condition)
            if len(self._filters) >= MAX_CACHED_FILTERS:
                self._filters.clear()
            self._filters[key] = found
        return found

    def _make(self, name: str) -> Retriever:
        if not name:
            raise InputError("`using` must be given: the engine has no default member. Use `set_default`.")
        check_member(name, self.definitions)
        definition = self.definitions[name]
        if not len(self.items) and self.awaits(definition):
            return ReindexedRetriever(bm25({"": ""}), self.items)  # which finds nothing
        part = self._part(definition)
        if self._memory is None or not definition.remembers:
            return part
        trained, days = (None, definition.half_life) if definition.type == LIVE else (definition.last_click, None)
        if definition.artifact and isinstance(part, ReindexedRetriever):
            days = getattr(getattr(part.part, "log", None), "half_life", None)
        return RememberedRetriever(part, self._memory, self.slots, trained=trained, half_life=days)

    def awaits(self, definition: Definition) -> bool:
        """Return whether a member is, or is made of, one that was never built and that the first search builds."""
        unbuilt = definition.type == STATIC and not definition.artifact and not definition.waits_for_clicks
        return unbuilt or any(self.awaits(self.definitions[each]) for each in definition.needs)

    def _part(self, definition: Definition) -> Retriever:
        if definition.type == LIVE:
            # Without a reference to this moment: it would stay in memory until the garbage collector looks for cycles.
            twin = partial(_twin, definition, self.definitions, self._objects)
            return SlotRetriever(self.items, self._views[definition.name], self.slots, twin)
        if definition.is_made_of_items:
            return self._whole(definition, self.items)
        if definition.type == COMPOSITE:
            parts = {each: self.retriever(each) for each in definition.needs}
            if definition.expression:
                return parse(definition.expression, parts)
            data: Any = self.items  # all that a signal needs
            return Recipe.stored(definition.recipe or {}).build(data, members=parts)
        base = (definition.recipe or {}).get("settings", {}).get("base")
        if not definition.artifact and isinstance(base, str) and base in self.definitions:
            return self.retriever(base)  # a correction that has learned nothing yet is what it corrects
        return self._static(definition, self.items)


def _twin(
    definition: Definition,
    definitions: dict[str, Definition],
    objects: Mapping[str, Any] | None,
    dataset: Dataset,
    threads: int,
) -> Retriever | None:
    """Return what a live member's recipe makes of a dataset, where it learns from clicks."""
    recipe = Recipe.stored(definition.recipe or {})
    kind = member_class(recipe, definitions)
    if kind is None or not kind.learns:
        return None
    return inlined(recipe, definitions).build(dataset, threads=threads, bindings=objects)
