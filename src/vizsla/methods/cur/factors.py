"""Factors: low-rank factors of anchor scores, and the ridge that their noise calls for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla._internal.lazy import cached_property
from vizsla.artifacts.artifact import Artifact
from vizsla.errors import FormatError, InputError, check_choice
from vizsla.typing import Float32Array

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter

Best = list[tuple[NDArray[np.int64], Float32Array]]
"""Items and their sums, the best first, for each query."""
STORAGES = ("float32", "float16", "int8")
ITEMS_PER_BLOCK = 1 << 14
"""Items whose numbers are widened at a time where BLAS adds them up."""
ROWS_PER_PRODUCT = 16
"""Rows that BLAS gets at a time, filled up with zeros: it then adds in one order, whatever a row's company."""


class Own(NamedTuple):
    """Terms added to the products: weighted features that differ by query, and a bias per query.

    Parameters
    ----------
    features : float32 array, queries × features × items
        Features of the items that differ by query.
    weights : float32 array, queries × features
        Weights of the features.
    bias : float32 array
        One number a query.
    """

    features: Float32Array
    weights: Float32Array
    bias: Float32Array

    @classmethod
    def none(cls, queries: int, items: int) -> Self:
        """Return what adds nothing."""
        nothing = np.zeros((queries, 0), np.float32)
        return cls(np.zeros((queries, 0, items), np.float32), nothing, np.zeros(queries, np.float32))


class Factors(Artifact):
    """A matrix, dimensions × items; each dimension is contiguous.

    Weights times all items is what every round needs, and it reads this layout in one pass, for all queries together:
    a block of items is widened once and used while it is in the cache. A sum is the same in any company.

    Parameters
    ----------
    values : float32, float16 or int8 array, dimensions × items
        The numbers.
    steps : float32 array
        Scale of each dimension; all 1 unless the numbers are bytes.

    Examples
    --------
    >>> factors = Factors.of(np.array([[1.0, 2.0, 3.0]], np.float32))
    >>> factors.products(np.array([[2.0]], np.float32)).tolist()
    [[2.0, 4.0, 6.0]]
    >>> [(items, products)] = factors.best(np.array([[2.0]], np.float32), np.array([[True, True, False]]), 1)
    >>> items.tolist(), products.tolist()
    ([1], [4.0])
    """

    kind = "cur-factors"

    def __init__(self, values: NDArray[Any], steps: Float32Array):
        self.values, self.steps = values, steps
        if values.ndim != 2 or values.dtype.name not in STORAGES:
            raise InputError(f"`values` must be dimensions × items of {', '.join(STORAGES)}. Got {values.dtype}.")
        if steps.shape != values.shape[:1] or not np.isfinite(steps).all():
            raise InputError(f"`steps` must be a number for each of {len(values)} rows. Got {steps.shape}.")

    @classmethod
    def of(cls, values: NDArray[Any], storage: str = "float32") -> Self:
        """Store numbers as float32, float16 or bytes."""
        check_choice("storage", storage, STORAGES)
        wide = np.ascontiguousarray(values, np.float32)
        steps = np.ones(len(wide), np.float32)
        if storage == "float32":
            return cls(wide, steps)
        largest = np.abs(wide).max(axis=1, initial=0)
        if storage == "int8":
            steps = np.where(largest > 0, largest / 127, 1).astype(np.float32)
            return cls(np.rint(wide / steps[:, None]).astype(np.int8), steps)
        if largest.max(initial=0) > np.finfo(np.float16).max:
            raise InputError(f"`storage` must hold every number. Got {largest.max():g}, too large for float16.")
        return cls(wide.astype(np.float16), steps)

    @property
    def dim(self) -> int:
        """Numbers an item."""
        return int(self.values.shape[0])

    @property
    def count(self) -> int:
        """How many items there are."""
        return int(self.values.shape[1])

    @property
    def storage(self) -> str:
        """How numbers are kept."""
        return str(self.values.dtype.name)

    @property
    def nbytes(self) -> int:
        """Bytes of the numbers."""
        return int(self.values.nbytes + self.steps.nbytes)

    def __repr__(self) -> str:
        return f"Factors({self.dim:,} dimensions, {self.count:,} items, {self.storage})"

    def columns(self, items: NDArray[Any]) -> Float32Array:
        """Return the numbers of some items, one row an item."""
        found: Any = _native.gather_columns(self.values, self.steps, np.ascontiguousarray(items, np.int64))
        return np.frombuffer(found, np.float32).reshape(len(items), self.dim)

    @cached_property
    def by_item(self) -> NDArray[Any]:
        """The same numbers, an item's side by side: a copy, made when it is first asked for."""
        return np.ascontiguousarray(self.values.T)

    def pools(self, numbers: Sequence[NDArray[np.int64]], *, threads: int = 1, by_item: bool = False) -> list[Self]:
        """Return the factors of each query's own items.

        Rows are read for all queries while they are in the cache: all of the catalog. With `by_item` only these
        items are read, out of a copy.

        Examples
        --------
        >>> factors = Factors.of(np.array([[1.0, 2.0, 3.0]]))
        >>> [part.values.tolist() for part in factors.pools([np.array([0, 2]), np.array([1])])]
        [[[1.0, 3.0]], [[2.0]]]
        """
        items = np.concatenate([np.zeros(0, np.int64), *numbers])
        offsets = np.cumsum([0, *map(len, numbers)], dtype=np.int64)
        values = self.by_item if by_item else self.values
        found: Any = _native.gather_pools(values, self.steps, items, offsets, threads, by_item)
        parts = np.split(np.frombuffer(found, np.float32), self.dim * offsets[1:-1]) if numbers else []
        ones = np.ones(self.dim, np.float32)
        return [type(self)(part.reshape(self.dim, len(some)), ones) for part, some in zip(parts, numbers, strict=True)]

    def gathered(self, rows: Float32Array) -> NDArray[np.float64]:
        """Return the sum of all items' columns, weighted by each row's numbers: rows × dimensions."""
        filled = np.concatenate([rows, np.zeros((-len(rows) % ROWS_PER_PRODUCT, self.count), np.float32)])
        found = np.zeros((len(filled), self.dim), np.float32)
        for start in range(0, self.count, ITEMS_PER_BLOCK):
            block = np.asarray(self.values[:, start : start + ITEMS_PER_BLOCK], np.float32).T
            for first in range(0, len(filled), ROWS_PER_PRODUCT):
                found[first : first + ROWS_PER_PRODUCT] += (
                    filled[first : first + ROWS_PER_PRODUCT, start : start + ITEMS_PER_BLOCK] @ block
                )
        return np.asarray(found[: len(rows)] * self.steps, np.float64)

    def products(self, weights: Float32Array, own: Own | None = None, *, threads: int = 1) -> Float32Array:
        """Return the inner product of each query's weights with every item, queries × items, plus what is its own."""
        found: Any = _native.column_sums(*self._given(weights, own), threads)
        return np.frombuffer(found, np.float32).reshape(len(weights), self.count)

    def best(
        self, weights: Float32Array, free: NDArray[np.bool_], count: int, own: Own | None = None, *, threads: int = 1
    ) -> Best:
        """Return the `count` free items of each query with the largest products; of equals, the lower items."""
        if count <= 0 or not self.count:
            return [(np.zeros(0, np.int64), np.zeros(0, np.float32)) for _ in weights]
        given = self._given(weights, own)
        offsets, items, sums = _native.best_columns(*given, np.ascontiguousarray(free), count, threads)
        cuts = offsets[1:-1]
        return list(zip(np.split(items, cuts), np.split(sums, cuts), strict=True))

    def _given(self, weights: Float32Array, own: Own | None) -> tuple[Any, Any, Any, Any, Any]:
        scaled = np.ascontiguousarray(weights * self.steps, np.float32)
        features, own_weights, bias = Own.none(len(weights), self.count) if own is None else own
        return self.values, scaled, bias, features, own_weights

    def _write(self, writer: ArtifactWriter) -> None:
        writer.parameters(storage=self.storage)
        writer.array("values", self.values)
        writer.array("steps", self.steps)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        storage = reader.parameter("storage", str)
        if storage not in STORAGES:
            raise FormatError(f"{reader.path}: unknown storage {storage!r:.50}.")
        values = reader.array("values", storage, ndim=2)
        if storage != "int8" and not np.isfinite(values).all():
            raise FormatError(f"{reader.path / 'values.npy'}: every number must be finite.")
        return cls(values, reader.array("steps", np.float32))


MAX_ITEMS_SAMPLED = 10_000
"""Items that are looked at, evenly over the catalog."""
MIN_SQUARED_LENGTH = 1e-9
"""Of a column's squared length: less than this would drown in rounding, and counts as nothing."""


def noise_ridge(factors: Factors, ridge: float) -> float:
    """Return `ridge` times the mean square of a column around its mean, where a column is what anchors say of an item.

    So neither a scorer's unit nor a constant in all of its scores matters. 0 where all anchors say the same.

    Examples
    --------
    >>> noise_ridge(Factors.of(np.array([[10.0, 20.0], [12.0, 20.0]])), 0.5)
    0.5
    """
    if not ridge or not factors.count:
        return 0.0
    sample = np.unique(np.linspace(0, factors.count - 1, min(MAX_ITEMS_SAMPLED, factors.count)).astype(np.int64))
    columns = factors.columns(sample).astype(np.float64)
    lengths = float(np.mean(np.sum(columns**2, axis=1)))
    found = ridge * factors.dim * float(np.mean(columns.var(axis=1)))
    return found if found > MIN_SQUARED_LENGTH * lengths else 0.0
