"""Purchase: what a budgeted search has bought for all queries of a call, and what it believes of all else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from vizsla.candidates import Candidates
from vizsla.compose.bought import Bought
from vizsla.methods.cur.estimates import Estimates, Floats, Items
from vizsla.methods.cur.pool import Pool
from vizsla.methods.cur.rounds import Ledger
from vizsla.methods.cur.settled import Settled
from vizsla.scored import Scored
from vizsla.stats import Stats
from vizsla.strings import Strings


class Batch(NamedTuple):
    """What some queries bought together, and what cheap parts and the scorer cost."""

    pool: Pool
    ledgers: list[Ledger]
    estimates: Estimates
    cheap: Stats
    paid: Stats


class Purchase(Bought):
    """Exact scores of what was bought, and the weights that estimate the rest.

    Parameters
    ----------
    found : Candidates
        What was bought, ranked.
    settled : Settled
        The weights of every query when its budget was spent.
    calls : int
        Calls that were made.
    only : Batch or None
        Of a call with one query, all that happened.
    """

    def __init__(self, found: Candidates, settled: Settled, calls: int, only: Batch | None):
        super().__init__(found)
        self.settled, self.calls, self.only = settled, calls, only

    @classmethod
    def of(cls, batches: Iterable[Batch], items: Strings, allowed: int) -> Purchase:
        """Gather batches of a call that may buy `allowed` items; each is let go before the next one begins."""
        rows: list[tuple[Items, Floats]] = []
        settled, cheap, paid, only = [], Stats(exact=True), Stats(), None
        for batch in batches:
            rows += [(batch.pool.items(at, one.all_items()), one.all_scores()) for at, one in enumerate(batch.ledgers)]
            settled.append(batch.estimates.settled())
            cheap, paid, only = cheap + batch.cheap, paid + batch.paid, batch if len(rows) == 1 else None
        complete = all(len(numbers) == allowed for numbers, _ in rows)
        found = _ranked(rows, items, (cheap + paid).with_exact(complete))
        return cls(found, Settled.joined(settled), paid.model_calls + paid.scored, only)


def _ranked(rows: Sequence[tuple[Items, Floats]], items: Strings, stats: Stats) -> Candidates:
    offsets = np.cumsum([0, *(len(numbers) for numbers, _ in rows)], dtype=np.int64)
    numbers = np.concatenate([np.zeros(0, np.int32), *(some.astype(np.int32) for some, _ in rows)])
    scores = np.concatenate([np.zeros(0, np.float32), *(some for _, some in rows)])
    return Candidates.trusted(offsets, numbers, None, items, Stats()).rescored(Scored(scores, stats))
