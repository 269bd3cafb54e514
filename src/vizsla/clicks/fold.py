"""Fold: a dataset without some queries' clicks, and those queries to judge by, cold and warm ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla.arguments import check_seed
from vizsla.clicks.hold_out import HeldOut, hold_out
from vizsla.errors import InputError, check_range

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from vizsla.dataset import Dataset

SHARE, ENOUGH, MOST = 0.1, 2000, 4000
"""A tenth of the texts is held out, so that what learns from the rest stays nearly as good; where that is less than
`ENOUGH`, up to twice as many. More than `MOST` would only take longer."""
FEWEST = 5
"""So many different texts with clicks there must be, to hold any out."""


class TooFewClicksError(InputError):
    """There are too few clicks to hold any out."""


class Fold(NamedTuple):
    """A dataset parted in two: what may be learned from, and what is judged by.

    Attributes
    ----------
    train : Dataset
        All items and queries, without the clicks of the held-out texts and without those on cold items.
    texts : list of str
        The held-out texts: cold ones first.
    wanted : csr_array
        Held-out texts × items: their clicks.
    cold : bool array
        Which of the texts are cold: none of their items has a click left. The others' items all have.
    """

    train: Dataset
    texts: list[str]
    wanted: csr_array
    cold: NDArray[np.bool_]


def draw_fold(dataset: Dataset, *, cold: float = 0.5, seed: int = 0) -> Fold:
    """Hold out texts, a share `cold` of them cold; clicks that cannot give such a share give what they can.

    A text that several queries of the dataset share is held out with all of them: whoever has seen a text before knows
    its answer.

    Parameters
    ----------
    dataset : Dataset
        One with clicks of at least five different texts.
    cold : float
        Share of the held-out texts whose items lose every click.
    seed : int
        Draws the texts.

    Examples
    --------
    >>> from vizsla.dataset import Dataset
    >>> clicks = [("red", "f"), ("sweet", "f"), ("green", "p"), ("juicy", "p"), ("blue", "g")]
    >>> fold = draw_fold(Dataset.of({"f": "fig", "p": "pear", "g": "grape"}, clicks=clicks), cold=0.0)
    >>> len(fold.texts), fold.train.clicks.nnz, fold.cold.tolist()
    (1, 4, [False])
    """
    check_range("cold", cold, 0, 1)
    check_seed(seed)  # before anything else is taken for a want of clicks
    texts, number = _numbered(dataset)
    clicks = dataset.clicks.sorted_indices()
    by_text = _added(clicks, number, len(texts))
    count = int((np.diff(by_text.indptr) > 0).sum())
    if count < FEWEST:
        raise TooFewClicksError(f"To choose by, there must be clicks of {FEWEST} different texts. Got {count}.")
    found = _held(by_text, _wanted(count), cold, seed)
    held = np.concatenate([found.cold, found.warm])
    out = np.zeros(len(texts), np.bool_)
    out[held] = True
    kept = ~out[np.repeat(number, np.diff(clicks.indptr))] & ~found.cold_items[clicks.indices]
    is_cold = np.arange(len(held)) < len(found.cold)
    return Fold(_train(dataset, clicks, kept), [texts[row] for row in held.tolist()], by_text[held], is_cold)


def _wanted(count: int) -> int:
    return max(1, round(min(max(SHARE * count, min(ENOUGH, 2 * SHARE * count)), MOST)))


def _numbered(dataset: Dataset) -> tuple[list[str], NDArray[np.int64]]:
    """Return the different texts, and for each query the number of its own."""
    _, every = dataset.query_texts()
    first: dict[str, int] = {}
    number = np.fromiter((first.setdefault(text, len(first)) for text in every), np.int64, len(every))
    return list(first), number


def _added(clicks: csr_array, number: NDArray[np.int64], texts: int) -> csr_array:
    """Return texts × items: the clicks of all queries of a text."""
    from scipy.sparse import csr_array

    rows = np.repeat(number, np.diff(clicks.indptr))
    added = csr_array((clicks.data, (rows, clicks.indices)), shape=(texts, clicks.shape[1]))
    added.sum_duplicates()
    return added


def _held(clicks: csr_array, queries: int, cold: float, seed: int) -> HeldOut:
    for share in (cold, 0.0, 1.0):
        try:
            return hold_out(clicks, queries=queries, cold=share, seed=seed)
        except InputError:
            continue
    raise TooFewClicksError("To choose by, some clicks must be held out. Got too few of them.")


def _train(dataset: Dataset, clicks: csr_array, kept: NDArray[np.bool_]) -> Dataset:
    from scipy.sparse import csr_array

    from vizsla.dataset import Dataset

    rows = np.repeat(np.arange(clicks.shape[0]), np.diff(clicks.indptr))
    left = csr_array((clicks.data[kept], (rows[kept], clicks.indices[kept])), shape=clicks.shape)
    events = None if dataset.events is None else dataset.events.among(left)
    return Dataset(dataset.items, dataset.queries, clicks=left, query_features=dataset.query_features, events=events)
