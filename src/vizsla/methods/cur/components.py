"""The parts of a budgeted search: first stage, scorer and prior scores, over one catalog."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from vizsla.artifacts.artifact import Artifact
from vizsla.base.queries import Queries
from vizsla.base.retriever import Retriever
from vizsla.base.scorer import Scorer, unwrapped
from vizsla.compose.composition import Composition
from vizsla.compose.id_alignment import ReindexedPart
from vizsla.core.candidates import Candidates, Stats
from vizsla.core.strings import Strings
from vizsla.data.filter import Filter
from vizsla.errors import CompositionError, InputError
from vizsla.typing import Float32Array, Int64Array

Found = tuple[Candidates, Stats]


def scorer_artifact(scorer: Scorer) -> Artifact:
    """Return the scorer that is saved: budgets and caches stay outside of artifacts."""
    inner = unwrapped(scorer)
    if not isinstance(inner, Artifact):
        raise CompositionError(f"`scorer` must be an artifact to be saved. Got {type(inner).__name__}, which is code.")
    return inner


def check_catalog(what: str, part: Scorer, items: Strings) -> None:
    """Raise unless a part knows every item."""
    if part.items is not items and part.items != items and (part.items.find_all(items) < 0).any():
        raise InputError(f"`{what}` must know every item of the anchors. Got {part!r}, which lacks some.")


def check_cheap(what: str, part: Retriever | None) -> None:
    """Raise if a part calls models itself: those calls would be outside of the budget."""
    if part is not None and calls_models(part):
        raise CompositionError(f"`{what}` must call no models, or the budget would not hold. Got {part}.")


def calls_models(part: Scorer) -> bool:
    """Whether scoring or searching with this part makes model calls."""
    inner = unwrapped(part)
    parts = inner.children() if isinstance(inner, Composition) else []
    return inner.model_calls or any(map(calls_models, parts))


def found_by(
    retriever: ReindexedPart[Retriever], k: int, queries: Queries, filter: Filter | None, threads: int
) -> Found:
    """Return what a retriever finds for all queries of the call: searched once, and paid for once."""
    key = (retriever, "found", k, filter)
    known = queries.memo(key)
    if known is not None:
        return known, Stats(exact=True)
    found = queries.memoize(key, retriever.search(queries, k, filter, threads))
    return found, found.stats.with_exact(True)


def check_priors(priors: Sequence[Any], items: Strings) -> None:
    """Raise unless all are retrievers that score every item without calling a model."""
    for prior in priors:
        if not isinstance(prior, Retriever) or prior.scale == "none":
            raise CompositionError(f"`priors` must be retrievers that give scores. Got {type(prior).__name__}.")
        check_cheap("priors", prior)
        check_catalog("priors", prior, items)


def prior_scores(
    priors: Sequence[ReindexedPart[Retriever]],
    count: int,
    queries: Queries,
    rows: range,
    numbers: list[Int64Array] | None,
    threads: int,
) -> tuple[Float32Array, Stats]:
    """Return the retrievers' scores of some queries' items, queries × retrievers × items, and their cost.

    The items are all `count` of the catalog, or as many of each query as `numbers` has.
    """
    width = count if numbers is None else len(numbers[0]) if numbers else 0
    every = np.arange(count, dtype=np.int32)
    flat = [every] * len(rows) if numbers is None else [some.astype(np.int32) for some in numbers]
    offsets = np.zeros(len(queries) + 1, np.int64)
    offsets[rows.start + 1 : rows.stop + 1] = width
    offsets = np.cumsum(offsets)
    own, stats = np.zeros((len(rows), len(priors), width), np.float32), Stats(exact=True)
    for at, prior in enumerate(priors):
        pairs = Candidates.unchecked(offsets, np.concatenate([every[:0], *flat]), None, prior.merged, Stats())
        scored = prior.score(queries, pairs, None, threads)
        own[:, at] = scored.scores.reshape(len(rows), width)
        stats = stats + scored.stats.with_exact(True)
    return own, stats
