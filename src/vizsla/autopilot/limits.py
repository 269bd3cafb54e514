"""Limits: what a search may cost, read from text and measured on this machine."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from vizsla.base.retriever import Retriever
from vizsla.errors import InputError
from vizsla.evaluation.cost import single_query_ms

TIMED_SEARCHES, TIMED_RERANKED = 100, 20
_UNITS = {"ms": "ms", "s": "ms", "calls": "calls", "call": "calls", "bytes/item": "bytes_per_item",
          "kb/item": "bytes_per_item", "mb": "bytes", "gb": "bytes"}  # fmt: skip
_SCALE = {"s": 1e3, "kb/item": 1e3, "mb": 1e6, "gb": 1e9}
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z/]+)")
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|min|h)?")
_SECONDS = {None: 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


class SearchCost(NamedTuple):
    """What a search costs, as measured.

    Attributes
    ----------
    ms : float
        The 95th percentile of the milliseconds of single queries on one thread; NaN where none was timed.
    bytes : int
        Bytes that answering needs.
    items : int
        Items that can be found.
    calls : float
        (query, item) pairs that go to a model, per query.
    """

    ms: float
    bytes: int
    items: int
    calls: float

    @property
    def bytes_per_item(self) -> float:
        """The bytes divided by the items."""
        return self.bytes / max(self.items, 1)

    def __str__(self) -> str:
        calls = f", {self.calls:.0f} calls" if self.calls else ""
        return f"{self.ms:.2f} ms, {self.bytes_per_item:,.0f} bytes/item{calls}"


@dataclass(frozen=True)
class Limits:
    """Hard limits on the cost of a search; None where there is none.

    Parameters
    ----------
    ms : float, optional
        The 95th percentile of the milliseconds that one query takes.
    bytes_per_item : float, optional
        Bytes for each item.
    bytes : float, optional
        Bytes in all.
    calls : float, optional
        Calls of a model per query.

    Examples
    --------
    >>> Limits.parse("5 ms, 200 bytes/item, 50 calls")
    Limits(ms=5.0, bytes_per_item=200.0, bytes=None, calls=50.0)
    """

    ms: float | None = None
    bytes_per_item: float | None = None
    bytes: float | None = None
    calls: float | None = None

    @classmethod
    def parse(cls, text: str) -> Limits:
        """Read limits such as "5 ms, 200 bytes/item, 50 calls"; "2 GB", "1.5 kB/item" and "0.1 s" are others."""
        found: dict[str, float] = {}
        for part in filter(None, (part.strip() for part in text.split(","))):
            amount = _AMOUNT.fullmatch(part.lower())
            if amount is None or amount[2] not in _UNITS or _UNITS[amount[2]] in found:
                units = "ms, s, bytes/item, kB/item, MB, GB and calls"
                raise InputError(f"`limit` must be amounts of {units}, each once, with commas. Got {part!r:.60}.")
            found[_UNITS[amount[2]]] = float(amount[1]) * _SCALE.get(amount[2], 1.0)
        return cls(**found)

    def exceeded(self, cost: SearchCost) -> str:
        """Return which limit a cost exceeds, in words; "" for none.

        Examples
        --------
        >>> Limits.parse("5 ms").exceeded(SearchCost(7.0, 100, 10, 0.0))
        '7 ms of 5'
        """
        pairs = [
            ("ms", cost.ms, self.ms),
            ("bytes/item", cost.bytes_per_item, self.bytes_per_item),
            ("bytes", cost.bytes, self.bytes),
            ("calls", cost.calls, self.calls),
        ]
        over = (
            f"{value:.4g} {unit} of {limit:g}" for unit, value, limit in pairs if limit is not None and value > limit
        )
        return next(over, "")

    def __str__(self) -> str:
        pairs = [("ms", self.ms), ("bytes/item", self.bytes_per_item), ("bytes", self.bytes), ("calls", self.calls)]
        return ", ".join(f"{limit:g} {unit}" for unit, limit in pairs if limit is not None)


def measured_cost(
    retriever: Retriever, texts: list[str], *, calls: float, seed: int = 0, timed: bool = False
) -> SearchCost:
    """Time single queries of a retriever and add up what it holds.

    Parameters
    ----------
    retriever : Retriever
        The retriever to time.
    texts : list of str
        Queries to draw from.
    calls : float
        Model calls per query of a run that was made before.
    seed : int
        Draws the queries.
    timed : bool
        Whether one that calls a model is timed as well, on a few queries, which spends calls.
    """
    sample = TIMED_SEARCHES if not calls else TIMED_RERANKED if timed else 0
    k = min(10, max(len(retriever.items), 1))
    ms = single_query_ms(retriever, texts, k, sample=sample, seed=seed)
    p95 = float(np.percentile(ms, 95)) if len(ms) else float("nan")
    return SearchCost(p95, int(retriever.nbytes), len(retriever.items), calls)


def seconds_of(time: str) -> float:
    """Return the seconds of a text such as 90s, 10m or 1h.

    Examples
    --------
    >>> seconds_of("10m"), seconds_of("30")
    (600.0, 30.0)
    """
    given = _DURATION.fullmatch(time.strip().lower())
    if given is None or not float(given[1]):
        raise InputError(f"`time` must be like 90s, 10m or 1h. Got {time!r:.60}.")
    return float(given[1]) * _SECONDS[given[2]]
