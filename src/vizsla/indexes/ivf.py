"""IvfIndex: approximate search in the lists of the nearest centroids."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from vizsla.core.validation import generator
from vizsla.data.filter import Filter
from vizsla.errors import InputError, check_range
from vizsla.indexes._faiss import SELECTOR, faiss_seed, faiss_threads, in_threads, load_faiss, selector, set_scale
from vizsla.indexes.approximate import ApproximateIndex, ApproximateStoredIndex, check_whole
from vizsla.indexes.flat import flat_search
from vizsla.indexes.vectors import ItemVectors, blocks
from vizsla.typing import Float32Array, Int32Array

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter

VECTORS_PER_CENTER = 256
"""Vectors a center that k-means learns from: more hardly move it."""
MAX_KMEANS_VALUE = 1e15
"""Of the numbers that k-means learns from as they are."""
MAX_QUERIES_SAMPLED, MEASURED_DEPTH = 400, 100
"""How many items are asked as queries, and how many neighbors of each are looked for, to choose the probes."""


def spherical_centers(vectors: ItemVectors, count: int, *, rounds: int, seed: int) -> Float32Array:
    """Return `count` centers of length 1, learned with Faiss from a seeded sample, on one thread."""
    faiss = load_faiss()

    if not len(vectors):
        return np.ones((1, vectors.dim), np.float32)
    chosen = generator(seed).permutation(len(vectors))[: count * VECTORS_PER_CENTER]
    sample = _bearable(vectors.take(np.sort(chosen)))
    settings = {"niter": rounds, "seed": faiss_seed(seed) + 1, "spherical": True, "min_points_per_centroid": 1}
    means = faiss.Kmeans(vectors.dim, count, max_points_per_centroid=VECTORS_PER_CENTER, **settings)
    with faiss_threads(1):
        means.train(np.ascontiguousarray(sample))
    centers: Float32Array = np.ascontiguousarray(means.centroids, np.float32)
    return np.nan_to_num(centers)


def _bearable(sample: Float32Array) -> Float32Array:
    """Return vectors in the same directions whose sums fit float32: where they do not, Faiss ends the process."""
    largest = float(np.abs(sample).max(initial=0.0))
    return sample if largest < MAX_KMEANS_VALUE else sample / np.float32(largest)


def assigned(vectors: ItemVectors, centers: Float32Array) -> Int32Array:
    """Return each item's list: the center with the largest inner product."""
    among = ItemVectors.of(centers)
    lists = np.zeros(len(vectors), np.int32)
    for start, end in blocks(len(vectors), max(vectors.dim, len(centers)), size=1 << 20):
        lists[start:end] = flat_search(vectors.take(slice(start, end)), among, 1).items
    return lists


def enough_probes(vectors: ItemVectors, centers: Float32Array, lists: Int32Array, *, recall: float, seed: int) -> int:
    """Return how many lists must be read to find a share `recall` of the nearest items of sampled items.

    One exact search shows in which lists the nearest are, and at which place each of these stands among the query's
    nearest lists; the probes are then read off the sorted places.
    """
    check_range("recall", recall, 0.0, 1.0)
    if not len(vectors):
        return 1
    chosen = np.sort(generator(seed).permutation(len(vectors))[:MAX_QUERIES_SAMPLED]).astype(np.int32)
    queries, depth = vectors.take(chosen), min(MEASURED_DEPTH + 1, len(vectors))
    found = flat_search(queries, vectors, depth).items.reshape(-1, depth)
    order = flat_search(queries, ItemVectors.of(centers), len(centers)).items.reshape(-1, len(centers))
    places = np.empty_like(order)
    np.put_along_axis(places, order, np.arange(len(centers), dtype=np.int32)[None], axis=1)
    others = found != chosen[:, None]  # an item's own list is always read
    needed = np.sort(np.take_along_axis(places, lists[found], axis=1)[others]) + 1
    return int(needed[min(len(needed) - 1, int(np.ceil(recall * len(needed))) - 1)]) if len(needed) else 1


MAX_LISTS = 1 << 24


class Lists(NamedTuple):
    """Centers, each item's list, and how many lists a search reads."""

    centers: Float32Array
    members: Int32Array
    probes: int

    @classmethod
    def built(
        cls, stored: ItemVectors, lists: int | None, probes: int | None, *, recall: float, rounds: int, seed: int
    ) -> Self:
        """Find centers, four times the square root of the number of items unless given, and enough probes."""
        wanted = int(4 * len(stored) ** 0.5) if lists is None else check_whole("lists", lists, MAX_LISTS)
        count = max(1, min(wanted, len(stored)))
        centers = spherical_centers(stored, count, rounds=check_whole("rounds", rounds, 10_000), seed=seed)
        members = assigned(stored, centers)
        enough = enough_probes(stored, centers, members, recall=recall, seed=seed) if probes is None else probes
        return cls(centers, members, enough)

    @classmethod
    def read(cls, reader: ArtifactReader) -> Self:
        """Read what `IvfSearch._write_lists` has stored; `_take_lists` checks it."""
        arrays = reader.array("centers", np.float32, ndim=2), reader.array("lists", np.int32)
        return cls(*arrays, reader.parameter("probes", int))


class IvfSearch(ApproximateIndex):
    """Base class of inverted files of vectors and of codes: the choice of lists, and the calls of Faiss."""

    centers: ItemVectors
    lists: Int32Array
    probes: int

    def _take_lists(self, lists: Lists, dim: int) -> None:
        """Check and take them."""
        centers, members = lists.centers, lists.members
        if centers.shape[1] != dim or not 1 <= len(centers) <= MAX_LISTS:
            raise InputError(f"`centers` must be some rows of {dim} numbers. Got shape {centers.shape}.")
        if members.shape != (len(self),) or (len(members) and not 0 <= members.min() <= members.max() < len(centers)):
            raise InputError(f"`lists` must be {len(self)} numbers below {len(centers)}. Got others.")
        self.centers, self.lists = ItemVectors.of(centers), members
        self.probes = check_whole("probes", lists.probes, MAX_LISTS)

    @property
    def options(self) -> dict[str, Any]:
        """How many lists there are and are read, so that other vectors can be indexed alike."""
        stored = super().options  # type: ignore[safe-super]  # of the class that stands beside this one
        return stored | {"lists": len(self.centers), "probes": self.probes}

    @property
    def effort(self) -> int:
        """How many lists a search reads: `probes`."""
        return self.probes

    def with_effort(self, effort: int) -> Self:
        """Return the same index, sharing all arrays, with another number of lists read per search."""
        other = copy(self)
        other.probes = check_whole("effort", effort, MAX_LISTS)
        return other

    def _propose(self, rows: Float32Array, k: int, filter: Filter | None, threads: int) -> NDArray[np.int64]:
        faiss = load_faiss()
        probes = self._masked_probes(len(self) if filter is None else filter.count)
        chosen = None if filter is None else filter.form(SELECTOR, selector)
        how = faiss.SearchParametersIVF(nprobe=probes, sel=chosen)

        def part(given: Float32Array) -> NDArray[np.int64]:
            # Faiss would choose the lists by BLAS, and a query in a large batch could get other lists than alone.
            near = flat_search(given, self.centers, probes)
            numbers, scores = np.empty((len(given), k), np.int64), np.empty((len(given), k), np.float32)
            asked = self._asked(given)
            arrays = (asked, near.items.astype(np.int64), near.scores, scores, numbers)  # named: Faiss gets addresses
            parts = [faiss.swig_ptr(array) for array in arrays]
            self._faiss.search_preassigned_c(len(given), parts[0], k, *parts[1:], False, how)
            return numbers

        return in_threads(part, rows, threads)

    def _masked_probes(self, reachable: int) -> int:
        return min(-(-self.probes * len(self) // max(1, reachable)), len(self.centers))

    def _pays(self, k: int, reachable: int) -> bool:
        if reachable == len(self):  # however many are asked for: a short answer is the head of a long one
            return False
        return reachable <= k or self._masked_probes(reachable) == len(self.centers)

    def _fill(self, index: Any, take: Callable[[NDArray[np.int64]], NDArray[Any]]) -> None:
        """Hand the stored rows or codes of each list's items, as `take` gives them, to Faiss, list by list."""
        faiss = load_faiss()
        index.is_trained = True
        order = np.argsort(self.lists, kind="stable").astype(np.int64)
        bounds = np.searchsorted(self.lists[order], np.arange(index.nlist + 1))
        for number in range(index.nlist):
            members = np.ascontiguousarray(order[bounds[number] : bounds[number + 1]])
            if len(members):
                codes = np.ascontiguousarray(take(members)).view(np.uint8)
                index.invlists.add_entries(number, len(members), faiss.swig_ptr(members), faiss.swig_ptr(codes))
        index.ntotal = len(self)
        self._faiss = index

    def _write_lists(self, writer: ArtifactWriter) -> None:
        writer.parameters(probes=self.probes)
        writer.array("centers", self.centers.rows)
        writer.array("lists", self.lists)


class IvfIndex(IvfSearch, ApproximateStoredIndex):
    """An inverted file over k-means lists, on Faiss, by inner product.

    The file holds vectors, centers and each item's list as plain arrays; Faiss keeps a copy of the vectors in memory.

    Parameters
    ----------
    vectors : ItemVectors
        The items' vectors as they are stored.
    centers : float32 array, lists × dimensions
        The lists' centers.
    lists : int32 array
        Each item's list.
    probes : int
        How many lists a search reads: more finds more, and takes longer.

    Examples
    --------
    >>> import numpy as np
    >>> vectors = np.random.default_rng(0).standard_normal((2000, 8), dtype=np.float32)
    >>> index = IvfIndex.build(vectors, lists=20, probes=20)
    >>> index.search(vectors[:9], 5) == index.search(vectors[:9], 5, exact=True)
    True
    """

    kind = "ivf"

    def __init__(self, vectors: ItemVectors, centers: Float32Array, lists: Int32Array, *, probes: int):
        super().__init__(vectors)
        self._take_lists(Lists(centers, lists, probes), vectors.dim)
        self._fill(self._empty(), lambda members: vectors.rows[members])

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
            How to keep the vectors.
        lists : int, optional
            How many lists; four times the square root of the number of items unless given.
        probes : int, optional
            How many lists a search reads; as many as `recall` needs unless given.
        recall : float
            The share of the best 100 that a search should find, on average over items that are asked as queries.
        rounds : int
            Passes of k-means.
        seed : int
            Fixes the sample that k-means learns from and its first centers.
        """
        stored = ItemVectors.of(vectors, storage=storage)
        made = Lists.built(stored, lists, probes, recall=recall, rounds=rounds, seed=seed)
        return cls(stored, made.centers, made.members, probes=made.probes)

    @property
    def nbytes(self) -> int:
        """Bytes of centers, lists with Faiss's copy of the vectors, and the vectors that score what is found."""
        copy = self.stored.rows.nbytes + 8 * len(self)  # with the number of each item
        return int(self.stored.nbytes + copy + self.centers.nbytes)

    def _empty(self) -> Any:
        """Return Faiss's lists without their items."""
        faiss = load_faiss()

        stored, metric = self.stored, faiss.METRIC_INNER_PRODUCT
        self._quantizer = faiss.IndexFlatIP(stored.dim)
        if stored.storage == "float32":
            index = faiss.IndexIVFFlat(self._quantizer, stored.dim, len(self.centers), metric)
        else:
            quantizer = faiss.ScalarQuantizer
            kind = quantizer.QT_fp16 if stored.storage == "float16" else quantizer.QT_8bit
            index = faiss.IndexIVFScalarQuantizer(self._quantizer, stored.dim, len(self.centers), kind, metric, False)
        if stored.storage == "int8":
            set_scale(index, stored)
        self._quantizer.add(self.centers.rows)
        return index

    def _write(self, writer: ArtifactWriter) -> None:
        self.stored.write(writer)
        self._write_lists(writer)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        stored, lists = ItemVectors.read(reader), Lists.read(reader)
        return cls(stored, lists.centers, lists.members, probes=lists.probes)
