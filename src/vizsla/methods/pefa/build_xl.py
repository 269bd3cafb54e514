"""Builds PEFA-XL over any retriever."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from vizsla.checked import checked
from vizsla.clicks.log import ClickLog
from vizsla.clicks.log_split import COLD, too_few
from vizsla.clicks.recency import recent_clicks
from vizsla.encoder import Encoder
from vizsla.errors import InputError
from vizsla.indexes.dense_index import DenseIndex
from vizsla.indexes.pq import PqIndex
from vizsla.methods.pefa.auto import AUTO, number_of, warn_too_few
from vizsla.methods.pefa.choose_xl import NEAR, NEIGHBOURS, THRESHOLDS, WEIGHTS, choose_xl
from vizsla.methods.pefa.xl import DEPTH, PefaXl, query_index
from vizsla.methods.pefa.xl_settings import AGGREGATES, XlSettings
from vizsla.queries import Queries
from vizsla.recipe import builds
from vizsla.retriever import Retriever

SAMPLE = 200
NARROW = 40
"""The narrowest view of a graph of past queries.

On tldr a view of 40 finds .994 of the nearest 8 and .987 of the nearest 32, one of 64 .998 and .995; MRR@10 of seen
items with 32 neighbours is .348 with either.
"""
HALF = "float16"


@builds("pefa_xl", data="clicks")
@checked
def pefa_xl(
    base: Retriever,
    clicks: Any,
    *,
    encoder: Encoder | None = None,
    weight: float | str = AUTO,
    neighbours: int | str = AUTO,
    votes: str = AUTO,
    near: float | str = AUTO,
    scale: float | str = AUTO,
    threshold: float | str = AUTO,
    depth: int = DEPTH,
    index: str = AUTO,
    half_life: float | str | None = None,
    cold: float = COLD,
    seed: int = 0,
    **options: Any,
) -> PefaXl:
    """Let the past queries nearest to a query vote for what was clicked for them (Eq. 6), on top of any retriever.

    Parameters
    ----------
    base : Retriever
        What is adapted: anything that finds and scores.
    clicks
        A Dataset, or (query text, item id) pairs with or without a weight.
    encoder : Encoder, optional
        How queries become vectors; the base's own unless given.
    weight : float or "auto"
        The base's share λ, above 0; 1 is the base, and what "auto" means below 5 different past queries, with a
        `ChoiceWarning`.
    neighbours : int or "auto"
        How many past queries vote.
    votes : {"auto", "mean", "max"}
        The mean over the neighbours as in the paper, or the strongest vote alone.
    near : float or "auto"
        Similarity up to which a past query has no say; 0 in the paper.
    scale : float or "auto"
        What a full vote is worth in the base's scores; "auto" is 1 for inner products, and otherwise the spread of
        the base's scores by that of the similarities.
    threshold : float or "auto"
        Votes that an item with clicks must get to keep its base score, so that items without clicks compete fairly; 0
        in the paper.
    depth : int
        How many items the base contributes.
    index : str
        The kind of index over past queries; "auto" is the base's kind with its options (a graph looks less far, and
        holds float16 where the base holds float32), and "flat" over a base without vectors.
    half_life, cold, seed
        As in `pefa_xs`.
    **options
        What that index takes, such as `M` or `ef`.

    Examples
    --------
    >>> from vizsla.encoder import FunctionEncoder
    >>> from vizsla.methods.bm25 import bm25
    >>> letters = FunctionEncoder(lambda ts: [[t.count(c) for c in "aefgiprt"] for t in ts], dim=8, name="letters")
    >>> search = pefa_xl(bm25({"a": "fig", "b": "pear"}), [("tart", "a")], encoder=letters, weight=0.5, neighbours=1,
    ...     votes="mean", near=0.0, scale=1.0, threshold=0.0)
    >>> search("tart").ids
    [['a']]
    """
    if half_life is not None:
        given = {**locals(), **options, "half_life": None}
        clicks, days = recent_clicks(clicks, half_life, lambda part: _again(given, part))
        aged = _again(given, clicks)
        aged.log.half_life = days
        return aged
    encoder = encoder or getattr(base, "encoder", None)
    if not isinstance(base, Retriever):
        raise InputError(f"`base` must be a retriever. Got {type(base).__name__}.")
    if not isinstance(encoder, Encoder) or encoder.sparse:
        raise InputError("`encoder` must turn queries into dense vectors; this base has none. Give one.")
    log = ClickLog.of(clicks, base.items, lambda texts: Queries(texts).encoded(encoder))
    worth = _scale(base, log) if scale == AUTO else number_of("scale", scale)
    trials = [
        XlSettings(w, k, how, n, worth, least)
        for how in (AGGREGATES if votes == AUTO else (votes,))
        for n in (NEAR if near == AUTO else (number_of("near", near),))
        for k in _neighbours(neighbours, how)
        for least in (THRESHOLDS if threshold == AUTO else (number_of("threshold", threshold),))
        for w in (WEIGHTS if weight == AUTO else (number_of("weight", weight),))
    ]
    choice, settings = None, trials[0]
    if len(trials) > 1 and too_few(log) and settings.weight == 1:  # the first trial is the base
        if weight == AUTO:
            warn_too_few(log)
    elif len(trials) > 1:
        choice, settings = choose_xl(base, log, trials, cold=cold, seed=seed)
    kind, same = _like(base, settings.neighbours) if index == AUTO else (index, {})
    built = query_index(kind, log, **(same | options))
    return PefaXl(base, encoder, log, settings, built, depth=depth, choice=choice)


def _again(given: dict[str, Any], clicks: Any) -> PefaXl:
    """Build with the same options from other clicks."""
    return pefa_xl(**{name: value for name, value in given.items() if name != "options"} | {"clicks": clicks})


def _like(base: Retriever, neighbours: int) -> tuple[str, dict[str, Any]]:
    """Return how to index past queries as the base does its items."""
    index = getattr(base, "index", None)
    # The log keeps the past queries' vectors in any case: codes for them would only lose.
    if not isinstance(index, DenseIndex) or isinstance(index, PqIndex):
        return "flat", {}
    options = dict(index.options)
    if "ef" in options:
        # A few voters are sought, not a hundred items: a narrower view finds them.
        options["ef"] = min(options["ef"], max(NARROW, 5 * neighbours // 4))
        # A walk waits for memory, and past queries often outnumber items: half the bytes, and the same neighbours.
        options["storage"] = HALF if options["storage"] == "float32" else options["storage"]
    return index.kind, options


def _neighbours(given: int | str, how: str) -> tuple[int, ...]:
    if given != AUTO:
        return (int(number_of("neighbours", given)),)
    # The strongest of 32 votes is the strongest of 8 whenever it matters.
    return NEIGHBOURS if how == "mean" else NEIGHBOURS[-1:]


def _scale(base: Retriever, log: ClickLog) -> float:
    """Return the spread of the base's best scores by that of past queries' similarities among themselves."""
    if base.scale == "inner product" or not len(log):
        return 1.0
    chosen = np.arange(len(log))[:: max(1, len(log) // SAMPLE)]
    found = base._search(Queries(log.take_queries(chosen)), DEPTH, None, 1)
    bounds, scores = found.offsets.tolist(), found._required_scores()
    parts = (scores[start:end] for start, end in pairwise(bounds))
    lists = [
        finite for part in parts if len(finite := part[np.isfinite(part)]) > 1
    ]  # best or worst of all has no scale
    similar = log.vectors[chosen] @ log.vectors[chosen].T
    spread = float(np.mean([np.std(one) for one in lists])) if lists else 1.0
    return float(f"{spread / max(float(similar.std()), 1e-6):.6g}")
