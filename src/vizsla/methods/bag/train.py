"""Learns from clicks what a query's tokens weigh and which others they call to mind; the lists stay as they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from vizsla.checked import checked
from vizsla.clicks.recency import recent_clicks
from vizsla.encoders.sidr import SidrEncoder
from vizsla.errors import InputError, check_choice, check_positive
from vizsla.methods.bag.begin import begun
from vizsla.methods.bag.choose_epochs import chosen_epochs
from vizsla.methods.bag.clicked import Clicked
from vizsla.methods.bag.learner import LearningSettings
from vizsla.methods.bag.model import Bag
from vizsla.methods.bag.verdict import warn_of
from vizsla.progress import progress
from vizsla.recipe import builds


@builds("tokens", data="clicks")
@checked
def train_tokens(
    bag: Bag,
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
) -> Bag:
    """Return the bag with a table that was learned from clicks; its lists are shared, not built anew.

    Every click is a question: which of the clicked item and the 64 items that the search finds at this very moment was
    it? The cross entropy of the answer is lowered by Adagrad. It begins at the idf, so little data harm little, and it
    learns what words mean, not which items are popular: items without clicks gain too.

    Parameters
    ----------
    bag : Bag
        Where to begin; a learned table is learned on.
    clicks : Dataset or iterable
        A Dataset, or (query text, item id) pairs with or without a weight.
    epochs : int or "auto"
        How often to go through the clicks. "auto" holds out a tenth of the queries, half of them with items that nobody
        else clicked, stops when neither kind gains any more, and then learns from all clicks as long. An epoch that
        harms items without clicks beyond noise is not taken; where none helps them, a `ChoiceWarning` says so.
    rate : float
        The step of Adagrad.
    negatives : int
        How many found items stand against each clicked one.
    temperature : float
        What scores are divided by before the softmax.
    expansions : int
        How many other tokens a token may call to mind, by how often they meet in clicks.
    batch : int
        Clicks between two steps.
    half_life : float, "auto" or None
        Days after which a click weighs half as much, for clicks with times; "auto" chooses on the latest clicks.
    seed : int
        The same seed gives the same table, bit for bit.

    Examples
    --------
    >>> from vizsla.methods.bag.model import bag
    >>> fruit = bag({"a": "a fig tree", "b": "an apple tree", "c": "a red car"})
    >>> learned = train_tokens(fruit, [("vehicle", "c"), ("vehicle red", "c"), ("orchard fig", "a")], epochs=5)
    >>> learned("vehicle", k=1).ids, fruit("vehicle", k=1).ids
    ([['c']], [[]])
    """
    settings = LearningSettings(rate, negatives, temperature, batch, expansions)
    days = bag.half_life
    if half_life is not None:
        clicks, days = recent_clicks(clicks, half_life, lambda part: _learned(bag, part, epochs, settings, seed))
    return _learned(bag, clicks, epochs, settings, seed).with_half_life(days)


def _learned(bag: Bag, clicks: Any, epochs: int | str, settings: LearningSettings, seed: int) -> Bag:
    if isinstance(bag.encoder, SidrEncoder):  # its table learns on, as if it stood alone
        alone = _learned(bag.with_table(bag.encoder.table), clicks, epochs, settings, seed)
        return bag.with_table(bag.encoder.with_table(alone.encoder))
    clicked = Clicked.of(clicks, bag.items)
    if not len(clicked):
        raise InputError("`clicks` must hold at least one click. Got none.")
    known = bag.with_words(clicked.texts)
    if isinstance(epochs, str):
        check_choice("epochs", epochs, ["auto"])
        choice = chosen_epochs(known, clicked, settings, seed=seed)
        warn_of(choice)
        return _trained(known, clicked, settings, int(choice.chosen["epochs"]), seed)
    return _trained(known, clicked, settings, check_positive("epochs", epochs), seed)


def _trained(bag: Bag, clicked: Clicked, settings: LearningSettings, epochs: int, seed: int) -> Bag:
    if not epochs:
        return bag
    learner, rng = begun(bag, clicked, clicked.clicks, settings), np.random.default_rng(seed)
    for _ in progress(range(epochs), what="learning"):
        learner.epoch(rng)
    return bag.with_table(learner.table)
