"""IvfPqIndex: codes in lists around centres, of which a search reads the nearest."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla.candidates import Numbers
from vizsla.errors import FormatError, InputError
from vizsla.filter import Filter
from vizsla.indexes.approximate import check_whole
from vizsla.indexes.centres import assigned, enough_probes, spherical_centres
from vizsla.indexes.faiss_storage import SELECTOR, in_threads, load_faiss, selector
from vizsla.indexes.flat_search import flat_search
from vizsla.indexes.item_vectors import Floats, ItemVectors
from vizsla.indexes.ivf import MOST_LISTS, add_lists
from vizsla.indexes.pq import PqIndex
from vizsla.indexes.pq_codebook import Codebook
from vizsla.indexes.pq_codes import PqCodes
from vizsla.indexes.pq_structure import PqStructure

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter


class IvfPqIndex(PqStructure):
    """An inverted file over k-means lists of codes, on Faiss. Codes are of the vectors, not of their rests.

    Parameters
    ----------
    codes, codebook, coder
        As in `PqIndex`.
    centres : float32 array, lists × dimensions
        The lists' centres.
    lists : int32 array
        Each item's list.
    probes : int
        How many lists a search reads.
    """

    kind = "ivfpq"

    def __init__(
        self,
        codes: PqCodes,
        codebook: Codebook,
        centres: Floats,
        lists: Numbers,
        *,
        coder: Codebook | None = None,
        probes: int,
    ):
        super().__init__(codes, codebook, coder=coder)
        self.centres, self.lists = ItemVectors.of(centres), lists
        self.probes = check_whole("probes", probes, MOST_LISTS)
        if centres.shape[1] != codebook.dim or not 1 <= len(centres) <= MOST_LISTS:
            raise InputError(f"`centres` must be some rows of {codebook.dim} numbers. Got shape {centres.shape}.")
        if lists.shape != (len(codes),) or (len(lists) and not 0 <= lists.min() <= lists.max() < len(centres)):
            raise InputError(f"`lists` must be {len(codes)} numbers below {len(centres)}. Got others.")
        self._faiss = self._fill()

    @classmethod
    def build(
        cls,
        vectors: Any,
        *,
        lists: int | None = None,
        probes: int | None = None,
        recall: float = 0.99,
        seed: int = 0,
        **coding: Any,
    ) -> Self:
        """Index vectors, a row an item.

        Parameters
        ----------
        vectors : array, items × dimensions
            Read in blocks.
        lists, probes, recall
            As in `IvfIndex.build`.
        seed : int
            Fixes what is random.
        **coding
            As in `PqIndex.build`; `bits` must be 8.
        """
        coded, stored = PqIndex.build(vectors, seed=seed, **coding), ItemVectors.of(vectors)
        wanted = int(4 * len(stored) ** 0.5) if lists is None else check_whole("lists", lists, MOST_LISTS)
        centres = spherical_centres(stored, max(1, min(wanted, len(stored))), rounds=20, seed=seed)
        members = assigned(stored, centres)
        if probes is None:
            probes = enough_probes(stored, centres, members, recall=recall, seed=seed)
        return cls(coded.stored_codes, coded.codebook, centres, members, probes=probes)

    @property
    def nbytes(self) -> int:
        """Bytes of codes, with Faiss's copy and each item's number in it, codebooks and centres."""
        return super().nbytes + self.stored_codes.nbytes + 8 * len(self) + self.centres.nbytes

    @property
    def options(self) -> dict[str, Any]:
        """What `build` was given, so that other vectors can be indexed alike."""
        return super().options | {"lists": len(self.centres), "probes": self.probes}

    @property
    def effort(self) -> int:
        """How many lists a search reads: `probes`."""
        return self.probes

    def with_effort(self, effort: int) -> Self:
        """Return the same index, sharing all arrays, that reads so many lists when it searches."""
        other = copy(self)
        other.probes = check_whole("effort", effort, MOST_LISTS)
        return other

    def _propose(self, rows: Floats, k: int, filter: Filter | None, threads: int) -> NDArray[np.int64]:
        faiss = load_faiss()

        probes = self._masked_probes(len(self) if filter is None else filter.count)
        chosen = None if filter is None else filter.form(SELECTOR, selector)
        how = faiss.SearchParametersIVF(nprobe=probes, sel=chosen)

        def part(given: Floats) -> NDArray[np.int64]:
            near = flat_search(given, self.centres, probes)
            numbers, scores = np.empty((len(given), k), np.int64), np.empty((len(given), k), np.float32)
            arrays = (self._turned(given), near.items.astype(np.int64), near.scores, scores, numbers)
            parts = [faiss.swig_ptr(array) for array in arrays]
            self._faiss.search_preassigned_c(len(given), parts[0], k, *parts[1:], False, how)
            return numbers

        return in_threads(part, rows, threads)

    def _masked_probes(self, reachable: int) -> int:
        return min(-(-self.probes * len(self) // max(1, reachable)), len(self.centres))

    def _pays(self, k: int, reachable: int) -> bool:
        return reachable <= k or (reachable < len(self) and self._masked_probes(reachable) == len(self.centres))

    def _fill(self) -> Any:
        faiss = load_faiss()

        book, metric = self.codebook, faiss.METRIC_INNER_PRODUCT
        self._quantizer = faiss.IndexFlatIP(book.wide)
        self._quantizer.add(np.zeros((len(self.centres), book.wide), np.float32))  # lists are chosen by us
        index = faiss.IndexIVFPQ(self._quantizer, book.wide, len(self.centres), book.parts, 8, metric)
        index.by_residual = False
        faiss.copy_array_to_vector(np.ascontiguousarray(book.centroids).reshape(-1), index.pq.centroids)
        index.is_trained = True
        add_lists(index, self.stored_codes.stored, self.lists)
        return index

    def _with(self, codes: PqCodes, codebook: Codebook) -> Self:
        return type(self)(codes, codebook, self.centres.rows, self.lists, coder=self.coder, probes=self.probes)

    def _write(self, writer: ArtifactWriter) -> None:
        super()._write(writer)
        writer.parameters(probes=self.probes)
        writer.array("centres", self.centres.rows)
        writer.array("lists", self.lists)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        centres, lists = reader.array("centres", np.float32, ndim=2), reader.array("lists", np.int32)
        try:
            codes, book, coder = cls._read_parts(reader)
            return cls(codes, book, centres, lists, coder=coder, probes=reader.parameter("probes", int))
        except InputError as error:
            raise FormatError(f"{reader.path}: {error}") from error
