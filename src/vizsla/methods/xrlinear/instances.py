"""Training instances: the queries that were clicked from, and the items' own texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla.errors import InputError
from vizsla.methods.xrlinear.click_costs import click_costs

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from vizsla.dataset import Dataset


class Instances(NamedTuple):
    """Texts to learn from, and what should be found for them.

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
        >>> from vizsla.dataset import Dataset
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
        rows = np.repeat(np.arange(self.clicks.shape[0]), np.diff(self.clicks.indptr))
        return np.bincount(rows, self.warm[self.clicks.indices], minlength=self.clicks.shape[0]) > 0


def training_instances(dataset: Dataset, *, item_texts: bool = True) -> Instances:
    """Collect what a dataset teaches.

    Parameters
    ----------
    dataset : Dataset
        Its clicks are the training signal; its items' texts may be instances too.
    item_texts : bool
        Let every item's own text be an instance that should find the item.

    Examples
    --------
    >>> from vizsla.dataset import Dataset
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
