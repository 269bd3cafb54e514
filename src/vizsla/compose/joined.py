"""Joined: what several parts found, with the scores they gave, and the sum of these scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla.candidates import Candidates, Numbers, Offsets, Scores
from vizsla.stats import Stats
from vizsla.strings import Strings

_NOTHING = np.zeros(0, np.float32)


class Joined(NamedTuple):
    """The distinct items of all parts, row by row, and a column of scores for each part.

    Parameters
    ----------
    offsets, items : arrays
        The rows of distinct items.
    columns : list of float32 arrays
        Each part's score of each item, NaN where it did not find it.
    floors : list of float32 arrays
        For each part and row a score that no item outside of its list reaches.
    lacking : list of Candidates or None
        For each part the items that it did not find, or None where it found all.
    """

    offsets: Offsets
    items: Numbers
    columns: list[Scores]
    floors: list[Scores]
    lacking: list[Candidates | None]

    @classmethod
    def of(cls, found: Sequence[Candidates], catalogue: Strings) -> Joined:
        """Join the parts' answers, which are in the same catalogue's numbers."""
        parts = [(side.offsets, side.items, side._required_scores()) for side in found]
        offsets, items, columns, floors, lacking = _native.join(parts)
        return cls(
            np.frombuffer(offsets, np.int64),
            np.frombuffer(items, np.int32),
            [np.frombuffer(column, np.float32) for column in columns],
            [np.frombuffer(floor, np.float32) for floor in floors],
            [None if lack is None else _matches(lack, catalogue) for lack in lacking],
        )

    def added(
        self, weights: Sequence[float], fills: Sequence[Scores | None], k: int, catalogue: Strings, stats: Stats
    ) -> Candidates:
        """Return the best `k` by the weighted sum; `fills` are the scores of what each part lacked.

        The answer is exact if the parts' are and no item outside of all lists can reach the k-th sum.
        """
        columns = [
            (weight, column, _NOTHING if fill is None else fill, floor)
            for weight, column, fill, floor in zip(weights, self.columns, fills, self.floors, strict=True)
        ]
        offsets, items, scores, certain = _native.combine(self.offsets, self.items, columns, k)
        exact = stats.exact and certain == len(self.offsets) - 1
        return Candidates.trusted(
            np.frombuffer(offsets, np.int64),
            np.frombuffer(items, np.int32),
            np.frombuffer(scores, np.float32),
            catalogue,
            stats.with_exact(exact),
        )


def weighted_sum(weights: Sequence[float], columns: Sequence[Scores]) -> Scores:
    """Add columns in order, in float64, and round once, as the native sum does.

    Examples
    --------
    >>> weighted_sum([0.5, 2.0], [np.float32([1, 2]), np.float32([3, 4])]).tolist()
    [6.5, 9.0]
    """
    total: NDArray[np.float64] = np.zeros(len(columns[0]), np.float64)
    for weight, column in zip(weights, columns, strict=True):
        total += weight * column.astype(np.float64)
    return total.astype(np.float32)


def _matches(lacking: tuple[bytes, bytes], catalogue: Strings) -> Candidates:
    offsets, items = lacking
    numbers = np.frombuffer(items, np.int32)
    return Candidates.trusted(np.frombuffer(offsets, np.int64), numbers, None, catalogue, Stats())
