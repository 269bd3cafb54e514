"""What fitting a residual search takes after the anchors are scored: small pieces of it are timed."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

import numpy as np

from vizsla.compose.catalogues import Aligned
from vizsla.methods.cur.decomposition import decomposed
from vizsla.methods.cur.prior import prior_scores
from vizsla.methods.cur.residual_choice import FOLDS, LEFT_OUT, RANKS, RIDGES, recall_of
from vizsla.methods.cur.rounds import Plan
from vizsla.queries import Queries
from vizsla.retriever import Retriever
from vizsla.strings import Strings

ROWS = 32
"""Made-up anchor queries that are taken apart to find out."""
ASKED = 2
"""Queries that are asked to find out."""


def fit_seconds(queries: Sequence[str], items: Strings, priors: Sequence[Retriever], plan: Plan) -> float:
    """Return about how many seconds `residual_cur` will take to choose rank and ridge, and to fit.

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
    rows, asked = min(ROWS, max(2, len(queries))), list(queries[:ASKED])
    pick, start = np.random.default_rng(0), perf_counter()
    prior_scores([Aligned(prior, items) for prior in priors], len(items), Queries(asked), range(len(asked)), None, 1)
    told = (perf_counter() - start) * len(queries) / len(asked)
    scores = pick.standard_normal((rows, len(items)), np.float32)
    own = pick.standard_normal((rows, len(priors), len(items)), np.float32)
    start = perf_counter()
    fit = decomposed(scores, own, rows).fit(rows, 0.1)
    apart = (perf_counter() - start) * (len(queries) / rows) ** 2 * (FOLDS + 1)
    start = perf_counter()
    recall_of(fit, scores[:ASKED], own[:ASKED], plan)
    one = (perf_counter() - start) / ASKED * max(1.0, float(np.mean(RANKS)) / rows)
    tried = min(len(queries), FOLDS * LEFT_OUT) * len(RANKS) * len(RIDGES)
    return told + apart + one * tried
