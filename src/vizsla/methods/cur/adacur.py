"""ANNCUR and ADACUR: scores of all items from a few, by the anchor queries' scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from vizsla.base.queries import Queries
from vizsla.base.recipe import builds
from vizsla.base.retriever import Retriever
from vizsla.base.scorer import Scorer
from vizsla.compose.id_alignment import ReindexedPart
from vizsla.core.candidates import Stats
from vizsla.core.validation import check_seed, generator, validate_args
from vizsla.data.filter import Filter
from vizsla.errors import InputError, check_positive, check_range
from vizsla.methods.cur.anchors import AnchorScores
from vizsla.methods.cur.budgeted import MAX_RIDGE, BudgetedSearch, ItemPool
from vizsla.methods.cur.components import check_catalog, check_cheap, found_by, scorer_artifact
from vizsla.methods.cur.estimates import CurEstimates, Estimates, PooledEstimates
from vizsla.methods.cur.factors import Factors, noise_ridge
from vizsla.methods.cur.plan import Plan, read_plan, write_plan
from vizsla.typing import Int64Array

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter

DEFAULT_ROUNDS, PAPER_ROUNDS = 10, 5
DEFAULT_RIDGE = 0.1
"""Chosen on training queries of two scorers, where 0.03 to 0.3 did about as well with 50 to 300 calls."""


class Adacur(BudgetedSearch):
    """ADACUR (Algorithms 1 and 2), or with `fixed` items for the first round ANNCUR. Use `adacur` or `anncur`.

    Parameters
    ----------
    scorer : Scorer
        The expensive one.
    anchors : AnchorScores
        Its scores of all items for the anchor queries.
    plan : Plan
        How calls are spent.
    first : Retriever, optional
        Finds the items of the first round; they are drawn at random unless given.
    fixed : array of item numbers, optional
        The items of the first round, whatever the query.
    ridge : float
        Share of the anchors' scores that is taken for noise; 0 for the pseudo-inverse.
    pool, pool_size, seed
        See `BudgetedSearch`.
    """

    kind = "adacur"

    def __init__(
        self,
        scorer: Scorer,
        anchors: AnchorScores,
        plan: Plan,
        *,
        first: Retriever | None = None,
        fixed: Int64Array | None = None,
        ridge: float = DEFAULT_RIDGE,
        pool: Retriever | None = None,
        pool_size: int = 10_000,
        seed: int = 0,
    ):
        super().__init__(scorer, anchors.items, plan, pool=pool, pool_size=pool_size, seed=check_seed(seed))
        check_catalog("scorer", scorer, anchors.items)
        check_cheap("first", first)
        if fixed is not None and len(fixed) and not 0 <= fixed.min() <= fixed.max() < len(anchors.items):
            raise InputError(f"`fixed` must be items below {len(anchors.items)}. Got others.")
        if fixed is not None and len(np.unique(fixed)) < len(fixed):
            raise InputError("`fixed` must name every item once. Got one twice.")
        self.anchors, self.first, self.fixed = anchors, first, fixed
        self.ridge = float(check_range("ridge", ridge, 0, MAX_RIDGE))
        self._damping = noise_ridge(anchors.factors, self.ridge)
        self._aligned_first = None if first is None else ReindexedPart(first, anchors.items)

    @property
    def nbytes(self) -> int:
        """Bytes of the anchors' scores, the scorer and the first retriever."""
        return sum(self._byte_counts().values())

    def _byte_counts(self) -> dict[Any, int]:
        first = {} if self.first is None else self.first._byte_counts()
        return {**first, **self.scorer._byte_counts(), id(self.anchors): self.anchors.nbytes}

    def __repr__(self) -> str:
        fixed = "" if self.fixed is None else f", {len(self.fixed):,} fixed items"
        return f"Adacur({self.anchors}, budget={self.budget}, rounds={self.plan.rounds}{fixed})"

    def _estimates(self, queries: Queries, rows: range, pool: ItemPool, threads: int) -> tuple[Estimates, Stats]:
        factors = self.anchors.factors
        if pool.numbers is None:
            return CurEstimates(factors, len(rows), threads, ridge=self._damping), Stats(exact=True)
        parts = factors.pools([pool.padded(at) for at in range(len(rows))], threads=threads)
        estimates = [CurEstimates(part, 1, threads, ridge=self._damping) for part in parts]
        return PooledEstimates([*estimates]), Stats(exact=True)

    @property
    def _columns(self) -> Factors:
        return self.anchors.factors

    def _parts(self) -> list[Any]:
        return [*super()._parts(), self.first]

    def _live_parts(self) -> list[Any]:
        return [*self._parts(), self.anchors]

    def _held(self) -> int:
        columns, dim = self.budget, self.anchors.factors.dim  # a basis and coefficients, in doubles
        return 2 * min(columns, dim) * (columns + dim)

    def _firsts(
        self, queries: Queries, rows: range, pool: ItemPool, estimates: Estimates, filter: Filter | None, threads: int
    ) -> tuple[list[Int64Array] | None, Stats]:
        if self.fixed is not None:
            return [pool.places(at, self.fixed) for at in range(len(rows))], Stats(exact=True)
        if self._aligned_first is None:
            return [np.zeros(0, np.int64) for _ in rows], Stats(exact=True)
        found, stats = found_by(self._aligned_first, self.plan.largest_size(), queries, filter, threads)
        return [pool.places(at, found.row(row)[0]) for at, row in enumerate(rows)], stats

    def _write(self, writer: ArtifactWriter) -> None:
        write_plan(writer, self.plan, self.pool_size, self.seed)
        writer.parameters(ridge=self.ridge)
        writer.parameters(first=self.first is not None, pool=self.pool is not None, fixed=self.fixed is not None)
        writer.child("scorer", scorer_artifact(self.scorer))
        writer.child("anchors", self.anchors)
        for name, part in (("first", self.first), ("pool", self.pool)):
            if part is not None:
                writer.child(name, part)
        if self.fixed is not None:
            writer.array("fixed", self.fixed)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        plan, pool_size, seed = read_plan(reader)
        scorer, anchors = reader.child("scorer", Scorer), reader.child("anchors", AnchorScores)
        first, pool = (
            reader.child(name, Retriever) if reader.parameter(name, bool) else None for name in ("first", "pool")
        )
        fixed = reader.array("fixed", np.int64) if reader.parameter("fixed", bool) else None
        options = {"ridge": reader.parameter("ridge", float), "pool_size": pool_size, "seed": seed}
        return cls(scorer, anchors, plan, first=first, fixed=fixed, pool=pool, **options)


@builds("adacur", data=None)
@validate_args
def adacur(
    scorer: Scorer,
    anchors: AnchorScores,
    *,
    budget: int = 100,
    rounds: int | None = None,
    first: Retriever | None = None,
    how: str = "topk",
    epsilon: float = 0.0,
    stop: float | None = None,
    ridge: float = DEFAULT_RIDGE,
    pool: Retriever | None = None,
    pool_size: int = 10_000,
    seed: int = 0,
    paper: bool = False,
) -> Adacur:
    """Search a whole catalog by an expensive scorer, with a budget of calls a query, adaptively (ADACUR).

    A round's items are scored; the combination of anchor queries that fits all scores so far estimates those of all
    other items; the next round takes the best of them.

    Parameters
    ----------
    scorer : Scorer
        The expensive one.
    anchors : AnchorScores
        From `score_anchors`.
    budget : int
        Calls a query.
    rounds : int, optional
        Number of rounds; estimates are updated after each. 10 unless given, and 5 with `paper`.
    first : Retriever, optional
        Finds the first round's items; they are drawn at random unless given.
    how : {"topk", "softmax", "random"}
        How items are sampled by their estimates.
    epsilon : float
        Share of each later round that is drawn at random.
    stop : float, optional
        End a query early when its 10th best score is above the best estimate that is left by so many times the error of
        its estimates so far. Smaller values save more calls, and lose more; 1 to 3 is usual.
    ridge : float
        Share of the anchors' scores that is taken for noise. With 0 the combination is the pseudo-inverse's, as in the
        paper; it then fits noise where a query has about as many scored items as there are anchor queries.
    pool : Retriever, optional
        Only its best `pool_size` items of a query are considered: a query's cost no longer grows with the catalog.
    pool_size : int
        How many these are.
    seed : int
        Fixes what is drawn.
    paper : bool
        The paper to the letter: the pseudo-inverse (`ridge=0`), and 5 rounds unless `rounds` is given; the anchors
        must be stored in float32.

    Examples
    --------
    >>> from vizsla import FunctionScorer, bm25
    >>> from vizsla.methods import score_anchors
    >>> items = {"a": "fig", "b": "pear", "c": "fig tree", "d": "apple"}
    >>> scorer = FunctionScorer(lambda query, texts: [len(set(query) & set(text)) for text in texts], items)
    >>> search = adacur(scorer, score_anchors(scorer, ["fig", "plum"]), first=bm25(items), budget=3, rounds=3)
    >>> found = search("tree", k=1)
    >>> found.ids, found.stats.model_calls
    ([['c']], 3)
    """
    if paper:
        ridge = _paper_ridge(anchors, ridge)
    if rounds is None:
        rounds = PAPER_ROUNDS if paper else DEFAULT_ROUNDS
    plan = Plan(budget, rounds, how, epsilon, stop=stop)
    return Adacur(scorer, anchors, plan, first=first, ridge=ridge, pool=pool, pool_size=pool_size, seed=seed)


@builds("anncur", data=None)
@validate_args
def anncur(
    scorer: Scorer,
    anchors: AnchorScores,
    *,
    budget: int = 100,
    anchor_items: int | Sequence[str] | None = None,
    first: Retriever | None = None,
    first_calls: int | None = None,
    ridge: float = DEFAULT_RIDGE,
    pool: Retriever | None = None,
    pool_size: int = 10_000,
    seed: int = 0,
    paper: bool = False,
) -> Adacur:
    """Search by an expensive scorer in two rounds: anchor items, then the best by the estimates (ANNCUR).

    The anchor items are the same for every query, or with `first` those that a retriever finds for the query (the
    paper's ANNCUR_DE and ANNCUR_TF-IDF).

    Parameters
    ----------
    scorer : Scorer
        The expensive one.
    anchors : AnchorScores
        From `score_anchors`.
    budget : int
        Calls a query, those for the anchor items included.
    anchor_items : int or sequence of ids, optional
        How many random items are scored first, or which; half of the budget unless given.
    first : Retriever, optional
        Finds the anchor items of each query.
    first_calls : int, optional
        How many of them are scored; half of the budget unless given. The rest goes to the best by the estimates.
    ridge, pool, pool_size, seed
        As for `adacur`.
    paper : bool
        The paper to the letter: the pseudo-inverse, on anchors that are stored in float32.

    Examples
    --------
    >>> from vizsla import FunctionScorer
    >>> from vizsla.methods import score_anchors
    >>> items = {"a": "fig", "b": "pear", "c": "plum"}
    >>> scorer = FunctionScorer(lambda q, ts: [len(set(q) & set(t)) for t in ts], items)
    >>> anncur(scorer, score_anchors(scorer, ["fig", "plum"]), budget=2, anchor_items=["b"])("lump", k=1).ids
    [['c']]
    """
    if paper:
        ridge = _paper_ridge(anchors, ridge)
    more: dict[str, Any] = {"ridge": ridge, "pool": pool, "pool_size": pool_size, "seed": seed}
    if first is not None:
        if anchor_items is not None:
            raise InputError("Only one of `anchor_items` and `first` can be given. Got both.")
        calls = max(1, budget // 2) if first_calls is None else check_positive("first_calls", first_calls)
        if calls > budget:
            raise InputError(f"`first_calls` must be at most the budget ({budget}). Got {calls}.")
        return Adacur(scorer, anchors, Plan(budget, 2, first=calls), first=first, **more)
    if first_calls is not None:
        raise InputError("`first_calls` must be given with `first`. Got no retriever: see `anchor_items`.")
    if anchor_items is None or isinstance(anchor_items, int | np.integer):
        count = max(1, budget // 2) if anchor_items is None else check_positive("anchor_items", anchor_items)
        fixed = generator(seed).permutation(len(anchors.items))[:count].astype(np.int64)
    else:
        fixed = np.array([anchors.items.number(item) for item in anchor_items], np.int64)
        fixed = fixed[np.sort(np.unique(fixed, return_index=True)[1])]  # each once, in the order given
    if not 0 < len(fixed) <= budget:
        raise InputError(f"`anchor_items` must be between 1 and the budget ({budget}). Got {len(fixed)}.")
    plan = Plan(budget, 2, first=len(fixed))
    return Adacur(scorer, anchors, plan, fixed=fixed, **more)


def _paper_ridge(anchors: AnchorScores, ridge: float) -> float:
    """Return the ridge of the pseudo-inverse; raise where another was asked for, or the anchors are rounded."""
    if ridge not in (0.0, DEFAULT_RIDGE):
        raise InputError(f"`ridge` must be left alone with `paper`, which takes the pseudo-inverse. Got {ridge!r}.")
    if anchors.factors.values.dtype != np.float32:
        raise InputError(
            f"`anchors` must be stored in float32 for `paper`. Got {anchors.factors.values.dtype}: use "
            'score_anchors(..., storage="float32").'
        )
    return 0.0
