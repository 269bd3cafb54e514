"""`0.7*a + 0.3*b`: the top k by a weighted sum; scores are computed only where they can matter."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import inf
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla._internal.lazy import cached_property
from vizsla._internal.terminal import abbreviate
from vizsla.base.index_retriever import IndexRetriever
from vizsla.base.queries import Queries
from vizsla.base.retriever import Retriever
from vizsla.compose.composition import Composition, bracketed
from vizsla.compose.id_alignment import ReindexedPart
from vizsla.compose.normalize import Normalized, SeenInfinities, check_addable
from vizsla.core.candidates import Candidates, PairScores, Stats
from vizsla.core.explanation import Explanation
from vizsla.core.strings import Strings
from vizsla.data.filter import Filter
from vizsla.errors import CompositionError, InputError, check_positive
from vizsla.typing import Float32Array, Int32Array

_NO_COST = Stats()


class SumTerm(NamedTuple):
    """A part of a sum, with its normalization taken off: the native sum rescales by itself.

    Parameters
    ----------
    part : ReindexedPart
        The part.
    weight : float
        The weight of its scores.
    normalized : Normalized or None
        How they are rescaled.
    """

    part: ReindexedPart[Retriever]
    weight: float
    normalized: Normalized | None

    @classmethod
    def of(cls, part: Retriever, weight: float, merged: Strings) -> SumTerm:
        """Take a part of a sum apart."""
        # Places of equals follow the part's own numbers, so by rank it must do that itself where numbers differ.
        if isinstance(part, Normalized) and (part.how != "rank" or part.items == merged):
            return cls(ReindexedPart(part.parts[0], merged), weight, part)
        return cls(ReindexedPart(part, merged), weight, None)

    @property
    def how(self) -> str:
        """How scores are rescaled."""
        return "none" if self.normalized is None else self.normalized.how

    def search(self, queries: Queries, taken: int, filter: Filter | None, threads: int) -> Candidates:
        """Find `taken` candidates, and more where the scale is read from a longer list."""
        if self.normalized is None:
            return self.part.search(queries, taken, filter, threads)
        if self.how == "rank":
            return self.normalized.placed_first(queries, taken, filter, threads)
        depth = max(taken, self.normalized.depth) if self._tells_scale(taken, filter) else taken
        return self.part.search(queries, depth, filter, threads)

    @property
    def generates_candidates(self) -> bool:
        """Whether what it finds are candidates."""
        return self.part.part.generates_candidates

    def scales(self, queries: Queries, taken: int, filter: Filter | None, threads: int) -> tuple[Any, Stats]:
        """Return the scales where the list cannot tell them: a filter left only a part of it, or it is too long."""
        if self.normalized is None or self.how == "rank" or self._tells_scale(taken, filter):
            return None, _NO_COST
        return self.normalized.scales(queries, threads)

    @property
    def longest(self) -> float:
        """How long a list may be that tells the part's scale."""
        return inf if self.normalized is None else self.normalized.longest

    def live(self) -> tuple[Any, ...]:
        """Return what the native sum of native indexes takes."""
        depth = 0 if self.normalized is None else self.normalized.depth
        return self.weight, self.how, depth, self.part.maps

    def _tells_scale(self, taken: int, filter: Filter | None) -> bool:
        return filter is None and self.normalized is not None and self.normalized.tells_scale(taken)

    def check(self, queries: Queries, pairs: Candidates, scores: Float32Array, seen: SeenInfinities) -> None:
        """Raise for infinite scores that the sum can make nothing of."""
        if self.normalized is None:
            seen.look(pairs, scores, self.weight)
        else:
            self.normalized.check(queries, pairs, scores)

    def native(self, found: Candidates, scales: Any) -> tuple[Any, ...]:
        """Return what the native sum takes."""
        depth = 0 if self.normalized is None else self.normalized.depth
        # An exact list's last score is the highest outside of it; by rank, that is so of every list.
        known = found.stats.exact or self.how == "rank"
        highest = None
        if not known:
            highest = (
                found.upper_bounds if found.upper_bounds is not None else _every(self.part.part.max_score, len(found))
            )
        lists = found.offsets, found.items, found._required_scores()
        return lists, self.weight, self.how, depth, scales, highest


def weighted_topk(
    terms: Sequence[SumTerm], queries: Queries, k: int, depth: int, filter: Filter | None, threads: int
) -> Candidates:
    """Search every part to `depth`, score missing items that could reach the top, and add up.

    The answer is exact if every part's is and no item outside of all lists can reach the k-th sum.
    """
    taken, seen = max(k, depth), SeenInfinities(queries)
    found = _found(terms, queries, taken, filter, threads)
    for term, side in zip(terms, found, strict=True):
        term.check(queries, side, side._required_scores(), seen)
    stats = reduce(Stats.__add__, [side.stats for side in found])
    exact = stats.exact
    parts = []
    for term, side in zip(terms, found, strict=True):
        scales, cost = term.scales(queries, taken, filter, threads)
        stats = stats + cost if cost is not _NO_COST else stats
        parts.append(term.native(side, scales))
    total = _native.WeightedSum(parts, taken, k)
    while (wanted := total.wanted()) is not None:
        for number, lacking in enumerate(wanted):  # type: ignore[arg-type, var-annotated]
            if lacking is not None:
                part = terms[number].part
                pairs = _matches(lacking, part.merged)
                scored = part.score(queries, pairs, filter, threads)
                terms[number].check(queries, pairs, scored.scores, seen)
                total.fill(number, scored.scores)
                stats = stats + scored.stats
    offsets, items, scores, certain = total.best()
    return Candidates.unchecked(
        np.frombuffer(offsets, np.int64),
        np.frombuffer(items, np.int32),
        np.frombuffer(scores, np.float32),
        terms[0].part.merged,
        stats.with_exact(exact and certain == len(queries)),
    )


def weighted_sum(weights: Sequence[float], columns: Sequence[Float32Array]) -> Float32Array:
    """Add columns in order, in float64, and round once, as the native sum does.

    Examples
    --------
    >>> weighted_sum([0.5, 2.0], [np.float32([1, 2]), np.float32([3, 4])]).tolist()
    [6.5, 9.0]
    """
    total: NDArray[np.float64] = np.zeros(len(columns[0]), np.float64)
    for weight, column in zip(weights, columns, strict=True):
        total += weight * column.astype(np.float64)
    return total.astype(np.float32)


def _found(
    terms: Sequence[SumTerm], queries: Queries, taken: int, filter: Filter | None, threads: int
) -> list[Candidates]:
    """Search the parts; parts that generate no candidates score those of the others."""
    if all(term.generates_candidates for term in terms) or not any(term.generates_candidates for term in terms):
        return [term.search(queries, taken, filter, threads) for term in terms]
    lists = {
        at: term.search(queries, taken, filter, threads) for at, term in enumerate(terms) if term.generates_candidates
    }
    joined = _joined(list(lists.values()))
    return [
        lists[at] if at in lists else _scored(term.part, queries, joined, filter, threads)
        for at, term in enumerate(terms)
    ]


def _joined(lists: Sequence[Candidates]) -> Candidates:
    """Return the items of all lists, row by row; an item of several lists is repeated."""
    offsets = reduce(np.add, [side.offsets for side in lists])
    items = np.concatenate([side.items for side in lists])
    if len(offsets) > 2:
        rows = np.concatenate([side.row_numbers() for side in lists])
        items = items[np.argsort(rows, kind="stable")]
    return Candidates.unchecked(offsets, items, None, lists[0].catalog, _NO_COST)


def _scored(
    part: ReindexedPart[Retriever], queries: Queries, joined: Candidates, filter: Filter | None, threads: int
) -> Candidates:
    scored = part.score(queries, joined, filter, threads)
    # An item in no list may score more than the last one of a list: nothing is certain then.
    stats = scored.stats.with_exact(False)
    return Candidates.unchecked(joined.offsets, joined.items, scored.scores, joined.catalog, stats)


def _every(score: float, rows: int) -> Float32Array:
    return np.full(rows, score, np.float32)


def _matches(lacking: tuple[bytes, bytes], catalog: Strings) -> Candidates:
    offsets, items = lacking
    numbers = np.frombuffer(items, np.int32)
    return Candidates.unchecked(np.frombuffer(offsets, np.int64), numbers, None, catalog, _NO_COST)


class CursorSum:
    """Compute the result of `weighted_topk` in one native call, with the same bits.

    It serves where no part's search is any code of its own but that of a native index, no filter stands, and every
    part's list tells its scale.

    Parameters
    ----------
    terms : sequence of SumTerm
        The parts of the sum.
    """

    def __init__(self, terms: Sequence[SumTerm]):
        self._parts: list[Any] = [term.part.part for term in terms]
        self._merged: Strings = terms[0].part.merged
        self._longest = min(term.longest for term in terms)
        self._sum = _native.CursorSum([term.live() for term in terms])

    @classmethod
    def of(cls, terms: Sequence[SumTerm]) -> Self | None:
        """Return the sum of these parts if it can be made so, else None."""
        parts = [term.part.part for term in terms]
        return cls(terms) if all(isinstance(part, IndexRetriever) and part.is_plain for part in parts) else None

    def serves(self, taken: int) -> bool:
        """Whether lists of this length determine all scales."""
        return taken <= self._longest

    def search(self, queries: Queries, k: int, taken: int, threads: int) -> Candidates:
        """Return the best `k` of what the parts' best `taken` add up to."""
        rows = [part._rows(queries) for part in self._parts]
        try:
            sources = [part.index.native_cursor(own) for part, own in zip(self._parts, rows, strict=True)]
            offsets, items, scores, certain, costs = self._sum.search(sources, taken, k, threads)
        except InputError:
            raise
        except (ValueError, TypeError) as error:
            raise InputError(f"The queries must be sound. Got others: {error}.") from error
        return Candidates.unchecked(
            np.frombuffer(offsets, np.int64),
            np.frombuffer(items, np.int32),
            np.frombuffer(scores, np.float32),
            self._merged,
            self._stats(costs, certain),
        )

    def _stats(self, costs: list[tuple[int, int, bool]], certain: bool) -> Stats:
        read = scored = size = 0
        for part, (entries, pairs, exact) in zip(self._parts, costs, strict=True):
            read, scored, size = read + entries, scored + pairs, size + entries * part.index.posting_bytes
            certain = certain and exact
        return Stats(0.0, scored, 0, read, size, certain)


Weighted = tuple[float, Retriever]

MAX_TOTAL_WEIGHT = 1e30
"""All weights of a sum together: scores of up to 10^8 still fit into float32 then, where infinite ones would tie."""


class Sum(Composition):
    """A weighted sum over the union of the parts' best `depth`.

    An item that one part did not find is scored by that part, never counted as 0: absent is not zero. Only items are
    left unscored that cannot be among the best `k` whatever the part would say. Scores of unlike scales are refused;
    bring them to one scale with `.normalized(...)`.
    """

    operation = "sum"

    def __init__(self, terms: Sequence[Weighted], *, depth: int = 100):
        flat = [pair for term in terms for pair in _flattened(term, depth)]
        super().__init__([part for _, part in flat])
        self.weights = [_checked_weight(weight) for weight, _ in flat]
        self.total_weight = _checked_total(self.weights, self.parts)
        self.depth = check_positive("depth", depth)
        self.scale = _common_scale(self.parts)
        self._check_catalogs()

    @cached_property
    def _terms(self) -> list[SumTerm]:
        """What is searched; made when it is needed, since most sums of a long chain never are."""
        return [SumTerm.of(part, weight, self.items) for part, weight in zip(self.parts, self.weights, strict=True)]

    @cached_property
    def _live(self) -> CursorSum | None:
        return CursorSum.of(self._terms)

    def __str__(self) -> str:
        terms = zip(self.weights, self.parts, strict=True)
        return "(" + " + ".join(f"{weight:g}*{bracketed(part)}" for weight, part in terms) + ")"

    def _search(self, queries: Queries, k: int, filter: Filter | None, threads: int) -> Candidates:
        taken = max(k, self.depth)
        if self._live is not None and filter is None and self._live.serves(taken):
            return self._live.search(queries, k, taken, threads)
        self._spend_before_filter(filter, queries, threads)
        return weighted_topk(self._terms, queries, k, self.depth, filter, threads)

    def _score(self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int) -> PairScores:
        self._spend_before_filter(filter, queries, threads)
        scored = [part.score(queries, candidates, filter, threads) for part in self._aligned]
        stats = reduce(Stats.__add__, [side.stats for side in scored])
        totals = weighted_sum(self.weights, [side.scores for side in scored])
        check_addable(queries, candidates, totals)
        return PairScores(totals, stats)

    def _explain(self, queries: Queries, item: int, filter: Filter | None) -> Explanation:
        self._spend_before_filter(filter, queries, 1)
        parts = [side.part._explain(queries, side.own_item(item), side.own_filter(filter)) for side in self._aligned]
        shares = [
            Explanation(weight * part.score, abbreviate(f"{weight:g} × {part.score:.4f}, the share of {of}"), [part])
            for weight, part, of in zip(self.weights, parts, self.parts, strict=True)
        ]
        total = sum(share.score for share in shares)
        check_addable(queries, self._one(item), np.array([total]))
        return Explanation(total, "weighted sum", shares)

    def _matches(self, queries: Queries, threads: int) -> Int32Array | None:
        finding = [term.part for term in self._terms if term.generates_candidates]
        return self._united_matches(finding or [term.part for term in self._terms], queries, threads)

    def _spending_parts(self) -> list[Any]:
        """Return the parts without those that only places count of, which are those of the filtered list."""
        return [part for part in self.parts if not (isinstance(part, Normalized) and part.how == "rank")]

    def _options(self) -> dict[str, Any]:
        return {"weights": self.weights, "depth": self.depth}

    @classmethod
    def _rebuild(cls, parts: list[Any], options: dict[str, Any]) -> Self:
        return cls(list(zip(options["weights"], parts, strict=True)), depth=options["depth"])

    def _check_catalogs(self) -> None:
        for part in self.parts:
            if len(part.items) != len(self.items):
                raise CompositionError(
                    f"Parts of a sum must know the same items, or an item has no score. Got {len(part.items)} items "
                    f"in one part of {len(self.items)} in all: build them over one catalog, or join them with `|`."
                )


def _flattened(term: Weighted, depth: int) -> list[Weighted]:
    weight, part = term
    if not isinstance(part, Sum) or (part.depth != depth and len(part.parts) > 1):
        return [term]
    return [(weight * inner, each) for inner, each in zip(part.weights, part.parts, strict=True)]


def _checked_weight(weight: float) -> float:
    if not np.isfinite(weight) or weight < 0:
        raise CompositionError(f"A weight must be a finite number of at least 0. Got {weight!r}.")
    return float(weight)


def _checked_total(weights: Sequence[float], parts: Sequence[Retriever]) -> float:
    """Return what all weights add up to, those of sums inside included."""
    inner = [part.total_weight if isinstance(part, Sum) else 1.0 for part in parts]
    total = sum(weight * times for weight, times in zip(weights, inner, strict=True))
    if total > MAX_TOTAL_WEIGHT:
        raise CompositionError(
            f"The weights of a sum must be at most {MAX_TOTAL_WEIGHT:g} in all, or scores overflow. Got {total:g}: "
            "divide all of them by the largest, which changes no ranking."
        )
    return total


def _common_scale(parts: Sequence[Retriever]) -> str:
    scales = sorted({part.scale for part in parts})
    if "none" in scales:
        raise CompositionError("A match set has no scores to add. Score it first: (a | b) >> scorer.")
    if len(scales) > 1:
        raise CompositionError(
            f"Scores to add must be of one scale. Got {', '.join(scales)}: use a.normalized() + b.normalized()."
        )
    return scales[0]
