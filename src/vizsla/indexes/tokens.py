"""TokenIndex: exact search over binary posting lists, in segments that grow and shrink."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla.base.index import Index
from vizsla.core.candidates import Candidates, PairScores, Stats
from vizsla.core.sparse import SparseRows
from vizsla.data.filter import Filter
from vizsla.errors import InputError, check_positive
from vizsla.typing import BoolArray, Float32Array, Int32Array

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter
    from vizsla.base.encoder import Rows
    from vizsla.core.sparse import Matrix

SEGMENT_ARRAYS = {
    "items": np.int32,
    "token_offsets": np.int64,
    "data_offsets": np.int64,
    "tokens": np.int32,
    "starts": np.uint32,
    "data": np.uint16,
}
"""What a segment is made of, and of which type; `native/postings/bag_blocks.hpp` says what they mean."""
OFFSET_ARRAYS = ("token_offsets", "data_offsets")


class TokenSegment:
    """Blocks of at most 65,536 items: for each token the items that hold it, as 16-bit places or as a bitmap.

    Parameters
    ----------
    arrays : dict of arrays
        By the names of `SEGMENT_ARRAYS`.
    width : int
        The number of tokens.
    """

    def __init__(self, arrays: dict[str, NDArray[Any]], width: int):
        self.arrays, self.width = arrays, width
        try:
            checked: Any = _native.BagSegment
            self.native: _native.BagSegment = checked(*(arrays[name] for name in SEGMENT_ARRAYS), width)
        except (ValueError, TypeError) as error:
            reason = "an array is of the wrong type" if isinstance(error, TypeError) else str(error)
            raise InputError(f"The lists must be sound. Got others: {reason}.") from error

    @classmethod
    def of(cls, rows: SparseRows) -> Self:
        """Build the lists of rows; what an entry weighs does not matter, one of 0 is left out."""
        if not rows.values.all():
            kept = rows.values != 0
            counts = np.concatenate([[0], np.cumsum(kept)])[rows.offsets].astype(np.int64)
            rows = SparseRows(counts, rows.columns[kept], rows.values[kept], rows.width)
        try:
            made = _native.bag_build(rows.offsets, rows.columns, rows.width)
        except (ValueError, TypeError) as error:
            raise InputError(f"The rows must be sound. Got others: {error}.") from error
        return cls(dict(zip(SEGMENT_ARRAYS, made, strict=True)), rows.width)

    @classmethod
    def joined(cls, segments: list[Self], width: int) -> Self:
        """Return one segment with the blocks of all, as they are."""
        if len(segments) == 1 and segments[0].width == width:
            return segments[0]
        arrays = {
            name: _joined([one.arrays[name] for one in segments], name, kind) for name, kind in SEGMENT_ARRAYS.items()
        }
        return cls(arrays, width)

    @classmethod
    def read(cls, reader: ArtifactReader, width: int) -> Self:
        """Read the arrays from an artifact."""
        return cls({name: reader.array(name, kind) for name, kind in SEGMENT_ARRAYS.items()}, width)

    def __len__(self) -> int:
        return self.native.items

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return int(sum(array.nbytes for array in self.arrays.values()))

    def rows(self) -> SparseRows:
        """Return the items' tokens, ascending, each with the value 1."""
        offsets, tokens = self.native.rows()
        return SparseRows(offsets, tokens, np.ones(len(tokens), np.float32), self.width)


def _joined(parts: list[NDArray[Any]], name: str, kind: Any) -> NDArray[Any]:
    if name not in OFFSET_ARRAYS:
        return np.concatenate([np.zeros(0, kind), *parts])
    starts = np.cumsum([0, *(int(part[-1]) for part in parts)])
    pairs = zip(parts, starts.tolist(), strict=False)
    return np.concatenate([np.zeros(1, kind), *(part[1:] + start for part, start in pairs)]).astype(kind)


POSTING_BYTES = 2
MAX_SMALL_SEGMENT_ITEMS = 65_536
"""Segments with fewer items are merged when another comes that is not much smaller: there are only ever a few."""


class TokenIndex(Index):
    """Binary postings with exact search: a score is the item's norm times the weights of the query's tokens it holds.

    A query's weights are counted in units of a power of two, 2^-23 of their sum, so that sums are exact in any order:
    searching, scoring, threads, segments and shards agree bit for bit. An item that shares no token with the query is
    not found, and its score is 0. The lists never depend on a model, so a better one needs no new index.

    Parameters
    ----------
    segments : list of TokenSegment
        The items' lists, one segment after another.
    norms : float32 array
        Factor of each item's sum: above 0, at most 1,000,000.
    width : int
        The number of tokens.

    Examples
    --------
    >>> index = TokenIndex.build(np.array([[1, 0, 1], [1, 1, 0], [0, 0, 1]]))
    >>> found = index.search(np.array([[2.0, 0.0, 1.0]]), k=2)
    >>> found.items.tolist(), found.scores.tolist()
    ([0, 1], [3.0, 2.0])
    """

    kind = "token-index"

    def __init__(self, segments: list[TokenSegment], norms: Float32Array, width: int):
        self.segments, self.norms, self._width = segments, norms, width
        try:
            self._lists = _native.BagLists([segment.native for segment in segments], norms, width)
        except (ValueError, TypeError) as error:
            raise InputError(f"The index must be sound. Got another: {_reason(error)}.") from error

    @classmethod
    def build(cls, vectors: Rows | Matrix, *, norms: Float32Array | None = None) -> Self:
        """Index the rows of a matrix, items × tokens; only which entries are not 0 matters."""
        rows = SparseRows.of(vectors, name="vectors")
        return cls([TokenSegment.of(rows)], _ones(len(rows)) if norms is None else norms, rows.width)

    def __len__(self) -> int:
        return self._lists.items

    @property
    def dim(self) -> int:
        """The number of tokens."""
        return self._width

    @property
    def postings(self) -> int:
        """The number of (token, item) pairs."""
        return self._lists.postings

    @property
    def nbytes(self) -> int:
        """Bytes of lists and norms."""
        return int(sum(segment.nbytes for segment in self.segments) + self.norms.nbytes)

    def __repr__(self) -> str:
        return f"TokenIndex({len(self):,} items, {self.dim:,} tokens)"

    def item_rows(self) -> SparseRows:
        """Return the items' tokens, ascending, each with the value 1."""
        return SparseRows.stacked([segment.rows() for segment in self.segments], self.dim)

    def with_norms(self, norms: Float32Array) -> Self:
        """Return the same lists with other norms."""
        return type(self)(self.segments, norms, self.dim)

    def appended(self, rows: SparseRows, norms: Float32Array) -> Self:
        """Return an index with more items, whose rows may have more tokens; the lists that are there are shared.

        Parameters
        ----------
        rows : SparseRows
            The new items' tokens.
        norms : float32 array
            Norms of all items, old and new.

        Examples
        --------
        >>> index = TokenIndex.build(np.array([[1, 0], [1, 1]]))
        >>> more = index.appended(SparseRows.of(np.array([[0, 0, 1]])), np.ones(3, np.float32))
        >>> len(more), more.dim, more.search(np.array([[0.0, 1.0, 2.0]]), k=2).items.tolist()
        (3, 3, [2, 1])
        """
        segments, new = list(self.segments), TokenSegment.of(rows)
        while segments and len(segments[-1]) < MAX_SMALL_SEGMENT_ITEMS and len(segments[-1]) <= 4 * len(new):
            new = TokenSegment.of(SparseRows.stacked([segments.pop().rows(), new.rows()], rows.width))
        return type(self)([*segments, new], norms, rows.width)

    def restricted(self, kept: BoolArray) -> Self:
        """Return the index of these items alone, renumbered in their order; scores stay."""
        rows = self.item_rows()
        inside = np.repeat(kept, np.diff(rows.offsets))
        counts = np.diff(rows.offsets)[kept]
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        left = SparseRows(offsets, rows.columns[inside], rows.values[inside], rows.width)
        return type(self)([TokenSegment.of(left)], self.norms[kept], self.dim)

    def search(
        self, queries: Rows | Matrix, k: int, *, filter: Filter | BoolArray | None = None, threads: int = 1
    ) -> Candidates:
        """Return the best `k` items of every row that share a token with it; a token named twice counts twice."""
        check_positive("k", k)
        rows, prepared = self._query_rows(queries), self._prepared(filter)
        mask = None if prepared is None else prepared.mask
        try:
            packed, items, scores, read = self._lists.search(
                rows.offsets, rows.columns, rows.values, k, mask, check_positive("threads", threads)
            )
        except (ValueError, TypeError) as error:
            raise InputError(f"The queries must be sound. Got others: {_reason(error)}.") from error
        stats = Stats(0.0, 0, 0, read, read * POSTING_BYTES, True)
        array = np.frombuffer
        return Candidates.unchecked(
            array(packed, np.int64), array(items, np.int32), array(scores, np.float32), None, stats
        )

    def scores(self, queries: Rows | Matrix, candidates: Candidates, *, threads: int = 1) -> PairScores:
        """Score the given items for every row, in their order."""
        rows, at = self._query_rows(queries), candidates.offsets
        check_positive("threads", threads)
        try:
            scores, read = self._lists.score(rows.offsets, rows.columns, rows.values, at, candidates.items, threads)
        except (ValueError, TypeError) as error:
            self._check_candidates(len(rows), candidates)  # says it better, but a sound call need not wait for it
            raise InputError(f"Queries and candidates must be sound. Got others: {_reason(error)}.") from error
        stats = Stats(0.0, len(candidates.items), 0, read, read * POSTING_BYTES)
        return PairScores(np.frombuffer(scores, np.float32), stats)

    def matches(self, queries: Rows | Matrix) -> Int32Array:
        """Return the items that share a token with the one row."""
        return np.sort(self.search(queries, max(1, len(self))).items)

    def _query_rows(self, queries: Rows | Matrix) -> SparseRows:
        rows = queries if type(queries) is SparseRows else SparseRows.of(queries, name="queries")
        if rows.width != self.dim:
            raise InputError(f"`queries` must have {self.dim} columns, one a token. Got shape {rows.shape}.")
        return rows

    def _write(self, writer: ArtifactWriter) -> None:
        whole = TokenSegment.joined(self.segments, self.dim)
        writer.parameters(tokens=self.dim)
        for name in SEGMENT_ARRAYS:
            writer.array(name, whole.arrays[name])
        writer.array("norms", self.norms)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        width: Any = reader.parameter("tokens", int)
        return cls([TokenSegment.read(reader, width)], reader.array("norms", np.float32), width)


def _ones(count: int) -> Float32Array:
    return np.ones(count, np.float32)


def _reason(error: ValueError | TypeError) -> str:
    # The binding's own TypeError lists its C++ signatures.
    return "an argument is of the wrong type" if isinstance(error, TypeError) else str(error)
