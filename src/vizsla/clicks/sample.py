"""A sample of a click log to try settings on: whole items with their instances, and some queries held out."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla.arguments import generator
from vizsla.clicks.hold_out import warm_rows

if TYPE_CHECKING:
    from scipy.sparse import csr_array

ROWS = 10_000
"""Instances to try on: a second or two, and enough to see a difference that matters."""

HELD = 0.2
FEWEST = 100
"""The share of the queries that is held out, and how many are too few to learn anything from."""


class ClickSample(NamedTuple):
    """Some of a log's items, with all that chose them.

    Attributes
    ----------
    rows : int array
        The log's rows that chose any of the items.
    items : int array
        The items, ascending.
    clicks : csr_array
        Rows × items, with the log's values.
    held : int array
        Which of the sample's rows are held out; every item keeps another one.
    """

    rows: NDArray[np.int64]
    items: NDArray[np.int64]
    clicks: csr_array
    held: NDArray[np.int64]

    @property
    def too_small(self) -> bool:
        """Whether too few queries are held out to choose anything by."""
        return len(self.held) < FEWEST

    @property
    def learned(self) -> NDArray[np.bool_]:
        """Which of the sample's rows are not held out."""
        learned = np.ones(len(self.rows), dtype=np.bool_)
        learned[self.held] = False
        return learned

    def of(self, matrix: csr_array) -> csr_array:
        """Return the sample's part of another matrix shaped like the log."""
        part: csr_array = matrix.tocsc()[:, self.items].tocsr()[self.rows]
        return part


def draw_sample(clicks: csr_array, queries: int, *, seed: int) -> ClickSample:
    """Draw items until their instances are `ROWS`, and hold out a fifth of their queries.

    Parameters
    ----------
    clicks : csr_array
        Instances × items.
    queries : int
        How many instances, the first ones, are queries: only these can be held out.
    seed : int
        Draws the items and the queries.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> sample = draw_sample(csr_array([[1.0], [1.0], [2.0], [1.0], [1.0]]), 5, seed=0)
    >>> sample.items.tolist(), len(sample.held), sample.too_small
    ([0], 1, True)
    """
    pick = generator(seed)
    sizes = np.bincount(clicks.indices, minlength=clicks.shape[1])
    order = pick.permutation(np.flatnonzero(sizes))
    items = np.sort(order[: max(1, np.searchsorted(np.cumsum(sizes[order]), ROWS, side="right"))])
    drawn = clicks.tocsc()[:, items].tocsr()
    rows = np.flatnonzero(np.diff(drawn.indptr))
    of_queries = int(np.searchsorted(rows, queries))
    drawn = drawn[rows]
    held = warm_rows(drawn, round(HELD * of_queries), pick.permutation(of_queries))
    return ClickSample(rows, items, drawn, held)
