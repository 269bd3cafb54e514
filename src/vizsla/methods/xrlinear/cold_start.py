"""Items without clicks: assigned to leaves by text, with models made from their neighbors' (section 5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from vizsla._internal.lazy import cached_property
from vizsla.core.linalg import largest_entries
from vizsla.core.sparse import are_offsets, as_scipy, row_numbers
from vizsla.core.validation import generator
from vizsla.errors import FormatError, InputError, check_positive
from vizsla.indexes.inverted import InvertedIndex
from vizsla.indexes.tree import MAX_QUANTIZED, NodeWeights, TreeIndex, layer_matchers
from vizsla.methods.xrlinear.tree import LabelTree
from vizsla.text.streams import grown_ids, kept_items, left_ids, new_items

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter
    from vizsla.methods.xrlinear.model import XrLinear


class ColdCalibration(NamedTuple):
    """A cold matcher is `neighbors` × the mean of its neighbors' matchers + `text` × the item's text + `bias`."""

    neighbors: float
    text: float
    bias: float


def read_calibration(reader: ArtifactReader) -> ColdCalibration:
    """Return the calibration of an artifact; anything but finite numbers raises FormatError."""
    numbers = reader.parameter("calibration", list)
    if len(numbers) != len(ColdCalibration._fields) or not all(type(n) is float and isfinite(n) for n in numbers):
        raise FormatError(f"{reader.path}: the calibration must be {len(ColdCalibration._fields)} finite numbers.")
    return ColdCalibration(*numbers)


MAX_CHILDREN = 256
"""A node has no more children, a leaf no more items: an entry of a layer names its child by one byte."""


def choose_leaves(near: csr_array, leaf_of: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the leaf of each new item: most of its neighbors' shares, of equal ones the emptier, then the lower.

    Parameters
    ----------
    near : csr_array
        New items × items: the shares of their neighbors.
    leaf_of : int array
        The leaf of each item that has one already.
    sizes : int array
        How many items each leaf holds.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> choose_leaves(csr_array([[0.2, 0.3, 0.5], [0, 0, 0]]), np.array([0, 0, 1]), np.array([2, 1])).tolist()
    [1, 0]
    """
    room = MAX_CHILDREN - np.asarray(sizes, dtype=np.int64)
    if int(room.sum()) < near.shape[0]:
        raise InputError(f"The tree has room for {int(room.sum())} more items. Got {near.shape[0]}: train it again.")
    leaves = np.empty(near.shape[0], dtype=np.int64)
    for item in range(near.shape[0]):
        row = slice(near.indptr[item], near.indptr[item + 1])
        leaves[item] = _best(leaf_of[near.indices[row]], near.data[row], room)
        room[leaves[item]] -= 1
    return leaves


def _best(leaves: NDArray[np.int64], shares: NDArray[np.float32], room: NDArray[np.int64]) -> int:
    named, where = np.unique(leaves, return_inverse=True)
    totals = np.bincount(where, shares, minlength=len(named))
    open_ = room[named] > 0
    if not open_.any():
        return int(np.argmax(room))
    named, totals = named[open_], totals[open_]
    return int(named[np.lexsort((named, -room[named], -totals))[0]])


def leaf_numbers(child_offsets: NDArray[np.int32] | NDArray[np.int64], places: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the leaf that each place belongs to.

    Examples
    --------
    >>> leaf_numbers(np.array([0, 2, 5]), np.array([4, 0])).tolist()
    [1, 0]
    """
    return np.searchsorted(child_offsets, places, side="right").astype(np.int64) - 1


def with_cold_leaves(tree: LabelTree, warm: NDArray[np.bool_], near: csr_array) -> LabelTree:
    """Return the tree with the items that have no clicks moved to the leaves of their neighbors.

    There queries that are about to find a neighbor pass by. Against leaving them where clustering by their own text
    put them, R@10 of such items rose from .32 to .41 and from .59 to .63 on two click sets.

    Parameters
    ----------
    tree : LabelTree
        Over all items.
    warm : bool array
        Which items have clicks.
    near : csr_array
        Items without clicks × items: the shares of their neighbors, which all have clicks.
    """
    leaf_of = leaf_numbers(tree.layers[-1], tree.places)
    leaves = len(tree.layers[-1]) - 1
    leaf_of[~warm] = choose_leaves(near, leaf_of, np.bincount(leaf_of[warm], minlength=leaves))
    order = np.lexsort((np.arange(len(warm)), ~warm, leaf_of))
    counts = np.bincount(leaf_of, minlength=leaves)
    return LabelTree([*tree.layers[:-1], np.concatenate([[0], np.cumsum(counts)])], order)


CALIBRATION_ITEMS = 2000
QUERIES_PER_CALIBRATION_ITEM = 50
"""How many items are treated as new ones, and queries for each: enough to estimate three numbers."""

NEGATIVE_COST = 15.0
"""What a drawn negative costs, a positive costing 1.

It decides how boldly items without clicks compete with those that have some: each one that is found takes a place of
an answer. R@10 of queries for items with clicks / without, on clicks held out from tldr's train split (means of four
splits and two seeds, beam 10): no cold start .5794/.173, cost 15 .5785/.224, 12 .5780/.250. On `test-seen` 15 takes
nothing that could be told from chance (.5937 to .5933, three seeds, p = .65).
"""


def calibrate(
    texts: ItemTexts,
    matchers: csr_array,
    features: csr_array,
    clicks: csr_array,
    leaf_of: NDArray[np.int64],
    *,
    bias: float = 1.0,
    neighbors: int = 10,
    seed: int = 0,
    threads: int = 1,
) -> ColdCalibration:
    """Fit the three numbers of a Calibration on items that do have clicks.

    Each sampled item is treated as if it had none: its matcher is made from its neighbors' and from its text, and
    meets the queries that clicked it and those that clicked its leaf's other items. The three numbers minimize the
    squared hinge loss over all these meetings.

    Parameters
    ----------
    texts : ItemTexts
        The items' texts.
    matchers : csr_array
        Items × (features and the bias).
    features : csr_array
        Queries × features.
    clicks : csr_array
        Queries × items.
    leaf_of : int array
        The leaf of each item.
    bias : float
        The value of the bias feature.
    neighbors : int
        How many neighbors an item without clicks has.
    seed : int
        Draws items and queries.
    threads : int
        How many to use; the numbers do not depend on it.
    """
    by_item, pick = clicks.T.tocsr(), generator(seed)
    warm = np.diff(by_item.indptr) > 0
    usable = np.flatnonzero(warm & (np.diff(texts.vectors.indptr) > 0))
    chosen = np.sort(pick.permutation(usable)[:CALIBRATION_ITEMS])
    near = texts.nearest(texts.vectors[chosen], neighbors, among=warm, own=chosen, threads=threads)
    mean, own = (near @ matchers).tocsr(), texts.vectors[chosen]
    seen = [np.zeros((0, 3))]
    labels = [np.zeros(0, dtype=np.bool_)]
    for row, (queries, positive) in enumerate(_meetings(chosen, by_item, leaf_of, pick)):
        rows = features[queries]
        by_neighbors = rows @ _dense(mean, row)[:-1] + bias * _dense(mean, row)[-1]
        seen.append(np.column_stack([by_neighbors, rows @ _dense(own, row), np.full(len(queries), bias)]))
        labels.append(positive)
    return _fit(np.concatenate(seen), np.concatenate(labels))


def _meetings(
    chosen: NDArray[np.int64], by_item: csr_array, leaf_of: NDArray[np.int64], pick: np.random.Generator
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.bool_]]]:
    """Yield for each item the queries that clicked it and some that clicked others of its leaf."""
    order = np.argsort(leaf_of, kind="stable")
    bounds = np.searchsorted(leaf_of[order], np.arange(int(leaf_of.max(initial=0)) + 2))
    for item in chosen.tolist():
        own = by_item.indices[by_item.indptr[item] : by_item.indptr[item + 1]]
        siblings = order[bounds[leaf_of[item]] : bounds[leaf_of[item] + 1]]
        others = np.setdiff1d(by_item[siblings].indices, own)
        others = others[pick.permutation(len(others))[:QUERIES_PER_CALIBRATION_ITEM]]
        yield np.concatenate([own, others]), np.arange(len(own) + len(others)) < len(own)


def _dense(matrix: csr_array, row: int) -> NDArray[np.float64]:
    values = np.zeros(matrix.shape[1])
    at = slice(matrix.indptr[row], matrix.indptr[row + 1])
    values[matrix.indices[at]] = matrix.data[at]
    return values


def _fit(margins: NDArray[np.float64], labels: NDArray[np.bool_]) -> ColdCalibration:
    from scipy.optimize import minimize

    if not labels.any() or labels.all():
        return ColdCalibration(1.0, 1.0, 0.0)  # nothing to tell apart
    signs = np.where(labels, 1.0, -1.0)
    costs = np.where(labels, 1.0, NEGATIVE_COST)
    costs /= costs.sum()

    def loss(numbers: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        gaps = np.maximum(0, 1 - signs * (margins @ numbers))
        return float(costs @ gaps**2), -2 * margins.T @ (costs * signs * gaps)

    bounds = [(0, None), (0, None), (None, None)]
    found = minimize(loss, np.array([1.0, 1.0, 0.0]), jac=True, method="L-BFGS-B", bounds=bounds)
    return ColdCalibration(*(float(number) for number in found.x))


Model = TypeVar("Model", bound="XrLinear")


def add_items(model: Model, items: Mapping[str, str] | Iterable[tuple[str, str]], *, neighbors: int = 10) -> Model:
    """Return a model that also knows these items; see `XrLinear.with_items`."""
    texts, calibration = _text_index(model)
    pairs = new_items(model.items, items)
    if not pairs:
        return model
    ids = grown_ids(model.items, [item for item, _ in pairs], items)
    vectors = as_scipy(model.encoder.items([text for _, text in pairs]))
    near = texts.nearest(vectors, check_positive("neighbors", neighbors), among=model.training_queries.counts > 0)
    matchers = matchers_by_item(model.index)
    cold = cold_matchers(near, matchers, vectors, calibration)
    last = model.index.layers[-1]
    leaf_of = leaf_numbers(last.child_offsets, model.index.positions)
    leaves = choose_leaves(near, leaf_of, np.diff(last.child_offsets))
    old = np.concatenate([np.arange(len(model.items)), np.full(len(pairs), -1)])
    return model._with(
        items=ids,
        index=with_leaf_items(model.index, matchers, cold, leaves),
        training_queries=model.training_queries.rearranged(old),
        texts=texts.with_rows(vectors),
    )


def remove_items(model: Model, ids: Iterable[str]) -> Model:
    """Return a model that has forgotten these items; see `XrLinear.without_items`."""
    numbers = kept_items(model.items, ids)
    return model._with(
        items=left_ids(model.items, numbers),
        index=with_kept_items(model.index, numbers),
        training_queries=model.training_queries.rearranged(numbers),
        texts=None if model.texts is None else model.texts.take(numbers),
    )


def cold_matchers(near: csr_array, matchers: csr_array, vectors: csr_array, how: ColdCalibration) -> csr_array:
    """Return the matchers of new items: a share of their neighbors', a share of their own text, and a bias."""
    from scipy.sparse import csr_array, hstack

    ones = csr_array(np.full((vectors.shape[0], 1), how.bias, dtype=np.float32))
    own = hstack([vectors * np.float32(how.text), ones], format="csr")
    joined: csr_array = (near @ matchers * np.float32(how.neighbors) + own).tocsr()
    sizes = near.astype(bool).astype(np.float32) @ np.diff(matchers.indptr) / np.maximum(np.diff(near.indptr), 1)
    return largest_entries(joined, (sizes + np.diff(own.indptr)).astype(np.int64))


def matchers_by_item(index: TreeIndex) -> csr_array:
    """Return items × (features and the bias): the last layer's matchers."""
    from scipy.sparse import csr_array

    by_place = layer_matchers(index, len(index.layers) - 1)
    arrays = (by_place.values, by_place.features, by_place.offsets)
    matrix: csr_array = csr_array(arrays, shape=(len(index), index.dim + 1))
    return matrix[index.positions]


def with_leaf_items(index: TreeIndex, matchers: csr_array, cold: csr_array, leaves: NDArray[np.int64]) -> TreeIndex:
    """Return the index with new items at the ends of their leaves; their numbers follow those of the old ones."""
    from scipy.sparse import vstack

    cold = _within_range(index, cold, leaves)
    leaf_of = np.concatenate([leaf_numbers(index.layers[-1].child_offsets, index.positions), leaves])
    places = np.concatenate([index.positions, len(index) + np.arange(len(leaves))])
    return _with_last_layer(index, np.lexsort((places, leaf_of)), leaf_of, vstack([matchers, cold], format="csr"))


def with_kept_items(index: TreeIndex, kept: NDArray[np.int64]) -> TreeIndex:
    """Return the index with only these items, renumbered in this order."""
    leaf_of = leaf_numbers(index.layers[-1].child_offsets, index.positions)[kept]
    order = np.lexsort((index.positions[kept], leaf_of))
    return _with_last_layer(index, order, leaf_of, matchers_by_item(index)[kept])


def _within_range(index: TreeIndex, cold: csr_array, leaves: NDArray[np.int64]) -> csr_array:
    """Clip weights to what their leaf can store, so that a newcomer does not change how its siblings are rounded."""
    if index.weights not in MAX_QUANTIZED:
        return cold
    layer = index.layers[-1]
    used = np.diff(layer.entry_offsets) > 0
    bounds = np.where(used, layer.factors * MAX_QUANTIZED[index.weights], np.inf)[leaves]
    clipped, rows = cold.copy(), row_numbers(cold.indptr)
    clipped.data = np.clip(cold.data, -bounds[rows], bounds[rows]).astype(np.float32)
    return clipped


def _with_last_layer(
    index: TreeIndex, order: NDArray[np.int64], leaf_of: NDArray[np.int64], matchers: csr_array
) -> TreeIndex:
    sizes = np.bincount(leaf_of, minlength=len(index.layers[-1].child_offsets) - 1)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    return index.with_last_layer(offsets, order.astype(np.int32), NodeWeights.of(matchers[order]))


def _text_index(model: XrLinear) -> tuple[ItemTexts, ColdCalibration]:
    if model.texts is None or model.calibration is None:
        raise InputError(
            "The model must know its items' texts to place new ones. Got one that does not: train it with "
            "`cold_start=True` on items that have texts."
        )
    return model.texts, model.calibration


@dataclass(frozen=True)
class ColdStart:
    """Training data of the items without clicks.

    Parameters
    ----------
    texts : ItemTexts
        The texts of all items.
    warm : bool array
        Which items have clicks.
    neighbors : int
        How many neighbors make a matcher.
    threads : int
        How many to use.
    """

    texts: ItemTexts
    warm: NDArray[np.bool_]
    neighbors: int
    threads: int

    @property
    def numbers(self) -> NDArray[np.int64]:
        """The items without clicks."""
        return np.flatnonzero(~self.warm)

    @cached_property
    def near(self) -> csr_array:
        """Items without clicks × items: the neighbors that have some."""
        vectors = self.texts.vectors[self.numbers]
        return self.texts.nearest(vectors, self.neighbors, among=self.warm, threads=self.threads)

    def calibrate(
        self, last: NodeWeights, tree: LabelTree, features: csr_array, clicks: csr_array, *, bias: float, seed: int
    ) -> tuple[NodeWeights, ColdCalibration]:
        """Learn how cold matchers are made, and return the last layer with theirs in it.

        Parameters
        ----------
        last : NodeWeights
            The last layer as it was trained.
        tree : LabelTree
            Where the items are.
        features, clicks : csr_array
            Queries × features and queries × items.
        bias : float
            The value of the bias feature.
        seed : int
            Draws what is learned from.
        """
        matchers = _by_item(last, tree, features.shape[1] + 1)
        leaf_of = leaf_numbers(tree.layers[-1], tree.places)
        how = calibrate(
            self.texts, matchers, features, clicks, leaf_of,
            bias=bias, neighbors=self.neighbors, seed=seed, threads=self.threads,
        )  # fmt: skip
        if self.warm.all():
            return last, how
        cold = cold_matchers(self.near, matchers, self.texts.vectors[self.numbers], how)
        return NodeWeights.of(_replaced(matchers, self.numbers, cold)[tree.items]), how


def _by_item(layer: NodeWeights, tree: LabelTree, width: int) -> csr_array:
    from scipy.sparse import csr_array

    matrix: csr_array = csr_array((layer.values, layer.features, layer.offsets), shape=(len(tree), width))
    return matrix[tree.places]


def _replaced(matrix: csr_array, rows: NDArray[np.int64], new: csr_array) -> csr_array:
    from scipy.sparse import vstack

    at = np.arange(matrix.shape[0])
    at[rows] = matrix.shape[0] + np.arange(len(rows))
    rows_of_both: csr_array = vstack([matrix, new], format="csr")
    return rows_of_both[at]


ROWS_PER_BLOCK = 256
"""Rows of a dense matrix product at a time: as many similarities as items for each of them."""


class ItemTexts:
    """Items × features of their texts, and the search for neighbors among them.

    Parameters
    ----------
    vectors : csr_array
        A row for each item; empty for an item without text.
    """

    def __init__(self, vectors: csr_array):
        self.vectors = vectors

    def __len__(self) -> int:
        return int(self.vectors.shape[0])

    @cached_property
    def index(self) -> InvertedIndex | None:
        """Postings of the texts; None where features can be negative, as those of dense encoders are."""
        return None if self.vectors.nnz and self.vectors.data.min() < 0 else InvertedIndex.build(self.vectors)

    def nearest(
        self,
        vectors: csr_array,
        count: int,
        *,
        among: NDArray[np.bool_],
        own: NDArray[np.int64] | None = None,
        threads: int = 1,
    ) -> csr_array:
        """Return rows × items: the nearest items of each row as shares that add up to 1.

        Parameters
        ----------
        vectors : csr_array
            A row for each text to place.
        count : int
            How many neighbors at most; only similarities above 0 count.
        among : bool array
            Which items can be neighbors.
        own : int array, optional
            The item that each row is, which is no neighbor of itself.
        threads : int
            How many rows at a time.
        """
        more = count if own is None else count + 1
        found = self._similar(vectors, more, among, threads)
        rows = row_numbers(found.indptr)
        if own is not None:
            found.data[found.indices == own[rows]] = 0
            found.eliminate_zeros()
            rows = row_numbers(found.indptr)
        sums = np.bincount(rows, found.data, minlength=found.shape[0])
        found.data = (found.data / sums[rows]).astype(np.float32)
        return found

    def with_rows(self, vectors: csr_array) -> Self:
        """Return these texts and more."""
        from scipy.sparse import vstack

        return type(self)(vstack([self.vectors, vectors], format="csr"))

    def take(self, items: NDArray[np.int64]) -> Self:
        """Return the texts of these items only."""
        return type(self)(self.vectors[items])

    def write(self, writer: ArtifactWriter, prefix: str) -> None:
        """Store the vectors; the postings are made again when they are needed."""
        writer.array(f"{prefix}.offsets", self.vectors.indptr.astype(np.int64, copy=False))
        writer.array(f"{prefix}.features", self.vectors.indices.astype(np.int32, copy=False))
        writer.array(f"{prefix}.values", self.vectors.data.astype(np.float32, copy=False))

    @classmethod
    def read(cls, reader: ArtifactReader, prefix: str, *, dim: int) -> Self:
        """Load and check what `write` stored."""
        from scipy.sparse import csr_array

        offsets, features = reader.array(f"{prefix}.offsets", np.int64), reader.array(f"{prefix}.features", np.int32)
        values = reader.array(f"{prefix}.values", np.float32)
        if not are_offsets(offsets, len(features)) or len(values) != len(features):
            raise FormatError(f"{reader.path}: the items' texts must be rows of features and values.")
        if len(features) and not 0 <= features.min() <= features.max() < dim:
            raise FormatError(f"{reader.path}: a feature of the items' texts is out of range.")
        if not np.isfinite(values).all():
            raise FormatError(f"{reader.path}: the items' texts must have finite values.")
        return cls(csr_array((values, features, offsets), shape=(len(offsets) - 1, dim)))

    def _similar(self, vectors: csr_array, count: int, among: NDArray[np.bool_], threads: int) -> csr_array:
        if self.index is not None:
            return self.index.search(vectors, count, filter=among, threads=threads).to_csr(items=len(self))
        from scipy.sparse import vstack

        blocks = (
            vectors[first : first + ROWS_PER_BLOCK] for first in range(0, max(vectors.shape[0], 1), ROWS_PER_BLOCK)
        )
        matrix: csr_array = vstack([self._similar_block(block, count, among) for block in blocks], format="csr")
        return matrix

    def _similar_block(self, vectors: csr_array, count: int, among: NDArray[np.bool_]) -> csr_array:
        from scipy.sparse import csr_array

        dots = np.where(among, (vectors @ self.vectors.T).toarray(), 0)
        best = np.argsort(-dots, axis=1, kind="stable")[:, :count]
        kept = np.take_along_axis(dots, best, axis=1)
        rows, places = np.nonzero(kept > 0)
        entries: Any = (kept[rows, places].astype(np.float32), (rows, best[rows, places]))
        return csr_array(entries, shape=dots.shape)
