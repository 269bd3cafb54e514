"""What all compositions share: parts, one catalog, and how they are saved."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from vizsla._internal.lazy import cached_property
from vizsla._internal.terminal import abbreviate
from vizsla.artifacts.artifact import Artifact
from vizsla.base.encoder import Encoder
from vizsla.base.queries import Queries
from vizsla.base.recipe import Binding, Recipe, builds, fingerprint_of
from vizsla.base.retriever import Retriever
from vizsla.base.scorer import Scorer, unwrapped
from vizsla.compose.id_alignment import ReindexedPart, align
from vizsla.compose.updates import (
    Memo,
    add_items,
    changed_parts,
    misses_clicks,
    readable_twice,
    remove_items,
    takes_clicks,
)
from vizsla.core.candidates import Candidates
from vizsla.core.strings import Strings
from vizsla.data.filter import Filter
from vizsla.data.metadata_join import described
from vizsla.encoders.persistence import check_wanted, given_encoder
from vizsla.errors import CompositionError, FormatError, InputError, MissingExtraError, VizslaError
from vizsla.text.highlights import Highlighter
from vizsla.typing import Int32Array

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter
    from vizsla.data.dataset import Dataset

MAX_NESTING = 50
"""How many compositions may lie inside each other: each one more is a few more calls inside calls."""


MAX_SIZE = 10_000
"""How many parts a composition may have, written out: one that is used twice works twice, and `a | a` doubles it."""


def check_nesting(parts: Sequence[Any]) -> None:
    """Raise unless a composition can be made of these parts."""
    if any(_nesting(part) >= MAX_NESTING for part in parts):
        deep = f"nested at most {MAX_NESTING} deep"
        raise CompositionError(f"Compositions must be {deep}. Got one more: use fewer steps.")
    size = sum(map(_size, parts))
    if size > MAX_SIZE:
        raise CompositionError(f"Compositions must have at most {MAX_SIZE:,} parts, written out. Got {size:,}.")


def _nesting(part: Any) -> int:
    nesting: int = getattr(unwrapped(part), "nesting", 0)
    return nesting


def _size(part: Any) -> int:
    inner = unwrapped(part)
    return inner.size if isinstance(inner, Composition) else 1


def bracketed(part: Any) -> str:
    """Return how a part is written beside a symbol or before a dot, so that it is read back as it is meant."""
    inner = unwrapped(part)
    return f"({part})" if isinstance(inner, Composition) and inner.needs_parentheses else str(part)


class Composition(Retriever):
    """A retriever made of others.

    Saved, it is a folder that holds its parts as artifacts of their own, so that it can be moved as one thing.
    """

    kind = "composition"
    operation: ClassVar[str]
    operations: ClassVar[dict[str, type[Composition]]] = {}
    is_composite = True
    needs_parentheses: ClassVar[bool] = False
    """Whether it is written as parts around a symbol, without brackets of its own."""

    def __init__(self, parts: Sequence[Retriever]):
        for part in parts:
            if not isinstance(part, Retriever):
                raise CompositionError(f"A part must be a Retriever. Got {type(part).__name__}.")
        check_nesting(parts)
        self.parts = [part._retriever() for part in parts]  # a live engine as it is now
        self._aligned: list[ReindexedPart[Retriever]] = align(self.parts)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        other = cls.operations.get(cls.operation, cls)
        if (other.__module__, other.__qualname__) != (cls.__module__, cls.__qualname__):
            raise InputError(f"`operation` must be new. Got {cls.operation!r}, which {other.__name__} has.")
        cls.operations[cls.operation] = cls

    @cached_property
    def nesting(self) -> int:
        """How many compositions lie inside each other, this one included."""
        return 1 + max(map(_nesting, self.children()))

    @cached_property
    def size(self) -> int:
        """How many parts there are in all, each as often as it is used."""
        return sum(map(_size, self.children()))

    @property
    def items(self) -> Strings:
        """The ids of all items that any part knows, with the metadata and texts that any part or scorer has of them."""
        return self._all_items

    @cached_property
    def _all_items(self) -> Strings:
        return described(self._aligned[0].merged, [part.items for part in self.children()])

    @property
    def nbytes(self) -> int:
        """Bytes of all parts, whatever they share counted once."""
        return sum(self._byte_counts().values())

    def _byte_counts(self) -> dict[Any, int]:
        return {key: size for part in self.children() for key, size in part._byte_counts().items()}

    def __repr__(self) -> str:
        return abbreviate(f"{type(self).__name__}({self}", ")")

    @property
    def effort(self) -> int | None:
        """The effort of the parts that have one, if it is the same in all of them; else None."""
        efforts = {part.effort for part in self.parts} - {None}
        return efforts.pop() if len(efforts) == 1 else None

    def with_effort(self, effort: int) -> Self:
        """Return the composition whose parts search as hard as this: those that have an effort, which must be alike."""
        if self.effort is None:
            raise InputError(
                f"`effort` must be that of parts with one and the same. Got {effort!r} for {self!r}: no part has an "
                "effort, or theirs differ. Change the parts before you join them."
            )
        changed = {id(part): part.with_effort(effort) for part in self.parts if part.effort is not None}
        return self._rebuild([changed.get(id(part), part) for part in self.children()], self._options())

    def with_encoder(self, encoder: Encoder) -> Self:
        """Give the encoder that a load could not bring back to every part that was built with it.

        An encoder that no part was built with raises.
        """
        check_wanted(self, encoder)
        scorers = self.children()
        given = {id(part): given_encoder(part, encoder) for part in scorers}
        return self._rebuild([given[id(part)] for part in scorers], self._options())

    def _given_encoder(self, encoder: Encoder) -> Self:
        return self.with_encoder(encoder)

    @property
    def takes_items(self) -> bool:
        """Whether every part takes items."""
        return all(isinstance(part, Retriever) and part.takes_items for part in self.children())

    @property
    def takes_clicks(self) -> bool:
        """Whether a part learns from clicks that are added later."""
        return any(map(takes_clicks, self.children()))

    @property
    def forgets_clicks(self) -> bool:
        """Whether every part that takes clicks forgets them again."""
        takers = [part for part in self.children() if isinstance(part, Retriever) and part.takes_clicks]
        return bool(takers) and all(part.forgets_clicks for part in takers)

    @property
    def _misses_clicks(self) -> bool:
        return any(map(misses_clicks, self.children()))

    def with_clicks(self, clicks: Any) -> Self:
        """Return the composition with more clicks in every part that takes them, such as PEFA; none at all raises."""
        return self._rebuild(changed_parts(self.children(), clicks, added=True), self._options())

    def without_clicks(self, clicks: Any) -> Self:
        """Take clicks away again, from the same parts."""
        return self._rebuild(changed_parts(self.children(), clicks, added=False), self._options())

    def with_items(self, items: Mapping[str, str] | Iterable[Any]) -> Self:
        """Return the composition over more items, whose ids must be new, if every part takes them; nothing is trained.

        Examples
        --------
        >>> from vizsla import tfidf, tokens
        >>> one = {"a": "a fig tree"}
        >>> both = tfidf(one).normalized() + tokens(one).normalized()
        >>> both.with_items({"b": "an apple tree"})("apple", 1).ids
        [['b']]
        """
        return self._with_items(readable_twice(items), {})

    def refit_on(self, dataset: Dataset, *, threads: int = 1) -> Self:
        """Return the composition of its parts as if they had learned from this dataset's clicks alone."""
        distinct = {id(part): part for part in self.children()}
        done = {
            at: part.refit_on(dataset, threads=threads) if isinstance(part, Retriever) else part
            for at, part in distinct.items()
        }
        if all(done[at] is part for at, part in distinct.items()):
            return self
        return self._rebuild([done[id(part)] for part in self.children()], self._options())

    def _with_items(self, items: Any, memo: Memo) -> Self:
        return self._rebuild([add_items(part, items, memo) for part in self.children()], self._options())

    def _without_items(self, ids: list[str], memo: Memo) -> Self:
        return self._rebuild([remove_items(part, ids, memo) for part in self.children()], self._options())

    @property
    def _known_recipe(self) -> Recipe | None:
        parts = part_recipes(self.children())
        if parts is None:
            return None
        return Recipe("composition", {"operation": self.operation, "parts": parts, **self._options()}).owned_by(self)

    @abstractmethod
    def _options(self) -> dict[str, Any]:
        """Return the parameters besides the parts, as JSON values."""

    @classmethod
    @abstractmethod
    def _rebuild(cls, parts: list[Any], options: dict[str, Any]) -> Self:
        """Build from loaded parts and the options that `_options` returned."""

    @classmethod
    def _reads(cls, other: type[Artifact]) -> bool:
        return other in cls.operations.values()

    def children(self) -> list[Scorer]:
        """Return the parts, and the scorer of a reranking."""
        return list(self.parts)

    def _live_parts(self) -> list[Any]:
        return [unwrapped(part) for part in self.children()]

    def _search_checked(self, queries: Queries, k: int, filter: Filter | None, threads: int) -> Candidates:
        """Search, and let the answer name what all parts know of its items, not only the part that found them."""
        found = super()._search_checked(queries, k, filter, threads)
        if len(queries) == 1 and not found.hints and (hints := self._hints(queries)):
            found = found.with_hints(hints)
        return found if found.catalog is self.items else found.with_catalog(self.items)

    def _matches(self, queries: Queries, threads: int) -> Int32Array | None:
        return self._united_matches(self._aligned, queries, threads)

    @staticmethod
    def _united_matches(parts: Sequence[Any], queries: Queries, threads: int) -> Int32Array | None:
        """Return what any of the aligned parts matches; None where one of them does not say."""
        found: list[Int32Array] = []
        for part in parts:
            matches = part.matches(queries, threads)
            if matches is None:
                return None
            found.append(matches)
        return found[0] if len(found) == 1 else np.unique(np.concatenate(found))

    def _steady_depth(self, filter: Filter | None) -> float:
        """Return its own depth: up to that, parts are asked for the same lists; else what the parts say."""
        own: int | None = getattr(self, "depth", None)
        if own is not None:
            return own
        return min(side.part._steady_depth(side.own_filter(filter)) for side in self._aligned)

    def _ask_for(self, queries: Queries, item: str, text: str | None) -> bool:
        asked = [part._ask_for(queries, item, text) for part in self.children() if isinstance(part, Retriever)]
        return (text is not None or len(asked) == len(self.children())) and all(asked)

    def _highlighter(self, query: str) -> Highlighter | None:
        found = (part._highlighter(query) for part in self.parts)
        return next((highlighter for highlighter in found if highlighter is not None), None)

    def _ignored_cut(self) -> int | None:
        return self._cut_inside

    @cached_property
    def _cut_inside(self) -> int | None:
        """The first part's that has one; looked for once, since a part may stand at very many places."""
        cuts = (part._ignored_cut() for part in self.children())
        return next((k for k in cuts if k is not None), None)

    def _spend_budget_first(self, queries: Queries, threads: int) -> None:
        _spend_budgets_first(self.children(), queries, threads)

    def _spend_before_filter(self, filter: Filter | None, queries: Queries, threads: int) -> None:
        """Settle what a filter could change the scores of otherwise."""
        if filter is not None:
            _spend_budgets_first(self._spending_parts(), queries, threads)

    def _spending_parts(self) -> list[Any]:
        """Return the parts that score what others have found, or are searched with and without the filter."""
        return self.children()

    def _write(self, writer: ArtifactWriter) -> None:
        scorers = [unwrapped(part) for part in self.children()]  # budgets and caches stay outside of artifacts
        writer.parameters(operation=self.operation, parts=len(scorers), options=self._options())
        for number, part in enumerate(scorers):
            if not isinstance(part, Artifact):
                raise CompositionError(
                    f"Every part must be an artifact to be saved. Got {type(part).__name__}, which is code."
                )
            writer.child(f"part{number}", part)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        operation = reader.parameter("operation", str)
        count = reader.parameter("parts", int)
        if operation not in cls.operations or not 1 <= count <= MAX_SIZE:
            raise FormatError(f"{reader.path}: unknown operation {operation!r} with {count} parts.")
        kind: Any = cls.operations[operation]
        try:
            built: Self = kind._rebuild(
                [reader.child(f"part{n}") for n in range(count)], reader.parameter("options", dict)
            )
            return built
        except (FormatError, MissingExtraError):
            raise
        except (VizslaError, LookupError, TypeError, ValueError) as error:
            raise FormatError(f"{reader.path}: the parts do not fit together ({error}).") from error


def part_recipes(parts: Sequence[Any]) -> list[Any] | None:
    """Return the recipes of parts, names of members, and bindings for scorers; None where a part has none of these."""
    found: dict[int, Any] = {}
    for part in map(unwrapped, parts):
        if id(part) not in found:
            known = (part.member_name or part._known_recipe) if isinstance(part, Retriever) else _binding(part)
            if known is None:
                return None
            found[id(part)] = known
    return [found[id(unwrapped(part))] for part in parts]


def _binding(scorer: Any) -> Binding | None:
    mark = fingerprint_of(scorer)
    return None if mark is None else Binding("parts", mark)


@builds("composition", data=None, noted=False)
def build_composition(operation: str, parts: list[Any], **options: Any) -> Composition:
    """Build a composition of these parts; the options are those of its operation."""
    if operation not in Composition.operations:
        raise InputError(f"`operation` must be one of {', '.join(Composition.operations)}. Got {operation!r}.")
    try:
        return Composition.operations[operation]._rebuild(parts, options)
    except KeyError as error:
        raise InputError(f"The recipe of {operation!r} must have the setting {error}. Got none.") from error


def _spend_budgets_first(parts: Sequence[Any], queries: Queries, threads: int) -> None:
    for part in parts:
        if isinstance(part, Retriever):
            part._spend_budget_first(queries, threads)
