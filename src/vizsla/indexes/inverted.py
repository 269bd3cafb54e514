"""InvertedIndex: for each term, the items that hold it and what it gives them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla.candidates import Candidates, Numbers, Offsets, Scores
from vizsla.errors import FormatError, InputError, check_positive
from vizsla.index import Index, Mask
from vizsla.stats import Stats

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter
    from vizsla.encoder import Matrix

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
        What the term gives the item: finite, above 0.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> index = InvertedIndex.build(csr_array([[1, 0, 2], [3, 1, 0], [0, 0, 1]]))
    >>> found = index.search(csr_array([[1.0, 0.0, 1.0]]), k=2)
    >>> found.items.tolist(), found.scores.tolist()
    ([0, 1], [3.0, 3.0])
    """

    kind = "inverted"

    def __init__(self, count: int, offsets: Offsets, items: Numbers, impacts: Scores):
        self._offsets, self._items, self._impacts = offsets, items, impacts
        try:
            self._postings = _native.Postings(count, offsets, items, impacts)
        except (ValueError, TypeError) as error:
            raise InputError(f"The postings must be sound. Got others: {_reason(error)}.") from error

    @classmethod
    def build(cls, vectors: Matrix) -> Self:
        """Index the rows of a matrix, items × terms. Zeros are left out; a negative or infinite weight raises."""
        offsets, terms, weights = _rows(vectors)
        return cls.from_rows(offsets, terms, weights, width=vectors.shape[1])

    @classmethod
    def from_rows(
        cls,
        offsets: Offsets,
        terms: Numbers,
        weights: Scores,
        *,
        width: int,
        gains: NDArray[np.float64] | None = None,
        norms: NDArray[np.float64] | None = None,
    ) -> Self:
        """Index flat rows of (term, weight).

        Parameters
        ----------
        offsets, terms, weights : arrays
            Row `i` is the entries from ``offsets[i]`` to ``offsets[i + 1]``; a row names each term once.
        width : int
            The number of terms.
        gains, norms : float64 arrays, optional
            A gain for each term and a norm for each item: an impact becomes gain × weight / (weight + norm), which
            is the shape of every BM25.
        """
        none = np.zeros(0, np.float64)
        try:
            inverted = _native.invert(
                offsets, terms, weights, width, none if gains is None else gains, none if norms is None else norms
            )
        except (ValueError, TypeError) as error:
            raise InputError(f"The rows must be sound. Got others: {_reason(error)}.") from error
        return cls(len(offsets) - 1, *inverted)

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
    def nbytes(self) -> int:
        """Bytes of the postings and of the bounds of their blocks."""
        arrays = self._offsets.nbytes + self._items.nbytes + self._impacts.nbytes
        return int(arrays + self._postings.block_bytes)

    def to_csr(self) -> csr_array:
        """Return items × terms, the matrix that `build` takes."""
        from scipy.sparse import csc_array

        return csc_array((self._impacts, self._items, self._offsets), shape=(len(self), self.width)).tocsr()

    def search(self, queries: Matrix, k: int, *, allowed: Mask | None = None, threads: int = 1) -> Candidates:
        """Return the best `k` items of every row that share a term with it."""
        check_positive("k", k)
        check_positive("threads", threads)
        return self.search_rows(*self._query_rows(queries), k, allowed=allowed, threads=threads)

    def search_rows(
        self,
        offsets: Offsets,
        terms: Numbers,
        weights: Scores,
        k: int,
        *,
        bases: Scores | None = None,
        allowed: Mask | None = None,
        threads: int = 1,
    ) -> Candidates:
        """Search with flat rows of (term, weight): the short way, without SciPy.

        Parameters
        ----------
        offsets, terms, weights : arrays
            The queries' rows. A term that is named twice counts twice.
        k : int
            How many items at most.
        bases : float32 array, optional
            Added to every score of a query; not negative.
        allowed : bool array, optional
            Only items whose entry is True are found.
        threads : int
            How many queries are answered at a time.
        """
        try:
            if len(offsets) == 2 and offsets.item(0) == 0 and offsets.item(1) == len(terms):
                base = 0.0 if bases is None else float(bases[0])
                items, scores, read = self._postings.search_one(terms, weights, base, k, allowed)
                bounds = np.array((0, len(items) // 4))
            else:
                bases = _no_bases(offsets) if bases is None else bases
                packed, items, scores, read = self._postings.search(offsets, terms, weights, bases, k, allowed, threads)
                bounds = np.frombuffer(packed, np.int64)
        except (ValueError, TypeError) as error:
            raise InputError(f"The queries must be sound. Got others: {_reason(error)}.") from error
        return Candidates.trusted(
            bounds,
            np.frombuffer(items, np.int32),
            np.frombuffer(scores, np.float32),
            None,
            Stats(0.0, 0, read, read * POSTING_BYTES),
        )

    def score(self, queries: Matrix, candidates: Candidates) -> Candidates:
        """Score the given items for every row, and rank them."""
        return self.score_rows(*self._query_rows(queries), candidates)

    def score_rows(
        self, offsets: Offsets, terms: Numbers, weights: Scores, candidates: Candidates, *, bases: Scores | None = None
    ) -> Candidates:
        """Score candidates with flat rows of (term, weight)."""
        if len(candidates) != len(offsets) - 1:
            wanted = f"a row for each of {len(offsets) - 1} queries"
            raise InputError(f"`candidates` must have {wanted}. Got {len(candidates)} rows.")
        bases = _no_bases(offsets) if bases is None else bases
        try:
            scores, read = self._postings.score(offsets, terms, weights, bases, candidates.offsets, candidates.items)
        except (ValueError, TypeError) as error:
            raise InputError(f"Queries and candidates must be sound. Got others: {_reason(error)}.") from error
        return Candidates.ranked(
            candidates.offsets,
            candidates.items,
            np.frombuffer(scores, np.float32),
            catalogue=candidates.catalogue,
            query_ids=candidates.query_ids,
            stats=Stats(scorer_calls=len(candidates.items), postings=read, bytes=read * POSTING_BYTES),
        )

    def _query_rows(self, queries: Matrix) -> tuple[Offsets, Numbers, Scores]:
        if queries.ndim != 2 or queries.shape[1] != self.width:
            raise InputError(f"`queries` must have {self.width} columns, one a term. Got shape {queries.shape}.")
        return _rows(queries)

    def _write(self, writer: ArtifactWriter) -> None:
        writer.parameters(items=len(self))
        writer.array("offsets", self._offsets)
        writer.array("items", self._items)
        writer.array("impacts", self._impacts)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        count = reader.parameter("items", int)
        arrays = reader.array("offsets", np.int64), reader.array("items", np.int32), reader.array("impacts", np.float32)
        try:
            return cls(count, *arrays)
        except InputError as error:
            raise FormatError(f"{reader.path}: {error}") from error


def _rows(matrix: Matrix) -> tuple[Offsets, Numbers, Scores]:
    """Return a matrix's rows as flat arrays; repeated entries are added up."""
    from scipy.sparse import csr_array

    rows: csr_array = csr_array(matrix)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return (
        np.ascontiguousarray(rows.indptr, np.int64),
        np.ascontiguousarray(rows.indices, np.int32),
        np.ascontiguousarray(rows.data, np.float32),
    )


def _no_bases(offsets: Offsets) -> Scores:
    return np.zeros(max(len(offsets) - 1, 0), np.float32)


def _reason(error: ValueError | TypeError) -> str:
    # The binding's own TypeError lists its C++ signatures.
    return "an argument is of the wrong type" if isinstance(error, TypeError) else str(error)
