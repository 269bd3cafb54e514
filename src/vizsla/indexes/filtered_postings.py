"""FilteredPostings: how an inverted index answers under one filter, from the first query on and after thousands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vizsla.filter import Filter

if TYPE_CHECKING:
    from vizsla.candidates import Candidates
    from vizsla.indexes.inverted import InvertedIndex
    from vizsla.sparse_rows import SparseRows

MOST_SHARE = 0.25
"""Filters that allow more of the items stay masks: half a copy of an index is no small thing to keep."""


class FilteredPostings:
    """A mask at first; postings of the allowed items alone once the filter has earned them.

    Under a mask lists are read in full length, and pruning sets in late, for the best items may be forbidden. The
    allowed items' own postings have neither fault, but to copy them all postings are read once, which takes about
    twice as long as searches take to read as many. So they are made when searches under the mask have read as many:
    whoever asks once pays nothing, and whoever asks on has it back soon. They take at most a quarter of the index's
    postings, and a table of its terms. Either way the answer is the same, bit for bit.

    Parameters
    ----------
    filter : Filter
        What is allowed.
    """

    def __init__(self, filter: Filter):
        # Neither is kept: the index is what this form is filed under and may go when nobody else needs it, and the
        # filter holds this form, so that both would wait for the garbage collector.
        self.read = 0
        self.bits = np.packbits(filter.mask, bitorder="little")
        self.own: InvertedIndex | None = None

    def search(self, index: InvertedIndex, filter: Filter, rows: SparseRows, k: int, threads: int) -> Candidates:
        """Return the best `k` of the items that the filter allows."""
        if self.own is None and self.read > index.postings and filter.count <= MOST_SHARE * len(index):
            self.own = index.restricted(filter.numbers)
        if self.own is not None:
            return self.own._search(rows, k, None, threads, filter.numbers)
        found = index._search(rows, k, self.bits, threads)
        self.read += found.stats.postings
        return found
