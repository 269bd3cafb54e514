"""PqIndex: items as codes of a product quantiser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla.arguments import array_of, check_seed, check_type
from vizsla.candidates import Candidates, Numbers, Scores
from vizsla.errors import InputError, check_positive
from vizsla.explanation import Explanation
from vizsla.filter import Filter
from vizsla.indexes.approximate import check_whole
from vizsla.indexes.dense_index import DenseIndex
from vizsla.indexes.item_vectors import Floats
from vizsla.indexes.pq_codebook import Codebook
from vizsla.indexes.pq_codes import Codes, PqCodes
from vizsla.indexes.pq_encoding import encoded
from vizsla.indexes.pq_explain import explain_codes, what_coding_lost
from vizsla.indexes.pq_search import pq_pairs, pq_search, pq_tables
from vizsla.indexes.pq_training import MOST_ROUNDS, checked_vectors, train_codebook
from vizsla.stats import Stats

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter

MEMORY_MB = 1024
ROUNDS = 50


class PqIndex(DenseIndex):
    """Product quantisation (Jégou et al., 2011), with OPQ's rotation (Ge et al., 2013) unless told otherwise.

    An item's score is the sum over sub-spaces of the query's inner product with the item's centroid. These products
    are made once a query, in float64, and rounded to float32; they are added in float32 in the order of the sub-spaces.

    Parameters
    ----------
    codes : PqCodes
        The items' codes.
    codebook : Codebook
        What codes stand for when items are searched.
    coder : Codebook, optional
        What coded the items, and codes new ones, where training has changed the first since.

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

    def __init__(self, codes: PqCodes, codebook: Codebook, *, coder: Codebook | None = None):
        self.stored_codes, self.codebook = codes, codebook
        self.coder = codebook if coder is None else coder
        if (codes.parts, codes.bits) != (codebook.parts, codebook.bits):
            wanted = f"{codebook.parts} codes of {codebook.bits} bits an item"
            raise InputError(f"`codes` must have {wanted}. Got {codes.parts} of {codes.bits} bits.")
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
        rounds: int = ROUNDS,
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
        how = {"rounds": check_whole("rounds", rounds, MOST_ROUNDS), "seed": check_seed(seed)}
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
        return self.codebook.parts * self.codebook.bits // 8

    @property
    def bits(self) -> int:
        """The bits of a code: 8, or 4."""
        return self.codebook.bits

    @property
    def centroids(self) -> Floats:
        """What codes stand for when items are searched: sub-spaces × 256 (or 16) × width."""
        return self.codebook.centroids

    @property
    def rotation(self) -> Floats | None:
        """What turns a query before it is cut into pieces: (sub-spaces · width) × dim, or None."""
        return self.codebook.rotation

    @property
    def codes(self) -> Codes:
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

    def with_centroids(self, centroids: Floats) -> Self:
        """Return the same items, codes untouched, searched with other centroids; new items are coded as before."""
        return self._with(self.stored_codes, self.codebook.with_centroids(centroids))

    def with_codes(self, codes: Codes) -> Self:
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
        gone = array_of("items", items, np.int64)
        if len(gone) and not 0 <= gone.min() <= gone.max() < len(self):
            raise InputError(f"`items` must be numbers from 0 to {len(self) - 1}. Got others.")
        return self.with_codes(np.delete(self.codes, gone, axis=0))

    def take(self, items: NDArray[Any] | slice) -> Floats:
        """Return what these items' codes stand for when they are searched."""
        return self.codebook.decoded(self.stored_codes.take(items))

    def tables(self, queries: Floats) -> Floats:
        """Return each query's inner product with every centroid: queries × sub-spaces × centroids."""
        return pq_tables(self._query_rows(queries), self.codebook)

    def explain(self, row: Floats, item: int) -> tuple[str, list[Explanation]]:
        """Return what the item was coded by, and the shares of the sub-spaces that moved the score most."""
        return f"item ({what_coding_lost(self)})", explain_codes(self, row, item)

    def _search(self, rows: Floats, k: int, filter: Filter | None, threads: int) -> Candidates:
        numbers = None if filter is None else filter.numbers
        found = pq_search(rows, self.codebook, self.stored_codes, k, numbers, threads=threads)
        read = found.reads * (len(self) if numbers is None else len(numbers)) * self.bytes
        return Candidates.trusted(found.offsets, found.items, found.scores, None, Stats(bytes=read, exact=True))

    def _pairs(self, rows: Floats, numbers: NDArray[np.int64], items: Numbers) -> Scores:
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
