"""Priors: retrievers whose scores of all items an expensive score is fitted to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from vizsla.candidates import Candidates
from vizsla.compose.catalogues import Aligned
from vizsla.errors import CompositionError
from vizsla.methods.cur.estimates import Floats, Items
from vizsla.methods.cur.parts import check_catalogue, check_cheap
from vizsla.queries import Queries
from vizsla.retriever import Retriever
from vizsla.stats import Stats
from vizsla.strings import Strings


def check_priors(priors: Sequence[Any], items: Strings) -> None:
    """Raise unless all are retrievers that score every item without calling a model."""
    for prior in priors:
        if not isinstance(prior, Retriever) or prior.scale == "none":
            raise CompositionError(f"`priors` must be retrievers that give scores. Got {type(prior).__name__}.")
        check_cheap("priors", prior)
        check_catalogue("priors", prior, items)


def prior_scores(
    priors: Sequence[Aligned[Retriever]],
    count: int,
    queries: Queries,
    rows: range,
    numbers: list[Items] | None,
    threads: int,
) -> tuple[Floats, Stats]:
    """Return the retrievers' scores of some queries' items, queries × retrievers × items, and their cost.

    The items are all `count` of the catalogue, or as many of each query as `numbers` has.
    """
    width = count if numbers is None else len(numbers[0]) if numbers else 0
    every = np.arange(count, dtype=np.int32)
    flat = [every] * len(rows) if numbers is None else [some.astype(np.int32) for some in numbers]
    offsets = np.zeros(len(queries) + 1, np.int64)
    offsets[rows.start + 1 : rows.stop + 1] = width
    offsets = np.cumsum(offsets)
    own, stats = np.zeros((len(rows), len(priors), width), np.float32), Stats(exact=True)
    for at, prior in enumerate(priors):
        pairs = Candidates.trusted(offsets, np.concatenate([every[:0], *flat]), None, prior.merged, Stats())
        scored = prior.score(queries, pairs, None, threads)
        own[:, at] = scored.scores.reshape(len(rows), width)
        stats = stats + scored.stats.with_exact(True)
    return own, stats
