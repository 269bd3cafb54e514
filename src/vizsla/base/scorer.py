"""Scorer: scores given (query, item) pairs, in batches that span queries, each pair once per call."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vizsla.base.contract import enforce_contract
from vizsla.base.queries import Queries
from vizsla.core.candidates import Candidates, PairScores, Stats
from vizsla.core.explanation import Explanation
from vizsla.core.stages import STAGE_TIMER
from vizsla.core.strings import Strings
from vizsla.core.validation import is_iterable
from vizsla.data.filter import Filter, Where
from vizsla.errors import CompositionError, InputError, check_positive
from vizsla.typing import Int32Array

if TYPE_CHECKING:
    from vizsla.base.encoder import Encoder


class ScoreMemo:
    """Scores by pair: ascending keys, row × items + item, and a score for each. Queries of one text share a row."""

    def __init__(self) -> None:
        self.keys: NDArray[np.int64] = np.zeros(0, np.int64)
        self.scores: NDArray[np.float32] = np.zeros(0, np.float32)

    def places(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return where each key stands, -1 where it is not known."""
        if not len(self.keys):
            return np.full(len(keys), -1)
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[at] == keys, at, -1)

    def add(self, keys: NDArray[np.int64], scores: NDArray[np.float32]) -> None:
        """Remember the scores of new keys."""
        joined = np.concatenate([self.keys, keys])
        order = np.argsort(joined, kind="stable")
        self.keys, self.scores = joined[order], np.concatenate([self.scores, scores])[order]


def score_memoized(
    scorer: object, items: Strings, score: Callable[[Candidates], PairScores], queries: Queries, candidates: Candidates
) -> PairScores:
    """Score candidates in their order; pairs that this call has scored before are looked up and cost nothing.

    Parameters
    ----------
    scorer : object
        Whose scores they are: pairs are remembered under it.
    items : Strings
        Its catalog, which the candidates' numbers are of.
    score : callable
        Scores candidates that were not seen before.
    queries : Queries
        The call.
    candidates : Candidates
        A row a query.
    """
    memory = queries.memo((scorer, "pairs")) or queries.memoize((scorer, "pairs"), ScoreMemo())
    rows, width = np.repeat(_first_rows(queries), np.diff(candidates.offsets)), max(1, len(items))
    keys = rows * width + candidates.items
    new, stats = np.unique(keys[memory.places(keys) < 0]), Stats()
    if len(new):
        offsets = np.searchsorted(new, np.arange(len(candidates) + 1) * width).astype(np.int64)
        scored = score(Candidates.unchecked(offsets, (new % width).astype(np.int32), None, items, stats))
        memory.add(new, scored.scores)
        stats = scored.stats
    return PairScores(memory.scores[memory.places(keys)], stats)


def _first_rows(queries: Queries) -> NDArray[np.int64]:
    """Return for each query the first one with its text: a text that is asked twice in one call is paid for once."""
    seen: dict[str, int] = {}
    return np.array([seen.setdefault(text, row) for row, text in enumerate(queries.texts)], np.int64)


class Scorer(ABC):
    """Scores given pairs of query and item: any Retriever, a cross-encoder, or a Python function.

    A kind implements `_score` on item numbers; this class checks arguments, translates ids, ranks, and takes the time.
    """

    scale: str = "unnamed"
    """What the scores mean. Only scores of one scale may be added without normalization."""
    max_score: float = inf
    """No score is above this."""
    model_calls: bool = False
    """Whether scoring a pair calls a model, which is paid for, or is arithmetic."""
    is_composite: bool = False
    """Whether the scores come from other scorers, which make the calls and may make several for a pair."""
    wrapped: Scorer | None = None
    """The scorer that this one wraps, such as a Budget's; None if it wraps none."""
    encoder: Encoder | None = None
    """The encoder of its queries, if it has a single one."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        enforce_contract(cls, "_search", "_score")

    @property
    @abstractmethod
    def items(self) -> Strings:
        """The ids of the items that can be scored."""

    @property
    def nbytes(self) -> int:
        """Bytes needed for scoring, including model weights; 0 for Python functions."""
        return 0

    def children(self) -> Sequence[Scorer]:
        """Return the scorers that this one calls, in order: the parts of a composition, the base of PEFA-XL."""
        return ()

    def _byte_counts(self) -> dict[Any, int]:
        """Return the bytes of each thing that `nbytes` counts, under a key that is the same wherever it is held.

        What several parts of a composition hold, such as an encoder, is there once.
        """
        return {id(self): self.nbytes}

    def filter(self, where: Where, *, unknown: str = "raise") -> Filter:
        """Prepare a `where` once, for use in many calls.

        Parameters
        ----------
        where : mask, collection of ids, or function of an id
            Which items may be found.
        unknown : {"raise", "ignore"}
            What becomes of ids that the catalog does not know: a list of what is in stock is never quite in step.
        """
        return Filter.of(where, self.items, unknown=unknown)

    def score(
        self,
        queries: str | Sequence[str] | Queries,
        candidates: Candidates | Sequence[str] | Sequence[Sequence[str]],
        *,
        where: Where | None = None,
        threads: int = 1,
    ) -> Candidates:
        """Score each query's candidates, whatever their catalog, and rank them.

        The answer keeps the candidates' catalog and query ids; its `stats` are the cost of this scoring alone. An
        item that the scorer does not know raises.

        Parameters
        ----------
        queries : str or sequence of str
            One query, or many.
        candidates : Candidates, sequence of str, or sequence of sequences of str
            A row for each query; or item ids, which are scored for every query; or a list of item ids for each query.
        where : optional
            The filter under which the candidates were found. It matters only to scores that depend on what else was
            found, such as reciprocal ranks.
        threads : int
            How many queries are scored at a time, where that means something.
        """
        start = perf_counter()
        asked = Queries.of(queries)
        given = candidates if isinstance(candidates, Candidates) else self._named(candidates, len(asked))
        asked = Queries.of(asked, rows=len(given))
        prepared = Filter.prepared(where, self.items)
        own = self._align_ids(given)
        scored = self._score(asked, own, prepared, check_positive("threads", threads))
        return given.with_scores(scored).with_ms((perf_counter() - start) * 1e3)

    @abstractmethod
    def _score(self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int) -> PairScores:
        """Score candidates that carry this scorer's own item numbers, in their order."""

    def _score_once(self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int) -> PairScores:
        """Score as `_score` does, but no model sees a pair twice in a call; for compositions.

        Budgets and caches change no score, so pairs are remembered whatever stands around a scorer.
        """
        timer = STAGE_TIMER.get()
        if timer is not None:
            with timer.stage(f"score: {getattr(self, 'label', '') or type(self).__name__}"):
                return self._score_untimed(queries, candidates, filter, threads)
        return self._score_untimed(queries, candidates, filter, threads)

    def _score_untimed(
        self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int
    ) -> PairScores:
        if not self.model_calls or self.is_composite:  # a composite does this for its parts
            return self._score(queries, candidates, filter, threads)
        return score_memoized(
            unwrapped(self), self.items, lambda new: self._score(queries, new, filter, threads), queries, candidates
        )

    def _explain(self, queries: Queries, item: int, filter: Filter | None) -> Explanation:
        """Explain an item's score for the one query; by default with the scorer's name."""
        one = Candidates.unchecked(np.array([0, 1]), np.array([item], np.int32), None, self.items, Stats())
        return Explanation(float(self._score_once(queries, one, filter, 1).scores[0]), f"score by {self}")

    def _afford(self, queries: Queries, pairs: NDArray[np.int64]) -> None:  # noqa: B027 - most have no limit
        """Raise a BudgetError if these pairs, one count per query, exceed a budget.

        Chunked scorers check the budget for the whole call before they send the first chunk.
        """

    def _ignored_cut(self) -> int | None:
        """Return the `k` of an inner cut that scoring would ignore; None if there is none."""
        return None

    def _live_parts(self) -> Iterable[Any]:
        """Return the encoders, scorers and models that it holds, among which a recipe finds its live objects."""
        return ()

    def _given_encoder(self, encoder: Encoder) -> Scorer:
        """Return it with an encoder that could not be loaded; itself if it uses none."""
        return self

    def _inserted(self, wrap: Callable[[Scorer], Scorer]) -> Scorer:
        """Return this scorer with a wrapper around the one that makes the calls."""
        return wrap(self)

    def _named(self, ids: Any, queries: int) -> Candidates:
        """Return the items with these ids as candidates: the same for every query, or a list of ids for each."""
        if not is_iterable(ids) or isinstance(ids, Mapping):
            raise InputError(f"`candidates` must be Candidates or lists of item ids. Got {type(ids).__name__}.")
        rows = list(ids)
        flat = all(isinstance(row, str) for row in rows)
        return Candidates.of_ids([rows] * queries if flat else rows, self.items)

    def _align_ids(self, candidates: Candidates) -> Candidates:
        catalog = candidates.catalog
        if catalog is None:
            return self._checked_numbers(candidates)
        if catalog is self.items or catalog == self.items:
            return candidates
        return candidates.with_catalog(self.items, self._own_numbers(candidates))

    def _checked_numbers(self, candidates: Candidates) -> Candidates:
        """Return candidates that have numbers only, which must be this scorer's."""
        most = int(candidates.items.max(initial=-1))
        if most >= len(self.items):
            raise InputError(f"Every candidate must be an item below {len(self.items)}. Got {most}.")
        return candidates

    def _own_numbers(self, candidates: Candidates) -> Int32Array:
        ids = candidates.catalog.take(candidates.items)  # type: ignore[union-attr]
        numbers = self.items.find_all(ids)
        if (numbers < 0).any():
            unknown = ids[int(np.argmax(numbers < 0))]
            raise InputError(
                f"Every candidate must be an item of {type(self).__name__}. Got {unknown!r}, which it does not know."
            )
        return numbers.astype(np.int32)


def check_uncut(scorer: Scorer) -> None:
    """Raise if a cut is used where nothing is searched: in a scorer.

    Examples
    --------
    >>> from vizsla import bm25
    >>> check_uncut(0.5 * (bm25(["a fig"]) % 5))
    Traceback (most recent call last):
    vizsla.errors.CompositionError: A scorer scores all it is given, so the `% 5` inside of it would be ignored. ...
    """
    k = scorer._ignored_cut()
    if k is not None:
        raise CompositionError(
            f"A scorer scores all it is given, so the `% {k}` inside of it would be ignored. Leave it out, or put it "
            f"around the whole: (a >> b) % {k}."
        )


def unwrapped(scorer: Scorer) -> Scorer:
    """Return the scorer inside budgets and caches, which is also the one that is saved.

    Examples
    --------
    >>> from vizsla import Budget, bm25
    >>> search = bm25(["a fig"])
    >>> unwrapped(Budget(search, calls=10)) is search
    True
    """
    while scorer.wrapped is not None:
        scorer = scorer.wrapped
    return scorer
