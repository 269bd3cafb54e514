"""BlendSquares: how long every blend of an item's row and its click vector is."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from vizsla.clicks.log import Floats
from vizsla.clicks.matrices import Rows, is_sparse, lengths_of

Values = NDArray[np.float64]


class BlendSquares(NamedTuple):
    """|λp + (1 - λ)c|² = λ²|p|² + (1 - λ)²|c|² + 2λ(1 - λ)⟨p, c⟩: three numbers an item serve every λ.

    Attributes
    ----------
    base, clicks, both : float64 arrays
        For each item |p|², |c|² and ⟨p, c⟩.

    Examples
    --------
    >>> rows, clicks = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])
    >>> BlendSquares.of(rows, clicks).lengths(0.5).round(3).astype(str).tolist()
    ['0.707']
    """

    base: Values
    clicks: Values
    both: Values

    @classmethod
    def of(cls, base: Rows, clicks: Rows) -> Self:
        """Measure rows and click vectors, a pair an item."""
        product = base.multiply(clicks).sum(axis=1) if is_sparse(base) else np.einsum("ij,ij->i", base, clicks)
        return cls(lengths_of(base) ** 2, lengths_of(clicks) ** 2, np.asarray(product, np.float64).reshape(-1))

    def lengths(self, weight: float) -> Floats:
        """Return the length of each item's blend, 1 for one of nothing."""
        other = 1 - weight
        squares = weight * weight * self.base + other * other * self.clicks + 2 * weight * other * self.both
        return np.where(squares > 0, np.sqrt(np.maximum(squares, 0)), 1.0).astype(np.float32)
