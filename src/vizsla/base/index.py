"""Index: an immutable structure over items that answers encoded queries."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Self

from vizsla.artifacts.artifact import Artifact
from vizsla.base.contract import enforce_contract
from vizsla.core.candidates import Candidates, PairScores
from vizsla.data.filter import Filter
from vizsla.errors import InputError
from vizsla.typing import BoolArray, Int32Array

if TYPE_CHECKING:
    from vizsla.base.encoder import Rows
    from vizsla.core.sparse import Matrix

_ANSWERS = ("native_cursor", "search", "scores", "_search", "_scores")


class Index(Artifact):
    """Searches and scores items by number for encoded queries; it has no texts and no string ids."""

    exact: bool = True
    """Whether `search` gives the same answer as scoring every item."""

    posting_bytes: int = 0
    """Bytes read per entry that `native_cursor` counts."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        enforce_contract(cls, "search", "scores")

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of items."""

    @property
    @abstractmethod
    def dim(self) -> int:
        """The width of a query's row."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes that searching and scoring read: the arrays, and forms derived from them.

        A call's working memory does not count, nor what was derived from a filter.
        """

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self):,} items, {self.dim:,} dimensions)"

    @property
    def effort(self) -> int | None:
        """The effort of a search: beam, `ef` or probes. None where every search is exact."""
        return None

    def with_effort(self, effort: int) -> Self:
        """Return the same index, sharing all arrays, with another effort."""
        raise InputError(f"`effort` must be left alone: {type(self).__name__} is exact. Got {effort!r}.")

    @abstractmethod
    def search(
        self, queries: Rows | Matrix, k: int, *, filter: Filter | BoolArray | None = None, threads: int = 1
    ) -> Candidates:
        """Return the best `k` items of every row; with `filter`, only items that it allows."""

    @abstractmethod
    def scores(self, queries: Rows | Matrix, candidates: Candidates, *, threads: int = 1) -> PairScores:
        """Score the given items for every row, in the order in which they are given."""

    def score(self, queries: Rows | Matrix, candidates: Candidates, *, threads: int = 1) -> Candidates:
        """Score the given items for every row, and rank them."""
        return candidates.with_scores(self.scores(queries, candidates, threads=threads))

    def matches(self, queries: Rows | Matrix) -> Int32Array | None:
        """Return the ascending numbers of all items that a search for the row can find; None if any."""
        return None

    def native_cursor(self, queries: Rows | Matrix) -> Any:
        """Return a native object with the queries and this index, for searches without Python calls."""
        raise InputError(f"`index` must be a native part of sums. Got {type(self).__name__}: search it instead.")

    @property
    def has_native_cursor(self) -> bool:
        """Whether native code may search the index directly: no subclass overrides its search or scores."""
        kinds = type(self).__mro__
        places = [next((at for at, kind in enumerate(kinds) if name in vars(kind)), len(kinds)) for name in _ANSWERS]
        return type(self).native_cursor is not Index.native_cursor and places[0] == min(places)

    def _prepared(self, filter: Filter | BoolArray | None) -> Filter | None:
        if filter is None:
            return None
        prepared = filter if isinstance(filter, Filter) else Filter(filter)
        if len(prepared) != len(self):
            raise InputError(f"`filter` must have a flag for each of {len(self)} items. Got {len(prepared)}.")
        return None if prepared.allows_everything else prepared

    def _check_candidates(self, rows: int, candidates: Candidates) -> None:
        if len(candidates) != rows:
            raise InputError(f"`candidates` must have a row for each of {rows} queries. Got {len(candidates)} rows.")
        items: Any = candidates.items
        if len(items) and int(items.max()) >= len(self):
            raise InputError(f"Every candidate must be an item below {len(self)}. Got {int(items.max())}.")
