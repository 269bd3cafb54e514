"""Training instances: the queries that were clicked from, and the items' own texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla.errors import InputError

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
        Instances × items, weights above 0.
    queries : int
        How many of the texts are queries.
    """

    texts: list[str]
    clicks: csr_array
    queries: int


def training_instances(dataset: Dataset, *, item_texts: bool = True, weighted: bool = True) -> Instances:
    """Collect what a dataset teaches.

    Parameters
    ----------
    dataset : Dataset
        Its clicks are the training signal; its items' texts may be instances too.
    item_texts : bool
        Let every item's own text be an instance that should find the item.
    weighted : bool
        Keep the clicks' weights; otherwise a click is a click.
    """
    from scipy.sparse import csr_array, vstack

    clicks = dataset.clicks
    rows = np.flatnonzero(np.diff(clicks.indptr))
    if not len(rows):
        raise InputError("`dataset` must have clicks to learn from. Got none: name a click log or a split 'train'.")
    texts = _texts_of_rows(dataset, rows)
    chosen = clicks[rows].astype(np.float32)
    if not weighted:
        chosen.data[:] = 1
    if item_texts:
        own, numbers = _item_texts(dataset)
        ones = np.ones(len(numbers), np.float32)
        shape = (len(numbers), clicks.shape[1])
        chosen = vstack([chosen, csr_array((ones, (np.arange(len(numbers)), numbers)), shape=shape)], format="csr")
        texts += own
    return Instances(texts, chosen, len(rows))


def _texts_of_rows(dataset: Dataset, rows: NDArray[np.int64]) -> list[str]:
    wanted = np.zeros(len(dataset.queries), dtype=np.bool_)
    wanted[rows] = True
    return [query.text for row, query in enumerate(dataset.queries) if wanted[row]]


def _item_texts(dataset: Dataset) -> tuple[list[str], NDArray[np.int64]]:
    pairs = [(number, item.default_text()) for number, item in enumerate(dataset.items)]
    kept = [(number, text) for number, text in pairs if text.strip()]
    return [text for _, text in kept], np.array([number for number, _ in kept], dtype=np.int64)
