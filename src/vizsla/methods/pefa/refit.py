"""Which clicks PEFA must forget, to be judged by them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vizsla.clicks.log import UNIT, ClickLog

if TYPE_CHECKING:
    from vizsla.dataset import Dataset
    from vizsla.strings import Strings


def clicks_elsewhere(log: ClickLog, items: Strings, dataset: Dataset) -> list[tuple[str, str, float]]:
    """Return the log's clicks, with their weights, on pairs of text and item that the dataset has no click for.

    Examples
    --------
    >>> from vizsla.dataset import Dataset
    >>> from vizsla.strings import Strings
    >>> fruit = Strings.of(["f", "p"])
    >>> log = ClickLog.of([("red", "f"), ("green", "p", 2.0)], fruit, lambda texts: [[1.0]] * len(texts))
    >>> clicks_elsewhere(log, fruit, Dataset.of({"f": "fig", "p": "pear"}, clicks=[("red", "f")]))
    [('green', 'p', 2.0)]
    """
    clicks = dataset.clicks.tocsr()
    texts = log.queries.find_all(dataset.query_texts()[1])
    numbers = items.find_all(dataset.item_ids)[clicks.indices]
    rows = np.repeat(texts, np.diff(clicks.indptr))
    there = (rows >= 0) & (numbers >= 0)
    lost = ~np.isin(log.rows * log.width + log.items, rows[there] * log.width + numbers[there])
    names, weights = items.take(log.items[lost]), (log.units[lost] / UNIT).tolist()
    return list(zip(log.take_queries(log.rows[lost]), names, weights, strict=True))
