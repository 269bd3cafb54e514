"""train_tokens: learn from clicks what the tokens of a query weigh and which others they add."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from vizsla._internal.terminal import progress
from vizsla.base.recipe import builds, settle
from vizsla.core.validation import user_stacklevel, validate_args
from vizsla.encoders.sidr import SidrEncoder
from vizsla.errors import InputError, check_choice, check_positive
from vizsla.learning.clicks import ClickLog
from vizsla.learning.recency import recent_clicks
from vizsla.learning.selection import MIN_QUERIES, Choice, ChoiceWarning
from vizsla.methods.tokens.learner import LearningSettings, new_learner
from vizsla.methods.tokens.model import TokenRetriever
from vizsla.methods.tokens.tuning import chosen_epochs


def warn_of(choice: Choice) -> None:
    """Warn where learning does not help queries whose items have no other clicks, or where that is unknown."""
    if (message := describe_choice(choice)) is not None:
        warnings.warn(message, ChoiceWarning, stacklevel=user_stacklevel())


def describe_choice(choice: Choice) -> str | None:
    """Return a warning about a choice of epochs; None if enough cold queries took part and gained.

    Examples
    --------
    >>> before, after = {"epochs": 0, "warm": 0.3, "cold": 0.38}, {"epochs": 1, "warm": 0.5, "cold": 0.32}
    >>> describe_choice(Choice("MRR@10", 40, 0, [before, after], 0))[:80]
    'Nothing was learned: MRR@10 went from 0.380 to 0.320 on 40 queries whose items h'
    """
    if not choice.cold + choice.warm:
        epochs = choice.chosen["epochs"]
        return f"The clicks are too few to choose `epochs` by, so {epochs} were taken: give it, or more clicks."
    begun, chosen = choice.trials[0], choice.chosen
    if not chosen["epochs"]:
        return _nothing(choice)
    if choice.cold < MIN_QUERIES:
        few = f"Only {choice.cold} held-out queries have items without other clicks"
        return f"{few}: whether learning helps such items is not known. {MIN_QUERIES} would tell."
    if chosen["cold"] > begun["cold"]:
        return None
    lost = f"{choice.measure} went from {begun['cold']:.3f} to {chosen['cold']:.3f} on {choice.cold} held-out queries"
    return f"Learning did not help items without clicks: {lost}. More clicks, or `epochs=1`, may."


def _nothing(choice: Choice) -> str:
    begun, first = choice.trials[0], choice.trials[1]
    counts = {"cold": (choice.cold, "whose items have no other clicks"), "warm": (choice.warm, "of other items")}
    went = " and ".join(
        f"from {begun[kind]:.3f} to {first[kind]:.3f} on {count} queries {what}"
        for kind, (count, what) in counts.items()
        if count
    )
    return f"Nothing was learned: {choice.measure} went {went}, all held out. Give `epochs` to learn all the same."


@builds("train_tokens", data="clicks")
@validate_args
def train_tokens(
    base: TokenRetriever,
    clicks: Any,
    *,
    epochs: int | str = "auto",
    rate: float = 0.1,
    negatives: int = 64,
    temperature: float = 1.0,
    expansions: int = 64,
    batch: int = 128,
    half_life: float | str | None = None,
    seed: int = 0,
) -> TokenRetriever:
    """Return the base with a table that was learned from clicks; its lists are shared, not built again.

    Every click is a question: which of the clicked item and the 64 items that the search finds at this very moment was
    it? The cross entropy of the answer is lowered by Adagrad. It begins at the idf, so little data harm little, and it
    learns what words mean, not which items are popular: items without clicks gain too.

    Parameters
    ----------
    base : TokenRetriever
        Where to begin; a learned table is learned on.
    clicks : Dataset or iterable
        A Dataset, or (query text, item id) pairs with or without a weight.
    epochs : int or "auto"
        Passes over the clicks. "auto" holds out a tenth of the queries, half of them with items without
        other clicks, stops when neither kind gains any more, and then learns from all clicks as long. An epoch that
        harms items without clicks beyond noise is not taken; where none helps them, a `ChoiceWarning` says so.
    rate : float
        The step of Adagrad.
    negatives : int
        How many found items stand against each clicked one.
    temperature : float
        Divisor of the scores before the softmax.
    expansions : int
        Maximum number of expansions per token, by how often they co-occur in clicks.
    batch : int
        Clicks between two steps.
    half_life : float, "auto" or None
        Days after which a click weighs half as much, for clicks with times; "auto" chooses on the latest clicks.
    seed : int
        The same seed gives the same table, bit for bit.

    Examples
    --------
    >>> from vizsla.methods.tokens.model import tokens
    >>> fruit = tokens({"a": "a fig tree", "b": "an apple tree", "c": "a red car"})
    >>> learned = train_tokens(fruit, [("vehicle", "c"), ("vehicle red", "c"), ("orchard fig", "a")], epochs=5)
    >>> learned("vehicle", k=1).ids, fruit("vehicle", k=1).ids
    ([['c']], [[]])
    """
    settings = LearningSettings(rate, negatives, temperature, batch, expansions)
    days = base.half_life
    if half_life is not None:
        clicks, days = recent_clicks(clicks, half_life, lambda part: _learned(base, part, epochs, settings, seed))
    learned = _learned(base, clicks, epochs, settings, seed).with_half_life(days)
    if isinstance(epochs, str) and isinstance(learned.report, Choice):
        settle(learned, epochs=int(learned.report.chosen["epochs"]))
    return learned


def _learned(
    base: TokenRetriever, clicks: Any, epochs: int | str, settings: LearningSettings, seed: int
) -> TokenRetriever:
    if isinstance(base.encoder, SidrEncoder):  # its table learns on, as if it stood alone
        alone = _learned(base.with_table(base.encoder.table), clicks, epochs, settings, seed)
        return base.with_table(base.encoder.with_table(alone.encoder))
    clicked = ClickLog.of(clicks, base.items)
    if not len(clicked):
        raise InputError("`clicks` must hold at least one click. Got none.")
    known = base.with_words(clicked.texts)
    if isinstance(epochs, str):
        check_choice("epochs", epochs, ["auto"])
        choice = chosen_epochs(known, clicked, settings, seed=seed)
        warn_of(choice)
        made = _trained(known, clicked, settings, int(choice.chosen["epochs"]), seed)
        made = made.with_half_life(made.half_life)  # another object: the base's own has no report
        made.report = choice
        return made
    return _trained(known, clicked, settings, check_positive("epochs", epochs), seed)


def _trained(
    base: TokenRetriever, clicked: ClickLog, settings: LearningSettings, epochs: int, seed: int
) -> TokenRetriever:
    if not epochs:
        return base
    learner, rng = new_learner(base, clicked, clicked.clicks, settings), np.random.default_rng(seed)
    for _ in progress(range(epochs), what="learning"):
        learner.epoch(rng)
    return base.with_table(learner.table)
