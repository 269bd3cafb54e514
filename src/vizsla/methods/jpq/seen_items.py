"""What the loss of a training says about clicked items, pair by pair: what their codes are chosen anew by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vizsla.training.code_scores import Asked
from vizsla.training.distillation import log_shares
from vizsla.training.lists import Relevant
from vizsla.training.recoding import Seen

if TYPE_CHECKING:
    from vizsla.methods.jpq.training import JpqTraining, LossPart

PIECE = 256
"""Queries that are looked at together."""

MOST_ASKED = 50_000
"""Queries that say how items are coded anew, at most."""


def seen_of_clicked(training: JpqTraining) -> Seen:
    """Return the loss's derivatives by the scores of clicked items, over the queries of a training as it is now."""
    asked, clicked = np.arange(len(training.rows)), _clicked(training.relevant, training.scores.items)
    if len(asked) > MOST_ASKED:
        asked = np.sort(np.random.default_rng(training.settings.seed).choice(asked, MOST_ASKED, replace=False))
    return Seen.joined([_seen_by(training, asked[at : at + PIECE], clicked) for at in range(0, len(asked), PIECE)])


def _seen_by(training: JpqTraining, numbers: NDArray[np.int64], clicked: NDArray[np.bool_]) -> Seen:
    """Return the same by some queries, and by as many imagined ones as a step has beside them."""
    pick = np.random.default_rng([training.settings.seed, 2, training.steps_done, int(numbers[0])])
    asked, parts = training.losses(numbers, training.looked_at(numbers), pick)
    pairs = [_pairs(training, asked, part, clicked) for part in parts]
    queries, items, slopes, curvatures = (np.concatenate(arrays) for arrays in zip(*pairs, strict=True))
    return Seen(asked.turned, queries, items, *(len(asked.rows) * np.stack([slopes, curvatures])))


def _pairs(training: JpqTraining, asked: Asked, part: LossPart, clicked: NDArray[np.bool_]) -> tuple[NDArray[Any], ...]:
    """Return queries, clicked items of their lists, and the loss's derivatives by their scores.

    The curvature is that of a softmax, p (1 - p) where an item has the share p of its list, whatever the loss.
    """
    listed = part.by_score != 0
    at = np.nonzero(clicked[part.items] & listed)
    shares = np.exp(log_shares(training.scale * training.learned.of(asked, part.items), listed)[at])
    curvatures = part.weight * training.scale**2 / part.queries * shares * (1 - shares)
    return at[0], part.items[at], part.by_score[at].astype(np.float32), curvatures.astype(np.float32)


def _clicked(relevant: Relevant, items: int) -> NDArray[np.bool_]:
    found = np.zeros(items, np.bool_)
    found[relevant.items[relevant.weights > 0]] = True
    return found
