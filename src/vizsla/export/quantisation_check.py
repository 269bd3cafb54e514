"""QuantisationCheck: what int8 weights change in the answers to held-out queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from vizsla.encoder import Encoder, checked_rows
from vizsla.errors import InputError
from vizsla.indexes.flat import FlatIndex

LOSS = 0.01
"""How much recall may fall unless told otherwise: one query in a hundred."""


@dataclass(frozen=True)
class QuantisationCheck:
    """What int8 changed on held-out queries.

    Parameters
    ----------
    queries, items : int
        How many were asked, and among how many they searched.
    recall, recall_int8 : float
        The share of relevant items among the best `depth`, before and after.
    agreement : float
        The share of the best `depth` that stays among them.
    speed : float
        How many times faster the items were encoded.
    depth : int
        How far down is looked.
    most_loss : float
        How much recall may fall.

    Examples
    --------
    >>> print(QuantisationCheck(200, 5000, 0.86, 0.855, 0.93, 2.5, 10, 0.01))
    int8 accepted: R@10 0.8600 → 0.8550 (-0.0050, allowed 0.0100) on 200 queries among 5,000 items, 93.0% of the
    best 10 agree, 2.5 × as fast
    """

    queries: int
    items: int
    recall: float
    recall_int8: float
    agreement: float
    speed: float
    depth: int
    most_loss: float

    @property
    def loss(self) -> float:
        """How much recall fell; below 0 when it rose."""
        return self.recall - self.recall_int8

    @property
    def accepted(self) -> bool:
        """Whether the loss is within what was allowed."""
        return self.loss <= self.most_loss

    def __str__(self) -> str:
        verdict = "accepted" if self.accepted else "refused"
        change = f"R@{self.depth} {self.recall:.4f} → {self.recall_int8:.4f} ({-self.loss:+.4f}"
        asked = f"on {self.queries:,} queries among {self.items:,} items"
        speed = f"{self.agreement:.1%} of the best {self.depth} agree, {self.speed:.1f} × as fast"
        return f"int8 {verdict}: {change}, allowed {self.most_loss:.4f}) {asked}, {speed}"


def check_quantisation(
    full: Encoder,
    small: Encoder,
    queries: Sequence[str],
    items: Sequence[str],
    *,
    relevant: Sequence[Sequence[int]] | None = None,
    depth: int = 10,
    most_loss: float = LOSS,
) -> QuantisationCheck:
    """Let both encoders search the same items for the same queries; each searches what it encoded itself.

    Parameters
    ----------
    full, small : Encoder
        The float32 model and its int8 twin.
    queries, items : sequences of str
        Held-out queries, and the items (or a sample of them) to find.
    relevant : sequence of sequences of int, optional
        For each query the positions of the right items; the one that the float32 model finds first unless given.
    depth : int
        How far down is looked.
    most_loss : float
        How much recall may fall.
    """
    if not len(queries) or not len(items) or (relevant is not None and len(relevant) != len(queries)):
        raise InputError("`queries` and `items` must not be empty; `relevant` must have an entry a query. Got less.")
    before, slow = _best(full, queries, items, depth)
    after, fast = _best(small, queries, items, depth)
    wanted = [row[:1] for row in before] if relevant is None else [np.asarray(row, np.int64) for row in relevant]
    return QuantisationCheck(
        queries=len(queries),
        items=len(items),
        recall=recall_of(before, wanted),
        recall_int8=recall_of(after, wanted),
        agreement=recall_of(after, before),
        speed=slow / fast,
        depth=depth,
        most_loss=most_loss,
    )


def _best(encoder: Encoder, queries: Sequence[str], items: Sequence[str], depth: int) -> tuple[list[Any], float]:
    encoder.items(items[:1])  # the first call also sets things up
    start = perf_counter()
    rows = checked_rows(encoder, encoder.items(items), len(items))
    seconds = perf_counter() - start
    found = FlatIndex.build(rows).search(encoder.queries(queries), depth)
    return [found.row(number)[0] for number in range(len(found))], seconds


def recall_of(found: Sequence[Any], wanted: Sequence[Any]) -> float:
    """Return the mean share of what is wanted that was found; queries that want nothing do not count."""
    shares = [np.isin(right, row).mean() for row, right in zip(found, wanted, strict=True) if len(right)]
    return float(np.mean(shares)) if shares else 1.0
