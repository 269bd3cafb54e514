"""Chooses the vocabularies of `NgramTfidf` and weighs them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla.errors import InputError, check_positive
from vizsla.strings import Strings
from vizsla.text.texts import batches, call_with

MOST = 2**31 - 1


class Budgets(NamedTuple):
    """What a fit may keep.

    Parameters
    ----------
    kinds : sequence of int
        The largest vocabulary of unigrams, bigrams and trigrams; 0 leaves the kind out.
    min_texts : int
        N-grams in fewer texts are left out.
    bins : int
        How many features the n-grams that are left out share, for each kind.
    room : int
        How many n-grams of a kind are counted at once.
    """

    kinds: Sequence[int]
    min_texts: int
    bins: int
    room: int

    def check(self) -> None:
        """Raise unless a fit can keep to them."""
        for name, budget in zip(("unigrams", "bigrams", "trigrams"), self.kinds, strict=True):
            if not isinstance(budget, int) or isinstance(budget, bool) or not 0 <= budget <= MOST:
                raise InputError(f"`{name}` must be a whole number from 0 to {MOST}. Got {budget!r}.")
        if not any(self.kinds):
            raise InputError("One of `unigrams`, `bigrams`, `trigrams` must be above 0. Got 0 for all.")
        if self.bins > MOST:
            raise InputError(f"`bins` must be at most {MOST}. Got {self.bins}.")
        check_positive("room", self.room)


def fit_ngrams(
    texts: Iterable[str], budgets: Budgets, lower: bool
) -> tuple[list[Strings], NDArray[np.float32], list[int]]:
    """Return the vocabularies, the weight of every feature, and each kind's number of shared features."""
    budgets.check()
    most = [min(budgets.room, MOST) if budget else 0 for budget in budgets.kinds]
    builder = _native.NgramBuilder(lower, most, budgets.bins)
    for batch in batches(texts):
        call_with(builder.add, batch)
    names, weights, bins = [], [], []
    for kind, budget in enumerate(budgets.kinds):
        if not budget:
            names.append(Strings.of([]))
            bins.append(0)
            continue
        data, offsets, known, unseen = builder.choose(kind, budget, budgets.min_texts)
        names.append(Strings(data, offsets, _native.build_slots(data, offsets)[0]))
        weights += [idf(known, builder.texts), np.where(unseen > 0, idf(unseen, builder.texts), 0)]
        bins.append(budgets.bins)
    return names, np.concatenate(weights).astype(np.float32), bins


def idf(texts: NDArray[np.int64], total: int) -> NDArray[np.float64]:
    """Return the smoothed inverse document frequency, 1 + ln((1 + N) / (1 + n)), n at most N.

    Examples
    --------
    >>> idf(np.array([9, 0]), 9).round(3).tolist()
    [1.0, 3.303]
    """
    weights: NDArray[np.float64] = 1 + np.log((1 + total) / (1 + np.minimum(texts, total)))
    return weights
