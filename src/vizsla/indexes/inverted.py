"""InvertedIndex: exact search over weighted posting lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla.base.index import Index
from vizsla.core.candidates import Candidates, PairScores, Stats
from vizsla.core.sparse import SparseRows
from vizsla.data.filter import Filter
from vizsla.errors import InputError, check_positive
from vizsla.typing import BoolArray, Float32Array, Int32Array, Int64Array, Uint8Array

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter
    from vizsla.base.encoder import Rows
    from vizsla.core.sparse import Matrix

MAX_COPIED_SHARE = 0.25
"""Filters that allow more of the items stay masks: half a copy of an index is no small thing to keep."""


class FilteredPostings:
    """A filter as a mask; once it is used often, as postings of the allowed items only.

    Under a mask lists are read in full length, and pruning sets in late, for the best items may be forbidden. The
    allowed items' own postings have neither fault, but to copy them all postings are read once, which takes about
    twice as long as searches take to read as many. So they are made when searches under the mask have read as many:
    a filter that is used once costs nothing, and repeated use pays off soon. They take at most a quarter of the index's
    postings, and a table of its terms. Either way the answer is the same, bit for bit.

    Parameters
    ----------
    filter : Filter
        The allowed items.
    """

    def __init__(self, filter: Filter):
        # Neither is kept: the index is what this form is filed under and may go when nothing else needs it, and the
        # filter holds this form, so that both would wait for the garbage collector.
        self.read = 0
        self.bits = np.packbits(filter.mask, bitorder="little")
        self.own: InvertedIndex | None = None

    def search(self, index: InvertedIndex, filter: Filter, rows: SparseRows, k: int, threads: int) -> Candidates:
        """Return the best `k` of the items that the filter allows."""
        if self.own is None and self.read > index.postings and filter.count <= MAX_COPIED_SHARE * len(index):
            self.own = index.restricted(filter.numbers)
        if self.own is not None:
            return self.own._search(rows, k, None, threads, filter.numbers)
        found = index._search(rows, k, self.bits, threads)
        self.read += found.stats.postings
        return found


POSTING_BYTES = 8


class InvertedIndex(Index):
    """Weighted postings with exact search: a score is the sum of query weight × impact over shared terms.

    Lists whose bounds show that they cannot matter are skipped, which never changes an answer: sums are made in one
    fixed order, so that searching, scoring and any number of threads agree bit for bit. An item that shares no term
    with the query is not found, and its score is 0.

    Parameters
    ----------
    count : int
        The number of items.
    offsets : int64 array
        Where each term's list begins; one more than there are terms.
    items : int32 array
        Item numbers, ascending within a list.
    impacts : float32 array
        Impact of the term on the item: finite, above 0.
    absent : float64 array, optional
        Score that each query term adds to every item, with or without the term.
    priorities : float32 array, optional
        In which order a query's terms are added up: by query weight × priority, highest first. Without it the highest
        impact of each list decides. Shards that share priorities give an item the same score, to the last bit.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> index = InvertedIndex.build(csr_array([[1, 0, 2], [3, 1, 0], [0, 0, 1]]))
    >>> found = index.search(csr_array([[1.0, 0.0, 1.0]]), k=2)
    >>> found.items.tolist(), found.scores.tolist()
    ([0, 1], [3.0, 3.0])
    """

    kind = "inverted"
    posting_bytes = POSTING_BYTES

    def __init__(
        self,
        count: int,
        offsets: Int64Array,
        items: Int32Array,
        impacts: Float32Array,
        *,
        absent: NDArray[np.float64] | None = None,
        priorities: NDArray[np.float32] | None = None,
    ):
        self._offsets, self._items, self._impacts = offsets, items, impacts
        self._priorities = np.zeros(0, np.float32) if priorities is None else priorities
        self._absent = np.zeros(0, np.float64) if absent is None else absent
        try:
            self._postings = _native.Postings(count, offsets, items, impacts, self._priorities, self._absent)
        except (ValueError, TypeError) as error:
            raise InputError(f"The postings must be sound. Got others: {_reason(error)}.") from error

    @classmethod
    def build(cls, vectors: Rows | Matrix, *, absent: NDArray[np.float64] | None = None) -> Self:
        """Index the rows of a matrix, items × terms. Zeros are left out; a negative or infinite weight raises."""
        return cls.from_rows(SparseRows.of(vectors, name="vectors"), absent=absent)

    @classmethod
    def from_rows(
        cls,
        rows: SparseRows,
        *,
        gains: NDArray[np.float64] | None = None,
        norms: NDArray[np.float64] | None = None,
        absent: NDArray[np.float64] | None = None,
        priorities: NDArray[np.float32] | None = None,
    ) -> Self:
        """Index rows of (term, weight).

        Parameters
        ----------
        rows : SparseRows
            A row an item, which names each term once.
        gains, norms : float64 arrays, optional
            A gain for each term and a norm for each item: an impact becomes gain × weight / (weight + norm), which
            is the shape of every BM25.
        absent, priorities : arrays, optional
            As for the class.
        """
        none = np.zeros(0, np.float64)
        try:
            inverted = _native.invert(
                rows.offsets, rows.columns, rows.values, rows.width,
                none if gains is None else gains, none if norms is None else norms,
            )  # fmt: skip
        except (ValueError, TypeError) as error:
            raise InputError(f"The rows must be sound. Got others: {_reason(error)}.") from error
        return cls(len(rows), *inverted, absent=absent, priorities=priorities)

    def __len__(self) -> int:
        return self._postings.items

    @property
    def width(self) -> int:
        """The number of terms."""
        return self._postings.terms

    @property
    def dim(self) -> int:
        """The number of terms: the length of an item's row."""
        return self.width

    @property
    def postings(self) -> int:
        """The number of (term, item) pairs."""
        return len(self._items)

    @property
    def nbytes(self) -> int:
        """Bytes of the postings, of the terms' order and of the bounds of their blocks."""
        arrays = self._offsets.nbytes + self._items.nbytes + self._impacts.nbytes
        return int(arrays + self._priorities.nbytes + self._absent.nbytes + self._postings.block_bytes)

    def to_csr(self) -> csr_array:
        """Return items × terms, the matrix that `build` takes."""
        from scipy.sparse import csc_array

        return csc_array((self._impacts, self._items, self._offsets), shape=(len(self), self.width)).tocsr()

    def search(
        self, queries: Rows | Matrix, k: int, *, filter: Filter | BoolArray | None = None, threads: int = 1
    ) -> Candidates:
        """Return the best `k` items of every row that share a term with it; a term that is named twice counts twice.

        A filter that is used again and again is turned into postings of its own; see `FilteredPostings`.
        """
        if type(k) is not int or not 0 < k < 2**63 or type(threads) is not int or not 0 < threads < 2**63:
            k, threads = check_positive("k", k), check_positive("threads", threads)
        rows, prepared = self._query_rows(queries), None if filter is None else self._prepared(filter)
        if prepared is None:
            return self._search(rows, k, None, threads)
        return prepared.form(self, FilteredPostings).search(self, prepared, rows, k, threads)

    def restricted(self, numbers: Int32Array) -> Self:
        """Return the index of these items alone, renumbered in their order, which must ascend; scores stay.

        Examples
        --------
        >>> from scipy.sparse import csr_array
        >>> index = InvertedIndex.build(csr_array([[1, 0, 2], [3, 1, 0], [0, 0, 1]])).restricted(np.int32([1, 2]))
        >>> index.search(csr_array([[1.0, 0.0, 1.0]]), k=2).scores.tolist()
        [3.0, 1.0]
        """
        try:
            lists = self._postings.restricted(numbers)
        except (ValueError, TypeError) as error:
            raise InputError(f"`numbers` must be items in ascending order. Got others: {_reason(error)}.") from error
        priorities = self._priorities if len(self._priorities) else self._postings.priorities()
        return type(self)(len(numbers), *lists, absent=self._absent, priorities=priorities)

    def find(self, term: int, item: int) -> tuple[int, float] | None:
        """Return the place of a posting and its impact; None where the item lacks the term.

        Examples
        --------
        >>> from scipy.sparse import csr_array
        >>> index = InvertedIndex.build(csr_array([[1, 0, 2], [3, 1, 0]]))
        >>> index.find(0, 1), index.find(1, 0)
        ((1, 3.0), None)
        """
        begin, end = int(self._offsets[term]), int(self._offsets[term + 1])
        at = begin + int(np.searchsorted(self._items[begin:end], item))
        return (at, float(self._impacts[at])) if at < end and self._items[at] == item else None

    def scores(self, queries: Rows | Matrix, candidates: Candidates, *, threads: int = 1) -> PairScores:
        """Score the given items for every row, in their order."""
        rows = self._query_rows(queries)
        check_positive("threads", threads)
        try:
            scores, read = self._scores(rows, candidates, threads)
        except (ValueError, TypeError) as error:
            self._check_candidates(len(rows), candidates)  # says it better, but a sound call need not wait for it
            raise InputError(f"Queries and candidates must be sound. Got others: {_reason(error)}.") from error
        stats = Stats(0.0, len(candidates.items), 0, read, read * POSTING_BYTES)
        return PairScores(np.frombuffer(scores, np.float32), stats)

    def matches(self, queries: Rows | Matrix) -> Int32Array:
        """Return the items that share a term with the one row."""
        rows, held = self._query_rows(queries), np.zeros(len(self), np.bool_)
        for term in rows.columns[rows.values != 0].tolist():
            held[self._items[self._offsets[term] : self._offsets[term + 1]]] = True
        return np.flatnonzero(held).astype(np.int32)

    def native_cursor(self, queries: Rows | Matrix) -> _native.CursorSource:
        """Return the queries with this index as a native sum takes them."""
        rows = self._query_rows(queries)
        return self._postings.source(rows.offsets, rows.columns, rows.values)

    def _search(
        self, rows: SparseRows, k: int, allowed: Uint8Array | None, threads: int, numbers: Int32Array | None = None
    ) -> Candidates:
        """Answer checked rows; with `numbers`, item `i` is called ``numbers[i]``."""
        try:
            if len(rows.offsets) == 2 and rows.offsets.tolist() == [0, len(rows.columns)]:  # one row of all entries
                items, scores, read = self._postings.search_one(rows.columns, rows.values, k, allowed)
                bounds = np.array((0, len(items) // 4))
            else:
                packed, items, scores, read = self._postings.search(
                    rows.offsets, rows.columns, rows.values, k, allowed, threads
                )
                bounds = np.frombuffer(packed, np.int64)
        except (ValueError, TypeError) as error:
            raise InputError(f"The queries must be sound. Got others: {_reason(error)}.") from error
        found = np.frombuffer(items, np.int32)
        return Candidates.unchecked(
            bounds,
            found if numbers is None else numbers.take(found),
            np.frombuffer(scores, np.float32),
            None,
            Stats(0.0, 0, 0, read, read * POSTING_BYTES, True),
        )

    def _scores(self, rows: SparseRows, candidates: Candidates, threads: int) -> tuple[bytes, int]:
        scored: tuple[bytes, int]
        if len(candidates) == 1 and len(rows.offsets) == 2 and rows.offsets.tolist() == [0, len(rows.columns)]:
            scored = self._postings.score_one(rows.columns, rows.values, candidates.items)
        else:
            at = candidates.offsets
            scored = self._postings.score(rows.offsets, rows.columns, rows.values, at, candidates.items, threads)
        return scored

    def _query_rows(self, queries: Rows | Matrix) -> SparseRows:
        rows = queries if type(queries) is SparseRows else SparseRows.of(queries, name="queries")
        if rows.width != self._postings.terms:
            raise InputError(f"`queries` must have {self.width} columns, one a term. Got shape {rows.shape}.")
        return rows

    def _write(self, writer: ArtifactWriter) -> None:
        writer.parameters(items=len(self))
        writer.array("offsets", self._offsets)
        writer.array("items", self._items)
        writer.array("impacts", self._impacts)
        writer.array("priorities", self._priorities)
        writer.array("absent", self._absent)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        count = reader.parameter("items", int)
        arrays = reader.array("offsets", np.int64), reader.array("items", np.int32), reader.array("impacts", np.float32)
        priorities, absent = reader.array("priorities", np.float32), reader.array("absent", np.float64)
        return cls(count, *arrays, absent=absent, priorities=priorities)


def _reason(error: ValueError | TypeError) -> str:
    # The binding's own TypeError lists its C++ signatures.
    return "an argument is of the wrong type" if isinstance(error, TypeError) else str(error)
