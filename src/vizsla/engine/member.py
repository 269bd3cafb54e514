"""The protocol between an engine and a member that follows every change of the items by itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from vizsla.base.queries import Queries
from vizsla.base.recipe import Recipe
from vizsla.base.retriever import Retriever
from vizsla.core.candidates import Candidates, PairScores, Stats
from vizsla.core.explanation import Explanation
from vizsla.core.strings import Strings
from vizsla.data.filter import Filter
from vizsla.engine.live_items import LiveFilter
from vizsla.engine.slots import SlotMap
from vizsla.errors import InputError
from vizsla.text.highlights import Highlighter
from vizsla.typing import BoolArray, Float64Array, Int32Array, Int64Array

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter
    from vizsla.data.dataset import Dataset


class SlotClicks(NamedTuple):
    """Clicks one by one, in ascending order of their numbers.

    Attributes
    ----------
    numbers : int64 array
        The number of each click in the catalog: it is never given to another click, and its query, weight and time
        never change. Its slot does, when its item is replaced or segments are merged.
    queries : list of str
        The text of each click's query.
    slots : int32 array
        The slot of the item, never a removed one.
    weights : float64 array
        The weights of the clicks.
    times : float64 array
        When each was made: seconds since 1970.
    """

    numbers: Int64Array
    queries: list[str]
    slots: Int32Array
    weights: Float64Array
    times: Float64Array


class LiveView(ABC):
    """A live member at one moment: answers over slots, never changes, and may be asked by several threads at once.

    It goes on answering as it does now while the member that made it takes more rows, loses some or opens other
    segments: what it needs of them it holds itself. It never finds a slot that was removed before it was made.
    """

    scale: str = "bm25"
    """What its scores are, as `Scorer.scale` says."""
    finds_matches: bool = False
    """Whether a search finds only items that share something with the query, such as a word."""
    is_quick: bool = False
    """Whether a search for a short query takes microseconds, the first one as well: it calls no model, and waits for
    nothing."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes that answering needs."""

    @abstractmethod
    def search(self, queries: Queries, k: int, allowed: BoolArray | None, threads: int) -> Candidates:
        """Return the best `k` slots per query; equal scores are ordered by slot.

        Parameters
        ----------
        queries : Queries
            The query texts of this call, with what encoders made of them.
        k : int
            At least 1.
        allowed : bool array, optional
            One flag per slot: only these may be found. Removed slots have False. None allows all that are not removed.
            A filter changes neither statistics nor scores.
        threads : int
            How many queries are answered at a time; the answer does not depend on it.

        Returns
        -------
        Candidates
            Whose `items` are slots, without a catalog (None).
        """

    @abstractmethod
    def score(self, queries: Queries, candidates: Candidates, threads: int) -> PairScores:
        """Score candidates whose `items` are slots, none of them removed, in their order; the bits of `search`."""

    @abstractmethod
    def explain(self, queries: Queries, slot: int) -> Explanation:
        """Explain the score of one slot for the one query."""

    def count(self, queries: Queries, allowed: BoolArray | None, up_to: int) -> tuple[int, bool] | None:
        """Return how many slots a search can find for the one query, and whether these are all.

        A count above `up_to` may be a lower bound. None where counting takes a search.
        """
        return None

    def is_quick_for(self, text: str) -> bool:
        """Return whether a search for this short query takes microseconds."""
        return self.is_quick

    def hints(self, queries: Queries) -> tuple[str, ...]:
        """Return what to tell the user about the one query, such as which one was probably meant."""
        return ()

    def highlighter(self, query: str) -> Highlighter | None:
        """Return what finds the words of a query in a text; None where it knows no words."""
        return None


class LiveMember(ABC):
    """What one process holds of a member that is exact after every change: segments, a memory part and deletions.

    Rows of the catalog have numbers that only grow; an upsert deletes a row and adds another. A member does not see
    them: it sees slots, which are the rows that this process knows, in ascending order of their numbers: first those of
    the segments, segment after segment, then those of the memory part in the order of `append`. A slot keeps its place
    until `open` begins anew; a removed row leaves a hole.

    After any sequence of `open`, `append` and `remove`, a view must answer, bit for bit, as a retriever that
    `recipe.build` makes of the texts of all slots that are not removed, in slot order, with what is settled. Ties are
    therefore in the same order. All methods but those of a view are called by one thread at a time.

    Parameters
    ----------
    recipe : Recipe
        Kind and settings.
    settled : mapping
        The result of `settle` when the member was created or rebuilt, as plain data.
    bindings : mapping
        Live objects that the recipe names, such as its encoder, by the name of the setting. Where a setting names
        another member of the engine, the LiveMember of that name: its slots are the same, and it takes every change
        before this one does.
    """

    kinds: ClassVar[tuple[str, ...]] = ()
    """Kinds of recipes that it may take."""
    learns: ClassVar[bool] = False
    """Whether it learns from clicks, which the engine then gives to `learn` and `unlearn`."""
    reads_fields: ClassVar[bool] = False
    """Whether `append` gets a pair of title and text for each row, in place of both joined."""

    def __init__(self, recipe: Recipe, settled: dict[str, Any], bindings: dict[str, Any]):
        self.recipe, self.settled, self.bindings = recipe, settled, bindings

    @classmethod
    def accepts(cls, recipe: Recipe) -> bool:
        """Return whether this class is exact for the recipe; others are built and rebuilt as a whole."""
        return recipe.kind in cls.kinds

    @classmethod
    @abstractmethod
    def settle(cls, recipe: Recipe, texts: Iterable[str], bindings: dict[str, Any]) -> dict[str, Any]:
        """Return what is decided once from the texts that are there, as JSON can hold it: the languages, for example.

        It is stored in the catalog, the same in every process, and stays until the member is rebuilt. There may be no
        texts at all: the choice must then be one that serves later ones.
        """

    @classmethod
    def settle_on(cls, recipe: Recipe, dataset: Dataset, bindings: dict[str, Any]) -> dict[str, Any]:
        """Return what is decided once, as `settle` does, for a member that also needs the clicks that are there."""
        return cls.settle(recipe, (item.default_text() for item in dataset.items), bindings)

    @abstractmethod
    def open(self, folders: Sequence[Path], sizes: Sequence[int]) -> None:
        """Begin anew over these segments, which have these numbers of rows; the memory part is empty then.

        All clicks are forgotten, too: the engine gives `learn` those that are left, with the slots that they have now.

        Arrays are mapped, not read. A folder that was open already has not changed, so what was read of it may be kept,
        and so may what was removed of it: `remove` may name such slots again, or not.
        A folder that does not hold what `write` wrote raises FormatError and leaves the member as it was.
        """

    @abstractmethod
    def append(self, texts: Sequence[Any]) -> None:
        """Add rows to the memory part: their slots follow all others."""

    @abstractmethod
    def remove(self, slots: Int32Array, texts: Callable[[], Sequence[str]]) -> None:
        """Forget these slots, ascending, each at most once: statistics are those of the rows that are left.

        `texts()` reads the rows' texts from the catalog, in the order of `slots`, for a member that needs them; after
        `open`, it is called for all removed rows of the segments, so a forward row in the segment is worth its bytes.
        """

    def learn(self, clicks: SlotClicks) -> None:  # noqa: B027  most members learn from no clicks
        """Take these clicks, none of which it has now; some may have smaller numbers than others it has.

        `remove` has dropped all clicks on the removed slots: where an item was replaced, they come again here with its
        new slot. The answers must not depend on the order of the calls, only on the clicks that are there.
        """

    def unlearn(self, numbers: Int64Array) -> None:  # noqa: B027
        """Forget the clicks with these numbers, ascending; those of removed slots are not among them."""

    @abstractmethod
    def view(self, live: BoolArray | None) -> LiveView:
        """Return what answers over the slots as they are now; cheap, since every change is followed by one.

        `live` has one flag per slot and is not written to later; None where nothing was removed.
        """

    @abstractmethod
    def write(self, folder: Path, slots: Int32Array) -> None:
        """Write what it holds of these slots, ascending, into a new folder, numbered from 0 in this order.

        The same call serves a flush (the slots of the memory part), a merge and a rewrite without holes (the slots of
        some segments that are left). Slots that are not removed now may be removed while it writes. It may run beside
        `append` and `remove` of another thread, but not beside `open`. Files are synced to the disk by the engine.
        """

    @property
    def memory_bytes(self) -> int:
        """Bytes of the memory part, about: one of the reasons to flush."""
        return 0


class SlotRetriever(Retriever):
    """A live view as a Retriever over the ids of the live rows: numbers without holes outside, slots inside.

    Parameters
    ----------
    items : Strings
        Ids of the live rows, in slot order.
    view : LiveView
        The retriever.
    slots : SlotMap, optional
        Which slots have an item; None where all have.
    twin : function of a dataset and a number of threads, optional
        Returns what the member would be had it learned from that dataset's clicks alone; None where it learns from
        none.
    """

    def __init__(
        self,
        items: Strings,
        view: LiveView,
        slots: SlotMap | None,
        twin: Callable[[Dataset, int], Retriever | None] | None = None,
    ):
        self._items, self.view, self.slots = items, view, slots
        self.scale, self._twin = view.scale, twin

    def refit_on(self, dataset: Dataset, *, threads: int = 1) -> Retriever:
        """Return what the member's recipe makes of a dataset, where it learns from clicks."""
        made = None if self._twin is None else self._twin(dataset, threads)
        return self if made is None else made

    @property
    def items(self) -> Strings:
        """Ids of the live rows."""
        return self._items

    @property
    def nbytes(self) -> int:
        """Bytes that the view needs."""
        return self.view.nbytes

    def __repr__(self) -> str:
        return f"{type(self.view).__name__}({len(self._items):,} items)"

    def _search(self, queries: Queries, k: int, filter: Filter | None, threads: int) -> Candidates:
        allowed = None if filter is None else filter.form(self, self._allowed)
        found = self.view.search(queries, k, allowed, threads)
        own = found.with_catalog(self._items, self._numbers(found.items))
        hints = self._hints(queries) if len(queries) == 1 else ()
        return own.with_hints(hints) if hints else own

    def _hints(self, queries: Queries) -> tuple[str, ...]:
        return self.view.hints(queries)

    def _score(self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int) -> PairScores:
        items = candidates.items if self.slots is None else self.slots.of_items(candidates.items)
        inside = Candidates.unchecked(candidates.offsets, items, None, None, Stats())
        return self.view.score(queries, inside, threads)

    def _explain(self, queries: Queries, item: int, filter: Filter | None) -> Explanation:
        return self.view.explain(queries, item if self.slots is None else self.slots.of_item(item))

    def _matches(self, queries: Queries, threads: int) -> Int32Array | None:
        if not self.view.finds_matches:
            return None
        return np.sort(self._search(queries, max(1, len(self._items)), None, threads).items)

    def _count_matches(
        self, queries: Queries, filter: Filter | None, up_to: int, threads: int
    ) -> tuple[int, bool] | None:
        if not self.view.finds_matches:
            return None
        allowed = None if filter is None else filter.form(self, self._allowed)
        counted = self.view.count(queries, allowed, up_to)
        return super()._count_matches(queries, filter, up_to, threads) if counted is None else counted

    def _highlighter(self, query: str) -> Highlighter | None:
        return self.view.highlighter(query)

    def _write(self, writer: ArtifactWriter) -> None:
        raise InputError(
            "A member of an engine must be stored by its engine. Use `engine.backup`, or build its recipe."
        )

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        raise InputError("A member of an engine must be opened by its engine. Use `Engine.open`.")

    def _allowed(self, filter: Filter) -> BoolArray:
        if self.slots is None:
            return filter.mask
        if isinstance(filter, LiveFilter) and filter.items is self._items:
            return filter.slot_mask
        allowed = self.slots.flags.copy()
        allowed[allowed] = filter.mask
        return allowed

    def _numbers(self, slots: Int32Array) -> Int32Array:
        if self.slots is None:
            return slots
        return self.slots.items_at(slots)
