"""ClickEvents: every click with its time, as the log has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla.errors import InputError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

DAY = 86400.0


class ClickEvents(NamedTuple):
    """Clicks one by one: what a matrix of sums can no longer tell.

    Attributes
    ----------
    queries, items : int32 arrays
        Row and column of each click.
    weights : float64 array
        What each weighs.
    times : float64 array
        When each was made: seconds since 1970.

    Examples
    --------
    >>> events = ClickEvents(np.array([0, 0]), np.array([0, 0]), np.ones(2), np.array([0.0, 30 * DAY]))
    >>> events.decayed(30).matrix((1, 1)).toarray().tolist()
    [[1.5]]
    """

    queries: NDArray[np.int32]
    items: NDArray[np.int32]
    weights: NDArray[np.float64]
    times: NDArray[np.float64]

    def only(self, kept: NDArray[np.bool_]) -> ClickEvents:
        """Return some of the clicks."""
        return ClickEvents(self.queries[kept], self.items[kept], self.weights[kept], self.times[kept])

    def among(self, pairs: csr_array) -> ClickEvents:
        """Return the clicks whose query and item a matrix has an entry for."""
        kept = np.repeat(np.arange(pairs.shape[0]), np.diff(pairs.indptr)) * pairs.shape[1] + pairs.indices
        return self.only(np.isin(self.queries.astype(np.int64) * pairs.shape[1] + self.items, kept))

    def decayed(self, half_life: float) -> ClickEvents:
        """Return the clicks with weights that halve every `half_life` days before the last click."""
        if not half_life > 0 or not np.isfinite(half_life):
            raise InputError(f"`half_life` must be days, above 0. Got {half_life!r}.")
        last = self.times.max(initial=-np.inf)
        ages = (last - self.times) / DAY
        return self._replace(weights=self.weights * np.exp2(-ages / half_life))

    def matrix(self, shape: tuple[int, int]) -> csr_array:
        """Return queries × items: the weights summed, without zeros."""
        from scipy.sparse import csr_array

        summed = csr_array((self.weights, (self.queries, self.items)), shape=shape)
        summed.sum_duplicates()
        summed.eliminate_zeros()
        return summed.astype(np.float32)
