"""CheckSample: held-out queries, their right items, and other items to confuse them with."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla.arguments import generator
from vizsla.errors import InputError, check_positive

if TYPE_CHECKING:
    from vizsla.dataset import Dataset


class CheckSample(NamedTuple):
    """What `check_quantisation` asks for.

    Parameters
    ----------
    queries, items : list of str
        Texts.
    relevant : list of list of int, or None
        For each query the positions of its right items among `items`; None when nobody said which they are.
    """

    queries: list[str]
    items: list[str]
    relevant: list[list[int]] | None


def check_sample(
    dataset: Dataset, *, split: str | None = None, queries: int = 500, items: int = 5000, seed: int = 0
) -> CheckSample:
    """Draw queries of a split, all their right items, and as many others as make `items` together.

    Parameters
    ----------
    dataset : Dataset
        With queries; judgements or clicks say which items are right.
    split : str, optional
        Whose queries; the first one that is not "train", or "train", unless given. Without judgements, any queries.
    queries, items : int
        How many at most, except that every right item is there.
    seed : int
        Fixes the draw.

    Examples
    --------
    >>> from vizsla.dataset import Dataset
    >>> data = Dataset.of(["a fig", "a pear"], queries=["figs"], qrels={"0": {"0": 1}})
    >>> check_sample(data)
    CheckSample(queries=['figs'], items=['a fig', 'a pear'], relevant=[[0]])
    """
    random = generator(seed)
    split = split or min(dataset.splits, key=lambda name: name == "train", default=None)
    right = {} if split is None else _right_items(dataset, split)
    rows = np.array(sorted(right) if split else range(len(dataset.queries)), np.int64)
    asked = np.sort(random.permutation(rows)[: check_positive("queries", queries)])
    if not len(asked) or not len(dataset.items):
        raise InputError("The data must have items, and queries to check with. Got none: give a file of queries.")
    chosen = _chosen(len(dataset.items), {item for row in asked.tolist() for item in right.get(row, [])}, items, random)
    place = {number: at for at, number in enumerate(chosen.tolist())}
    texts = {number: item.default_text() for number, item in enumerate(dataset.items) if number in place}
    wanted = set(asked.tolist())
    questions = {row: query.text for row, query in enumerate(dataset.queries) if row in wanted}
    relevant = [[place[item] for item in right[row]] for row in asked.tolist()] if split else None
    return CheckSample([questions[row] for row in asked.tolist()], [texts[n] for n in chosen.tolist()], relevant)


def _right_items(dataset: Dataset, split: str) -> dict[int, list[int]]:
    matrix = dataset.qrels(split)
    found: dict[int, list[int]] = {}
    for row in np.flatnonzero(np.diff(matrix.indptr)).tolist():
        span = slice(matrix.indptr[row], matrix.indptr[row + 1])
        if numbers := matrix.indices[span][matrix.data[span] > 0].tolist():
            found[row] = numbers
    return found


def _chosen(count: int, right: set[int], items: int, random: np.random.Generator) -> NDArray[np.int64]:
    others = np.setdiff1d(random.permutation(count), np.array(sorted(right), np.int64))
    more = max(0, check_positive("items", items) - len(right))
    return np.sort(np.concatenate([np.array(sorted(right), np.int64), random.permutation(others)[:more]]))
