"""An item's norm by how long it is."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

FLOOR = 1.2
"""What is added to an item's relative length, so that short items are not lifted without limit (BM25's k1)."""


def length_norms(lengths: NDArray[np.integer[Any]], mean: float, b: float) -> NDArray[np.float32]:
    """Return ``1 / (1.2 + 1 - b + b L / mean)`` for items of L distinct tokens.

    Examples
    --------
    >>> [f"{norm:.4f}" for norm in length_norms(np.int32([1, 3]), 2.0, 0.5)]
    ['0.5128', '0.4082']
    """
    relative = lengths / mean if mean > 0 else np.zeros(len(lengths))
    return (1 / (FLOOR + 1 - b + b * relative)).astype(np.float32)
