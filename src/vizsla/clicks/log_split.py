"""Splits of a click log to choose settings by, with the share of cold items that search will meet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vizsla.clicks.hold_out import HeldOut, hold_out
from vizsla.clicks.log import ClickLog
from vizsla.errors import InputError, check_range

COLD = 0.5
"""The share of queries to come whose items nobody clicked yet. A log cannot tell it, because people click on what they
are shown. Gains are linear in it, so if every share is as likely as any other, the best choice is that for one half."""
HELD_OUT = 0.2
MOST_QUERIES = 4000
SPLITS = 3
FEWEST = 5


@dataclass(frozen=True)
class LogSplit:
    """One split: the log that is left, and the queries that are held out."""

    train: ClickLog
    held: NDArray[np.int64]
    """Query numbers of the whole log: cold ones first."""
    cold: int
    """How many of them are cold."""

    @property
    def is_cold(self) -> NDArray[np.bool_]:
        """Which of the held-out queries are cold."""
        return np.arange(len(self.held)) < self.cold


def log_splits(log: ClickLog, *, cold: float, seed: int) -> Iterator[LogSplit]:
    """Yield a few splits; a log that cannot give a share of cold or warm queries gives what it can."""
    check_range("cold", cold, 0, 1)
    if too_few(log):
        raise InputError(f'{fewest_said(log)}: give every setting a value instead of "auto".')
    queries = max(1, round(min(HELD_OUT * len(log), MOST_QUERIES)))
    for number in range(SPLITS):
        found = _held(log, queries, cold, seed + number)
        held = np.concatenate([found.cold, found.warm])
        kept = ~np.isin(log.rows, held) & ~found.cold_items[log.items]
        yield LogSplit(log.only(kept), held, len(found.cold))


def too_few(log: ClickLog) -> bool:
    """Return whether there are too few past queries to choose anything by."""
    return len(log) < FEWEST


def fewest_said(log: ClickLog) -> str:
    """Say how many past queries there must be, and how many there are."""
    silent = f", and {log.silent} without a word that the encoder knows" if log.silent else ""
    return f"To choose by, there must be at least {FEWEST} different past queries. Got {len(log)}{silent}"


def _held(log: ClickLog, queries: int, cold: float, seed: int) -> HeldOut:
    matrix = log.matrix
    for share in (cold, 0.0, 1.0):
        try:
            return hold_out(matrix, queries=queries, cold=share, seed=seed)
        except InputError:
            continue
    raise InputError("The clicks are too few to hold any out: give the weight instead.")
