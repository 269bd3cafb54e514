"""Trial: what is left when clicks are held out, to choose settings by."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from vizsla.clicks.log import UNIT, ClickLog
from vizsla.clicks.log_split import LogSplit
from vizsla.clicks.measures import PerQuery
from vizsla.indexes.pq import PqIndex
from vizsla.methods.jpq.held_out import HeldOutClicks
from vizsla.methods.jpq.lessons import Lessons
from vizsla.queries import Queries
from vizsla.retriever import Retriever
from vizsla.strings import Strings
from vizsla.training.teacher import Teacher


class Trial(NamedTuple):
    """What is left to learn from when clicks are held out, and what these are measured by.

    Attributes
    ----------
    lessons : Lessons
        What is left.
    held : HeldOutClicks
        What is held out.
    coded : PqIndex
        The coded items; marked are those that have a click left.
    against : float array, optional
        What the uncompressed items give for each held-out query: the worse of warm and cold is to lose least to it.
    """

    lessons: Lessons
    held: HeldOutClicks
    coded: PqIndex
    against: PerQuery | None = None


def unspoilt(left: Lessons, teacher: Retriever | None, lost: list[tuple[str, str, float]], depth: int) -> Lessons:
    """Return what is left of the lessons with a teacher that has not seen the clicks that are held out, either.

    PEFA forgets them; any other teacher stays as it is.
    """
    forget: Any = getattr(teacher, "without_clicks", None)
    if forget is None or not lost or left.teacher is None:
        return left
    return replace(left, teacher=Teacher(forget(lost), Queries(left.texts), depth=depth, threads=left.teacher.threads))


def lost_clicks(log: ClickLog, split: LogSplit, items: Strings) -> list[tuple[str, str, float]]:
    """Return the clicks that a split holds out: those of held-out queries, and all others on cold items."""
    own = log.queries.find_all(split.train.queries) if len(split.train) else np.zeros(0, np.int64)
    kept = own[split.train.rows] * log.width + split.train.items if len(own) else own
    lost = ~np.isin(log.rows * log.width + log.items, kept)
    texts, weights = log.take_queries(log.rows[lost]), (log.units[lost] / UNIT).tolist()
    return list(zip(texts, items.take(log.items[lost]), weights, strict=True))
