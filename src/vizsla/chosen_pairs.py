"""Some pairs of many, as rows of a match set."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vizsla.candidates import Candidates
from vizsla.stats import Stats


def chosen_pairs(pairs: Candidates, places: NDArray[np.int64]) -> Candidates:
    """Return the pairs at these ascending places as a match set, in as many rows.

    Examples
    --------
    >>> pairs = Candidates.from_dict({"p": {"a": 2.0, "b": 1.0}, "q": {"a": 1.0}})
    >>> chosen_pairs(pairs, np.array([1, 2])).ids
    [['b'], ['a']]
    """
    offsets = np.searchsorted(places, pairs.offsets).astype(np.int64)
    return Candidates.trusted(offsets, pairs.items[places], None, pairs.catalogue, Stats())
