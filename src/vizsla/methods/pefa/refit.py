"""Which clicks PEFA must forget, to be judged by them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vizsla.clicks.log import UNIT, ClickLog

if TYPE_CHECKING:
    from vizsla.dataset import Dataset
    from vizsla.strings import Strings


def clicks_elsewhere(log: ClickLog, items: Strings, dataset: Dataset) -> list[tuple[str, str, float]]:
    """Return the log's clicks that the dataset does not have: pairs of text and item, with the weight that it lacks.

    Where clicks decay, weights are of another time, and only pairs that the dataset does not have at all are returned.

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
    pairs, known = log.rows * log.width + log.items, rows[there] * log.width + numbers[there]
    units = np.where(np.isin(pairs, known), 0, log.units)
    if log.half_life is None:
        order = np.argsort(pairs)
        kept = np.zeros(len(pairs), np.int64)
        places = order[np.minimum(np.searchsorted(pairs, known, sorter=order), max(len(pairs) - 1, 0))]
        own = pairs[places] == known
        np.add.at(kept, places[own], np.rint(clicks.data[there][own].astype(np.float64) * UNIT).astype(np.int64))
        units = np.maximum(log.units - kept, 0)
    lost = units > 0
    names, weights = items.take(log.items[lost]), (units[lost] / UNIT).tolist()
    return list(zip(log.take_queries(log.rows[lost]), names, weights, strict=True))
