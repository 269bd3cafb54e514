"""Builds PEFA on one index: `pefa_xs` (the mean of the clicks), `pefa_max` (the best of them), `pefa` (what suits)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vizsla.checked import checked
from vizsla.clicks.log_split import COLD, too_few
from vizsla.clicks.recency import recent_clicks
from vizsla.errors import InputError
from vizsla.methods.dense import Dense
from vizsla.methods.pefa.auto import AUTO, number_of, warn_too_few
from vizsla.methods.pefa.choose_xs import (
    ITEM_WEIGHTS,
    MARGINS,
    WEIGHTS,
    Trial,
    calibration_of,
    choose_xs,
    settings_of,
    trials_max,
    trials_unit,
    trials_xs,
)
from vizsla.methods.pefa.grown_rows import grown_column_weights, grown_item_rows, grown_log
from vizsla.methods.pefa.settings import ITEM_WEIGHT, XsSettings
from vizsla.methods.pefa.xs import PefaXs
from vizsla.movable import Movable
from vizsla.recipe import builds


@builds("pefa_xs", data="clicks")
@checked
def pefa_xs(
    base: Movable,
    clicks: Any,
    *,
    weight: float | str = AUTO,
    calibrated: bool | str = AUTO,
    half_life: float | str | None = None,
    cold: float = COLD,
    seed: int = 0,
) -> PefaXs:
    """Move every item's vector towards the queries it was clicked for (Eq. 8): one index, the base's cost.

    An item without clicks keeps its vector, and so its full base score.

    Parameters
    ----------
    base : Dense, Bm25 or Tfidf
        What is adapted; it stays as it is. Over BM25 and TF-IDF the rows are bags of words or n-grams in an inverted
        index, and words that only clicked queries have are added to them.
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
    cold : float
        The share of queries to come whose items have no clicks yet; settings are chosen for it.
    seed : int
        Which clicks are held out to choose by.

    Examples
    --------
    >>> from vizsla.encoder import FunctionEncoder
    >>> from vizsla.methods.dense import dense
    >>> letters = FunctionEncoder(lambda ts: [[t.count(c) for c in "aefgiprt"] for t in ts], dim=8, name="letters")
    >>> fruit = dense({"a": "fig", "b": "grape", "c": "pear"}, letters)
    >>> pefa_xs(fruit, [("tart", "a")], weight=0.5, calibrated=False).score("tart", fruit("tart")).to_dict()
    {'0': {'b': 2.0, 'c': 2.0, 'a': 1.2247449159622192}}
    """
    weights = WEIGHTS if weight == AUTO else (number_of("weight", weight),)
    both = (True, False) if calibrated == AUTO else (bool(calibrated),)
    trials = trials_xs(weights, both)
    if calibrated == AUTO:
        trials += trials_unit(weights, base.row_lengths)
    return _recent(base, clicks, half_life, trials, (), cold, seed)


@builds("pefa_max", data="clicks")
@checked
def pefa_max(
    base: Movable,
    clicks: Any,
    *,
    weight: float | str = AUTO,
    margin: float | str = AUTO,
    item_weight: float | str = AUTO,
    half_life: float | str | None = None,
    cold: float = COLD,
    seed: int = 0,
) -> PefaXs:
    """Let an item's best past query score it alone: the larger of its calibrated PEFA-XS score and that query's.

    One index holds items and past queries, so searching costs as if there were that many more items.

    Parameters
    ----------
    base, clicks, weight, half_life, cold, seed
        As in `pefa_xs`.
    margin : float or "auto"
        What is taken off a past query's similarity when it scores alone, in spreads of the base's scores.
    item_weight : float or "auto"
        How much of its item a past query's vector takes on; "auto" is 0.3 where nothing else is chosen.
    """
    weights = WEIGHTS if weight == AUTO else (number_of("weight", weight),)
    margins = MARGINS if margin == AUTO else (number_of("margin", margin),)
    start, others = (ITEM_WEIGHT, ITEM_WEIGHTS) if item_weight == AUTO else (number_of("item_weight", item_weight), ())
    return _recent(base, clicks, half_life, trials_max(weights, margins, start), others, cold, seed)


@builds("pefa", data="clicks")
@checked
def pefa(
    base: Movable, clicks: Any, *, half_life: float | str | None = None, cold: float = COLD, seed: int = 0
) -> PefaXs:
    """Choose among the base, `pefa_xs` (plain or calibrated) and `pefa_max` on held-out clicks."""
    trials = trials_xs(WEIGHTS, (True, False)) + trials_unit(WEIGHTS, base.row_lengths)
    if isinstance(base, Dense):
        trials += trials_max(WEIGHTS, MARGINS, ITEM_WEIGHT)
    return _recent(base, clicks, half_life, trials, ITEM_WEIGHTS, cold, seed)


def _recent(base: Any, clicks: Any, half_life: float | str | None, *rest: Any) -> PefaXs:
    """Build from clicks that decay with their age, if they shall."""
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
