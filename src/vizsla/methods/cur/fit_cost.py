"""What fitting a residual search takes after the anchors are scored: small pieces of it are timed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter

import numpy as np

from vizsla.compose.catalogues import Aligned
from vizsla.linalg.blas_threads import blas_threads
from vizsla.methods.cur.decomposition import BASES, decomposed
from vizsla.methods.cur.prior import prior_scores
from vizsla.methods.cur.residual_choice import FOLDS, LEFT_OUT, LEFT_OUT_FOR_BASIS, RIDGES, recall_of, usable_ranks
from vizsla.methods.cur.rounds import Plan
from vizsla.queries import Queries
from vizsla.retriever import Retriever
from vizsla.strings import Strings

ROWS = 32
"""Made-up anchor queries that are taken apart to find out."""
ASKED = 8
"""Queries that are asked to find out."""


@blas_threads(1)  # as `residual_cur` does unless it is given more
def fit_seconds(queries: Sequence[str], items: Strings, priors: Sequence[Retriever], plan: Plan) -> float:
    """Return about how many seconds `residual_cur` will take to choose basis, rank and ridge, and to fit.

    Parameters
    ----------
    queries : sequence of str
        The anchor queries.
    items : Strings
        The catalogue.
    priors : sequence of Retriever
        What they are fitted to.
    plan : Plan
        How calls will be spent.

    Examples
    --------
    >>> fit_seconds(["fig", "plum"], Strings.of(["a", "b", "c"]), [], Plan(2, 1)) > 0
    True
    """
    asked, ranks = list(queries[:ASKED]), usable_ranks(len(queries))
    rows = min(ROWS, len(queries))
    pick, aligned = np.random.default_rng(0), [Aligned(prior, items) for prior in priors]
    told = _seconds(lambda: prior_scores(aligned, len(items), Queries(asked), range(len(asked)), None, 1))
    scores = pick.standard_normal((rows, len(items)), np.float32)
    own = pick.standard_normal((rows, len(priors), len(items)), np.float32)
    apart = _seconds(lambda: decomposed(scores, own, rows))
    fit, few = decomposed(scores, own, rows).fit(rows, 0.1), len(asked)
    one = _seconds(lambda: recall_of(fit, scores[:few], own[:few], plan)) / few
    tried = min(len(queries), FOLDS * LEFT_OUT) * len(ranks) * len(RIDGES)
    tried += min(len(queries), FOLDS * LEFT_OUT_FOR_BASIS) * len(BASES)
    folds = ((len(BASES) + 1) * FOLDS + 1) * (len(queries) / rows) ** 2
    return told * len(queries) / few + apart * folds + one * tried * max(1.0, float(np.mean(ranks)) / rows)


def _seconds(work: Callable[[], object]) -> float:
    """Return how long some work takes the second time: the first pays for imports and memory."""
    work()
    start = perf_counter()
    work()
    return perf_counter() - start
