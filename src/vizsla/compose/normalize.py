"""Bring scores to a common scale, per query or by one rule for all queries."""

from __future__ import annotations

from math import exp, inf
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla.base.index_retriever import IndexRetriever
from vizsla.base.queries import Queries
from vizsla.base.retriever import Retriever
from vizsla.compose.composition import Composition, bracketed
from vizsla.core.candidates import Candidates, PairScores, Stats
from vizsla.core.explanation import Explanation
from vizsla.data.filter import Filter
from vizsla.errors import CompositionError, InputError, check_choice, check_positive
from vizsla.typing import Float32Array


def check_finite(
    queries: Queries, pairs: Candidates, scores: Float32Array, part: object, purpose: str, remedy: str = "clip them"
) -> None:
    """Raise if a score is infinite: an infinite end, mean or spread makes no scale.

    Examples
    --------
    >>> pairs = Candidates.from_dict({"q": {"a": 1.0, "b": 0.0}})
    >>> check_finite(Queries(["fig"]), pairs, np.float32([np.inf, 0]), "mine", "to be weighed")
    Traceback (most recent call last):
    vizsla.errors.InputError: Scores must be finite to be weighed. Got inf for 'a' and 'fig' by mine: clip them.
    """
    if not np.isfinite(scores).all():
        place = int(np.argmin(np.isfinite(scores)))
        got = f"{scores[place]} for {_pair(queries, pairs, place)} by {part}"
        raise InputError(f"Scores must be finite {purpose}. Got {got}: {remedy}.")


def check_addable(queries: Queries, pairs: Candidates, totals: NDArray[np.floating]) -> None:
    """Raise if a sum is no number: infinity less infinity, or 0 times infinity."""
    if np.isnan(totals).any():
        _refuse(_pair(queries, pairs, int(np.argmax(np.isnan(totals)))))


class SeenInfinities:
    """Infinite scores that the parts of a sum gave, to find out whether two of them meet.

    Most sums see none, and then this costs a look at every score.

    Parameters
    ----------
    queries : Queries
        Whose items are scored.
    """

    def __init__(self, queries: Queries):
        self._queries = queries
        self._signs: dict[tuple[int, int], float] = {}

    def look(self, pairs: Candidates, scores: Float32Array, weight: float) -> None:
        """Raise if a score cannot be added to what was seen."""
        infinite = np.flatnonzero(np.isinf(scores))
        if not len(infinite):
            return
        rows = np.searchsorted(pairs.offsets, infinite, side="right") - 1
        for place, row in zip(infinite.tolist(), rows.tolist(), strict=True):
            score = float(scores[place])
            if not weight or self._signs.setdefault((row, int(pairs.items[place])), score) != score:
                _refuse(_pair(self._queries, pairs, place))


def _refuse(what: str) -> None:
    raise InputError(
        f"Scores to add must add up to a number. Got infinite ones of both signs, or with a weight of 0, for {what}: "
        "clip them, or leave out the part with weight 0."
    )


def _pair(queries: Queries, pairs: Candidates, place: int) -> str:
    """Name the item and the query of a pair."""
    row = int(np.searchsorted(pairs.offsets, place, side="right")) - 1
    number = int(pairs.items[place])
    item: object = number if pairs.catalog is None else pairs.catalog[number]
    return f"{item!r} and {queries.texts[row]!r:.100}"


def append_new(first: Candidates, others: Candidates, *, least: int) -> Candidates:
    """Return each row of the first, and then what only the others' row holds, in its order.

    A row of fewer than `least` is not changed, so that a place below that is always one of the first's.

    Examples
    --------
    >>> first, others = Candidates.from_dict({"q": {"a": 1.0}}), Candidates.from_dict({"q": {"b": 2.0, "a": 1.0}})
    >>> append_new(first.with_catalog(others.catalog, np.array([1], np.int32)), others, least=1).ids
    [['a', 'b']]
    """
    rows = [side.row_numbers() for side in (first, others)]
    width = 1 + max(int(side.items.max(initial=-1)) for side in (first, others))
    keys = [row * width + side.items for row, side in zip(rows, (first, others), strict=True)]
    new = ~np.isin(keys[1], keys[0]) & (np.diff(first.offsets) >= least)[rows[1]]
    joined = np.concatenate([rows[0], rows[1][new]])
    order = np.argsort(joined, kind="stable")
    items = np.concatenate([first.items, others.items[new]])[order]
    scores = np.concatenate([first._required_scores(), others._required_scores()[new]])[order]
    offsets = np.searchsorted(joined[order], np.arange(len(first) + 1)).astype(np.int64)
    return Candidates.unchecked(offsets, items, scores, first.catalog, others.stats)


METHODS = ("minmax", "zscore", "rank")


class Normalized(Composition):
    """A part's scores, normalized per query by its best `depth` candidates.

    `minmax` maps the lowest of them to 0 and the highest to 1, `zscore` their mean to 0 and their spread to 1, `rank`
    gives 1 / (60 + rank). An item outside of the list is scored by the part and rescaled alike (it may fall below 0);
    by rank it gets 0. A filter changes no scale: what it leaves keeps scores and order. Only ranks are places in the
    filtered list.
    """

    operation = "normalized"

    def __init__(self, part: Retriever, how: str = "minmax", *, depth: int = 100):
        check_choice("how", how, METHODS)
        super().__init__([part])
        self.how, self.depth, self.scale = how, check_positive("depth", depth), how

    def __str__(self) -> str:
        return f"{bracketed(self.parts[0])}.normalized({self.how!r})"

    def _search(self, queries: Queries, k: int, filter: Filter | None, threads: int) -> Candidates:
        if self.how == "rank":
            return self._by_rank(queries, k, filter, threads)
        if filter is None and self.tells_scale(k):
            return self._scaled(queries, self.parts[0]._search(queries, max(k, self.depth), None, threads), k)
        # A scale is the query's own, whatever may be found and however much is asked for.
        self._spend_before_filter(filter, queries, threads)
        found = self.parts[0]._search_checked(queries, k, filter, threads)
        scored = self._rescaled(queries, found, found._required_scores(), threads)
        return found.with_scores(PairScores(scored.scores, (found.stats + scored.stats).with_exact(found.stats.exact)))

    def _score(self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int) -> PairScores:
        if self.how == "rank":  # places are all that counts
            return self._places(queries, candidates, filter, threads)
        self._spend_before_filter(filter, queries, threads)
        scored = self._aligned[0].score(queries, candidates, filter, threads)
        rescaled = self._rescaled(queries, candidates, scored.scores, threads)
        return PairScores(rescaled.scores, scored.stats + rescaled.stats)

    def _ignored_cut(self) -> int | None:
        return None  # the part is searched for its scale, as far as its cuts let it

    def tells_scale(self, taken: int) -> bool:
        """Whether a list of this length begins with the one that the scale is read from.

        An approximate search that is asked for more looks elsewhere too, and may find better ones.
        """
        return taken <= self.longest

    @property
    def longest(self) -> float:
        """How long a list may be that begins with the one that the scale is read from."""
        part = self.parts[0]
        return inf if isinstance(part, IndexRetriever) and part.index.exact else self.depth

    def _scaled(self, queries: Queries, found: Candidates, k: int) -> Candidates:
        """Return a whole answer on its own scale, which the call remembers."""
        self.check(queries, found, found._required_scores())
        lists = found.offsets, found.items, found._required_scores()
        offsets, items, scores, scales = _native.normalize(*lists, self.how, self.depth, k)
        queries.memoize((self, None), np.frombuffer(scales, np.float64))
        return Candidates.unchecked(
            np.frombuffer(offsets, np.int64),
            np.frombuffer(items, np.int32),
            np.frombuffer(scores, np.float32),
            found.catalog,
            found.stats,
        )

    def _rescaled(self, queries: Queries, candidates: Candidates, scores: Float32Array, threads: int) -> PairScores:
        """Return the scores on the queries' scales; finding these costs a search, unless this call has made it."""
        self.check(queries, candidates, scores)
        scales, stats = self.scales(queries, threads)
        packed: Any = _native.rescale(candidates.offsets, scores, scales)
        return PairScores(np.frombuffer(packed, np.float32), stats)

    def check(self, queries: Queries, pairs: Candidates, scores: Float32Array) -> None:
        """Raise for scores of the part that cannot be brought to its scale."""
        if self.how != "rank":
            remedy = "clip them, or use normalized('rank'), which takes any"
            check_finite(queries, pairs, scores, self.parts[0], f"to be normalized by {self.how!r}", remedy)

    def scales(self, queries: Queries, threads: int) -> tuple[NDArray[np.float64], Stats]:
        """Return two numbers a query, where zero lies and how long one is, and what it cost to find them."""
        known, stats = queries.memo((self, None)), Stats()
        if known is None:
            found = self.parts[0]._search(queries, self.depth, None, threads)
            stats = self._scaled(queries, found, 1).stats
            known = queries.memo((self, None))
        return known, stats

    def _by_rank(self, queries: Queries, k: int, filter: Filter | None, threads: int) -> Candidates:
        found = self.placed_first(queries, k, filter, threads)
        stats = found.stats.with_exact(found.stats.exact and k <= self.depth)  # items without a place are equal
        return found.with_scores(PairScores(self._places(queries, found, filter, threads).scores, stats), k=k)

    def placed_first(self, queries: Queries, taken: int, filter: Filter | None, threads: int) -> Candidates:
        """Return `taken` items: those that have places, in order, and then what else was found."""
        found = self._aligned[0].search(queries, max(taken, self.depth), filter, threads)
        if self.tells_scale(taken):
            return queries.memoize((self, filter), found)
        placed, stats = self._placed(queries, filter, threads)
        return append_new(placed, found, least=self.depth).with_stats((found.stats + stats).with_exact(False))

    def _placed(self, queries: Queries, filter: Filter | None, threads: int) -> tuple[Candidates, Stats]:
        """Return the list that gives places, and what it cost to find it."""
        known = queries.memo((self, filter))
        if known is not None:
            return known, Stats()
        found = self._aligned[0].search(queries, self.depth, filter, threads)
        return queries.memoize((self, filter), found), found.stats

    def _places(self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int) -> PairScores:
        """Return the reciprocal of each candidate's place, which is that in the filtered list."""
        ranked, stats = self._placed(queries, filter, threads)
        lists = ranked.offsets, ranked.items, self.depth
        packed: Any = _native.reciprocal_places(*lists, candidates.offsets, candidates.items)
        return PairScores(np.frombuffer(packed, np.float32), stats)

    def _explain(self, queries: Queries, item: int, filter: Filter | None) -> Explanation:
        self._spend_before_filter(filter, queries, 1)
        raw = self.parts[0]._explain(queries, item, filter)
        score = self._score_one(queries, item, filter)
        return Explanation(score, f"{self.how} over the best {self.depth} of {raw.score:.4f}", [raw])

    def _spending_parts(self) -> list[Any]:
        return [] if self.how == "rank" else self.parts  # places are those of the filtered list

    def _options(self) -> dict[str, Any]:
        return {"how": self.how, "depth": self.depth}

    @classmethod
    def _rebuild(cls, parts: list[Any], options: dict[str, Any]) -> Self:
        return cls(parts[0], options["how"], depth=options["depth"])


RULES = ("linear", "exp")


class Scaled(Composition):
    """A part's scores times `slope` ("linear"), or `height` · e^(slope · score) ("exp").

    Unlike `Normalized` it does not look at what else was found. Where a part is unsure, all its scores are low and stay
    low, and in a sum the others decide. `exp` suits scores that are logarithms, as those of XR-Linear.

    Parameters
    ----------
    part : Retriever
        The retriever to rescale; order and ties are kept.
    how : {"linear", "exp"}
        The rule.
    slope, height : float
        Its numbers, above 0.

    Examples
    --------
    >>> from vizsla.methods.bm25 import bm25
    >>> search = bm25(["a fig", "a pear"])
    >>> Scaled(search, slope=2.0)("fig")[0][0].score == 2 * search("fig")[0][0].score
    True
    """

    operation = "scaled"
    scale = "scaled"

    def __init__(self, part: Retriever, how: str = "linear", *, slope: float = 1.0, height: float = 1.0):
        check_choice("how", how, RULES)
        super().__init__([part])
        self.how, self.slope, self.height = how, _positive(slope), _positive(height)
        if part.scale == "none":
            raise CompositionError("A match set has no scores to rescale. Score it first: (a | b) >> scorer.")

    def __str__(self) -> str:
        numbers = f"slope={self.slope:g}" + (f", height={self.height:g}" if self.how == "exp" else "")
        return f"{bracketed(self.parts[0])}.scaled({self.how!r}, {numbers})"

    @property
    def max_score(self) -> float:  # type: ignore[override]
        """What becomes of the highest score that the part can give."""
        highest = self.parts[0].max_score
        if highest == inf:
            return inf
        return self.height * exp(self.slope * highest) if self.how == "exp" else self.slope * highest

    def _search(self, queries: Queries, k: int, filter: Filter | None, threads: int) -> Candidates:
        found = self.parts[0]._search_checked(queries, k, filter, threads)
        scores = self.rescaled(found._required_scores())
        upper_bounds = None if found.upper_bounds is None else self.rescaled(found.upper_bounds)
        return found.with_scores(PairScores(scores, found.stats)).with_upper_bounds(upper_bounds)

    def _score(self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int) -> PairScores:
        scored = self._aligned[0].score(queries, candidates, filter, threads)
        return PairScores(self.rescaled(scored.scores), scored.stats)

    def rescaled(self, scores: Float32Array) -> Float32Array:
        """Return scores by the rule, computed in float64 and rounded once."""
        sloped = self.slope * scores.astype(np.float64)
        return np.asarray(self.height * np.exp(sloped) if self.how == "exp" else sloped, np.float32)

    def _explain(self, queries: Queries, item: int, filter: Filter | None) -> Explanation:
        raw = self.parts[0]._explain(queries, item, filter)
        score = self._score_one(queries, item, filter)
        reason = f"{self.height:g} × e^({self.slope:g} × {raw.score:.4f})" if self.how == "exp" else ""
        return Explanation(score, reason or f"{self.slope:g} × {raw.score:.4f}", [raw])

    def _options(self) -> dict[str, Any]:
        return {"how": self.how, "slope": self.slope, "height": self.height}

    @classmethod
    def _rebuild(cls, parts: list[Any], options: dict[str, Any]) -> Self:
        return cls(parts[0], options["how"], slope=options["slope"], height=options["height"])


def _positive(value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < inf:
        raise CompositionError(f"A slope or a height must be a number above 0. Got {value!r}.")
    return float(value)
