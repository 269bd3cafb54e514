"""Retriever: query texts in, Candidates out; with the operators that combine retrievers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, Self, TypeVar, cast

import numpy as np

from vizsla.artifacts.artifact import Artifact
from vizsla.base.queries import Queries
from vizsla.base.recipe import MOST_SAVED, Recipe, noted
from vizsla.base.scorer import Scorer
from vizsla.core.candidates import Candidates, PairScores, Stats
from vizsla.core.explanation import Explanation
from vizsla.core.strings import Strings
from vizsla.core.validation import validate_args
from vizsla.data.filter import Filter, Where
from vizsla.errors import CompositionError, InputError, RecipeError, check_positive

if TYPE_CHECKING:
    from vizsla.compose import Normalized, Rerank, Scaled, Shards, Sum, TopK, Union
    from vizsla.data.dataset import Dataset

T = TypeVar("T")

DEPTH = 100
"""How many candidates a part contributes unless told otherwise."""


class Composable:
    """Gives a Retriever `>>`, `|`, `+`, `*` and `%`; each has a method form with its own depth."""

    @validate_args
    def rerank(self, scorer: Scorer, *, depth: int = DEPTH) -> Rerank:
        """Find `depth` candidates here and let the scorer score them: `self >> scorer`."""
        from vizsla.compose import Rerank

        return Rerank(self._retriever(), scorer, depth=depth)

    @validate_args
    def union(self, other: Retriever, *, depth: int = DEPTH) -> Union:
        """Join both sides' best `depth` into a match set without scores: `self | other`."""
        from vizsla.compose import Union

        return Union([self._retriever(), other], depth=depth)

    @validate_args
    def plus(self, other: Retriever, *, depth: int = DEPTH) -> Sum:
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
    def normalized(self, how: str = "minmax", *, depth: int = DEPTH) -> Normalized:
        """Bring scores to a common scale, query by query, over the best `depth`: "minmax", "zscore" or "rank"."""
        from vizsla.compose import Normalized

        return Normalized(self._retriever(), how, depth=depth)

    def scaled(self, how: str = "linear", *, slope: float = 1.0, height: float = 1.0) -> Scaled:
        """Bring scores to another scale by one rule for all queries: slope · score, or height · e^(slope · score)."""
        from vizsla.compose import Scaled

        return Scaled(self._retriever(), how, slope=slope, height=height)

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
    """What a learner chose, and why."""

    @property
    def summary(self) -> str:
        """What was chosen and how much better it is, in a sentence."""

    def to_dict(self) -> dict[str, Any]:
        """Return everything that was tried, as JSON has it."""


R = TypeVar("R", bound="Retriever")
_ONE_ROW = np.array((0, 1), np.int64)


class Retriever(Composable, Scorer, Artifact):
    """Finds, scores and explains items for query texts; combines with others by `>>`, `|`, `+`, `*` and `%`.

    A method implements `_search`, `_score` and `_explain` on item numbers; this class checks arguments, translates
    ids, and takes the time.
    """

    generates_candidates: bool = True
    """Whether a sum searches it for candidates, or only lets it score what the other parts find."""
    tracks_clicks: bool = False
    """Whether it takes clicks only to keep in step with parts that learn from them."""

    report: Report | None = None
    """What was chosen on held-out clicks when it was built, and why; None where nothing was chosen."""

    _recipe: Recipe | None = None

    @property
    def recipe(self) -> Recipe:
        """How it was built: kind and settings, from which the same can be built over another dataset.

        One that no function of Vizsla built, such as a FunctionRetriever, raises RecipeError.
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
        known = self._recipe
        return {} if known is None or known.depth > MOST_SAVED else {"recipe": known.to_dict()}

    def _restore(self, parameters: dict[str, Any]) -> None:
        if "recipe" in parameters:
            noted(self, Recipe.stored(parameters["recipe"]))

    @property
    @abstractmethod
    def items(self) -> Strings:
        """Item ids by number."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes that answering needs: arrays that are read and weights of models; without the items' ids and texts."""

    def __call__(
        self, queries: str | Sequence[str] | Queries, k: int = 10, *, where: Where | None = None, threads: int = 1
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
        """
        start = perf_counter()
        asked, items = Queries.of(queries), self.items
        # Usual values are checked here: a single query takes some tens of microseconds, and a call takes one of them.
        most = k if type(k) is int and 0 < k < 2**63 else check_positive("k", k)
        workers = threads if type(threads) is int and 0 < threads < 2**63 else check_positive("threads", threads)
        most = min(most, max(1, items.size))
        filter = None if where is None else Filter.prepared(where, items)
        found = self._search_checked(asked, most, filter, workers)
        timed = found.with_ms((perf_counter() - start) * 1e3)
        return timed if filter is None or filter.count else timed.with_hints(filter.hints)

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
        """How hard a search tries: a beam, items in view, lists probed. None where there is no such dial."""
        return None

    def with_effort(self, effort: int) -> Self:
        """Return the same retriever, sharing all arrays, whose searches try as hard as this."""
        raise InputError(f"`effort` must be left alone: {self!r} has no such dial. Got {effort!r}.")

    @property
    def has_effort(self) -> bool:
        """Whether `with_effort` changes how hard a search tries."""
        return self.effort is not None

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

    def without_items(self, ids: Iterable[str]) -> Retriever:
        """Return the retriever without these items; nothing is trained."""
        raise InputError(f"`ids` must go to a retriever that lets items go. Got {self!r}: build it again.")

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
        """Return it without these items; parts that were changed before, in this call, are in `memo` by their id."""
        return self.without_items(ids)

    def refit_on(self, dataset: Dataset, *, threads: int = 1) -> Retriever:
        """Return what this would be had it learned from this dataset's clicks alone; itself where it learns from none.

        A kind that learns from clicks says here how. It looks better on clicks that it has learned from than it is, so
        whoever weighs it against others, as `fuse` does, needs a twin that has not seen them.
        """
        return self

    def explain(self, query: str | Queries, item: str, *, where: Where | None = None) -> Explanation:
        """Say why the item gets the score it gets for this query, under the filter it was found with.

        Models that scored pairs of the same `Queries` before, in a search, are not called for these again.
        """
        filter = Filter.prepared(where, self.items)
        return self._explain(_one_query(query), self.items.number(item), filter)

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

    def _spend_budget_first(self, queries: Queries, threads: int) -> None:
        """Settle, before a filter is looked at, what the scores of this call depend on: what a budget is spent on.

        Whoever lets this part score what others have found asks for it, or a filter would change scores.
        """

    def _score_one(self, queries: Queries, item: int, filter: Filter | None = None) -> float:
        """Return the score of one item for the one query."""
        return float(self._score_once(queries, self._one(item), filter, 1).scores[0])

    def _one(self, item: int) -> Candidates:
        """Return one item as the candidate of one query."""
        return Candidates.unchecked(_ONE_ROW, np.array([item], np.int32), None, self.items, Stats())

    def _search_checked(self, queries: Queries, k: int, filter: Filter | None, threads: int) -> Candidates:
        """Search as `_search` does, and raise if it did not obey the filter: for whoever asks a part."""
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
