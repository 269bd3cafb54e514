"""IvfIndex: items in lists around centres, of which a search reads the nearest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from vizsla.candidates import Numbers
from vizsla.indexes.approximate_stored import ApproximateStoredIndex
from vizsla.indexes.faiss_storage import load_faiss, set_scale
from vizsla.indexes.item_vectors import Floats, ItemVectors
from vizsla.indexes.list_reading import ListReading, Lists

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter


class IvfIndex(ListReading, ApproximateStoredIndex):
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
    >>> import numpy as np
    >>> vectors = np.random.default_rng(0).standard_normal((2000, 8), dtype=np.float32)
    >>> index = IvfIndex.build(vectors, lists=20, probes=20)
    >>> index.search(vectors[:9], 5) == index.search(vectors[:9], 5, exact=True)
    True
    """

    kind = "ivf"

    def __init__(self, vectors: ItemVectors, centres: Floats, lists: Numbers, *, probes: int):
        super().__init__(vectors)
        self._take_lists(Lists(centres, lists, probes), vectors.dim)
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
        made = Lists.built(stored, lists, probes, recall=recall, rounds=rounds, seed=seed)
        return cls(stored, made.centres, made.members, probes=made.probes)

    @property
    def nbytes(self) -> int:
        """Bytes of centres, lists with Faiss's copy of the vectors, and the vectors that score what is found."""
        copy = self.stored.rows.nbytes + 8 * len(self)  # with the number of each item
        return int(self.stored.nbytes + copy + self.centres.nbytes)

    def _empty(self) -> Any:
        """Return Faiss's lists without their items."""
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
        return index

    def _write(self, writer: ArtifactWriter) -> None:
        self.stored.write(writer)
        self._write_lists(writer)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        stored, lists = ItemVectors.read(reader), Lists.read(reader)
        return cls(stored, lists.centres, lists.members, probes=lists.probes)
