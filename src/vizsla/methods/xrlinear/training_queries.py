"""The training queries that chose each item, with the weights of their clicks: kept for explanations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from vizsla.errors import FormatError
from vizsla.methods.xrlinear.click_costs import COSTS
from vizsla.offsets import are_offsets
from vizsla.strings import Strings

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter


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
        What the weights were in training; see `click_costs`.
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
        rows = np.repeat(np.arange(by_item.shape[0]), np.diff(by_item.indptr))
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
