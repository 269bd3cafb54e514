"""Scores of unlike scales brought to one, query by query."""

from __future__ import annotations

from math import inf
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla.candidates import Candidates, Scores
from vizsla.compose.composition import Composition, bracketed
from vizsla.compose.finite_scores import check_finite
from vizsla.compose.followed_by import followed_by
from vizsla.encoded import Encoded
from vizsla.errors import check_choice, check_positive
from vizsla.explanation import Explanation
from vizsla.filter import Filter
from vizsla.queries import Queries
from vizsla.retriever import Retriever
from vizsla.scored import Scored
from vizsla.stats import Stats

METHODS = ("minmax", "zscore", "rank")


class Normalised(Composition):
    """A part's scores, rescaled by what its best `depth` of the same query look like.

    `minmax` maps the lowest of them to 0 and the highest to 1, `zscore` their mean to 0 and their spread to 1, `rank`
    gives 1 / (60 + rank). An item outside of the list is scored by the part and rescaled alike (it may fall below 0);
    by rank it gets 0. A filter changes no scale: what it leaves keeps scores and order. Only ranks are places in the
    filtered list.
    """

    operation = "normalised"

    def __init__(self, part: Retriever, how: str = "minmax", *, depth: int = 100):
        check_choice("how", how, METHODS)
        super().__init__([part])
        self.how, self.depth, self.scale = how, check_positive("depth", depth), how

    def __str__(self) -> str:
        return f"{bracketed(self.parts[0])}.normalised({self.how!r})"

    def _search(self, queries: Queries, k: int, filter: Filter | None, threads: int) -> Candidates:
        if self.how == "rank":
            return self._by_rank(queries, k, filter, threads)
        if filter is None and self.tells_scale(k):
            return self._scaled(queries, self.parts[0]._search(queries, max(k, self.depth), None, threads), k)
        # A scale is the query's own, whatever may be found and however much is asked for.
        self._settle_for(filter, queries, threads)
        found = self.parts[0]._search_checked(queries, k, filter, threads)
        scored = self._rescaled(queries, found, found._required_scores(), threads)
        return found.rescored(Scored(scored.scores, (found.stats + scored.stats).with_exact(found.stats.exact)))

    def _score(self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int) -> Scored:
        if self.how == "rank":  # places are all that counts
            return self._places(queries, candidates, filter, threads)
        self._settle_for(filter, queries, threads)
        scored = self._aligned[0].score(queries, candidates, filter, threads)
        rescaled = self._rescaled(queries, candidates, scored.scores, threads)
        return Scored(rescaled.scores, scored.stats + rescaled.stats)

    def _ignored_cut(self) -> int | None:
        return None  # the part is searched for its scale, as far as its cuts let it

    def tells_scale(self, taken: int) -> bool:
        """Whether a list of so many begins with the one that the scale is read from.

        An approximate search that is asked for more looks elsewhere too, and may find better ones.
        """
        return taken <= self.longest

    @property
    def longest(self) -> float:
        """How long a list may be that begins with the one that the scale is read from."""
        part = self.parts[0]
        return inf if isinstance(part, Encoded) and part.index.exact else self.depth

    def _scaled(self, queries: Queries, found: Candidates, k: int) -> Candidates:
        """Return a whole answer on its own scale, which the call remembers."""
        self.check(queries, found, found._required_scores())
        lists = found.offsets, found.items, found._required_scores()
        offsets, items, scores, scales = _native.normalise(*lists, self.how, self.depth, k)
        queries.remember((self, None), np.frombuffer(scales, np.float64))
        return Candidates.trusted(
            np.frombuffer(offsets, np.int64),
            np.frombuffer(items, np.int32),
            np.frombuffer(scores, np.float32),
            found.catalogue,
            found.stats,
        )

    def _rescaled(self, queries: Queries, candidates: Candidates, scores: Scores, threads: int) -> Scored:
        """Return the scores on the queries' scales; finding these costs a search, unless this call has made it."""
        self.check(queries, candidates, scores)
        scales, stats = self.scales(queries, threads)
        packed: Any = _native.rescale(candidates.offsets, scores, scales)
        return Scored(np.frombuffer(packed, np.float32), stats)

    def check(self, queries: Queries, pairs: Candidates, scores: Scores) -> None:
        """Raise for scores of the part that cannot be brought to its scale."""
        if self.how != "rank":
            remedy = "clip them, or use normalised('rank'), which takes any"
            check_finite(queries, pairs, scores, self.parts[0], f"to be normalised by {self.how!r}", remedy)

    def scales(self, queries: Queries, threads: int) -> tuple[NDArray[np.float64], Stats]:
        """Return two numbers a query, where zero lies and how long one is, and what it cost to find them."""
        known, stats = queries.known((self, None)), Stats()
        if known is None:
            found = self.parts[0]._search(queries, self.depth, None, threads)
            stats = self._scaled(queries, found, 1).stats
            known = queries.known((self, None))
        return known, stats

    def _by_rank(self, queries: Queries, k: int, filter: Filter | None, threads: int) -> Candidates:
        found = self.placed_first(queries, k, filter, threads)
        stats = found.stats.with_exact(found.stats.exact and k <= self.depth)  # who has no place is equal to all others
        return found.rescored(Scored(self._places(queries, found, filter, threads).scores, stats), k=k)

    def placed_first(self, queries: Queries, taken: int, filter: Filter | None, threads: int) -> Candidates:
        """Return `taken` items: those that have places, in order, and then what else was found."""
        found = self._aligned[0].search(queries, max(taken, self.depth), filter, threads)
        if self.tells_scale(taken):
            return queries.remember((self, filter), found)
        placed, stats = self._placed(queries, filter, threads)
        return followed_by(placed, found, least=self.depth).with_stats((found.stats + stats).with_exact(False))

    def _placed(self, queries: Queries, filter: Filter | None, threads: int) -> tuple[Candidates, Stats]:
        """Return the list that gives places, and what it cost to find it."""
        known = queries.known((self, filter))
        if known is not None:
            return known, Stats()
        found = self._aligned[0].search(queries, self.depth, filter, threads)
        return queries.remember((self, filter), found), found.stats

    def _places(self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int) -> Scored:
        """Return the reciprocal of each candidate's place, which is that in the filtered list."""
        ranked, stats = self._placed(queries, filter, threads)
        lists = ranked.offsets, ranked.items, self.depth
        packed: Any = _native.reciprocal_places(*lists, candidates.offsets, candidates.items)
        return Scored(np.frombuffer(packed, np.float32), stats)

    def _explain(self, queries: Queries, item: int, filter: Filter | None) -> Explanation:
        self._settle_for(filter, queries, 1)
        raw = self.parts[0]._explain(queries, item, filter)
        score = self._score_one(queries, item, filter)
        return Explanation(score, f"{self.how} over the best {self.depth} of {raw.score:.4f}", [raw])

    def _settling(self) -> list[Any]:
        return [] if self.how == "rank" else self.parts  # places are those of the filtered list

    def _options(self) -> dict[str, Any]:
        return {"how": self.how, "depth": self.depth}

    @classmethod
    def _rebuild(cls, parts: list[Any], options: dict[str, Any]) -> Self:
        return cls(parts[0], options["how"], depth=options["depth"])
