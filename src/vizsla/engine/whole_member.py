"""WholeMember: a live member of any recipe that learns from nothing but texts, built whole when it is asked."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from vizsla._internal.forking import ForkLock
from vizsla.base.queries import Queries
from vizsla.base.recipe import Recipe
from vizsla.base.retriever import Retriever
from vizsla.core.candidates import Candidates, PairScores, Stats
from vizsla.core.explanation import Explanation
from vizsla.data.filter import Filter
from vizsla.engine.member import LiveMember, LiveView
from vizsla.errors import FormatError, InputError
from vizsla.io.builder import stored_dataset
from vizsla.text.highlights import Highlighter
from vizsla.typing import BoolArray, Int32Array

FILE = "texts.json"
SCALES = {"bm25": "bm25", "tfidf": "tf-idf"}


class WholeMember(LiveMember):
    """Keeps the texts and builds the recipe over those that are left, at the first search after a change.

    It is exact for every recipe that needs no fields, and slow where changes are frequent and items are many. Kinds
    that have an incremental class use that.
    """

    kinds: ClassVar[tuple[str, ...]] = tuple(SCALES)

    def __init__(self, recipe: Recipe, settled: dict[str, Any], bindings: dict[str, Any]):
        super().__init__(recipe, settled, bindings)
        self._texts: list[str] = []
        self._read: dict[Path, list[str]] = {}

    @classmethod
    def accepts(cls, recipe: Recipe) -> bool:
        """Return whether the recipe needs nothing but texts: fields are in none of them apart."""
        return super().accepts(recipe) and recipe.settings.get("fields") is None

    @classmethod
    def settle(cls, recipe: Recipe, texts: Iterable[str], bindings: dict[str, Any]) -> dict[str, Any]:
        """Build once: the recipe of what is built has what "auto" stands for."""
        given = list(texts)
        if not given:
            return {}
        return {"recipe": _built(recipe, given, bindings).recipe.to_dict()}

    def open(self, folders: Sequence[Path], sizes: Sequence[int]) -> None:
        """Read the texts of the segments."""
        read = {folder: self._read.get(folder) or _texts_in(folder) for folder in folders}
        for folder, size in zip(folders, sizes, strict=True):
            if len(read[folder]) != size:
                raise FormatError(f"{folder / FILE}: {len(read[folder])} texts in place of {size}.")
        self._read, self._texts = read, [text for folder in folders for text in read[folder]]

    def append(self, texts: Sequence[str]) -> None:
        """Keep the texts."""
        self._texts += texts

    def remove(self, slots: Int32Array, texts: Callable[[], Sequence[str]]) -> None:
        """Nothing is counted: a view is told which slots are left."""

    def view(self, live: BoolArray | None) -> LiveView:
        """Return what will be built of the texts that are left."""
        stored = self.settled.get("recipe")
        recipe = self.recipe if stored is None else Recipe.stored(stored)
        return WholeView(recipe, self._texts, len(self._texts), live, self.bindings)

    def write(self, folder: Path, slots: Int32Array) -> None:
        """Write the texts."""
        (folder / FILE).write_text(json.dumps([self._texts[slot] for slot in slots.tolist()]))

    @property
    def memory_bytes(self) -> int:
        """Bytes of the texts, about."""
        return sum(map(len, self._texts))


class WholeView(LiveView):
    """A retriever over the texts that are left, built at the first call."""

    finds_matches = True

    def __init__(self, recipe: Recipe, texts: list[str], size: int, live: BoolArray | None, bindings: dict[str, Any]):
        self._recipe, self._texts, self._size, self._live, self._bindings = recipe, texts, size, live, bindings
        self.scale = SCALES[recipe.kind]
        self._lock = ForkLock()
        self._made: tuple[Retriever, Int32Array] | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of the retriever."""
        return 0 if self._made is None else self._made[0].nbytes

    def search(self, queries: Queries, k: int, allowed: BoolArray | None, threads: int) -> Candidates:
        """Search the retriever."""
        made = self._built()
        if made is None:
            return Candidates.unchecked(*_nothing(len(queries)), None, Stats())
        retriever, slots = made
        filter = None if allowed is None else Filter.piece(allowed[slots])
        found = retriever._search(queries, min(k, len(slots)), filter, threads)
        return found.with_catalog(None, slots[found.items])

    def score(self, queries: Queries, candidates: Candidates, threads: int) -> PairScores:
        """Score with the retriever."""
        made = self._built()
        if made is None:
            return PairScores(np.zeros(0, np.float32), Stats())
        retriever, slots = made
        own = np.searchsorted(slots, candidates.items).astype(np.int32)
        return retriever._score(queries, candidates.with_catalog(retriever.items, own), None, threads)

    def explain(self, queries: Queries, slot: int) -> Explanation:
        """Explain with the retriever."""
        made = self._built()
        if made is None:
            raise InputError(f"`item` must be one that is there. Got slot {slot} of none.")
        retriever, slots = made
        return retriever._explain(queries, int(np.searchsorted(slots, slot)), None)

    def highlighter(self, query: str) -> Highlighter | None:
        """Return what finds the words of a query in a text."""
        made = self._built()
        return None if made is None else made[0]._highlighter(query)

    def _built(self) -> tuple[Retriever, Int32Array] | None:
        with self._lock:
            if self._made is None:
                live = np.ones(self._size, np.bool_) if self._live is None else self._live
                slots = np.flatnonzero(live).astype(np.int32)
                if not len(slots):
                    return None
                texts = [self._texts[slot] for slot in slots.tolist()]
                self._made = _built(self._recipe, texts, self._bindings), slots
            return self._made


def _built(recipe: Recipe, texts: list[str], bindings: dict[str, Any]) -> Retriever:
    return recipe.build(stored_dataset(texts), bindings=bindings)


def _nothing(rows: int) -> tuple[Any, Any, Any]:
    return np.zeros(rows + 1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32)


def _texts_in(folder: Path) -> list[str]:
    try:
        texts = json.loads((folder / FILE).read_text())
    except (ValueError, UnicodeDecodeError) as error:
        raise FormatError(f"{folder / FILE}: not a list of texts ({error}).") from error
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise FormatError(f"{folder / FILE}: not a list of texts.")
    return texts
