"""Residual CUR: retrievers say what they know of the score, and anchors teach what they do not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla._internal.blas import blas_threads
from vizsla.base.queries import Queries
from vizsla.base.recipe import builds
from vizsla.base.retriever import Retriever
from vizsla.base.scorer import Scorer
from vizsla.compose.id_alignment import ReindexedPart
from vizsla.core.candidates import Candidates, Stats
from vizsla.core.strings import Strings
from vizsla.core.validation import check_seed, validate_args
from vizsla.data.filter import Filter
from vizsla.errors import FormatError, InputError, check_choice, check_positive, check_range
from vizsla.methods.cur.anchors import AnchorScores
from vizsla.methods.cur.basis_selection import TRIED_RANKS, TRIED_RIDGES, BasisChoice, Tried, choose_fit
from vizsla.methods.cur.budgeted import MAX_RIDGE, BudgetedSearch, ItemPool
from vizsla.methods.cur.components import check_catalog, check_priors, prior_scores, scorer_artifact
from vizsla.methods.cur.estimates import Estimates, PooledEstimates
from vizsla.methods.cur.factors import Factors
from vizsla.methods.cur.plan import Plan, first_rounds, read_plan, write_plan
from vizsla.methods.cur.residual_model import (
    BASES,
    ResidualFit,
    decomposed,
    fit_vectors,
    read_fit,
    vectors_of,
    write_fit,
)
from vizsla.typing import Int64Array

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter

MAX_PRIORS = 100


class ResidualCur(BudgetedSearch):
    """A budgeted search whose estimates start from retrievers' scores. Use `residual_cur` to make one.

    Parameters
    ----------
    scorer : Scorer
        The expensive one.
    items : Strings
        The catalog.
    fit : ResidualFit
        The priors' scores, and the factors of the residual.
    priors : sequence of Retriever
        The retrievers.
    plan, pool, pool_size, seed
        See `BudgetedSearch`.
    """

    kind = "residual-cur"

    def __init__(
        self,
        scorer: Scorer,
        items: Strings,
        fit: ResidualFit,
        priors: Sequence[Retriever],
        plan: Plan,
        *,
        pool: Retriever | None = None,
        pool_size: int = 10_000,
        seed: int = 0,
    ):
        super().__init__(scorer, items, plan, pool=pool, pool_size=pool_size, seed=check_seed(seed))
        check_priors(priors, items)
        check_catalog("scorer", scorer, items)
        if fit.factors.count != len(items) or len(fit.mean) != 1 + len(priors):
            raise InputError(f"`fit` must be over {len(items)} items and {len(priors)} retrievers. Got another.")
        self.fit, self.priors = fit, list(priors)
        self._aligned_priors = [ReindexedPart(prior, items) for prior in priors]

    @property
    def nbytes(self) -> int:
        """Bytes of the factors, which pools need a copy of, the scorer and the retrievers."""
        return sum(self._byte_counts().values())

    def _byte_counts(self) -> dict[Any, int]:
        parts = {key: size for part in (*self.priors, self.scorer) for key, size in part._byte_counts().items()}
        return {**parts, id(self): (1 if self.pool is None else 2) * self.fit.factors.nbytes}

    def __repr__(self) -> str:
        told = f"{len(self.priors)} retriever{'' if len(self.priors) == 1 else 's'}"
        return f"ResidualCur({len(self.items):,} items, {told}, rank {self.fit.factors.dim}, budget={self.budget})"

    @validate_args
    def completed(self, queries: Sequence[str], scored: Candidates, *, threads: int = 1) -> NDArray[np.float32]:
        """Return scores of all items for queries of which some are known: exact ones, and estimates for the rest.

        With them, queries that were answered become further anchors: see `reused_anchors`.
        """
        asked, own = Queries.of(queries, rows=len(scored)), self._align_ids(scored)
        pool = ItemPool(len(asked), len(self.items))
        estimates, _ = self._estimates(asked, range(len(asked)), pool, threads)
        rows = [(own.row(row)[0].astype(np.int64), own.row(row)[1]) for row in range(len(asked))]
        known = [scores for _, scores in rows if scores is not None]
        if len(known) < len(rows):
            raise InputError("`scored` must have scores. Got a match set.")
        estimates.learn([items for items, _ in rows], known)
        full = estimates.scores().copy()
        for row, (items, scores) in enumerate(rows):
            full[row, items] = scores
        return full

    def _estimates(self, queries: Queries, rows: range, pool: ItemPool, threads: int) -> tuple[Estimates, Stats]:
        numbers = None if pool.numbers is None else [pool.padded(at) for at in range(len(rows))]
        own, stats = prior_scores(self._aligned_priors, pool.count, queries, rows, numbers, threads)
        if numbers is None:
            return self.fit.estimates(own, threads), stats
        near = [self.fit.over(part) for part in self.fit.factors.pools(numbers, threads=threads, by_item=True)]
        parts = [fit.estimates(own[at : at + 1], threads) for at, fit in enumerate(near)]
        return PooledEstimates([*parts]), stats

    @property
    def _columns(self) -> Factors:
        return self.fit.factors

    def _parts(self) -> list[Any]:
        return [*super()._parts(), *self.priors]

    def _held(self) -> int:
        return int(2 * (self.fit.factors.dim + len(self.fit.mean)) ** 2)  # normal equations, in doubles

    def _firsts(
        self, queries: Queries, rows: range, pool: ItemPool, estimates: Estimates, filter: Filter | None, threads: int
    ) -> tuple[list[Int64Array] | None, Stats]:
        size = self.plan.first_size()
        return first_rounds(estimates, self.fit.explained, pool.allowed(filter), size), Stats(exact=True)

    def _write(self, writer: ArtifactWriter) -> None:
        write_plan(writer, self.plan, self.pool_size, self.seed)
        writer.parameters(priors=len(self.priors), pool=self.pool is not None)
        writer.catalog("items", self.items)
        writer.child("scorer", scorer_artifact(self.scorer))
        write_fit(writer, self.fit)
        for number, prior in enumerate(self.priors):
            writer.child(f"prior{number}", prior)
        if self.pool is not None:
            writer.child("pool", self.pool)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        plan, pool_size, seed = read_plan(reader)
        count = reader.parameter("priors", int)
        if not 0 <= count <= MAX_PRIORS:
            raise FormatError(f"{reader.path}: must have at most {MAX_PRIORS} retrievers. Got {count}.")
        priors = [reader.child(f"prior{number}", Retriever) for number in range(count)]
        pool = reader.child("pool", Retriever) if reader.parameter("pool", bool) else None
        items, scorer, fit = reader.catalog("items"), reader.child("scorer", Scorer), read_fit(reader)
        return cls(scorer, items, fit, priors, plan, pool=pool, pool_size=pool_size, seed=seed)


@builds("residual_cur", data=None)
@validate_args
def residual_cur(
    scorer: Scorer,
    anchors: AnchorScores | None = None,
    priors: Retriever | Sequence[Retriever] = (),
    *,
    budget: int = 100,
    rounds: int = 10,
    rank: int | None = None,
    ridge: float | None = None,
    basis: str | None = None,
    vectors: Any = None,
    storage: str = "float32",
    how: str = "topk",
    epsilon: float = 0.0,
    stop: float | None = None,
    pool: Retriever | None = None,
    pool_size: int = 10_000,
    seed: int = 0,
    threads: int = 1,
) -> ResidualCur:
    """Search a whole catalog by an expensive scorer under a budget, starting from retrievers' scores.

    Parameters
    ----------
    scorer : Scorer
        The expensive one.
    anchors : AnchorScores, optional
        From `score_anchors`. Without them `vectors` must be given, and no call is made before the first query.
    priors : Retriever or sequence of them
        Cheap retrievers, whose scores of all items are fitted to the anchors' scores.
    budget : int
        Calls a query.
    rounds : int
        Number of rounds; estimates are updated after each.
    rank : int, optional
        Dimensions that are kept of what the retrievers do not know; chosen on left-out anchor queries unless given.
        Neither it nor `basis` goes with `vectors`, which are the dimensions themselves.
    ridge : float, optional
        Share of that which is taken for noise; chosen in the same way.
    basis : {"residual", "scores"}, optional
        Whether the dimensions are those of what the retrievers leave, or of the scores themselves, which are simpler
        where a retriever knows little; chosen in the same way.
    vectors : Vectors or Retriever, optional
        Regress on these item vectors instead of anchors: those of Vectors, of a dense retriever or PEFA-XS, or the
        leading dimensions of what TF-IDF, BM25 or SiDR give their terms.
    storage : {"float32", "float16", "int8"}
        How factors are kept.
    how, epsilon, stop, pool, pool_size, seed
        As for `adacur`.
    threads : int
        For the retrievers' scores of the anchor queries, and for what BLAS multiplies to fit them.

    Examples
    --------
    >>> from vizsla import FunctionScorer, bm25
    >>> from vizsla.methods import score_anchors
    >>> items = {"a": "fig", "b": "pear", "c": "fig tree", "d": "apple"}
    >>> scorer = FunctionScorer(lambda query, texts: [len(set(query) & set(text)) for text in texts], items)
    >>> anchors = score_anchors(scorer, ["fig", "plum", "pea"])
    >>> search = residual_cur(scorer, anchors, bm25(items), budget=2, rounds=2)
    >>> search("tree", k=1).ids
    [['c']]
    """
    retrievers = [priors] if isinstance(priors, Retriever) else list(priors)
    plan = Plan(budget, rounds, how, epsilon, stop=stop)
    if rank is not None:
        check_positive("rank", rank)
    if ridge is not None:
        check_range("ridge", ridge, 0, MAX_RIDGE)
    if basis is not None:
        check_choice("basis", basis, BASES)
    if (anchors is None) == (vectors is None):
        raise InputError("`anchors` or `vectors` must say what to learn from, one of them. Got both or neither.")
    for name, given in {"rank": rank, "basis": basis}.items():
        if given is not None and anchors is None:
            raise InputError(f"`{name}` must be left out with `vectors`, which are the dimensions. Got {given!r}.")
    report = None
    if anchors is None:
        with blas_threads(check_positive("threads", threads)):
            items, rows = vectors_of(vectors)
        options = {} if ridge is None else {"ridge": ridge}
        fit = fit_vectors(rows, len(retrievers), storage=storage, **options)
    else:
        items = anchors.items
        check_priors(retrievers, items)
        ranks, ridges = TRIED_RANKS if rank is None else (rank,), TRIED_RIDGES if ridge is None else (ridge,)
        tried = Tried(ranks, ridges, BASES if basis is None else (basis,))
        with blas_threads(check_positive("threads", threads)):
            fit, report = _anchored(anchors, retrievers, plan, tried, storage, threads)
    made = ResidualCur(scorer, items, fit, retrievers, plan, pool=pool, pool_size=pool_size, seed=seed)
    made.report = report
    return made


@validate_args
def reused_anchors(
    search: ResidualCur, anchors: AnchorScores, queries: Sequence[str], scored: Candidates
) -> AnchorScores:
    """Return the anchors with queries that were answered as further ones: the index improves as it serves.

    Parameters
    ----------
    search : ResidualCur
        Estimates what was not scored.
    anchors : AnchorScores
        The anchors that it was fitted to.
    queries : sequence of str
        Past queries; those that are anchors already stay as they are, and those of which nothing was scored are left
        out: all that is said of them would be an estimate.
    scored : Candidates
        Their exact scores, as an answer with ``k=budget`` or `ScoreCache.known` gives them.
    """
    told = np.flatnonzero(np.diff(scored.offsets))
    completed = search.completed(queries, scored)
    return anchors.with_queries([queries[row] for row in told.tolist()], completed[told])


def _anchored(
    anchors: AnchorScores,
    priors: list[Retriever],
    plan: Plan,
    tried: Tried,
    storage: str,
    threads: int,
) -> tuple[ResidualFit, BasisChoice | None]:
    queries, scores = Queries(list(anchors.queries)), anchors.scores()
    aligned = [ReindexedPart(prior, anchors.items) for prior in priors]
    own, _ = prior_scores(aligned, len(anchors.items), queries, range(len(queries)), None, threads)
    chosen = tried.settled or choose_fit(scores, own, plan, tried)
    fit = decomposed(scores, own, chosen.rank, chosen.basis).fit(chosen.rank, chosen.ridge, storage)
    return fit, chosen if chosen.choices else None
