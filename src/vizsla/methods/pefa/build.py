"""Build PEFA: `pefa` and its variants."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal, overload

import numpy as np

from vizsla.base.encoder import Encoder
from vizsla.base.index_retriever import IndexRetriever, RowSpaceRetriever
from vizsla.base.queries import Queries
from vizsla.base.recipe import builds
from vizsla.base.retriever import Retriever
from vizsla.core.validation import check_type, validate_args
from vizsla.errors import InputError, check_choice
from vizsla.indexes.dense_index import DenseIndex
from vizsla.indexes.pq.pq_index import PqIndex
from vizsla.learning.clicks import ClickLog
from vizsla.learning.recency import recent_clicks
from vizsla.learning.selection import Trial
from vizsla.learning.splits import COLD_SHARE, too_few
from vizsla.methods.dense import Dense
from vizsla.methods.pefa.blending import grown_column_weights, grown_item_rows, grown_log
from vizsla.methods.pefa.options import AGGREGATES, ITEM_WEIGHT, XlSettings, XsSettings
from vizsla.methods.pefa.selection import (
    AUTO,
    ITEM_WEIGHTS,
    MARGINS,
    NEAR_POWERS,
    NEIGHBORS,
    THRESHOLDS,
    XL_WEIGHTS,
    XS_WEIGHTS,
    calibration_of,
    choose_xl,
    choose_xs,
    number_of,
    settings_of,
    trials_max,
    trials_unit,
    trials_xs,
    warn_too_few,
)
from vizsla.methods.pefa.xl import DEFAULT_BASE_DEPTH, PefaXl, query_index
from vizsla.methods.pefa.xs import PefaXs


@builds("pefa", data="clicks", variant="xs")
@validate_args
def pefa_xs(
    base: RowSpaceRetriever,
    clicks: Any,
    *,
    weight: float | str = AUTO,
    calibrated: bool | str = AUTO,
    half_life: float | str | None = None,
    cold: float = COLD_SHARE,
    seed: int = 0,
    paper: bool = False,
) -> PefaXs:
    """Move every item's vector towards the queries it was clicked for (Eq. 8): one index, the base's cost.

    An item without clicks keeps its vector, and so its full base score, unless `paper` is set.

    Parameters
    ----------
    base : Dense, Bm25 or Tfidf
        The retriever to adapt; it is not changed. Over BM25 and TF-IDF the rows are bags of words or n-grams in an
        inverted index, and words that only clicked queries have are added to them.
    clicks
        A Dataset, or (query text, item id) pairs with or without a weight.
    weight : float or "auto"
        The base's share λ, from 0 to 1; 1 is the base, and what "auto" means below 5 different past queries, with a
        `ChoiceWarning`.
    calibrated : bool or "auto"
        Bring the kNN component to the base's mean and spread, so that items without clicks compete fairly. False is
        the paper's formula.
    half_life : float, "auto" or None
        Days after which a click weighs half as much, for clicks with times: a Dataset's log, or fourth entries in
        seconds since 1970. "auto" chooses on the latest clicks.
    cold : float in [0, 1]
        The share of queries to come whose items have no clicks yet; settings are chosen for it.
    seed : int
        Which clicks are held out for the selection.
    paper : bool
        Eq. 8 to the letter: every click counts 1, nothing is calibrated, and an item without clicks has λ times its
        base score. Nothing is chosen; `weight` "auto" is then 0.5.

    Examples
    --------
    >>> from vizsla.base.encoder import FunctionEncoder
    >>> from vizsla.methods.dense import dense
    >>> letters = FunctionEncoder(lambda ts: [[t.count(c) for c in "aefgiprt"] for t in ts], dim=8, name="letters")
    >>> fruit = dense({"a": "fig", "b": "grape", "c": "pear"}, letters)
    >>> pefa_xs(fruit, [("tart", "a")], weight=0.5, calibrated=False).score("tart", fruit("tart")).to_dict()
    {'0': {'b': 2.0, 'c': 2.0, 'a': 1.2247449159622192}}
    """
    if paper:
        return _paper_xs(base, clicks, weight, calibrated, half_life)
    weights = XS_WEIGHTS if weight == AUTO else (number_of("weight", weight),)
    both = (True, False) if calibrated == AUTO else (bool(calibrated),)
    trials = trials_xs(weights, both)
    if calibrated == AUTO:
        trials += trials_unit(weights, base.row_lengths)
    return _recent(base, clicks, half_life, trials, (), cold, seed)


PAPER_WEIGHT = 0.5
PAPER_NEIGHBORS = 32


def _paper_xs(
    base: RowSpaceRetriever,
    clicks: Any,
    weight: float | str,
    calibrated: bool | str,
    half_life: float | str | None,
) -> PefaXs:
    """Build Eq. 8 to the letter."""
    if calibrated not in (AUTO, False) or half_life is not None:
        raise InputError("`paper` must be without `calibrated` and `half_life`. Got one of them: leave it out.")
    share = PAPER_WEIGHT if weight == AUTO else number_of("weight", weight)
    return PefaXs.build(base, grown_log(base, clicks), XsSettings(share, paper=True))


@builds("pefa", data="clicks", variant="max")
@validate_args
def pefa_max(
    base: RowSpaceRetriever,
    clicks: Any,
    *,
    weight: float | str = AUTO,
    margin: float | str = AUTO,
    item_weight: float | str = AUTO,
    half_life: float | str | None = None,
    cold: float = COLD_SHARE,
    seed: int = 0,
) -> PefaXs:
    """Let an item's best past query score it: the larger of its calibrated PEFA-XS score and that query's.

    One index holds items and past queries, so searching costs as if there were that many more items.

    Parameters
    ----------
    base, clicks, weight, half_life, cold, seed
        As in `pefa_xs`.
    margin : float or "auto"
        Subtracted from a past query's similarity when it scores alone, in spreads of the base's scores.
    item_weight : float or "auto"
        Weight of the item in a past query's vector; "auto" is 0.3 unless another one is selected.
    """
    weights = XS_WEIGHTS if weight == AUTO else (number_of("weight", weight),)
    margins = MARGINS if margin == AUTO else (number_of("margin", margin),)
    start, others = (ITEM_WEIGHT, ITEM_WEIGHTS) if item_weight == AUTO else (number_of("item_weight", item_weight), ())
    return _recent(base, clicks, half_life, trials_max(weights, margins, start), others, cold, seed)


def _auto(base: RowSpaceRetriever, clicks: Any, half_life: float | str | None, cold: float, seed: int) -> PefaXs:
    """Choose among the base, `pefa_xs` (plain or calibrated) and `pefa_max` on held-out clicks."""
    trials = trials_xs(XS_WEIGHTS, (True, False)) + trials_unit(XS_WEIGHTS, base.row_lengths)
    if isinstance(base, Dense):
        trials += trials_max(XS_WEIGHTS, MARGINS, ITEM_WEIGHT)
    return _recent(base, clicks, half_life, trials, ITEM_WEIGHTS, cold, seed)


def _recent(base: Any, clicks: Any, half_life: float | str | None, *rest: Any) -> PefaXs:
    """Build, with clicks discounted by their age if a half-life is given."""
    if half_life is None:
        return _built(base, clicks, *rest)
    clicks, days = recent_clicks(clicks, half_life, lambda part: _built(base, part, *rest))
    built = _built(base, clicks, *rest)
    built.log.half_life = days
    return built


def _built(
    base: Any, clicks: Any, trials: list[Trial], item_weights: Sequence[float], cold: float, seed: int
) -> PefaXs:
    if base.encoder.sparse and "margin" in trials[0]:
        raise InputError("`base` must be dense for `pefa_max`. Got a sparse one: `pefa_xs` takes it.")
    log = grown_log(base, clicks)
    if too_few(log) and len(trials) > 1 and any(trial["weight"] == 1 for trial in trials):
        if any(trial["weight"] < 1 or "margin" in trial for trial in trials):
            warn_too_few(log)
        return PefaXs.build(base, log, XsSettings(1.0))
    vectors, weights = grown_item_rows(base, log), grown_column_weights(base, log)
    choice = None
    if len(trials) > 1:
        choice = choose_xs(vectors, log, trials, item_weights=item_weights, cold=cold, seed=seed, weights=weights)
    trial = trials[0] if choice is None else choice.chosen
    return PefaXs.build(base, log, settings_of(trial, calibration_of(vectors, log, weights)), choice=choice)


MAX_QUERIES_SAMPLED = 200
MIN_EF = 40
"""The narrowest view of a graph of past queries.

On tldr a view of 40 finds .994 of the nearest 8 and .987 of the nearest 32, one of 64 .998 and .995; MRR@10 of seen
items with 32 neighbors is .348 with either.
"""
HALF_PRECISION = "float16"


@builds("pefa", data="clicks", variant="xl")
@validate_args
def pefa_xl(
    base: Retriever,
    clicks: Any,
    *,
    encoder: Encoder | None = None,
    weight: float | str = AUTO,
    neighbors: int | str = AUTO,
    votes: str = AUTO,
    near: float | str = AUTO,
    scale: float | str = AUTO,
    threshold: float | str = AUTO,
    depth: int = DEFAULT_BASE_DEPTH,
    index: str = AUTO,
    half_life: float | str | None = None,
    cold: float = COLD_SHARE,
    seed: int = 0,
    paper: bool = False,
    **options: Any,
) -> PefaXl:
    """Let the past queries nearest to a query vote for what was clicked for them (Eq. 6), on top of any retriever.

    Parameters
    ----------
    base : Retriever
        The retriever to adapt.
    clicks
        A Dataset, or (query text, item id) pairs with or without a weight.
    encoder : Encoder, optional
        How queries become vectors; the base's own unless given.
    weight : float or "auto"
        The base's share λ, above 0; 1 is the base, and what "auto" means below 5 different past queries, with a
        `ChoiceWarning`.
    neighbors : int or "auto"
        Number of past queries that vote.
    votes : {"auto", "mean", "max"}
        The mean over the neighbors as in the paper, or the strongest vote alone.
    near : float or "auto"
        Similarity up to which a past query does not vote; 0 in the paper.
    scale : float or "auto"
        Scale of a full vote in the base's scores; "auto" is 1 for inner products, and otherwise the spread of
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
    paper : bool
        Exactly Eq. 6: every click counts 1, past queries with a negative similarity vote against, and λ = 0
        uses the votes only. Nothing is selected; "auto" is then λ = 0.5 and 32 neighbors.
    **options
        Options of that index, such as `M` or `ef`.

    Examples
    --------
    >>> from vizsla.base.encoder import FunctionEncoder
    >>> from vizsla.methods.bm25 import bm25
    >>> letters = FunctionEncoder(lambda ts: [[t.count(c) for c in "aefgiprt"] for t in ts], dim=8, name="letters")
    >>> search = pefa_xl(bm25({"a": "fig", "b": "pear"}), [("tart", "a")], encoder=letters, weight=0.5, neighbors=1,
    ...     votes="mean", near=0.0, scale=1.0, threshold=0.0)
    >>> search("tart").ids
    [['a']]
    """
    if paper and ((votes, near, scale, threshold) != (AUTO,) * 4 or half_life is not None):
        raise InputError("`paper` must be with `weight` and `neighbors` alone. Got another option: leave it out.")
    if half_life is not None:
        given = {**locals(), **options, "half_life": None}
        clicks, days = recent_clicks(clicks, half_life, lambda part: _again(given, part))
        aged = _again(given, clicks)
        aged.log.half_life = days
        return aged
    if not isinstance(base, Retriever):
        raise InputError(f"`base` must be a retriever. Got {type(base).__name__}.")
    encoder = encoder or base.encoder
    if not isinstance(encoder, Encoder) or encoder.sparse:
        raise InputError("`encoder` must turn queries into dense vectors; this base has none. Give one.")
    log = ClickLog.of(clicks, base.items, lambda texts: Queries(texts).encoded(encoder))
    if paper:
        share = PAPER_WEIGHT if weight == AUTO else number_of("weight", weight)
        nearest = PAPER_NEIGHBORS if neighbors == AUTO else int(number_of("neighbors", neighbors))
        exact = XlSettings(share, nearest, paper=True)
        return PefaXl(base, encoder, log, exact, _past_index(base, log, exact, index, options), depth=depth)
    worth = default_scale(base, log) if scale == AUTO else number_of("scale", scale)
    trials = [
        XlSettings(w, k, how, n, worth, least)
        for how in (AGGREGATES if votes == AUTO else (votes,))
        for n in (NEAR_POWERS if near == AUTO else (number_of("near", near),))
        for k in _neighbors(neighbors, how)
        for least in (THRESHOLDS if threshold == AUTO else (number_of("threshold", threshold),))
        for w in (XL_WEIGHTS if weight == AUTO else (number_of("weight", weight),))
    ]
    choice, settings = None, trials[0]
    if len(trials) > 1 and too_few(log) and settings.weight == 1:  # the first trial is the base
        if weight == AUTO:
            warn_too_few(log)
    elif len(trials) > 1:
        choice, settings = choose_xl(base, log, trials, cold=cold, seed=seed)
    built = _past_index(base, log, settings, index, options)
    return PefaXl(base, encoder, log, settings, built, depth=depth, choice=choice)


def _past_index(
    base: Retriever, log: ClickLog, settings: XlSettings, index: str, options: dict[str, Any]
) -> DenseIndex | None:
    """Index the past queries as requested, or as the base indexes its items."""
    kind, same = _like(base, settings.neighbors) if index == AUTO else (index, {})
    return query_index(kind, log, **(same | options))


def _again(given: dict[str, Any], clicks: Any) -> PefaXl:
    """Build with the same options from other clicks."""
    return pefa_xl(**{name: value for name, value in given.items() if name != "options"} | {"clicks": clicks})


def _like(base: Retriever, neighbors: int) -> tuple[str, dict[str, Any]]:
    """Return how to index past queries as the base does its items."""
    index = base.index if isinstance(base, IndexRetriever) else None
    # The log keeps the past queries' vectors in any case: codes for them would only lose.
    if not isinstance(index, DenseIndex) or isinstance(index, PqIndex):
        return "flat", {}
    options = dict(index.options)
    if "ef" in options:
        # A few voters are sought, not a hundred items: a narrower view finds them.
        options["ef"] = min(options["ef"], max(MIN_EF, 5 * neighbors // 4))
        # A walk waits for memory, and past queries often outnumber items: half the bytes, and the same neighbors.
        options["storage"] = HALF_PRECISION if options["storage"] == "float32" else options["storage"]
    return index.kind, options


def _neighbors(given: int | str, how: str) -> tuple[int, ...]:
    if given != AUTO:
        return (int(number_of("neighbors", given)),)
    # The strongest of 32 votes is the strongest of 8 whenever it matters.
    return NEIGHBORS if how == "mean" else NEIGHBORS[-1:]


def default_scale(base: Retriever, log: ClickLog) -> float:
    """Return the spread of the base's best scores by that of past queries' similarities among themselves."""
    if base.scale == "inner product" or not len(log):
        return 1.0
    chosen = np.arange(len(log))[:: max(1, len(log) // MAX_QUERIES_SAMPLED)]
    found = base._search(Queries(log.take_queries(chosen)), DEFAULT_BASE_DEPTH, None, 1)
    bounds, scores = found.offsets.tolist(), found._required_scores()
    parts = (scores[start:end] for start, end in pairwise(bounds))
    lists = [
        finite for part in parts if len(finite := part[np.isfinite(part)]) > 1
    ]  # best or worst of all has no scale
    similar = log.vectors[chosen] @ log.vectors[chosen].T
    spread = float(np.mean([np.std(one) for one in lists])) if lists else 1.0
    return float(f"{spread / max(float(similar.std()), 1e-6):.6g}")


VARIANTS = (AUTO, "xs", "max", "xl")


@overload
def pefa(
    base: RowSpaceRetriever,
    clicks: Any,
    variant: Literal["auto", "xs", "max"] = "auto",
    *,
    half_life: float | str | None = None,
    cold: float = COLD_SHARE,
    seed: int = 0,
    **options: Any,
) -> PefaXs: ...


@overload
def pefa(
    base: Retriever,
    clicks: Any,
    variant: Literal["xl"],
    *,
    half_life: float | str | None = None,
    cold: float = COLD_SHARE,
    seed: int = 0,
    **options: Any,
) -> PefaXl: ...


@builds("pefa", data="clicks")
@validate_args
def pefa(
    base: Retriever,
    clicks: Any,
    variant: str = AUTO,
    *,
    half_life: float | str | None = None,
    cold: float = COLD_SHARE,
    seed: int = 0,
    **options: Any,
) -> PefaXs | PefaXl:
    """Adapt a retriever to clicks without training anything.

    Parameters
    ----------
    base : Retriever
        The retriever to adapt; it is not changed. "xs" takes dense retrievers, BM25 and TF-IDF, "max" dense ones, and
        "xl" any retriever, with an `encoder` where it has none.
    clicks
        A Dataset, or (query text, item id) pairs with or without a weight.
    variant : {"auto", "xs", "max", "xl"}
        "xs" moves every item's vector towards the queries it was clicked for, "max" also lets an item's best past query
        score it alone, and "xl" lets the past queries nearest to a query vote. "auto" chooses among the base, "xs" and
        "max" on held-out clicks.
    half_life : float, "auto" or None
        Days after which a click weighs half as much, for clicks with times. "auto" chooses on the latest clicks.
    cold : float in [0, 1]
        The share of queries to come whose items have no clicks yet; settings are chosen for it.
    seed : int
        Which clicks are held out for the selection.
    **options
        Of the variant; what is left out, or "auto", is chosen on held-out clicks. "xs" has `weight`, `calibrated`
        and `paper`; "max" has `weight`, `margin` and `item_weight`; "xl" has `weight`, `neighbors`, `votes`, `near`,
        `scale`, `threshold`, `paper`, `encoder`, `depth`, `index` and what that index takes.

    Examples
    --------
    >>> from vizsla.methods.bm25 import bm25
    >>> fruit = bm25({"a": "a sweet fig", "b": "a green pear"})
    >>> pefa(fruit, [("purple", "a")], variant="xs", weight=0.5, calibrated=False)("purple").ids
    [['a']]
    """
    check_choice("variant", variant, VARIANTS)
    build: Any = {"xs": pefa_xs, "max": pefa_max, "xl": pefa_xl}.get(variant)
    known = () if build is None else inspect.signature(build).parameters
    wrong = [name for name in options if name not in known and variant != "xl"]
    if wrong:
        own = ", ".join(f"`{name}`" for name in known if name not in (*inspect.signature(pefa).parameters, "clicks"))
        raise InputError(f'`{wrong[0]}` must be an option of the variant "{variant}" ({own or "none"}). Got another.')
    if build is None:
        rows = check_type("base", base, RowSpaceRetriever, RowSpaceRetriever.in_words)
        return _auto(rows, clicks, half_life, cold, seed)
    made: PefaXs | PefaXl = build(base, clicks, half_life=half_life, cold=cold, seed=seed, **options)
    return made
