"""PqIndex: search over product-quantized vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla.core.candidates import Candidates, Stats
from vizsla.core.explanation import Explanation
from vizsla.core.validation import as_array, check_seed, check_type
from vizsla.data.filter import Filter
from vizsla.errors import InputError, check_positive
from vizsla.indexes.approximate import check_whole
from vizsla.indexes.dense_index import DenseIndex
from vizsla.indexes.flat import Found
from vizsla.indexes.pq.codebook import Codebook, PqCodes
from vizsla.indexes.pq.training import MAX_ROUNDS, checked_vectors, encoded, train_codebook
from vizsla.typing import Float32Array, Int32Array, Uint8Array

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter


def pq_tables(queries: Float32Array, book: Codebook) -> Float32Array:
    """Return each query's inner product with every centroid: queries × sub-spaces × centroids.

    Products are added in float64, in the order of the dimensions, and rounded once.
    """
    raw: Any = _native.pq_tables(queries, book.rotation, book.transposed)
    return np.frombuffer(raw, np.float32).reshape(len(queries), *book.centroids.shape[:2])


def pq_search(
    queries: Float32Array,
    book: Codebook,
    codes: PqCodes,
    k: int,
    numbers: Int32Array | None = None,
    *,
    threads: int = 1,
) -> Found:
    """Return the best `k` of every query among all items, or among `numbers`, which ascend.

    Where registers can hold a table, codes are scanned with tables rounded to bytes. By how much that can push two
    items past each other is known for each query; items within it of the k-th best are scored from the tables
    themselves.
    """
    offsets, items, scores, reads = _native.pq_search(
        queries, book.rotation, book.transposed, codes.stored, len(codes), k, numbers, threads
    )
    return Found(
        np.frombuffer(offsets, np.int64), np.frombuffer(items, np.int32), np.frombuffer(scores, np.float32), reads
    )


def pq_pairs(
    queries: Float32Array, rows: NDArray[np.int64], book: Codebook, codes: PqCodes, items: Int32Array
) -> Float32Array:
    """Return the score of ``items[i]`` for ``queries[rows[i]]``, for every i."""
    rows, items = np.ascontiguousarray(rows, np.int64), np.ascontiguousarray(items, np.int32)
    raw: Any = _native.pq_pairs(queries, book.rotation, book.transposed, codes.stored, len(codes), rows, items)
    return np.frombuffer(raw, np.float32)


MAX_SUBSPACES_EXPLAINED = 5
"""Sub-spaces that are told one by one: those that moved the score most."""


def explain_codes(index: PqIndex, row: Float32Array, item: int) -> list[Explanation]:
    """Return the shares of the sub-spaces that moved the score most, and that of all others; they add up to it."""
    codes = index.stored_codes.take(np.array([item]))[0]
    shares = index.tables(row.reshape(1, -1))[0][np.arange(len(codes)), codes].astype(np.float64)
    order = np.argsort(-np.abs(shares), kind="stable")
    told, rest = order[:MAX_SUBSPACES_EXPLAINED], order[MAX_SUBSPACES_EXPLAINED:]
    parts = [Explanation(float(shares[part]), _reason(index, int(part), int(codes[part]))) for part in told]
    if len(rest):
        parts.append(Explanation(float(shares[rest].sum()), f"{len(rest)} other sub-spaces"))
    return parts


def what_coding_lost(index: PqIndex) -> str:
    """Say which share of the vectors' squared lengths the codes do not hold."""
    size = f"{index.bytes} bytes of {index.bits}-bit codes"
    lost = index.coder.lost
    if lost is None:
        return size
    return f"{size}, which lost {float(lost.mean()):.0%} of a sub-space's squared length on average"


def _reason(index: PqIndex, part: int, code: int) -> str:
    reason = f"sub-space {part}, centroid {code}"
    lost = index.coder.lost
    return reason if lost is None else f"{reason}: coding lost {float(lost[part]):.0%} here"


MEMORY_MB = 1024
DEFAULT_ROUNDS = 50


class PqIndex(DenseIndex):
    """Product quantization (Jégou et al., 2011), by default with OPQ's rotation (Ge et al., 2013).

    An item's score is the sum over sub-spaces of the query's inner product with the item's centroid. These products
    are made once a query, in float64, and rounded to float32; they are added in float32 in the order of the sub-spaces.

    Parameters
    ----------
    codes : PqCodes
        The items' codes.
    codebook : Codebook
        The codebook of the search.
    coder : Codebook, optional
        The codebook that coded the items, and codes new ones, if training has changed the first one since.

    Examples
    --------
    >>> vectors = np.random.default_rng(0).standard_normal((2000, 32), dtype=np.float32)
    >>> index = PqIndex.build(vectors, bytes=8, opq=False)
    >>> index, index.stored_codes.nbytes
    (PqIndex(2,000 items, 32 dimensions, 8 bytes an item, 16×), 16384)
    >>> len(index.search(vectors[:3], k=5))
    3
    """

    kind = "pq"
    takes_items = True

    def __init__(self, codes: PqCodes, codebook: Codebook, *, coder: Codebook | None = None):
        self.stored_codes, self.codebook = codes, codebook
        self.coder = codebook if coder is None else coder
        if (codes.subspaces, codes.bits) != (codebook.subspaces, codebook.bits):
            wanted = f"{codebook.subspaces} codes of {codebook.bits} bits an item"
            raise InputError(f"`codes` must have {wanted}. Got {codes.subspaces} of {codes.bits} bits.")
        if self.coder.centroids.shape != codebook.centroids.shape or self.coder.dim != codebook.dim:
            raise InputError(f"`coder` must have the shape of `codebook`. Got {self.coder!r} and {codebook!r}.")

    @classmethod
    def build(
        cls,
        vectors: Any,
        *,
        bytes: int = 32,
        bits: int = 8,
        opq: bool = True,
        rounds: int = DEFAULT_ROUNDS,
        seed: int = 0,
        memory_mb: int = MEMORY_MB,
        threads: int = 1,
    ) -> Self:
        """Index vectors, a row an item.

        Parameters
        ----------
        vectors : array, items × dimensions
            Read in chunks, so that a memory-mapped array may be larger than memory.
        bytes : int
            How many bytes an item gets: from 8 to 96 are usual.
        bits : {8, 4}
            Bits of a code. 8: as many sub-spaces as bytes, with 256 centroids each. 4: twice as many, with 16 each,
            which every CPU looks up in registers; tables of 256 need AVX-512 for that.
        opq : bool
            Learn a rotation that makes the sub-spaces fit the data.
        rounds : int
            How often rotation and centroids are learned in turn.
        seed : int
            Fixes the sample that is learned from and the first centroids.
        memory_mb : int
            Most megabytes that building takes beside the vectors and the codes.
        threads : int
            How many threads learn and code; a rotation is learned by one.
        """
        rows, memory = checked_vectors(vectors), check_positive("memory_mb", memory_mb) << 20
        threads, _ = check_positive("threads", threads), check_type("opq", opq, bool, "True or False")
        how = {"rounds": check_whole("rounds", rounds, MAX_ROUNDS), "seed": check_seed(seed)}
        codebook = train_codebook(rows, bytes=bytes, bits=bits, opq=opq, memory=memory, threads=threads, **how)
        return cls(encoded(rows, codebook, memory=memory, threads=threads), codebook)

    def __len__(self) -> int:
        return len(self.stored_codes)

    @property
    def dim(self) -> int:
        """The length of a query's vector."""
        return self.codebook.dim

    @property
    def bytes(self) -> int:
        """How many bytes an item takes."""
        return self.codebook.subspaces * self.codebook.bits // 8

    @property
    def bits(self) -> int:
        """The bits of a code: 8, or 4."""
        return self.codebook.bits

    @property
    def centroids(self) -> Float32Array:
        """What codes stand for when items are searched: sub-spaces × 256 (or 16) × width."""
        return self.codebook.centroids

    @property
    def rotation(self) -> Float32Array | None:
        """What turns a query before it is cut into pieces: (sub-spaces · width) × dim, or None."""
        return self.codebook.rotation

    @property
    def codes(self) -> Uint8Array:
        """The codes of all items, a byte a code whatever its bits: items × sub-spaces. A copy."""
        return self.stored_codes.take(slice(None))

    @property
    def compression(self) -> float:
        """How many times smaller an item's codes are than its vector in float32; a mark is no part of that."""
        return float((self.dim - self.codebook.marked) * 4 / self.bytes)

    @property
    def nbytes(self) -> int:
        """Bytes of codes, codebook, and the coder where it is another."""
        books = {id(book): book for book in (self.codebook, self.coder)}
        return int(self.stored_codes.nbytes + sum(book.nbytes for book in books.values()))

    @property
    def options(self) -> dict[str, Any]:
        """What `build` was given, so that other vectors can be indexed alike."""
        return {"bytes": self.bytes, "bits": self.bits, "opq": self.rotation is not None}

    def __repr__(self) -> str:
        size = f"{self.bytes} bytes an item, {self.compression:.0f}×"
        return f"{type(self).__name__}({len(self):,} items, {self.dim:,} dimensions, {size})"

    def with_centroids(self, centroids: Float32Array) -> Self:
        """Return the same items, codes untouched, searched with other centroids; new items are coded as before."""
        return self._with(self.stored_codes, self.codebook.with_centroids(centroids))

    def with_codes(self, codes: Uint8Array) -> Self:
        """Return the same centroids over items of other codes, items × sub-spaces; new items are coded as before."""
        return self._with(PqCodes.of(codes, bits=self.bits), self.codebook)

    def with_items(self, vectors: Any, *, threads: int = 1) -> Self:
        """Return an index that also holds these vectors, after its own items: coded, not trained."""
        rows = checked_vectors(vectors)
        if rows.shape[1] != self.dim:
            raise InputError(f"`vectors` must have {self.dim} columns. Got {rows.shape[1]}.")
        more = encoded(rows, self.coder, memory=MEMORY_MB << 20, threads=threads)
        return self.with_codes(np.concatenate([self.codes, more.take(slice(None))]))

    def without_items(self, items: NDArray[Any]) -> Self:
        """Return an index without the items of these numbers; those after them move up."""
        gone = as_array("items", items, np.int64)
        if len(gone) and not 0 <= gone.min() <= gone.max() < len(self):
            raise InputError(f"`items` must be numbers from 0 to {len(self) - 1}. Got others.")
        return self.with_codes(np.delete(self.codes, gone, axis=0))

    def take(self, items: NDArray[Any] | slice) -> Float32Array:
        """Return what these items' codes stand for when they are searched."""
        return self.codebook.decoded(self.stored_codes.take(items))

    def tables(self, queries: Float32Array) -> Float32Array:
        """Return each query's inner product with every centroid: queries × sub-spaces × centroids."""
        return pq_tables(self._query_rows(queries), self.codebook)

    def explain(self, row: Float32Array, item: int) -> tuple[str, list[Explanation]]:
        """Return what the item was coded by, and the shares of the sub-spaces that moved the score most."""
        return f"item ({what_coding_lost(self)})", explain_codes(self, row, item)

    def _search(self, rows: Float32Array, k: int, filter: Filter | None, threads: int) -> Candidates:
        numbers = None if filter is None else filter.numbers
        found = pq_search(rows, self.codebook, self.stored_codes, k, numbers, threads=threads)
        read = found.reads * (len(self) if numbers is None else len(numbers)) * self.bytes
        return Candidates.unchecked(found.offsets, found.items, found.scores, None, Stats(bytes=read, exact=True))

    def _pairs(self, rows: Float32Array, numbers: NDArray[np.int64], items: Int32Array) -> Float32Array:
        return pq_pairs(rows, numbers, self.codebook, self.stored_codes, items)

    @property
    def _row_bytes(self) -> int:
        return self.bytes

    def _with(self, codes: PqCodes, codebook: Codebook) -> Self:
        return type(self)(codes, codebook, coder=self.coder)

    def _coded_anew(self, codes: PqCodes, codebook: Codebook) -> Self:
        """Return the same items by codes of another codebook, which is then what codes new ones."""
        return type(self)(codes, codebook)

    def _codes_in_order(self) -> PqCodes:
        """Return the codes as the file holds them."""
        return self.stored_codes

    def _write(self, writer: ArtifactWriter) -> None:
        trained = self.coder is not self.codebook
        writer.parameters(items=len(self), dim=self.dim, bytes=self.bytes, bits=self.bits, trained=trained)
        writer.parameters(compression=f"{self.compression:.1f} times smaller than float32")
        writer.array("codes", self._codes_in_order().stored)
        self.codebook.write(writer)
        if trained:
            writer.array("coding_centroids", self.coder.centroids)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        codes, book, coder = cls._read_parts(reader)
        return cls(codes, book, coder=coder)

    @staticmethod
    def _read_parts(reader: ArtifactReader) -> tuple[PqCodes, Codebook, Codebook | None]:
        codes = reader.array("codes", np.uint8, ndim=3)
        book, coder = Codebook.read(reader, reader.parameter("dim", int)), None
        if reader.parameter("trained", bool):
            coder = book.with_centroids(reader.array("coding_centroids", np.float32, ndim=3))
        return PqCodes(codes, reader.parameter("items", int), bits=reader.parameter("bits", int)), book, coder
