"""Learns from clicks what a query's tokens weigh and which others they call to mind; the lists stay as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vizsla.checked import checked
from vizsla.clicks.choice import Choice
from vizsla.clicks.hold_out import HeldOut, hold_out
from vizsla.clicks.recency import recent_clicks
from vizsla.encoders.sidr import SidrEncoder
from vizsla.encoders.token_table import TokenTable
from vizsla.errors import InputError, check_choice, check_positive
from vizsla.methods.bag.clicked import Clicked
from vizsla.methods.bag.expansion import strongest_pairs
from vizsla.methods.bag.learner import LearningSettings, TokenLearner
from vizsla.methods.bag.model import Bag
from vizsla.progress import progress

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from vizsla.sparse_rows import SparseRows

COLD = 0.5
HELD_OUT, MOST_HELD = 0.1, 2000
FEWEST = 20
"""With fewer queries none can be held out."""
MOST_EPOCHS = 6
"""More teach warm queries still, but cold ones lose what they gained."""
PATIENCE = 2


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
        else clicked, stops when neither kind gains any more, and then learns from all clicks as long.
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
        epochs = int(chosen_epochs(known, clicked, settings, seed=seed).chosen["epochs"])
    return _trained(known, clicked, clicked.clicks, settings, check_positive("epochs", epochs), seed)


def chosen_epochs(bag: Bag, clicked: Clicked, settings: LearningSettings, *, seed: int) -> Choice:
    """Learn from some of the clicks and measure the others after every epoch: warm and cold queries apart."""
    held = held_out_queries(clicked.clicks, seed)
    if held is None:
        return Choice("MRR@10", 0, 0, [{"epochs": 3, "all": 0.0, "warm": 0.0, "cold": 0.0}], 0)
    rows = np.concatenate([held.cold, held.warm])
    asked, cold = clicked.take(rows), np.arange(len(rows)) < len(held.cold)
    learner = begun(bag, clicked, clicks_left(clicked.clicks, held), settings)
    rng, best = np.random.default_rng(seed), -1
    trials, measured = [{"epochs": 0}], [_ranks(bag, asked)]
    for epoch in progress(range(1, MOST_EPOCHS + 1), what="choosing the epochs"):
        learner.epoch(rng)
        trials.append({"epochs": epoch})
        measured.append(_ranks(bag.with_table(learner.table), asked))
        best = int(np.argmax([_balanced(values, cold) for values in measured]))
        if epoch - best >= PATIENCE:
            break
    return Choice.among(trials[1:], measured[1:], cold, measure="MRR@10")


def begun(bag: Bag, clicked: Clicked, clicks: csr_array, settings: LearningSettings) -> TokenLearner:
    """Return a learner at the bag's own table, with room for the expansions that these clicks suggest."""
    queries = bag.encoder.bag.queries(clicked.texts)
    table = _with_room(bag, queries, clicks, settings.expansions)
    return TokenLearner(bag, table, queries, clicks, settings)


def _trained(bag: Bag, clicked: Clicked, clicks: csr_array, settings: LearningSettings, epochs: int, seed: int) -> Bag:
    learner, rng = begun(bag, clicked, clicks, settings), np.random.default_rng(seed)
    for _ in progress(range(epochs), what="learning"):
        learner.epoch(rng)
    return bag.with_table(learner.table)


def _with_room(bag: Bag, queries: SparseRows, clicks: csr_array, most: int) -> TokenTable:
    """Return the bag's table with the strongest pairs of these clicks added to its expansions, at 0."""
    table: TokenTable = bag.encoder
    items = bag.index.item_rows().to_scipy()
    rows = np.repeat(np.arange(clicks.shape[0]), np.diff(clicks.indptr))
    asked = queries.with_values(np.ones(len(queries.columns), np.float32)).to_scipy()
    offsets, targets = strongest_pairs(asked[rows], items[clicks.indices], table.weights, most=most)
    if not table.expands:
        return TokenTable(table.bag, table.weights, offsets, targets, np.zeros(len(targets), np.float32))
    return table.with_edges(offsets, targets)


def held_out_queries(clicks: csr_array, seed: int) -> HeldOut | None:
    """Choose a tenth of the queries, half of them cold where that is possible; None where there are too few."""
    queries = round(min(HELD_OUT * clicks.shape[0], MOST_HELD))
    if clicks.shape[0] < FEWEST:
        return None
    for cold in (COLD, 0.0, 1.0):
        try:
            return hold_out(clicks, queries=max(queries, 2), cold=cold, seed=seed)
        except InputError:
            continue
    return None


def clicks_left(clicks: csr_array, held: HeldOut) -> csr_array:
    """Return the clicks without those of held-out queries and of cold items."""
    from scipy.sparse import csr_array

    gone = np.zeros(clicks.shape[0], np.bool_)
    gone[np.concatenate([held.cold, held.warm])] = True
    rows = np.repeat(np.arange(clicks.shape[0]), np.diff(clicks.indptr))
    kept = ~gone[rows] & ~held.cold_items[clicks.indices]
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows[kept], minlength=clicks.shape[0]))])
    return csr_array((clicks.data[kept], clicks.indices[kept], starts), shape=clicks.shape)


def _ranks(bag: Bag, asked: Clicked) -> NDArray[np.float64]:
    found = bag.search_encoded(bag.encode(asked.texts), 10)
    return asked.reciprocal_ranks(found)


def _balanced(values: NDArray[np.float64], cold: NDArray[np.bool_]) -> float:
    """Return the mean over warm and cold queries, each kind counting alike."""
    kinds = [kind for kind in (values[~cold], values[cold]) if len(kind)]
    return float(np.mean([kind.mean() for kind in kinds])) if kinds else 0.0
