"""Retriever: query texts in, Candidates out; with the operators that combine retrievers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from time import perf_counter
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, Self, TypeVar, cast

import numpy as np

from vizsla._internal.terminal import abbreviate
from vizsla.artifacts.artifact import Artifact
from vizsla.base.page import COUNTED_DEPTH as PAGE_DEPTH
from vizsla.base.page import SNIPPET, Page, PageRequest
from vizsla.base.queries import Queries
from vizsla.base.recipe import MAX_SAVED_NESTING, Recipe, noted
from vizsla.base.scorer import Scorer
from vizsla.base.web_search import is_web, parsed, prepared, search_web
from vizsla.core.candidates import Candidates, PairScores, Stats
from vizsla.core.catalog import details_of
from vizsla.core.explanation import Explanation
from vizsla.core.stages import STAGE_TIMER
from vizsla.core.strings import Strings
from vizsla.core.validation import validate_args
from vizsla.data.filter import Filter, Where
from vizsla.errors import CompositionError, InputError, RecipeError, check_positive
from vizsla.text.highlights import Highlighter
from vizsla.text.streams import known_ids
from vizsla.text.web_syntax import PLAIN
from vizsla.typing import Int32Array

if TYPE_CHECKING:
    from vizsla.compose import Normalized, Rerank, Scaled, Shards, Sum, TopK, Union
    from vizsla.compose.confidence import Confident
    from vizsla.data.dataset import Dataset

T = TypeVar("T")

DEFAULT_DEPTH = 100
"""How many candidates a part contributes unless told otherwise."""


class Composable:
    """Gives a Retriever `>>`, `|`, `+`, `*` and `%`; each has a method form with its own depth."""

    @validate_args
    def rerank(self, scorer: Scorer, *, depth: int = DEFAULT_DEPTH) -> Rerank:
        """Find `depth` candidates here and let the scorer score them: `self >> scorer`."""
        from vizsla.compose import Rerank

        return Rerank(self._retriever(), scorer, depth=depth)

    @validate_args
    def union(self, other: Retriever, *, depth: int = DEFAULT_DEPTH) -> Union:
        """Join both sides' best `depth` into a match set without scores: `self | other`."""
        from vizsla.compose import Union

        return Union([self._retriever(), other], depth=depth)

    @validate_args
    def plus(self, other: Retriever, *, depth: int = DEFAULT_DEPTH) -> Sum:
        """Add both sides' scores over their best `depth`: `self + other`."""
        from vizsla.compose import Sum

        return Sum([(1.0, self._retriever()), (1.0, other)], depth=depth)

    def shards(self, *others: Retriever) -> Shards:
        """Search this and others, over disjoint parts of a catalog, as one: `vizsla.shards([self, *others])`."""
        from vizsla.compose import Shards

        return Shards([self._retriever(), *others])

    @validate_args
    def times(self, weight: float) -> Sum:
        """Multiply the scores: `weight * self`."""
        from vizsla.compose import Sum

        return Sum([(float(weight), self._retriever())])

    @validate_args
    def cut(self, k: int) -> TopK:
        """Keep at most the best `k`: `self % k`."""
        from vizsla.compose import TopK

        return TopK(self._retriever(), k)

    @validate_args
    def normalized(self, how: str = "minmax", *, depth: int = DEFAULT_DEPTH) -> Normalized:
        """Bring scores to a common scale, query by query, over the best `depth`: "minmax", "zscore" or "rank"."""
        from vizsla.compose import Normalized

        return Normalized(self._retriever(), how, depth=depth)

    def scaled(self, how: str = "linear", *, slope: float = 1.0, height: float = 1.0) -> Scaled:
        """Bring scores to another scale by one rule for all queries: slope · score, or height · e^(slope · score)."""
        from vizsla.compose import Scaled

        return Scaled(self._retriever(), how, slope=slope, height=height)

    def with_confidence(
        self, dataset: Dataset, *, min_confidence: float | None = None, seed: int = 0, threads: int = 1
    ) -> Confident:
        """Return the same search whose hits have a `confidence`: the probability that they are clicked.

        It is learned from clicks that are held out, from a hit's score, its margin to the next one, its rank, and the
        agreement of the parts of a composition. It can be compared across queries. Scores and order stay.

        Parameters
        ----------
        dataset : Dataset
            Its clicks.
        min_confidence : float, optional
            Leave out hits that are less likely to be clicked; an answer may then be empty.
        seed : int
            Draws the held-out clicks.
        threads : int
            How many to use.
        """
        from vizsla.compose.confidence import learn_confidence

        return learn_confidence(self._retriever(), dataset, min_confidence=min_confidence, seed=seed, threads=threads)

    def __rshift__(self, scorer: Scorer) -> Rerank:
        return self.rerank(_operand(scorer, Scorer, ">>"))

    def __or__(self, other: Retriever) -> Union:
        return self.union(_operand(other, Composable, "|"))

    def __add__(self, other: Retriever) -> Sum:
        return self.plus(_operand(other, Composable, "+"))

    def __radd__(self, other: object) -> NoReturn:
        raise CompositionError(
            f"`+` must stand between Retrievers. Got {type(other).__name__}. `sum([a, b])` begins at 0: write `a + b`, "
            "or `functools.reduce(operator.add, parts)`."
        )

    def __mul__(self, weight: float) -> Sum:
        return self.times(_operand(weight, (int, float), "*"))

    __rmul__ = __mul__

    def __mod__(self, k: int) -> TopK:
        return self.cut(_operand(k, int, "%"))

    def _retriever(self) -> Retriever:
        return cast("Retriever", self)


def _operand(value: T, expected: type | tuple[type, ...], operator: str) -> T:
    if not isinstance(value, expected):
        name = expected.__name__.replace("Composable", "Retriever") if isinstance(expected, type) else "number"
        raise CompositionError(f"`{operator}` must be followed by a {name}. Got {type(value).__name__}.")
    return value


class Report(Protocol):
    """The selected settings of a learner, and the reason."""

    @property
    def summary(self) -> str:
        """What was chosen and how much better it is, in a sentence."""

    def to_dict(self) -> dict[str, Any]:
        """Return everything that was tried, as JSON has it."""


@dataclass(frozen=True)
class SavedReport:
    """The report of a learner that was loaded: the summary and the numbers of the original.

    Parameters
    ----------
    summary : str
        The selection and its gain, in a sentence.
    values : mapping
        Everything that was tried, without the seconds it took: the same training saves the same bytes.

    Examples
    --------
    >>> SavedReport("k1 0.9: the best of 2 trials.", {"trials": [{"k1": 0.9}, {"k1": 1.2}]}).to_dict()
    {'trials': [{'k1': 0.9}, {'k1': 1.2}]}
    """

    summary: str
    values: Mapping[str, Any]

    @classmethod
    def of(cls, report: Report) -> Self:
        """Take what an artifact holds of a report."""
        return cls(
            report.summary, {name: each for name, each in _finite(report.to_dict()).items() if name != "seconds"}
        )

    @classmethod
    def read(cls, stored: Any) -> Self:
        """Read what an artifact holds; anything else raises."""
        if not isinstance(stored, dict) or not isinstance(stored.get("summary"), str):
            raise InputError(f"`report` must have a summary and values. Got {abbreviate(repr(stored))}.")
        if not isinstance(stored.get("values"), dict):
            raise InputError(f"`report` must have values by name. Got {abbreviate(repr(stored))}.")
        return cls(stored["summary"], stored["values"])

    def to_dict(self) -> dict[str, Any]:
        """Return everything that was tried."""
        return dict(self.values)


def _finite(value: Any) -> Any:
    """Return the value with None for numbers that JSON does not have."""
    if isinstance(value, Mapping):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not isfinite(value) else value


R = TypeVar("R", bound="Retriever")
_ONE_ROW = np.array((0, 1), np.int64)


class Retriever(Composable, Scorer, Artifact):
    """Finds, scores and explains items for query texts; combines with others by `>>`, `|`, `+`, `*` and `%`.

    A method implements `_search`, `_score` and `_explain` on item numbers; this class checks arguments, converts
    ids, and measures the time.
    """

    generates_candidates: bool = True
    """Whether a sum searches it for candidates, or only lets it score what the other parts find."""
    tracks_clicks: bool = False
    """Whether it takes clicks only to stay consistent with parts that learn from them."""

    label: str = ""
    """Its name in compositions, such as the name of an engine's member; its class unless given."""

    member_name: str = ""
    """The name of the engine's member that this is a view of; empty otherwise."""

    report: Report | None = None
    """What was selected on held-out clicks when it was built, and why; None where nothing was selected."""

    _recipe: Recipe | None = None

    def __str__(self) -> str:
        return self.label or repr(self)

    @property
    def recipe(self) -> Recipe:
        """Kind and settings, from which the same retriever can be built over another dataset.

        A retriever that no function of Vizsla built, such as a FunctionRetriever, raises RecipeError.
        """
        known = self._known_recipe
        if known is None:
            raise RecipeError(
                f"{type(self).__name__} must know how it was built to have a recipe. Got one that does not: give a "
                "function from a dataset to a retriever in its place."
            )
        return known

    @property
    def _known_recipe(self) -> Recipe | None:
        return None if self._recipe is None else self._recipe.owned_by(self)

    def _kept(self, other: R, **changes: Any) -> R:
        """Return another retriever with this one's recipe, and with settings that differ."""
        if self._recipe is not None:
            noted(other, self._recipe.but(**changes))
        if other.report is None and self.report is not None:
            other.report = self.report
        return other

    def _noted(self) -> dict[str, Any]:
        known, stored = self._recipe, {}
        if known is not None and known.depth <= MAX_SAVED_NESTING:
            stored["recipe"] = known.to_dict()
        if self.report is not None and self.report is not self._own_report:
            stored["report"] = vars(SavedReport.of(self.report))
        return stored

    @property
    def _own_report(self) -> Report | None:
        """The report that `_write` stores itself; any other one is stored beside the recipe."""
        return None

    def _restore(self, parameters: dict[str, Any]) -> None:
        if "recipe" in parameters:
            noted(self, Recipe.stored(parameters["recipe"]))
        if self.report is None and "report" in parameters:
            self.report = SavedReport.read(parameters["report"])

    def _hints(self, queries: Queries) -> tuple[str, ...]:
        """Return what to tell the user about one query, such as which one was probably meant: what the parts say."""
        parts = [part for part in self.children() if isinstance(part, Retriever)]
        return tuple(dict.fromkeys(hint for part in parts for hint in part._hints(queries)))

    @property
    @abstractmethod
    def items(self) -> Strings:
        """Item ids by number."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes that answering needs: arrays that are read and weights of models; without the items' ids and texts."""

    def __call__(
        self,
        queries: str | Sequence[str] | Queries,
        k: int = 10,
        *,
        where: Where | None = None,
        threads: int = 1,
        syntax: str = PLAIN,
    ) -> Candidates:
        """Return the best `k` items for each query.

        Parameters
        ----------
        queries : str or sequence of str
            One query, or many.
        k : int
            How many items at most.
        where : Filter, Condition, mask, collection of ids, or function of an id, optional
            Only these items are found, and `k` of them whenever `k` of them match. `filter` prepares it for many calls.
        threads : int
            How many queries are answered at a time. The answer does not depend on it.
        syntax : {"plain", "web"}
            How queries are read: as words, or with "phrases", +must, -not, field:word and prefix*, which filter the
            answers of any retriever whose items keep their texts.
        """
        start = perf_counter()
        if syntax is not PLAIN and is_web(syntax):
            return search_web(self, queries, k, where, threads).with_ms((perf_counter() - start) * 1e3)
        asked, items = Queries.of(queries), self.items
        # Usual values are checked here: a single query takes some tens of microseconds, and a call takes one of them.
        most = k if type(k) is int and 0 < k < 2**63 else check_positive("k", k)
        workers = threads if type(threads) is int and 0 < threads < 2**63 else check_positive("threads", threads)
        most = min(most, max(1, items.size))
        filter = None if where is None else Filter.prepared(where, items)
        found = self._search_checked(asked, most, filter, workers)
        timed = found.with_ms((perf_counter() - start) * 1e3)
        return timed if filter is None or filter.count else timed.with_hints(filter.hints)

    def page(
        self,
        query: str | Queries,
        k: int = 10,
        *,
        offset: int = 0,
        where: Where | None = None,
        facets: Any = None,
        sort: Any = None,
        distinct: str | None = None,
        highlight: bool | str | Sequence[str] = False,
        snippet_chars: int = SNIPPET,
        parent: str | None = None,
        depth: int = PAGE_DEPTH,
        threads: int = 1,
        syntax: str = PLAIN,
        min_confidence: float | None = None,
        count_to: int | None = None,
    ) -> Page:
        """Return `k` hits of one query after the first `offset`, with counts over everything that was found.

        Every page is a slice of one list: all items that match, where the method says what a match is, as BM25 does;
        else the best `depth`. `total` and the facets count the items of that list.

        Parameters
        ----------
        query : str
            The query.
        k : int
            How many hits, or groups, at most.
        offset : int
            How many hits, or groups, are left out before them.
        where : Condition, Filter, mask, collection of ids, or function of an id, optional
            Only these items are found.
        facets : sequence of str, or mapping, optional
            Fields to count by value ("brand"), in at most so many round ranges ("price:10"), between edges
            ("price:0|10|20") or in calendar intervals ("released:month"); or a mapping such as
            `{"brand": {"size": 20}, "price": [0, 10, 20]}`. A condition of `where` on the facet's own field is not
            applied to its counts.
        sort : str or sequence of str, optional
            Fields to order by, such as "price" or "price:desc", equal items by score. Items without a value come last.
        distinct : str, optional
            Return the best item of each value of this field, `k` groups whenever the retriever can find so many, with
            `hit.more` further items. An item without a value is a group of its own.
        highlight : bool, str or sequence of str
            Say where the query's words stand in these fields of each hit; True: in title and text. Also makes snippets.
        snippet_chars : int
            How long a snippet is at most, in characters.
        parent : {"section", "document"}, optional
            Give each hit, a passage of a document, the text of its whole section or document as `hit.parent`.
        depth : int
            How many of the best make up the list where the method does not say what a match is.
        threads : int
            How many threads may be used.
        syntax : {"plain", "web"}
            How the query is read, as in a search.
        min_confidence : float, optional
            Leave out hits that are less likely to be clicked, before the page is cut; the list is then made of the best
            `depth`. Needs a retriever `with_confidence`.
        count_to : int, optional
            Where more items match than this, `total` may be a lower bound, which is found sooner. Exact unless given.

        Examples
        --------
        >>> from vizsla import Dataset, bm25
        >>> fruit = [{"id": "f", "text": "a fig", "price": 3}, {"id": "t", "text": "a fig tree", "price": 30}]
        >>> page = bm25(Dataset.of(fruit)).page("fig", k=1, offset=1, facets=["price:10"], sort="price")
        >>> page.ids, page.total, page.facets["price"].values[0]
        (['t'], 2, FacetValue(value=0, count=1, end=5))
        """
        request = PageRequest(self, query, k, offset, where, depth, threads, syntax, min_confidence, count_to)
        return request.answer(facets, sort, distinct, highlight, snippet_chars, parent)

    def similar(self, item: str, k: int = 10, *, where: Where | None = None, threads: int = 1) -> Candidates:
        """Return the items that are most like an item, without itself.

        The item is the query: by its row where the retriever has one per item, such as a vector; else by its text,
        where texts were kept. Compositions ask each part so.

        Parameters
        ----------
        item : str
            The id of an item.
        k : int
            How many items at most.
        where : Filter, Condition, mask, collection of ids, or function of an id, optional
            Only these items are found.
        threads : int
            How many threads may be used.

        Examples
        --------
        >>> from vizsla import bm25
        >>> bm25({"a": "a fig tree", "b": "an apple tree", "c": "one plum"}).similar("a").ids
        [['b']]
        """
        start, number = perf_counter(), self.items.number(item)
        details = details_of(self.items)
        text = None if details is None else details.text(number)
        queries = Queries([text or ""])
        if not self._ask_for(queries, item, text):
            raise InputError(
                f"`similar` must be asked of a retriever with a row per item, or whose items keep their texts "
                f"(`keep_texts=True`). Got {self!r}."
            )
        filter = None if where is None else Filter.prepared(where, self.items)
        most = min(check_positive("k", k), len(self.items))
        found = self._search_checked(queries, most + 1, filter, check_positive("threads", threads))
        others = np.flatnonzero(found.items != number)[:most]
        return found._taken(np.array([0, len(others)]), others).with_ms((perf_counter() - start) * 1e3)

    def _ask_for(self, queries: Queries, item: str, text: str | None) -> bool:
        """Let the one query stand for an item, and return whether it can; `text` is the item's, where it is known."""
        return text is not None

    def exact(
        self, queries: str | Sequence[str] | Queries, k: int = 10, *, where: Where | None = None, threads: int = 1
    ) -> Candidates:
        """Return the best `k` items after scoring every item: the exact twin of a search, and as slow as it sounds.

        Items that a search would not find at all, such as those that share no word with the query, are scored too.
        """
        start = perf_counter()
        asked = Queries.of(queries)
        filter = Filter.prepared(where, self.items)
        numbers = np.arange(len(self.items), dtype=np.int32) if filter is None else filter.numbers
        everything = Candidates.from_rows([numbers] * len(asked), catalog=self.items)
        scored = self._score_all(asked, everything, filter, check_positive("threads", threads))
        best, certain = everything.with_scores(scored, k=check_positive("k", k)), not scored.stats.estimated
        return best.with_stats(scored.stats.with_exact(certain)).with_ms((perf_counter() - start) * 1e3)

    @property
    def effort(self) -> int | None:
        """The effort of a search: beam, `ef` or probes. None for a search without such a setting."""
        return None

    def with_effort(self, effort: int) -> Self:
        """Return the same retriever, sharing all arrays, with another effort."""
        raise InputError(f"`effort` must be left out: {self!r} has no such setting. Got {effort!r}.")

    @property
    def has_effort(self) -> bool:
        """Whether `with_effort` changes the search."""
        return self.effort is not None

    def with_budget(self, budget: int) -> Self:
        """Return the same search with another number of scored pairs per query."""
        raise InputError(f"`budget` must be given to a budgeted search. Got {self!r}, which has none.")

    @property
    def takes_budget(self) -> bool:
        """Whether `with_budget` limits how many pairs a query may score."""
        return type(self).with_budget is not Retriever.with_budget

    @property
    def takes_items(self) -> bool:
        """Whether items can be added by `with_items` and removed by `without_items`, without training."""
        return type(self).with_items is not Retriever.with_items

    @property
    def _says_why_not(self) -> bool:
        """Whether its own `with_items` raises an error that names the part or the index that takes none."""
        return type(self).with_items is not Retriever.with_items

    @property
    def takes_clicks(self) -> bool:
        """Whether it learns from clicks that are added later by `with_clicks`."""
        return type(self).with_clicks is not Retriever.with_clicks and not self.tracks_clicks

    @property
    def forgets_clicks(self) -> bool:
        """Whether clicks can be removed again by `without_clicks`."""
        return type(self).without_clicks is not Retriever.without_clicks

    @property
    def _misses_clicks(self) -> bool:
        """Whether it has learned from clicks and takes none that come later."""
        learns = type(self).refit_on is not Retriever.refit_on
        return learns and type(self).with_clicks is Retriever.with_clicks

    def with_items(self, items: Any) -> Retriever:
        """Return the retriever over more items, whose ids must be new; nothing is trained."""
        raise InputError(f"`items` must go to a retriever that takes new items. Got {self!r}: build it again.")

    def without_items(self, ids: Iterable[str], *, unknown: str = "raise") -> Self:
        """Return the retriever without these items; nothing is trained.

        Parameters
        ----------
        ids : iterable of str
            The items to forget; one item must be left.
        unknown : {"raise", "ignore"}
            What to do with an id that is not there.

        Examples
        --------
        >>> from vizsla import tokens
        >>> search = tokens({"a": "a fig", "b": "a pear"})
        >>> search.without_items(["a", "c"], unknown="ignore").items[:]
        ['b']
        """
        if not self._says_why_not:
            raise InputError(f"`ids` must go to a retriever that lets items go. Got {self!r}: build it again.")
        gone = known_ids(self.items, ids, unknown=unknown)
        return cast(Self, self._without_items(gone, {})) if gone else self

    def with_clicks(self, clicks: Any) -> Retriever:
        """Return the retriever with more clicks."""
        raise InputError(f"`clicks` must go to a retriever that takes them later. Got {self!r}: build it again.")

    def without_clicks(self, clicks: Any) -> Retriever:
        """Return the retriever without these clicks."""
        raise InputError(f"`clicks` must go to a retriever that forgets them. Got {self!r}: build it again.")

    def _with_items(self, items: Any, memo: dict[int, Retriever]) -> Retriever:
        """Return it over more items; parts that were changed before, in this call, are in `memo` by their id."""
        return self.with_items(items)

    def _without_items(self, ids: list[str], memo: dict[int, Retriever]) -> Retriever:
        """Return it without these known items; parts that were changed before, in this call, are in `memo`."""
        raise NotImplementedError

    def refit_on(self, dataset: Dataset, *, threads: int = 1) -> Retriever:
        """Return the retriever as if it had learned from this dataset's clicks only; itself if it learns from none.

        A kind that learns from clicks says here how. It looks better on clicks that it has learned from than it is, so
        weighing it against others, as `fuse` does, needs a twin that has not seen them.
        """
        return self

    def explain(
        self, query: str | Queries, item: str, *, where: Where | None = None, syntax: str = PLAIN
    ) -> Explanation:
        """Say why the item gets the score it gets for this query, under the filter it was found with.

        Models that scored pairs of the same `Queries` before, in a search, are not called for these again.
        """
        asked = _one_query(query)
        if syntax is not PLAIN and is_web(syntax):
            words, where = prepared(self.items, parsed(self.items, asked.texts[0]), where)
            asked = asked.reworded([0], [words])
        return self._explain(asked, self.items.number(item), Filter.prepared(where, self.items))

    @abstractmethod
    def _search(self, queries: Queries, k: int, filter: Filter | None, threads: int) -> Candidates:
        """Answer with this retriever's own item numbers and catalog."""

    @abstractmethod
    def _score(self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int) -> PairScores:
        """Score candidates that carry this retriever's own item numbers, in their order."""

    @abstractmethod
    def _explain(self, queries: Queries, item: int, filter: Filter | None) -> Explanation:
        """Explain the score of one item number for the one query."""

    def _score_all(self, queries: Queries, everything: Candidates, filter: Filter | None, threads: int) -> PairScores:
        """Score all items that are allowed, for `exact`."""
        return self._score(queries, everything, filter, threads)

    def _matches(self, queries: Queries, threads: int) -> Int32Array | None:
        """Return the numbers, ascending, of all items that a search for the one query can find, without a filter.

        None where the method does not say what a match is, because every item has some score.
        """
        return None

    def _count_matches(
        self, queries: Queries, filter: Filter | None, up_to: int, threads: int
    ) -> tuple[int, bool] | None:
        """Return how many of the matches are allowed, and whether that is all; a count above `up_to` need not be.

        None where the method does not say what a match is.
        """
        matches = self._matches(queries, threads)
        if matches is None:
            return None
        return len(matches) if filter is None else int(np.count_nonzero(filter.mask[matches])), True

    def _unscored_best(self, queries: Queries, depth: int, filter: Filter | None, threads: int) -> Int32Array | None:
        """Return the items that its best `depth` are, where they can be found without scoring them; else None."""
        return None

    def _steady_depth(self, filter: Filter | None) -> float:
        """Return how long an answer may be so that every shorter one is its head."""
        return inf

    def _highlighter(self, query: str) -> Highlighter | None:
        """Return what finds the words of a query in a text; None where it knows no words."""
        return None

    def _spend_budget_first(self, queries: Queries, threads: int) -> None:
        """Settle, before a filter is looked at, what the scores of this call depend on: what a budget is spent on.

        Call this before scoring candidates that other parts found; otherwise a filter would change the scores.
        """

    def _score_one(self, queries: Queries, item: int, filter: Filter | None = None) -> float:
        """Return the score of one item for the one query."""
        return float(self._score_once(queries, self._one(item), filter, 1).scores[0])

    def _one(self, item: int) -> Candidates:
        """Return one item as the candidate of one query."""
        return Candidates.unchecked(_ONE_ROW, np.array([item], np.int32), None, self.items, Stats())

    def _search_checked(self, queries: Queries, k: int, filter: Filter | None, threads: int) -> Candidates:
        """Search as `_search` does, and raise if it did not obey the filter; for compositions."""
        timer = STAGE_TIMER.get()
        if timer is None:
            found = self._search(queries, k, filter, threads)
        else:
            with timer.stage(f"search: {self.label or getattr(type(self), 'kind', '') or type(self).__name__}"):
                found = self._search(queries, k, filter, threads)
        if filter is not None:
            self._check_allowed(found, filter)
        return found

    def _check_allowed(self, found: Candidates, filter: Filter) -> None:
        if not filter.mask[found.items].all():
            forbidden = self.items[int(found.items[np.argmin(filter.mask[found.items])])]
            raise CompositionError(
                f"{type(self).__name__} must find only what `where` allows. Got {forbidden!r}: its `_search` must obey "
                "`filter`."
            )


def _one_query(query: str | Queries) -> Queries:
    if not isinstance(query, str | Queries):
        raise InputError(f"`query` must be a text. Got {type(query).__name__}.")
    asked = Queries.of(query)
    if len(asked) != 1:
        raise InputError(f"`query` must be one. Got {len(asked)}.")
    return asked
