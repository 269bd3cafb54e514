"""Page: a slice of one ranked list, with its total, facets, groups and highlights."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from vizsla._internal.lazy import cached_property
from vizsla.base.queries import Queries
from vizsla.base.web_search import is_web, parsed, prepared
from vizsla.core.candidates import Candidates
from vizsla.core.catalog import PageCatalog, details_of
from vizsla.core.hits import Hit, Span, hits_html
from vizsla.core.stages import stage
from vizsla.core.validation import is_iterable
from vizsla.data.columns import TextColumn
from vizsla.data.conditions import declare
from vizsla.data.facets import FacetCounts, count_facet, facets_of, without_field
from vizsla.data.filter import Filter, Where
from vizsla.data.metadata import TEXT_FIELD, ItemMetadata
from vizsla.data.parents import parent_texts
from vizsla.data.values import LIST
from vizsla.errors import InputError, check_positive
from vizsla.text.analyzers import AnyLanguage
from vizsla.text.highlights import TermHighlighter, snippet_of, spans_as_written
from vizsla.text.web_syntax import PREFIX, Clause
from vizsla.typing import Int32Array

if TYPE_CHECKING:
    from vizsla.base.retriever import Retriever

COUNTED_DEPTH = 1000
"""How many of the best are counted where a method does not say what a match is."""
DEPTH_GROWTH = 4
"""How many times longer the next list is, where the last one has too few groups."""
SNIPPET = 200
"""Characters of a snippet."""
TITLE = "title"


@dataclass(slots=True)
class Page:
    """One page of an answer: hits, and counts over everything that was found.

    Attributes
    ----------
    query : str
        The query.
    hits : list of Hit
        The items of this page, best first.
    total : int
        How many items were found in all: those of the list that this page is a slice of.
    total_is_exact : bool
        Whether that is all that match. False where the method finds something for every item, as dense search does,
        and only the best `depth` count; and where more than `count_to` match.
    offset : int
        How many hits, or groups, come before this page.
    facets : dict of str to FacetCounts
        The counts of each facet, over the same items as `total`.
    groups : int, optional
        How many groups there are, where each hit stands for one (`distinct`).
    candidates : Candidates
        The hits as Candidates, with the cost of the answer.
    """

    query: str
    hits: list[Hit]
    total: int
    total_is_exact: bool
    offset: int
    facets: dict[str, FacetCounts]
    groups: int | None
    candidates: Candidates = field(repr=False)

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __getitem__(self, at: int) -> Hit:
        return self.hits[at]

    @property
    def ids(self) -> list[str]:
        """The ids of the hits."""
        return [hit.id for hit in self.hits]

    def to_dict(self, fields: Sequence[str] | None = None) -> dict[str, Any]:
        """Return the page as JSON has it; of the items all metadata and the texts, or the given fields alone."""
        shown: dict[str, Any] = {
            "query": self.query,
            "hits": [hit.to_dict(fields) for hit in self.hits],
            "total": self.total,
            "total_is_exact": self.total_is_exact,
            "offset": self.offset,
            "facets": {name: counts.to_dict() for name, counts in self.facets.items()},
            "ms": self.candidates.stats.ms,
        }
        known = {"groups": self.groups, "hints": list(self.candidates.hints) or None}
        return shown | {name: value for name, value in known.items() if value is not None}

    def _repr_html_(self) -> str:
        """Show the page as a table in a notebook; everything that comes from data is escaped."""
        about = "" if self.total_is_exact else "at least "
        return hits_html(f"{self.query}: {about}{self.total:,} found", self.hits)


class RankedList:
    """The ranked list of a query under a filter. Every page is a slice of it; it is read as far as needed.

    A retriever whose answers are heads of longer ones is asked for as many hits as are needed. Others, such as sums
    that look deeper when they are asked for more, are asked for fixed numbers: what a longer answer adds comes after
    the hits of the shorter one. So the list does not depend on the page that is asked for.

    With a least confidence the list is what is sure enough of the best `depth`.
    """

    def __init__(
        self,
        retriever: Retriever,
        queries: Queries,
        filter: Filter | None,
        depth: int,
        threads: int,
        min_confidence: float | None = None,
    ):
        self._retriever, self._queries, self._filter, self._threads = retriever, queries, filter, threads
        self._depth, self._min_confidence = depth, min_confidence
        self._steady = retriever._steady_depth(filter)
        self._next = max(depth, int(min(self._steady, depth)))
        self._found: Candidates | None = None
        self.is_complete = False
        self.is_exhausted = False  # whether nothing was left out below the list

    def head(self, count: int) -> Candidates:
        """Return at least `count` hits, as many as there are if these are fewer."""
        count = max(1, count)
        if self._found is not None and (self.is_complete or len(self._found.items) >= count):
            return self._found
        if self._min_confidence is not None:
            found = self._search(self._depth)
            self._found, self.is_complete = _sure(found, self._min_confidence), True
            return self._found
        if count <= self._steady:
            self._found = self._search(count)
            return self._found
        if self._steady >= 1 and (self._found is None or len(self._found.items) < self._steady):
            self._found = self._search(int(self._steady))
        while not self.is_complete and (self._found is None or len(self._found.items) < count):
            more = self._search(self._next)
            self._next *= DEPTH_GROWTH
            self._found = more if self._found is None else _appended(self._found, more)
        return self._search(count) if self._found is None else self._found

    def _search(self, count: int) -> Candidates:
        everything = max(1, len(self._retriever.items))
        wanted = min(count, everything)
        found = self._retriever._search_checked(self._queries, wanted, self._filter, self._threads)
        self.is_complete = self.is_exhausted = len(found.items) < count
        return found


def _sure(found: Candidates, least: float) -> Candidates:
    """Return the hits of one query that are sure enough."""
    if found.confidences is None:
        raise InputError(
            "`min_confidence` must be asked of a retriever that knows how sure it is. Got one that does not: see "
            "`with_confidence`."
        )
    return _at(found, np.flatnonzero(found.confidences >= np.float32(least)))


def _appended(first: Candidates, longer: Candidates) -> Candidates:
    """Return the first list, and then what only the longer one holds."""
    new = np.flatnonzero(~np.isin(longer.items, first.items))
    items = np.concatenate([first.items, longer.items[new]])
    scores = None
    if first.scores is not None and longer.scores is not None:
        scores = np.concatenate([first.scores, longer.scores[new]])
    joined = Candidates.unchecked(np.array([0, len(items)]), items, scores, longer.catalog, longer.stats)
    if first.confidences is not None and longer.confidences is not None:
        joined = joined.with_confidences(np.concatenate([first.confidences, longer.confidences[new]]))
    return joined


class PageRequest:
    """Answers one request for a page; see `Retriever.page` for the parameters."""

    def __init__(
        self,
        retriever: Retriever,
        query: str | Queries,
        k: int,
        offset: int,
        where: Where | None,
        depth: int,
        threads: int,
        syntax: str,
        min_confidence: float | None = None,
        count_to: int | None = None,
    ):
        self._start = perf_counter()
        if not isinstance(query, str | Queries):
            raise InputError(f"`query` must be one text. Got {type(query).__name__}.")
        self._retriever, self._queries = retriever, Queries.of(query, rows=1)
        self._items, self._details = retriever.items, details_of(retriever.items)
        self._k = check_positive("k", k)
        if isinstance(offset, bool) or not isinstance(offset, int) or offset < 0:
            raise InputError(f"`offset` must be a whole number from 0 on. Got {offset!r:.40}.")
        self._offset = offset
        self._depth, self._threads = check_positive("depth", depth), check_positive("threads", threads)
        self._shown, self._required = self._queries.texts[0], None
        self._clauses: tuple[Clause, ...] = ()
        if is_web(syntax):
            read = parsed(self._items, self._shown)
            self._clauses = read.required
            words, required = prepared(self._items, read, None)
            self._queries = self._queries.reworded([0], [words])
            self._required = required.mask if isinstance(required, Filter) else None
            if read.only_filters:
                from vizsla.base.allowed_items import answering

                retriever = self._retriever = answering(retriever, read, self._queries, threads)
        self._filter = self._prepared(where)
        self._condition = self._filter.condition if self._filter is not None else None
        self._least = None if min_confidence is None else _checked_share(min_confidence)
        self._up_to = len(self._items) if count_to is None else _checked_count(count_to)
        self._count: tuple[int, bool] | None = None
        self._list = self._ranked(self._queries, self._filter)

    def answer(
        self, facets: Any, sort: Any, distinct: str | None, highlight: Any, snippet_chars: int, parent: str | None
    ) -> Page:
        """Return the page."""
        with stage("page"):
            return self._answer(facets, sort, distinct, highlight, snippet_chars, parent)

    def _answer(
        self, facets: Any, sort: Any, distinct: str | None, highlight: Any, snippet_chars: int, parent: str | None
    ) -> Page:
        check_positive("snippet_chars", snippet_chars)
        chosen, order = facets_of(facets), sort_of(sort)
        groups = None
        if self._least is None and not chosen and not order and distinct is None:  # nothing needs to know which match
            self._count = self._retriever._count_matches(self._queries, self._filter, self._up_to, self._threads)
            self._finds_matches = self._count is not None
        if distinct is not None:
            found, more, groups = self._grouped(self._keys(distinct, "distinct"), order)
        else:
            end = min(self._end(), self._longest())
            found, more = (self._sorted(order) if order else _slice(self._list.head(end), 0, end)), None
        with stage("facets and total"):
            total, exact = self._total()
            counted = {facet.field: count_facet(self._known(), facet, self._counted(facet.field)) for facet in chosen}
        shown = _slice(found, self._offset, self._end())
        hits = list(shown[0])
        if self._details is not None and self._details.grows and hits:
            known = PageCatalog(self._items, shown.items)
            for at, hit in enumerate(hits):
                hit._catalog, hit._number = known, at
        for at, hit in enumerate(hits):
            hit.rank = self._offset + at + 1
            hit.more = None if more is None else int(more[self._offset + at])
        if highlight is not False and highlight is not None and not (isinstance(highlight, str) and not highlight):
            with stage("highlights"):
                self._highlight(hits, highlight, snippet_chars)
        if parent is not None:
            with stage("parents"):
                for hit, text in zip(hits, parent_texts(self._items, shown.items.tolist(), parent), strict=True):
                    hit.parent = text
        shown = shown.with_ms((perf_counter() - self._start) * 1e3)
        nothing = self._filter is not None and not self._filter.count
        said = self._filter.hints if self._filter is not None and nothing else shown.hints
        shown = shown.with_hints(said or self._retriever._hints(self._queries))
        return Page(self._shown, hits, total, exact, self._offset, counted, groups, shown)

    @cached_property
    def _matches(self) -> Int32Array | None:
        """The items that match without the filter; None where the method does not say what a match is."""
        return self._retriever._matches(self._queries, self._threads) if self._least is None else None

    @cached_property
    def _finds_matches(self) -> bool:
        """Whether the method says what a match is."""
        return self._matches is not None

    def _ranked(self, queries: Queries, filter: Filter | None) -> RankedList:
        return RankedList(self._retriever, queries, filter, self._depth, self._threads, self._least)

    def _prepared(self, where: Where | None) -> Filter | None:
        """Return a filter, with what the query requires and excludes."""
        filter = Filter.prepared(where, self._items)
        if self._required is None:
            return filter
        mask = self._required if filter is None else self._required & filter.mask
        return Filter(mask, self._items, condition=None if filter is None else filter.condition)

    def _end(self) -> int:
        return self._offset + self._k

    def _longest(self) -> int:
        """Return how long the list is at most: the best `depth`, unless the method says what a match is."""
        return len(self._items) if self._finds_matches else self._depth

    def _members(self, filter: Filter | None, ranked: RankedList) -> tuple[Int32Array, bool]:
        """Return the items that count under a filter, and whether these are all that match."""
        if self._finds_matches and self._matches is not None:
            matches = self._matches if filter is None else self._matches[filter.mask[self._matches]]
            return matches, True
        pool = None
        if self._least is None:
            pool = self._retriever._unscored_best(self._queries, self._depth, filter, self._threads)
        if pool is not None:
            return pool, len(pool) < self._depth
        found = ranked.head(self._depth).items
        return found[: self._depth], ranked.is_exhausted and len(found) <= self._depth

    def _total(self) -> tuple[int, bool]:
        if self._count is not None:
            return self._count
        members, exact = self._members(self._filter, self._list)
        return len(members), exact

    def _counted(self, field: str) -> Int32Array:
        """Return the items that a facet counts: those that are found without the conditions on its own field."""
        if self._condition is None:
            return self._members(self._filter, self._list)[0]
        rest = without_field(self._condition, field, self._known())
        if rest is self._condition:
            return self._members(self._filter, self._list)[0]
        filter = self._prepared(rest)
        another = Queries.of(self._queries)  # another call: what a budget was spent on depends on the filter
        return self._members(filter, self._ranked(another, filter))[0]

    def _known(self) -> ItemMetadata:
        if self._details is None:
            raise InputError(
                "Facets, `sort` and `distinct` must be fields of the items. Got items of which only ids are known: "
                "build anew from data with metadata (`meta=`, --meta)."
            )
        return self._details

    def _keys(self, name: str, option: str) -> Callable[[Int32Array], Int32Array]:
        """Return what gives each item a code that ascends with its value of a field; -1 for no value."""
        if not isinstance(name, str):
            raise InputError(f"`{option}` must be a field of the items. Got {name!r:.60}.")
        column = self._known().column(name)
        if column.kind == LIST:
            raise InputError(f"`{option}` must be a field with one value per item. Got {name!r:.60}, of lists.")
        missing = option == "sort"
        if missing and isinstance(column, TextColumn) and column.nearly:
            got = f"{name!r:.60}, texts of which most are of kind {column.nearly}"
            raise InputError(f"`sort` must not be a field of mixed kinds. Got {got}: {declare(name, column.nearly)}.")

        def keys(numbers: Int32Array) -> Int32Array:
            codes = column.same_codes(column.codes.take(numbers))
            return np.where(codes < column.known, codes, np.int32(-1)) if missing else codes

        return keys

    def _sorted(self, order: Sequence[tuple[str, bool]], *, everything: bool = False) -> Candidates:
        """Return the best items by some fields, equal ones by score; at least as many as the page needs."""
        columns = [(self._keys(name, "sort"), descending) for name, descending in order]
        if self._matches is None:
            found = _slice(self._list.head(self._depth), 0, self._depth)
            return _at(found, np.lexsort([np.arange(len(found.items)), *_order(columns, found.items)]))
        members, _ = self._members(self._filter, self._list)
        if self._retriever.scale == "none":  # a match set: equal items stay in the order of the list
            found = self._list.head(len(members))
            return _at(found, np.lexsort([np.arange(len(found.items)), *_order(columns, found.items)]))
        first = _order(columns[:1], members)[0]
        if not everything and self._end() < len(members):  # only these can be on the page
            members = members[first <= np.partition(first, self._end() - 1)[self._end() - 1]]
        pairs = Candidates.from_rows([members], catalog=self._items)
        scored = self._retriever._score_once(self._queries, pairs, self._filter, self._threads)
        places = np.lexsort([members, -scored.scores, *_order(columns, members)])
        bounds = np.array([0, len(members)])
        return Candidates.unchecked(bounds, members[places], scored.scores[places], self._items, scored.stats)

    def _grouped(
        self, keys: Callable[[Int32Array], Int32Array], order: Sequence[tuple[str, bool]]
    ) -> tuple[Candidates, Int32Array, int]:
        """Return the best item of each group, how many more each group has, and the number of groups."""
        wanted = max(self._end(), self._depth if self._matches is None else 0)
        while True:
            found = self._sorted(order, everything=True) if order else self._list.head(wanted)
            firsts = _first_of_groups(keys(found.items))
            if len(firsts) >= self._end() or self._list.is_complete or order:
                break
            wanted = DEPTH_GROWTH * max(wanted, len(found.items))
        if self._matches is None:
            self._depth = max(self._depth, len(found.items))
        members = self._members(self._filter, self._list)[0]
        own, groups = keys(members), keys(found.items[firsts])
        values, counts = np.unique(own[own >= 0], return_counts=True)
        alone = int(np.count_nonzero(own < 0))
        more = np.zeros(len(groups), np.int32)
        if len(values):
            more = np.where(groups >= 0, counts[np.searchsorted(values, groups) % len(values)] - 1, 0).astype(np.int32)
        return _at(found, firsts), more, len(values) + alone

    def _highlight(self, hits: list[Hit], fields: Any, snippet_chars: int) -> None:
        if fields is not True and not isinstance(fields, str) and not is_iterable(fields):
            raise InputError(f"`highlight` must be True, a field or several. Got {type(fields).__name__}.")
        names = [TITLE, TEXT_FIELD] if fields is True else [fields] if isinstance(fields, str) else list(fields)
        if not all(isinstance(name, str) for name in names):
            raise InputError("`highlight` must name fields. Got something else than a text.")
        if self._details is None:
            raise InputError(
                "`highlight` must have texts or fields to look at. Got items of which only ids are known: build with "
                "keep_texts=True (--keep-texts)."
            )
        details = self._known()
        if fields is not True:
            for name in names:
                if name not in details.fields:
                    details.column(name)  # says which there are
        names = [name for name in names if name in details.fields]
        query = self._queries.texts[0]
        spans_of = self._retriever._highlighter(query) or TermHighlighter(AnyLanguage("english"), query)
        for hit in hits:
            values = {name: hit.value(name) for name in names}
            texts = {name: str(value) for name, value in values.items() if value is not None}
            hit.highlights = {name: self._marked(text, spans_of(text)) for name, text in texts.items()}
            if TEXT_FIELD in texts:
                hit.snippet = snippet_of(texts[TEXT_FIELD], hit.highlights[TEXT_FIELD], snippet_chars)

    def _marked(self, text: str, spans: list[Span]) -> list[Span]:
        """Return the spans with those of phrases and required words, whose stop words were asked for."""
        asked = [spans_as_written(text, clause.text) for clause in self._clauses if clause.kind != PREFIX]
        return sorted({*spans, *chain.from_iterable(asked)}) if asked else spans


def _checked_count(given: Any) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or given < 0:
        raise InputError(f"`count_to` must be a whole number from 0 on. Got {given!r:.40}.")
    return min(given, 2**31)


def _checked_share(given: Any) -> float:
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    if not is_number or not 0 <= given <= 1:
        raise InputError(f"`min_confidence` must be between 0 and 1. Got {given!r:.40}.")
    return float(given)


def sort_of(given: Any) -> list[tuple[str, bool]]:
    """Read an order: fields, each of which may end in ":asc" or ":desc"; return them with whether they descend.

    Examples
    --------
    >>> sort_of("price:desc,brand")
    [('price', True), ('brand', False)]
    """
    if given is None:
        return []
    names = [each.strip() for each in given.split(",")] if isinstance(given, str) else given
    if not is_iterable(names):
        raise InputError(f"`sort` must be fields of the items, such as price:desc. Got {given!r:.60}.")
    found = []
    for name in names:
        if not isinstance(name, str) or not name:
            raise InputError(f"`sort` must be fields of the items, such as price:desc. Got {name!r:.60}.")
        head, _, way = name.rpartition(":")
        found.append((head, way == "desc") if head and way in ("asc", "desc") else (name, False))
    return found


def _order(columns: Iterable[tuple[Any, bool]], numbers: Int32Array) -> list[Any]:
    """Return keys for `lexsort`, the most important last; items without a value come last."""
    keys = []
    for code_of, descending in columns:
        codes = code_of(numbers).astype(np.int64)
        keys.append(np.where(codes < 0, np.int64(2**40), -codes if descending else codes))
    return keys[::-1]


def _first_of_groups(keys: Int32Array) -> Any:
    """Return the first place of each group, ascending; an item without a value is a group of its own."""
    _, firsts = np.unique(keys, return_index=True)
    firsts = firsts[keys[firsts] >= 0]
    return np.sort(np.concatenate([firsts, np.flatnonzero(keys < 0)]))


def _at(found: Candidates, places: Any) -> Candidates:
    return found._taken(np.array([0, len(places)]), places)


def _slice(found: Candidates, start: int, end: int) -> Candidates:
    if start == 0 and end >= len(found.items) and found.upper_bounds is None:
        return found
    return _at(found, np.arange(len(found.items))[start:end])
