"""The best k by a weighted sum of what several parts find; only scores that can matter are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla.candidates import Candidates, Scores
from vizsla.compose.catalogues import Aligned
from vizsla.compose.finite_scores import SeenInfinities
from vizsla.compose.normalised import Normalised
from vizsla.filter import Filter
from vizsla.queries import Queries
from vizsla.retriever import Retriever
from vizsla.stats import Stats
from vizsla.strings import Strings

_NO_COST = Stats()


class Term(NamedTuple):
    """A part of a sum, with its normalisation taken off: the native sum rescales by itself.

    Parameters
    ----------
    part : Aligned
        What is searched.
    weight : float
        How much its scores count.
    normalised : Normalised or None
        How they are rescaled.
    """

    part: Aligned[Retriever]
    weight: float
    normalised: Normalised | None

    @classmethod
    def of(cls, part: Retriever, weight: float, merged: Strings) -> Term:
        """Take a part of a sum apart."""
        # Places of equals follow the part's own numbers, so by rank it must do that itself where numbers differ.
        if isinstance(part, Normalised) and (part.how != "rank" or part.items == merged):
            return cls(Aligned(part.parts[0], merged), weight, part)
        return cls(Aligned(part, merged), weight, None)

    @property
    def how(self) -> str:
        """How scores are rescaled."""
        return "none" if self.normalised is None else self.normalised.how

    def search(self, queries: Queries, taken: int, filter: Filter | None, threads: int) -> Candidates:
        """Find `taken` candidates, and more where the scale is read from a longer list."""
        if self.normalised is None:
            return self.part.search(queries, taken, filter, threads)
        if self.how == "rank":
            return self.normalised.placed_first(queries, taken, filter, threads)
        depth = max(taken, self.normalised.depth) if self._tells_scale(taken, filter) else taken
        return self.part.search(queries, depth, filter, threads)

    @property
    def proposes(self) -> bool:
        """Whether what it finds are candidates."""
        return self.part.part.proposes

    def scales(self, queries: Queries, taken: int, filter: Filter | None, threads: int) -> tuple[Any, Stats]:
        """Return the scales where the list cannot tell them: a filter left only a part of it, or it is too long."""
        if self.normalised is None or self.how == "rank" or self._tells_scale(taken, filter):
            return None, _NO_COST
        return self.normalised.scales(queries, threads)

    @property
    def longest(self) -> float:
        """How long a list may be that tells the part's scale."""
        return inf if self.normalised is None else self.normalised.longest

    def live(self) -> tuple[Any, ...]:
        """Return what the native sum of native indexes takes."""
        depth = 0 if self.normalised is None else self.normalised.depth
        return self.weight, self.how, depth, self.part.maps

    def _tells_scale(self, taken: int, filter: Filter | None) -> bool:
        return filter is None and self.normalised is not None and self.normalised.tells_scale(taken)

    def check(self, queries: Queries, pairs: Candidates, scores: Scores, seen: SeenInfinities) -> None:
        """Raise for infinite scores that the sum can make nothing of."""
        if self.normalised is None:
            seen.look(pairs, scores, self.weight)
        else:
            self.normalised.check(queries, pairs, scores)

    def native(self, found: Candidates, scales: Any) -> tuple[Any, ...]:
        """Return what the native sum takes."""
        depth = 0 if self.normalised is None else self.normalised.depth
        # An exact list's last score is the highest outside of it; by rank, that is so of every list.
        known = found.stats.exact or self.how == "rank"
        highest = None
        if not known:
            highest = found.ceilings if found.ceilings is not None else _every(self.part.part.highest, len(found))
        lists = found.offsets, found.items, found._required_scores()
        return lists, self.weight, self.how, depth, scales, highest


def fused(
    terms: Sequence[Term], queries: Queries, k: int, depth: int, filter: Filter | None, threads: int
) -> Candidates:
    """Search every part to `depth`, let each score what it lacks and what could be among the best, and add up.

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
    return Candidates.trusted(
        np.frombuffer(offsets, np.int64),
        np.frombuffer(items, np.int32),
        np.frombuffer(scores, np.float32),
        terms[0].part.merged,
        stats.with_exact(exact and certain == len(queries)),
    )


def weighted_sum(weights: Sequence[float], columns: Sequence[Scores]) -> Scores:
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
    terms: Sequence[Term], queries: Queries, taken: int, filter: Filter | None, threads: int
) -> list[Candidates]:
    """Search the parts; those that propose nobody score what the others found."""
    if all(term.proposes for term in terms) or not any(term.proposes for term in terms):
        return [term.search(queries, taken, filter, threads) for term in terms]
    lists = {at: term.search(queries, taken, filter, threads) for at, term in enumerate(terms) if term.proposes}
    joined = _joined(list(lists.values()))
    return [
        lists[at] if at in lists else _scored(term.part, queries, joined, filter, threads)
        for at, term in enumerate(terms)
    ]


def _joined(lists: Sequence[Candidates]) -> Candidates:
    """Return what stands in any list, row by row; who stands in several, several times."""
    offsets = reduce(np.add, [side.offsets for side in lists])
    items = np.concatenate([side.items for side in lists])
    if len(offsets) > 2:
        rows = np.concatenate([np.repeat(np.arange(len(side)), np.diff(side.offsets)) for side in lists])
        items = items[np.argsort(rows, kind="stable")]
    return Candidates.trusted(offsets, items, None, lists[0].catalogue, _NO_COST)


def _scored(
    part: Aligned[Retriever], queries: Queries, joined: Candidates, filter: Filter | None, threads: int
) -> Candidates:
    scored = part.score(queries, joined, filter, threads)
    # Who stands in no list may score more than its last: nothing is certain then.
    stats = scored.stats.with_exact(False)
    return Candidates.trusted(joined.offsets, joined.items, scored.scores, joined.catalogue, stats)


def _every(score: float, rows: int) -> Scores:
    return np.full(rows, score, np.float32)


def _matches(lacking: tuple[bytes, bytes], catalogue: Strings) -> Candidates:
    offsets, items = lacking
    numbers = np.frombuffer(items, np.int32)
    return Candidates.trusted(np.frombuffer(offsets, np.int64), numbers, None, catalogue, _NO_COST)
