"""Choose the basis of residual CUR by cross-validation on anchor queries, and estimate the fit time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from vizsla._internal.blas import blas_threads
from vizsla.base.queries import Queries
from vizsla.base.retriever import Retriever
from vizsla.compose.id_alignment import ReindexedPart
from vizsla.core.strings import Strings
from vizsla.learning.selection import Choice, choose, highest
from vizsla.methods.cur.components import prior_scores
from vizsla.methods.cur.plan import Plan, best_places, spend
from vizsla.methods.cur.residual_model import BASES, ResidualFit, decomposed
from vizsla.typing import Float32Array, Float64Array

TRIED_RANKS = (32, 64, 128, 256)
TRIED_RIDGES = (0.03, 0.1, 0.3, 1.0)
FOLDS = 4
RECALL_DEPTHS = (1, 10, 100)
MAX_QUERIES_PER_FOLD = 24
"""Anchor queries of each fold that are asked as if they were new."""
MAX_QUERIES_PER_FOLD_FOR_BASIS = 48
"""More of them decide between bases, which have one try each."""


class Tried(NamedTuple):
    """The ranks, ridges and bases to try.

    Examples
    --------
    >>> Tried().settled, Tried((8,), (0.1,), ("scores",)).settled
    (None, BasisChoice(basis='scores', rank=8, ridge=0.1, recall=nan))
    """

    ranks: tuple[int, ...] = TRIED_RANKS
    ridges: tuple[float, ...] = TRIED_RIDGES
    bases: tuple[str, ...] = BASES

    @property
    def settled(self) -> BasisChoice | None:
        """The choice, where there is one of each: nothing has to be tried then."""
        alone = all(len(values) == 1 for values in self)
        return BasisChoice(self.bases[0], self.ranks[0], self.ridges[0], np.nan) if alone else None


TRY_EVERYTHING = Tried()


@dataclass(frozen=True)
class BasisChoice:
    """Basis, rank and ridge, and the share of the true best items that they found.

    `choices` has what was tried: bases at one rank and ridge, and ranks and ridges with the better basis. Their values
    are the recall of each fold.
    """

    basis: str
    rank: int
    ridge: float
    recall: float
    choices: Mapping[str, Choice] = field(default_factory=dict, repr=False)

    @property
    def summary(self) -> str:
        """What was chosen and how much it finds, in a sentence."""
        described = f"basis {self.basis}, rank {self.rank}, ridge {self.ridge:g}"
        values = [trial["all"] for choice in self.choices.values() for trial in choice.trials]
        found = f"recall {self.recall:.3f} of the best items of left-out anchor queries"
        return f"{described}: {found}; the best of {len(values)} trials ({min(values):.3f} to {max(values):.3f})."

    def to_dict(self) -> dict[str, Any]:
        """Return the choice, and all that was tried."""
        chosen = {"basis": self.basis, "rank": self.rank, "ridge": self.ridge, "recall": self.recall}
        return chosen | {"tried": {name: choice.to_dict() for name, choice in self.choices.items()}}


def choose_fit(scores: Float32Array, own: Float32Array, plan: Plan, tried: Tried = TRY_EVERYTHING) -> BasisChoice:
    """Try bases, ranks and ridges on left-out anchor queries, whose scores are all known, so that no call is made.

    The fit of each fold is made without the queries that are asked: a decomposition that has seen a query knows it by
    heart. Folds stand in for leaving out one query at a time, which would take a decomposition a query.

    Parameters
    ----------
    scores : float32 array, anchor queries × items
        Exact scores.
    own : float32 array, anchor queries × retrievers × items
        The retrievers' scores.
    plan : Plan
        How calls will be spent.
    tried : Tried
        First bases at a middling rank and ridge, then all ranks and ridges with the better one. Of equals, the
        first basis, the smaller rank and the larger ridge win. A rank that a fold is too small for stands for all of
        its anchors, and then for all that there are.
    """
    ranks, ridges, bases = tried
    usable, lowered = usable_ranks(len(scores), ranks), sorted(ridges, reverse=True)
    middling = usable[len(usable) // 2], lowered[len(lowered) // 2]
    basis, choices = bases[0], {}
    if len(bases) > 1:
        values = [_recalls(scores, own, plan, each, [middling], MAX_QUERIES_PER_FOLD_FOR_BASIS)[0] for each in bases]
        choices["basis"] = _choice([{"basis": each} for each in bases], values)
        basis = str(choices["basis"].chosen["basis"])
    grid = [(rank, ridge) for rank in usable for ridge in lowered]
    values = _recalls(scores, own, plan, basis, grid, MAX_QUERIES_PER_FOLD)
    choices["fit"] = _choice([{"rank": rank, "ridge": ridge} for rank, ridge in grid], values)
    best = choices["fit"].best
    rank, ridge = grid[best]
    kept = rank if rank in ranks else len(scores)  # all that a fold had: so all that there are
    return BasisChoice(basis, kept, ridge, float(values[best].sum()) / min(FOLDS, len(scores)), choices)


def _choice(tried: Sequence[dict[str, Any]], values: list[Float64Array]) -> Choice:
    """Return the setting that finds most over all folds."""
    return choose(tried, values, measure="recall", rule=highest())


def _recalls(
    scores: Float32Array, own: Float32Array, plan: Plan, basis: str, tried: list[tuple[int, float]], left_out: int
) -> list[Float64Array]:
    """Return what each rank and ridge finds, fold by fold."""
    found: list[list[float]] = [[] for _ in tried]
    most = max(rank for rank, _ in tried)
    for fold in np.array_split(np.arange(len(scores)), FOLDS):
        rest, asked = np.setdiff1d(np.arange(len(scores)), fold), fold[:left_out]
        if not len(rest) or not len(asked):
            continue
        parts = decomposed(scores[rest], own[rest], most, basis)
        fits = {rank: parts.fit(rank, 1.0) for rank, _ in tried}
        for values, (rank, ridge) in zip(found, tried, strict=True):
            values.append(recall_of(fits[rank].with_ridge(ridge), scores[asked], own[asked], plan))
    return [np.array(values, np.float64) for values in found]


def usable_ranks(anchors: int, ranks: tuple[int, ...] = TRIED_RANKS) -> list[int]:
    """Return the ranks that folds of this number of anchor queries support.

    Examples
    --------
    >>> usable_ranks(100), usable_ranks(20)
    ([32, 64, 74], [14])
    """
    return sorted({min(rank, max(1, anchors - anchors // FOLDS - 1)) for rank in ranks})


def recall_of(fit: ResidualFit, scores: Float32Array, own: Float32Array, plan: Plan) -> float:
    """Return the share of the best 1, 10 and 100 items that a search would find, the mean of the three.

    All of its rounds go by the estimates, which are what is judged: items that retrievers name in the first one are
    found with any rank and ridge, and bring the luck of single items into the choice.
    """
    randoms = [np.random.default_rng(row) for row in range(len(scores))]
    ledgers = spend(
        fit.estimates(own),
        np.ones(scores.shape, np.bool_),
        None,
        plan,
        lambda chosen: [scores[row, items] for row, items in enumerate(chosen)],
        randoms,
    )
    shares = [
        np.isin(best_places(row, depth), ledger.all_items()).mean()
        for row, ledger in zip(scores, ledgers, strict=True)
        for depth in RECALL_DEPTHS
    ]
    return float(np.mean(shares))


TIMED_ANCHOR_QUERIES = 32
"""Made-up anchor queries that are taken apart to find out."""
TIMED_QUERIES = 8
"""Queries that are asked to find out."""


@blas_threads(1)  # as `residual_cur` does unless it is given more
def fit_seconds(queries: Sequence[str], items: Strings, priors: Sequence[Retriever], plan: Plan) -> float:
    """Return about how many seconds `residual_cur` will take to choose basis, rank and ridge, and to fit.

    Parameters
    ----------
    queries : sequence of str
        The anchor queries.
    items : Strings
        The catalog.
    priors : sequence of Retriever
        The retrievers that they are fitted to.
    plan : Plan
        How calls will be spent.

    Examples
    --------
    >>> fit_seconds(["fig", "plum"], Strings.of(["a", "b", "c"]), [], Plan(2, 1)) > 0
    True
    """
    asked, ranks = list(queries[:TIMED_QUERIES]), usable_ranks(len(queries))
    rows = min(TIMED_ANCHOR_QUERIES, len(queries))
    pick, aligned = np.random.default_rng(0), [ReindexedPart(prior, items) for prior in priors]
    told = _seconds(lambda: prior_scores(aligned, len(items), Queries(asked), range(len(asked)), None, 1))
    scores = pick.standard_normal((rows, len(items)), np.float32)
    own = pick.standard_normal((rows, len(priors), len(items)), np.float32)
    apart = _seconds(lambda: decomposed(scores, own, rows))
    fit, few = decomposed(scores, own, rows).fit(rows, 0.1), len(asked)
    one = _seconds(lambda: recall_of(fit, scores[:few], own[:few], plan)) / few
    tried = min(len(queries), FOLDS * MAX_QUERIES_PER_FOLD) * len(ranks) * len(TRIED_RIDGES)
    tried += min(len(queries), FOLDS * MAX_QUERIES_PER_FOLD_FOR_BASIS) * len(BASES)
    folds = ((len(BASES) + 1) * FOLDS + 1) * (len(queries) / rows) ** 2
    return told * len(queries) / few + apart * folds + one * tried * max(1.0, float(np.mean(ranks)) / rows)


def _seconds(work: Callable[[], object]) -> float:
    """Return how long some work takes the second time: the first pays for imports and memory."""
    work()
    start = perf_counter()
    work()
    return perf_counter() - start
