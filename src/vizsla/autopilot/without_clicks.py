"""A search without clicks: fusion without labels, and whether tokens that a teacher taught stand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from vizsla.autopilot.fusing import SearchPlan
from vizsla.autopilot.proposals import BASELINE, VECTORS, Candidate, Workshop
from vizsla.autopilot.refinements import SCORER
from vizsla.autopilot.searches import DEPTH, Searches
from vizsla.base.recipe import Recipe
from vizsla.base.retriever import Retriever
from vizsla.core.candidates import Candidates
from vizsla.data.dataset import Dataset
from vizsla.learning.query_mix import WARM, Mix
from vizsla.methods.tokens.taught_tokens import MAX_ITEMS, TEACHER_HITS, pseudo_queries, rescored

TAUGHT = "taught"
MAX_JUDGED_ITEMS = 500
"""Of so many items queries are made that nothing is taught by: to show figures, and whether taught tokens stand."""
TIMED_TEXTS = 32
TEXTS_PER_ITEM = 2
TEACHING_SHARE = 0.5
"""The share of the time that a teacher may take to answer the queries that are made."""
MIN_TAUGHT_ITEMS = 50
TAUGHT_SHARE = 0.9
"""So many of the items may teach at most: queries made of the others judge."""
EQUAL_SUM = "0.5*{}.normalized('zscore') + 0.5*{}.normalized('zscore')"
"""How two parts are added without labels. R@10 / MRR@10 on squad-sent, seen: BM25 .823/.676, MiniLM .865/.670, this
.891/.751, equal weights by minmax .889/.748, by rank .876/.722. Words and tokens that MiniLM taught by query texts on
tldr, seen: BM25 .415/.263, the tokens .409/.253, this .435/.284."""


def pseudo_searches(dataset: Dataset, pairs: Sequence[tuple[str, int]]) -> Searches:
    """Return searches whose one right answer is the item that the text was made of."""
    from scipy.sparse import csr_array

    rows, items = np.arange(len(pairs)), np.array([item for _, item in pairs], np.int64)
    wanted = csr_array((np.ones(len(pairs), np.float32), (rows, items)), shape=(len(pairs), len(dataset.items)))
    return Searches([text for text, _ in pairs], wanted, np.full(len(pairs), WARM), Mix(0.0, 1.0, 0.0))


def held_queries(dataset: Dataset, taught_items: int, *, seed: int) -> list[tuple[str, int]]:
    """Return queries of other items than those that tokens are taught by, and with other texts."""
    known = {text for text, _ in pseudo_queries(dataset, seed=seed, max_items=taught_items)}
    made = pseudo_queries(dataset, seed=seed, max_items=MAX_JUDGED_ITEMS, skip=taught_items)
    return [(text, item) for text, item in made if text not in known]


def affordable_items(teacher: Retriever, dataset: Dataset, seconds: float, *, seed: int, threads: int = 1) -> int:
    """Return from how many items queries may be made for a teacher to answer them in a share of the time."""
    texts = [text for text, _ in pseudo_queries(dataset, seed=seed, max_items=TIMED_TEXTS)][:TIMED_TEXTS]
    if not texts:
        return 0
    start = perf_counter()
    teacher(texts, DEPTH, threads=threads)
    each = (perf_counter() - start) / len(texts)
    affordable = int(TEACHING_SHARE * seconds / max(each * TEXTS_PER_ITEM, 1e-9))
    return min(affordable, MAX_ITEMS, round(TAUGHT_SHARE * len(dataset.items)))


class Teaching(NamedTuple):
    """Tokens that a teacher taught, as a candidate.

    Attributes
    ----------
    candidate : Candidate
        How they are built.
    teacher : Retriever
        What taught them.
    said : str
        The teacher in words.
    """

    candidate: Candidate
    teacher: Retriever
    said: str

    @property
    def items(self) -> int:
        """From how many items the queries are made."""
        return int(self.candidate.recipe.settings["max_items"])


def teaching(workshop: Workshop, seconds: float, *, seed: int, threads: int = 1) -> Teaching | None:
    """Return tokens taught by vectors, by words re-ranked, or both; None without a model, or time to ask it.

    Parameters
    ----------
    workshop : Workshop
        With an encoder, a scorer, or both among its bindings.
    seconds : float
        The time of the whole search.
    seed, threads : int
        As for `learn`.
    """
    scorer = workshop.bindings.get(SCORER)
    base = VECTORS if VECTORS in workshop.candidates else BASELINE
    if base == BASELINE and scorer is None:
        return None
    teacher = rescored(workshop.built(base), scorer)
    count = affordable_items(teacher, workshop.dataset, seconds, seed=seed, threads=threads)
    if count < MIN_TAUGHT_ITEMS:
        return None
    given: dict[str, Any] = {} if scorer is None else {SCORER: scorer}
    recipe = Recipe.of("taught_tokens", teacher=base, max_items=count, seed=seed, **given)
    said = base if scorer is None else f"{base}, re-ranked by the scorer"
    return Teaching(Candidate(TAUGHT, "tokens", recipe), teacher, said)


def _wanting(made: Searches, teacher: Candidates) -> Searches:
    """Return the same searches with the teacher's best as the right answers."""
    from scipy.sparse import csr_array

    row_of = {text: row for row, text in enumerate(dict.fromkeys(made.texts))}
    rows = [teacher.row(row_of[text])[0][:TEACHER_HITS] for text in made.texts]
    offsets = np.cumsum([0, *map(len, rows)])
    items = np.concatenate([np.zeros(0, np.int32), *rows])
    wanted = csr_array((np.ones(len(items), np.float32), items, offsets), shape=made.wanted.shape)
    return Searches(made.texts, wanted, made.kinds, made.mix)


class Standing(NamedTuple):
    """Whether taught tokens stand, and why.

    Attributes
    ----------
    stands : bool
        Whether they may be delivered.
    said : str
        Figures in a sentence.
    """

    stands: bool
    said: str

    @classmethod
    def of(cls, made: Searches, taught: Candidates, words: Candidates, teacher: Candidates, said: str) -> Standing:
        """Judge by queries that nothing was taught by: closer to the teacher than words, and not surely below words.

        Parameters
        ----------
        made : Searches
            Queries made of items, which these are the answers to find.
        taught, words, teacher : Candidates
            Answers to the same queries.
        said : str
            What was taught, and by what.
        """
        theirs = _wanting(made, teacher)
        own, base = theirs.measure(taught), theirs.measure(words)
        closer = theirs.interval(own - base)
        found = made.interval(made.measure(taught) - made.measure(words))
        stands = closer.low > 0 and found.high >= 0
        told = (
            f"{said}, which need no model for a query, {'stand' if stands else 'do not stand'}. "
            f"On {len(made):,} queries that they were not taught by, nDCG@10 is {theirs.quality(own):.3f} with the "
            f"teacher's {TEACHER_HITS} best as the right answers ({BASELINE} {theirs.quality(base):.3f}), and differs "
            f"from {BASELINE} by {found.mean:+.3f} ({found.low:+.3f} to {found.high:+.3f}) with the items that the "
            "queries were made of."
        )
        return cls(stands, told)


def unjudged_plans(candidates: Iterable[str]) -> list[SearchPlan]:
    """Return what to deliver where nothing can be judged, the preferred first.

    That is words with vectors, words with tokens that were taught, these tokens alone, and words alone.

    Examples
    --------
    >>> [plan.parts for plan in unjudged_plans(["bm25", "taught"])]
    [('bm25', 'taught'), ('taught',), ('bm25',)]
    """
    known = set(candidates)
    sums = [SearchPlan(EQUAL_SUM.format(BASELINE, name), (BASELINE, name)) for name in (VECTORS, TAUGHT)]
    plans = [*sums, *(SearchPlan(name, (name,)) for name in (TAUGHT, BASELINE))]
    return [plan for plan in plans if known.issuperset(plan.parts)]


SAID = (
    "There are no clicks, so nothing could be judged: of what keeps the limits, {} is best without labels on public "
    "sets. The figures below are of queries made of the items' own words, which favor searching by words. What could "
    "not be learned: words that users have and neither the items nor a model knows, which items are wanted, and what "
    "each field weighs."
)
