"""Training instances of XR-Linear: clicked queries and item texts, with their costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from vizsla.core.sparse import are_offsets, row_numbers
from vizsla.core.strings import Strings
from vizsla.errors import FormatError, InputError, check_choice

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter
    from vizsla.data.dataset import Dataset

COSTS = ("none", "damped", "raw")


MIN_COST, MAX_COST = 1e-6, 1e6
"""No click costs less or more than this, however unlike the weights are: the solver divides by costs."""


def click_costs(weights: NDArray[np.float32], how: str) -> NDArray[np.float32]:
    """Return what each click costs; where all weigh the same, each costs 1.

    A cost is that of one pair of query and item, so of two items that were chosen for the same query the heavier one is
    fitted more closely and comes first. Costs do not depend on the unit in which a log counts: the median click costs
    1, as much as a negative and as an item's own text. With the mean in its place a few heavy clicks make all others
    next to nothing.

    Why so much damping: debian-deps with made-up weights, a hundredfold apart, nDCG@10 of held-out queries / how often
    a training query's item with four times the clicks of another comes first: all alike .638/48 %, damped .652/87 %,
    without the root .640/94 %, as they are .640/96 %, by the mean .571/90 %. Over smaller samples of such logs the
    means of six trials are, all alike, damped and without the root, .692, .692, .686, and on tldr .521, .524, .510.

    Parameters
    ----------
    weights : float32 array
        The clicks' weights, above 0.
    how : {"none", "damped", "raw"}
        "none": 1. "damped": the root of log2(1 + weight / median). "raw": weight / median.

    Examples
    --------
    >>> weights = np.array([1, 1, 1, 15], np.float32)
    >>> [click_costs(weights, how).tolist() for how in ("none", "damped", "raw")]
    [[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 2.0], [1.0, 1.0, 1.0, 15.0]]
    """
    check_choice("how", how, COSTS)
    if how == "none" or all_alike(weights):
        return np.ones(len(weights), np.float32)
    relative = weights.astype(np.float64) / _lower_median(weights)
    costs = relative if how == "raw" else np.sqrt(np.log1p(relative) / np.log(2))
    return np.clip(costs, MIN_COST, MAX_COST).astype(np.float32)


def all_alike(weights: NDArray[np.float32]) -> bool:
    """Return whether all clicks weigh the same, so that there is nothing to choose."""
    return len(weights) == 0 or bool((weights == weights[0]).all())


def _lower_median(numbers: NDArray[np.float32]) -> float:
    """Return the median, of an even count the lower one: a weight that a click of the log has."""
    middle = (len(numbers) - 1) // 2
    return float(np.partition(numbers, middle)[middle])


class Instances(NamedTuple):
    """Training texts and their relevant items.

    Attributes
    ----------
    texts : list of str
        The queries with clicks first, then the items' texts.
    clicks : csr_array
        Instances × items: the weights of the clicks as the log has them, above 0, and 1 for an item's own text.
    rows : int array
        The dataset's row of each text that is a query.
    """

    texts: list[str]
    clicks: csr_array
    rows: NDArray[np.int64]

    @property
    def queries(self) -> int:
        """How many of the texts are queries."""
        return len(self.rows)

    @property
    def weights(self) -> NDArray[np.float32]:
        """What the log's clicks weigh, the items' own texts left out."""
        return np.asarray(self.clicks.data[: self.clicks.indptr[self.queries]])

    def costs(self, how: str) -> csr_array:
        """Return instances × items: what each click costs in training, see `click_costs`; an item's own text costs 1.

        Examples
        --------
        >>> from vizsla.data.dataset import Dataset
        >>> log = Dataset.of({"f": "a fig", "p": ""}, clicks=[("red", "f", 1500), ("green", "p", 100)])
        >>> training_instances(log).costs("damped").toarray().tolist()
        [[2.0, 0.0], [0.0, 1.0], [1.0, 0.0]]
        """
        from scipy.sparse import csr_array

        costs = self.clicks.data.copy()
        costs[: len(self.weights)] = click_costs(self.weights, how)
        return csr_array((costs, self.clicks.indices, self.clicks.indptr), shape=self.clicks.shape)

    @property
    def warm(self) -> NDArray[np.bool_]:
        """Which items have clicks."""
        return np.bincount(self.clicks[: self.queries].indices, minlength=self.clicks.shape[1]) > 0

    @property
    def of_warm_items(self) -> NDArray[np.bool_]:
        """Which instances are a query, or the text of an item that has clicks."""
        rows = row_numbers(self.clicks.indptr)
        return np.bincount(rows, self.warm[self.clicks.indices], minlength=self.clicks.shape[0]) > 0


def training_instances(dataset: Dataset, *, item_texts: bool = True) -> Instances:
    """Collect the training instances of a dataset.

    Parameters
    ----------
    dataset : Dataset
        Its clicks are the training signal; its items' texts may be instances too.
    item_texts : bool
        Let every item's own text be an instance that should find the item.

    Examples
    --------
    >>> from vizsla.data.dataset import Dataset
    >>> log = Dataset.of({"f": "a fig", "p": ""}, queries=["figs", "pears"], clicks=[("0", "f", 3), ("1", "p", 1)])
    >>> instances = training_instances(log)
    >>> instances.texts, instances.clicks.toarray().tolist()
    (['figs', 'pears', 'a fig'], [[3.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    """
    from scipy.sparse import csr_array, vstack

    clicks = dataset.clicks
    rows = np.flatnonzero(np.diff(clicks.indptr))
    if not len(rows):
        raise InputError("`dataset` must have clicks to learn from. Got none: name a click log or a split 'train'.")
    texts = _texts_of_rows(dataset, rows)
    chosen = clicks[rows].astype(np.float32)
    if not (np.isfinite(chosen.data).all() and chosen.data.min() > 0):
        raise InputError("A click's weight must be a finite number above 0. Got another: leave such clicks out.")
    if item_texts:
        own, numbers = _item_texts(dataset)
        ones = np.ones(len(numbers), np.float32)
        shape = (len(numbers), clicks.shape[1])
        chosen = vstack([chosen, csr_array((ones, (np.arange(len(numbers)), numbers)), shape=shape)], format="csr")
        texts += own
    return Instances(texts, chosen, rows)


def _texts_of_rows(dataset: Dataset, rows: NDArray[np.int64]) -> list[str]:
    wanted = np.zeros(len(dataset.queries), dtype=np.bool_)
    wanted[rows] = True
    texts = [query.text for row, query in enumerate(dataset.queries) if wanted[row]]
    if not any(text.strip() for text in texts):
        raise InputError("The clicked queries must have texts. Got none: give the dataset its queries' texts.")
    return texts


def _item_texts(dataset: Dataset) -> tuple[list[str], NDArray[np.int64]]:
    pairs = [(number, item.default_text()) for number, item in enumerate(dataset.items)]
    kept = [(number, text) for number, text in pairs if text.strip()]
    return [text for _, text in kept], np.array([number for number, _ in kept], dtype=np.int64)


class TrainingQueries:
    """The training queries of every item, heaviest first.

    Parameters
    ----------
    texts : Strings
        Query texts.
    offsets : int64 array
        Where each item's queries begin; one more than there are items.
    queries : int32 array
        Query numbers.
    weights : float32 array
        The clicks' weights, as the log has them.
    click_weights : {"none", "damped", "raw"}
        The weighting of clicks in training; see `click_costs`.
    """

    def __init__(
        self,
        texts: Strings,
        offsets: NDArray[np.int64],
        queries: NDArray[np.int32],
        weights: NDArray[np.float32],
        *,
        click_weights: str = "none",
    ):
        self.texts, self.offsets, self.queries, self.weights = texts, offsets, queries, weights
        self.click_weights = click_weights

    @classmethod
    def of(cls, texts: list[str], clicks: csr_array, *, click_weights: str = "none") -> Self:
        """Turn clicks, queries × items, round."""
        by_item = clicks[: len(texts)].T.tocsr()
        rows = row_numbers(by_item.indptr)
        order = np.lexsort((by_item.indices, -by_item.data, rows))
        return cls(
            Strings.of(texts),
            by_item.indptr.astype(np.int64),
            by_item.indices[order].astype(np.int32),
            by_item.data[order].astype(np.float32),
            click_weights=click_weights,
        )

    def of_item(self, item: int, *, most: int = 5) -> list[tuple[str, float]]:
        """Return the texts and weights of an item's heaviest queries."""
        at = slice(int(self.offsets[item]), min(int(self.offsets[item + 1]), int(self.offsets[item]) + most))
        return list(zip(self.texts.take(self.queries[at]), self.weights[at].tolist(), strict=True))

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many training queries each item has."""
        return np.diff(self.offsets)

    def count(self, item: int) -> int:
        """Return how many training queries an item has."""
        return int(self.offsets[item + 1] - self.offsets[item])

    def rearranged(self, items: NDArray[np.int64]) -> Self:
        """Return the same for a new numbering: entry `i` is the old number of item `i`, or -1 for a new item."""
        counts = np.where(items >= 0, np.diff(self.offsets)[np.maximum(items, 0)], 0)
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        starts = np.repeat(self.offsets[np.maximum(items, 0)] - offsets[:-1], counts)
        at = starts + np.arange(int(offsets[-1]))
        return type(self)(self.texts, offsets, self.queries[at], self.weights[at], click_weights=self.click_weights)

    def write(self, writer: ArtifactWriter, prefix: str) -> None:
        """Store all arrays."""
        writer.parameters(click_weights=self.click_weights)
        writer.strings(f"{prefix}.texts", self.texts)
        writer.array(f"{prefix}.offsets", self.offsets)
        writer.array(f"{prefix}.queries", self.queries)
        writer.array(f"{prefix}.weights", self.weights)

    @classmethod
    def read(cls, reader: ArtifactReader, prefix: str, *, items: int) -> Self:
        """Load and check all arrays."""
        offsets = reader.array(f"{prefix}.offsets", np.int64)
        queries = reader.array(f"{prefix}.queries", np.int32)
        weights = reader.array(f"{prefix}.weights", np.float32)
        texts, how = reader.strings(f"{prefix}.texts"), reader.parameter("click_weights", str)
        if not are_offsets(offsets, len(queries), rows=items) or len(weights) != len(queries):
            raise FormatError(f"{reader.path}: the training queries do not fit {items} items.")
        if len(queries) and not 0 <= queries.min() <= queries.max() < len(texts):
            raise FormatError(f"{reader.path}: a training query's number is out of range.")
        if how not in COSTS:
            raise FormatError(f"{reader.path}: `click_weights` must be one of {', '.join(COSTS)}. Got {how!r:.50}.")
        return cls(texts, offsets, queries, weights, click_weights=how)
