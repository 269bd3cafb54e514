"""The formulas of BM25's variants, brought to one shape: gain × count / (count + norm)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vizsla.errors import InputError, check_choice, check_range

Floats = NDArray[np.float64]

VARIANTS = ("lucene", "robertson", "atire", "bm25l", "bm25+")
"""As Kamphuis et al. (ECIR 2020) distinguish them."""


@dataclass(frozen=True)
class Weighting:
    """A variant and its parameters.

    In every variant a word that occurs `count` times in an item gives it idf × f(count), where f rises from
    f(0) and saturates. Written as f(0) plus the rest, the rest is always a constant × count / (count + norm), with
    a norm that grows with the item's length. Only bm25l and bm25+ have an f(0) above 0, the `absent` share, which
    every item gets.

    Parameters
    ----------
    variant : str
        One of `VARIANTS`.
    k1 : float
        How slowly repeated words saturate.
    b : float
        How much an item's length counts, from 0 to 1.
    delta : float
        The floor of bm25l and bm25+.

    Examples
    --------
    >>> Weighting().idf(np.array([1, 3]), 3).round(4).tolist()
    [0.9808, 0.1335]
    """

    variant: str = "lucene"
    k1: float = 1.5
    b: float = 0.75
    delta: float = 0.5

    def __post_init__(self) -> None:
        check_choice("variant", self.variant, VARIANTS)
        for name in ("k1", "b", "delta"):
            if isinstance(value := getattr(self, name), bool) or not isinstance(value, (int, float, np.number)):
                raise InputError(f"`{name}` must be a number. Got {value!r}.")
            object.__setattr__(self, name, float(value))
        check_range("k1", self.k1, 0, 1e6)
        check_range("b", self.b, 0, 1)
        check_range("delta", self.delta, 0, 1e6)
        if self.variant == "bm25l" and self.k1 + self.delta == 0:
            raise InputError("`k1` and `delta` must not both be 0 for bm25l. Got 0 and 0.")

    def idf(self, frequencies: NDArray[np.int64], count: int | NDArray[np.int64]) -> Floats:
        """Return how rare each term is, from the number of items that hold it; 0 for a term of no item."""
        df = np.maximum(frequencies, 1).astype(np.float64)
        if self.variant in ("lucene", "robertson"):
            odds = (count - df + 0.5) / (df + 0.5)
            inner = 1 + odds if self.variant == "lucene" else np.maximum(odds, 1)
        else:
            above, below = {"atire": (0, 0.0), "bm25l": (1, 0.5), "bm25+": (1, 0.0)}[self.variant]
            inner = (count + above) / (df + below)
        return np.where(frequencies > 0, np.log(np.maximum(inner, 1)), 0.0)

    def gains(self, idf: Floats) -> Floats:
        """Return what each term gives at most, beyond its `absent` share."""
        if self.variant in ("lucene", "robertson"):
            return idf
        if self.variant == "bm25l":
            return idf * (self.k1 + 1) * self.k1 / (self.k1 + self.delta)
        return idf * (self.k1 + 1)

    def norms(self, lengths: Floats, average: float | Floats) -> Floats:
        """Return the count at which each item gets half of a gain; `average` may be given for each item."""
        rate = self.k1 + self.delta if self.variant == "bm25l" else self.k1
        return np.asarray(rate * (1 - self.b + self.b * lengths / np.where(average, average, 1.0)), np.float64)

    def absent(self, idf: Floats) -> Floats | None:
        """Return what each term gives an item without it; None where that is nothing."""
        if self.delta == 0 or self.variant not in ("bm25l", "bm25+"):
            return None
        if self.variant == "bm25+":
            return idf * self.delta
        return idf * (self.k1 + 1) * self.delta / (self.k1 + self.delta)
