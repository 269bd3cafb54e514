"""IvfIndex: items in lists around centres, of which a search reads the nearest."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla.candidates import Numbers
from vizsla.errors import FormatError, InputError
from vizsla.filter import Filter
from vizsla.indexes.approximate import check_whole
from vizsla.indexes.approximate_stored import ApproximateStoredIndex
from vizsla.indexes.centres import assigned, enough_probes, spherical_centres
from vizsla.indexes.faiss_storage import SELECTOR, in_threads, load_faiss, selector, set_scale
from vizsla.indexes.flat_search import flat_search
from vizsla.indexes.item_vectors import Floats, ItemVectors

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter

MOST_LISTS = 1 << 24


class IvfIndex(ApproximateStoredIndex):
    """An inverted file over k-means lists, on Faiss, by inner product.

    The file holds vectors, centres and each item's list as plain arrays; Faiss keeps a copy of the vectors in memory.

    Parameters
    ----------
    vectors : ItemVectors
        The items' vectors as they are stored.
    centres : float32 array, lists × dimensions
        The lists' centres.
    lists : int32 array
        Each item's list.
    probes : int
        How many lists a search reads: more finds more, and takes longer.

    Examples
    --------
    >>> vectors = np.random.default_rng(0).standard_normal((2000, 8), dtype=np.float32)
    >>> index = IvfIndex.build(vectors, lists=20, probes=20)
    >>> index.search(vectors[:9], 5) == index.search(vectors[:9], 5, exact=True)
    True
    """

    kind = "ivf"

    def __init__(self, vectors: ItemVectors, centres: Floats, lists: Numbers, *, probes: int):
        super().__init__(vectors)
        self.centres, self.lists = ItemVectors.of(centres), lists
        self.probes = check_whole("probes", probes, MOST_LISTS)
        if centres.shape[1] != vectors.dim or not 1 <= len(centres) <= MOST_LISTS:
            raise InputError(f"`centres` must be some rows of {vectors.dim} numbers. Got shape {centres.shape}.")
        if lists.shape != (len(vectors),) or (len(lists) and not 0 <= lists.min() <= lists.max() < len(centres)):
            raise InputError(f"`lists` must be {len(vectors)} numbers below {len(centres)}. Got others.")
        self._faiss = self._fill()

    @classmethod
    def build(
        cls,
        vectors: Any,
        *,
        storage: str | None = None,
        lists: int | None = None,
        probes: int | None = None,
        recall: float = 0.99,
        rounds: int = 20,
        seed: int = 0,
    ) -> Self:
        """Index vectors, a row an item.

        Parameters
        ----------
        vectors : array, items × dimensions
            Read in blocks.
        storage : {"float32", "float16", "int8"}, optional
            How to keep them.
        lists : int, optional
            How many lists; four times the square root of the number of items unless given.
        probes : int, optional
            How many of them a search reads; as many as `recall` needs unless given.
        recall : float
            The share of the best 100 that a search should find, on average over items that are asked as queries.
        rounds : int
            Passes of k-means.
        seed : int
            Fixes the sample that k-means learns from and its first centres.
        """
        stored = ItemVectors.of(vectors, storage=storage)
        wanted = int(4 * len(stored) ** 0.5) if lists is None else check_whole("lists", lists, MOST_LISTS)
        count = max(1, min(wanted, len(stored)))
        centres = spherical_centres(stored, count, rounds=check_whole("rounds", rounds, 10_000), seed=seed)
        members = assigned(stored, centres)
        if probes is None:
            probes = enough_probes(stored, centres, members, recall=recall, seed=seed)
        return cls(stored, centres, members, probes=probes)

    @property
    def nbytes(self) -> int:
        """Bytes of centres, lists with Faiss's copy of the vectors, and the vectors that score what is found."""
        copy = self.stored.rows.nbytes + 8 * len(self)  # with the number of each item
        return int(self.stored.nbytes + copy + self.centres.nbytes)

    @property
    def options(self) -> dict[str, Any]:
        """How many lists there are and are read, so that other vectors can be indexed alike."""
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
            # Faiss would choose the lists by BLAS, and a query in a large batch could get other lists than alone.
            near = flat_search(given, self.centres, probes)
            numbers, scores = np.empty((len(given), k), np.int64), np.empty((len(given), k), np.float32)
            arrays = (given, near.items.astype(np.int64), near.scores, scores, numbers)  # named: Faiss gets addresses
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

        stored, metric = self.stored, faiss.METRIC_INNER_PRODUCT
        self._quantizer = faiss.IndexFlatIP(stored.dim)
        if stored.storage == "float32":
            index = faiss.IndexIVFFlat(self._quantizer, stored.dim, len(self.centres), metric)
        else:
            quantizer = faiss.ScalarQuantizer
            kind = quantizer.QT_fp16 if stored.storage == "float16" else quantizer.QT_8bit
            index = faiss.IndexIVFScalarQuantizer(self._quantizer, stored.dim, len(self.centres), kind, metric, False)
        if stored.storage == "int8":
            set_scale(index, stored)
        self._quantizer.add(self.centres.rows)
        index.is_trained = True
        add_lists(index, stored.rows, self.lists)
        return index

    def _write(self, writer: ArtifactWriter) -> None:
        writer.parameters(probes=self.probes)
        self.stored.write(writer)
        writer.array("centres", self.centres.rows)
        writer.array("lists", self.lists)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        parts = ItemVectors.read(reader), reader.array("centres", np.float32, ndim=2), reader.array("lists", np.int32)
        try:
            return cls(*parts, probes=reader.parameter("probes", int))
        except InputError as error:
            raise FormatError(f"{reader.path}: {error}") from error


def add_lists(index: Any, rows: NDArray[Any], lists: Numbers) -> None:
    """Hand the stored rows or codes of each list's items to Faiss, list by list."""
    faiss = load_faiss()

    order = np.argsort(lists, kind="stable").astype(np.int64)
    bounds = np.searchsorted(lists[order], np.arange(index.nlist + 1))
    for number in range(index.nlist):
        members = np.ascontiguousarray(order[bounds[number] : bounds[number + 1]])
        if len(members):
            codes = np.ascontiguousarray(rows[members]).view(np.uint8)
            index.invlists.add_entries(number, len(members), faiss.swig_ptr(members), faiss.swig_ptr(codes))
    index.ntotal = len(rows)
