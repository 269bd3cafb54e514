"""QueryMemory: what was clicked for the very query that is asked again, on top of a member that learns from clicks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from vizsla.base.queries import Queries
from vizsla.base.retriever import Retriever
from vizsla.core.candidates import Candidates, PairScores, Stats
from vizsla.core.explanation import Explanation
from vizsla.core.strings import Strings
from vizsla.data.dataset import SECONDS_PER_DAY
from vizsla.data.filter import Filter
from vizsla.engine.click_table import ClickTable
from vizsla.engine.member import SlotClicks
from vizsla.engine.slots import SlotMap
from vizsla.errors import InputError
from vizsla.text.analyzers import Analyzer
from vizsla.typing import Float32Array, Float64Array, Int32Array, Int64Array

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter
    from vizsla.data.dataset import Dataset

PRIOR_CLICKS = 1.5
"""For how many clicks the member's own score counts."""
SCORED_DEPTH = 10
"""How deep the member's answer is searched for its best score."""
MAX_REMEMBERED_ITEMS = 100
"""Items that are remembered for a query: those with the most clicks."""
CLICK_UNIT = 2**20
"""Clicks are added up in whole parts of this size."""
MIN_QUERY_SIMILARITY = 0.5
"""Similarity up to which another query has no say."""


class Evidence(NamedTuple):
    """What is remembered for one query: slots, ascending, and how many clicks each has."""

    slots: Int32Array
    clicks: Float64Array

    @property
    def shares(self) -> Float64Array:
        """How far each item is lifted: its clicks against the prior."""
        return np.asarray(self.clicks / (self.clicks + PRIOR_CLICKS), np.float64)

    @property
    def heights(self) -> Float64Array:
        """Where each item is lifted to, from 1, the best score, to 2 for the item with the most clicks."""
        return np.asarray(1.0 + self.clicks / self.clicks.max(), np.float64)


class QueryMemory:
    """Clicks by the text of their query: the words of a text, in lower case, tell it from others.

    A member that was trained up to a click knows the later ones only from here, so these also count for queries that
    are alike: as much as the cosine of the words that both hold exceeds `MIN_QUERY_SIMILARITY`.

    Parameters
    ----------
    trained : int
        The number of the last click that all members have learned; words are kept for later ones alone.
    before : QueryMemory, optional
        The one before it: the words of queries that it knows are not looked up again.
    """

    def __init__(self, trained: int, before: QueryMemory | None = None):
        self._trained, self._analyzer = trained, Analyzer()
        self._keys: dict[str, tuple[str, ...]] = {} if before is None else before._keys
        self.table = ClickTable()
        self._numbers: dict[tuple[str, ...], int] = {}
        self._words: dict[str, list[int]] = {}
        self._late: dict[int, int] = {}

    def learn(self, clicks: SlotClicks) -> None:
        """Add clicks."""
        known = self._keys
        known.update({text: self._key(text) for text in dict.fromkeys(clicks.queries) if text not in known})
        keys = [known[text] for text in clicks.queries]
        queries = np.fromiter((self._numbers.setdefault(key, len(self._numbers)) for key in keys), np.int64, len(keys))
        self.table.learn(clicks.numbers, queries, clicks.slots, clicks.weights, clicks.times)
        for number, query, key in zip(clicks.numbers.tolist(), queries.tolist(), keys, strict=True):
            if number > self._trained and query not in self._late:
                words = set(key)
                self._late[query] = len(words)
                for word in words:
                    self._words.setdefault(word, []).append(query)

    def unlearn(self, numbers: Int64Array) -> None:
        """Forget the clicks with these numbers."""
        self.table.forget(numbers=numbers)

    def remove(self, slots: Int32Array) -> None:
        """Forget the clicks on these slots."""
        self.table.forget(slots=slots)

    def frozen(self) -> QueryMemory:
        """Return the memory as it is now; this one may change afterwards."""
        same = object.__new__(QueryMemory)
        vars(same).update(vars(self) | {"table": self.table.frozen()})
        return same

    def evidence(self, text: str, trained: int | None, half_life: float | None) -> Evidence | None:
        """Return what is remembered for a query; None where there is nothing.

        Parameters
        ----------
        text : str
            The query.
        trained : int, optional
            The number of the last click that the member has learned, if it does not learn each at once.
        half_life : float, optional
            Days after which a click counts half, from the latest click on.
        """
        key = self._key(text)
        alike = {} if trained is None else self._alike(key)
        if (own := self._numbers.get(key)) is not None:
            alike[own] = 1.0
        if not alike:
            return None
        numbers = np.array(sorted(alike), np.int64)
        found = self.table.of_queries(numbers)
        weights = (
            found.weights
            * np.array([alike[number] for number in numbers.tolist()])[np.searchsorted(numbers, found.queries)]
        )
        if trained is not None:
            weights = np.where((found.queries == own) | (found.numbers > trained), weights, 0.0)
        if half_life is not None:
            weights = weights * np.exp2((found.times - self.table.latest) / (half_life * SECONDS_PER_DAY))
        slots, places = np.unique(found.slots, return_inverse=True)
        # Whole numbers, so that the order in which clicks came makes no difference.
        clicks = np.bincount(places, np.rint(weights * CLICK_UNIT), minlength=len(slots)) / CLICK_UNIT
        best = np.sort(np.argsort(-clicks, kind="stable")[:MAX_REMEMBERED_ITEMS])
        best = best[clicks[best] > 0]
        return Evidence(slots[best], clicks[best]) if len(best) else None

    def _key(self, text: str) -> tuple[str, ...]:
        return tuple(self._analyzer(text)) or (text,)

    def _alike(self, key: tuple[str, ...]) -> dict[int, float]:
        """Return other queries with late clicks, and how much each counts."""
        words, shared = set(key), dict[int, int]()
        for word in words:
            for query in self._words.get(word, ()):
                shared[query] = shared.get(query, 0) + 1
        near = {query: count / (len(words) * self._late[query]) ** 0.5 for query, count in shared.items()}
        return {
            query: (each - MIN_QUERY_SIMILARITY) / (1 - MIN_QUERY_SIMILARITY)
            for query, each in near.items()
            if each > MIN_QUERY_SIMILARITY
        }


class RememberedRetriever(Retriever):
    """A retriever, and items that were clicked for the query are lifted towards, and beyond, its best score.

    With n clicks an item moves n / (n + 1.5) of the way from its score to at most twice the best one of the query. This
    is PEFA's blend of a base and past queries, with a share that grows with the evidence. No item falls.

    Parameters
    ----------
    part : Retriever
        The retriever whose items are boosted.
    memory : QueryMemory
        The remembered clicks.
    slots : SlotMap, optional
        Which slots have an item; None where all have.
    trained, half_life
        See `QueryMemory.evidence`.
    """

    is_composite = True

    def __init__(
        self,
        part: Retriever,
        memory: QueryMemory,
        slots: SlotMap | None,
        *,
        trained: int | None = None,
        half_life: float | None = None,
    ):
        self.part, self._memory, self._slots, self.scale = part, memory, slots, part.scale
        self._trained, self._half_life = trained, half_life

    @property
    def items(self) -> Strings:
        """Those of the part."""
        return self.part.items

    @property
    def nbytes(self) -> int:
        """Bytes of the part."""
        return self.part.nbytes

    def children(self) -> list[Retriever]:
        """Return the part."""
        return [self.part]

    def __repr__(self) -> str:
        return f"RememberedRetriever({self.part!r})"

    def refit_on(self, dataset: Dataset, *, threads: int = 1) -> Retriever:
        """Return what the part would be had it learned from this dataset's clicks alone."""
        return self.part.refit_on(dataset, threads=threads)

    def _search(self, queries: Queries, k: int, filter: Filter | None, threads: int) -> Candidates:
        found = self.part._search_checked(queries, k, filter, threads)
        known = self._known(queries)
        if known is None:
            return found
        mask = None if filter is None else filter.mask
        rows = [np.zeros(0, np.int32) if each is None else self._numbers(each) for each in known]
        rows = [row if mask is None else row[mask[row]] for row in rows]
        lifted = self._score(queries, _listed(rows, self.items), filter, threads)
        numbers = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
        items, width = np.concatenate(rows), len(self.items)
        rest = ~np.isin(found.row_numbers() * width + found.items, numbers * width + items)
        numbers = np.concatenate([found.row_numbers()[rest], numbers])
        order = np.argsort(numbers, kind="stable")
        offsets = np.searchsorted(numbers[order], np.arange(len(rows) + 1)).astype(np.int64)
        items = np.concatenate([found.items[rest], items])[order]
        scores = np.concatenate([found._required_scores()[rest], lifted.scores])[order]
        stats = (found.stats + lifted.stats).with_exact(found.stats.exact)
        joined = Candidates.unchecked(offsets, items, None, self.items, stats)
        return joined.with_scores(PairScores(scores, stats), k=k)

    def _score(self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int) -> PairScores:
        scored = self.part._score_once(queries, candidates, filter, threads)
        known = self._known(queries)
        if known is None:
            return scored
        tops, scores, stats = self._best(queries, known, threads), scored.scores.copy(), scored.stats
        for row, each in enumerate(known):
            start, end = candidates.offsets[row : row + 2].tolist()
            if each is not None and end > start:
                scores[start:end] = _lifted(
                    scores[start:end], candidates.items[start:end], self._numbers(each), each, tops[row]
                )
        return PairScores(scores, stats)

    def _explain(self, queries: Queries, item: int, filter: Filter | None) -> Explanation:
        said = self.part._explain(queries, item, filter)
        known = self._known(queries)
        each = None if known is None else known[0]
        place = np.zeros(0, np.int64) if each is None else np.flatnonzero(self._numbers(each) == item)
        if known is None or each is None or not len(place):
            return said
        score = self._score_one(queries, item, filter)
        share, best = float(each.shares[place[0]]), self._best(queries, known, 1)[0]
        clicks = f"clicks for this query: {each.clicks[place[0]]:g}, so {share:.4f} of the way up from {said.score:.4f}"
        goal = best + abs(best) * (float(each.heights[place[0]]) - 1)
        lift = Explanation(score - said.score, f"{clicks} to {goal:.4f}, the best score being {best:.4f}")
        return Explanation(score, "a member, and what is remembered of the query", [said, lift])

    def _known(self, queries: Queries) -> list[Evidence | None] | None:
        """Return what is remembered for each query, None where that is nothing for any."""
        kept: tuple[Any] | None = queries.memo((self, "memory"))
        if kept is None:
            known = [self._memory.evidence(text, self._trained, self._half_life) for text in queries.texts]
            kept = queries.memoize((self, "memory"), (known if any(each is not None for each in known) else None,))
        found: list[Evidence | None] | None = kept[0]
        return found

    def _best(self, queries: Queries, known: Sequence[Evidence | None], threads: int) -> list[float]:
        """Return the best score of each query, whatever may be found; 1 where nothing is."""
        best: list[float] | None = queries.memo((self, "best"))
        if best is None:
            asked = np.flatnonzero([each is not None for each in known])
            some = queries if len(asked) == len(queries) else queries.take(asked)
            found = self.part._search_checked(some, SCORED_DEPTH, None, threads)
            scores, offsets = found._required_scores(), found.offsets.tolist()
            tops = iter([float(scores[a]) if b > a else 1.0 for a, b in pairwise(offsets)])
            best = queries.memoize((self, "best"), [0.0 if each is None else next(tops) for each in known])
        return best

    def _numbers(self, evidence: Evidence) -> Int32Array:
        if self._slots is None:
            return evidence.slots
        return self._slots.items_at(evidence.slots)

    def _write(self, writer: ArtifactWriter) -> None:
        raise InputError("A member of an engine must be stored by its engine. Use `engine.backup`.")

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        raise InputError("A member of an engine must be opened by its engine. Use `Engine.open`.")


def _lifted(
    scores: Float32Array, items: Int32Array, remembered: Int32Array, evidence: Evidence, best: float
) -> Float32Array:
    """Return scores of one query's items with those lifted that are remembered.

    Examples
    --------
    >>> one = Evidence(np.array([4], np.int32), np.array([2.0]))
    >>> _lifted(np.array([1, 3], "f"), np.array([4, 5]), one.slots, one, 3.0).tolist()
    [3.857142925262451, 3.0]
    """
    places = np.minimum(np.searchsorted(remembered, items), len(remembered) - 1)
    there = remembered[places] == items
    own, at = scores[there].astype(np.float64), places[there]
    goals = best + abs(best or 1.0) * (evidence.heights[at] - 1)
    made = scores.copy()
    made[there] = (own + evidence.shares[at] * np.maximum(goals - own, 0.0)).astype(np.float32)
    return made


def _listed(rows: list[Int32Array], items: Strings) -> Candidates:
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    return Candidates.unchecked(offsets, np.concatenate(rows), None, items, Stats())
