"""PairLessons: queries with what was clicked for them and what a retriever confuses with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla.clicks.log import ClickLog
from vizsla.errors import InputError
from vizsla.queries import Queries
from vizsla.retriever import Retriever
from vizsla.training.lists import Items, Relevant
from vizsla.training.teacher import Teacher


@dataclass(frozen=True)
class PairLessons:
    """What a cross-encoder learns from.

    Parameters
    ----------
    queries : list of str
        Their texts.
    texts : list of str
        The items'.
    relevant : Relevant
        The clicked items.
    confused : int32 array, queries × depth
        A retriever's best items that were not clicked, padded with -1.
    teacher : Teacher or None
        Whose scores are imitated.
    """

    queries: list[str]
    texts: list[str]
    relevant: Relevant
    confused: Items
    teacher: Teacher | None = None

    def __len__(self) -> int:
        return len(self.queries)

    def drawn(self, numbers: NDArray[np.int64], negatives: int, random: np.random.Generator) -> Items:
        """Return for each query a clicked item, drawn by weight, and negatives after it."""
        rows = np.zeros((len(numbers), 1 + negatives), np.int32)
        for row, number in zip(rows, numbers.tolist(), strict=True):
            weights = self.relevant.weights[number].astype(np.float64)
            clicked = self.relevant.items[number]
            row[0] = clicked[random.choice(len(clicked), p=weights / weights.sum())]
            row[1:] = self._negatives(number, negatives, random)
        return rows

    def _negatives(self, number: int, count: int, random: np.random.Generator) -> Items:
        """Draw hard negatives; items at random where the retriever found too few."""
        hard = self.confused[number][self.confused[number] >= 0]
        chosen = random.permutation(hard)[:count]
        clicked = self.relevant.items[number]
        others = random.integers(0, len(self.texts), 4 * (count + len(clicked)))
        others = others[~np.isin(others, clicked)]
        if len(chosen) + len(others) < count:
            raise InputError("The dataset must have items that were not clicked for a query. Got too few.")
        return np.concatenate([chosen, others])[:count].astype(np.int32)


def lessons_of(
    log: ClickLog, texts: list[str], retriever: Retriever, teacher: Retriever | None, *, depth: int, threads: int
) -> PairLessons:
    """Make lessons of a log: the retriever is asked for every query once."""
    asked = Queries(log.take_queries(np.arange(len(log))))
    relevant = Relevant.of(log.offsets, log.items, log.units.astype(np.float64))
    found = Teacher(retriever, asked, depth=depth, threads=threads).best
    clicked = (found[:, :, None] == relevant.items[:, None, :]).any(axis=2)
    taught = None if teacher is None else Teacher(teacher, asked, depth=depth, threads=threads)
    return PairLessons(asked.texts, texts, relevant, np.where(clicked, -1, found).astype(np.int32), taught)


def plain_log(clicks: Any, items: Any) -> ClickLog:
    """Read clicks without encoding anything: every query says something to a cross-encoder."""
    return ClickLog.of(clicks, items, lambda texts: np.ones((len(texts), 1), np.float32))
