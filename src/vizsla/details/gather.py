"""Details for another numbering of items: when items come and go, or catalogues join."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vizsla.catalogue import Catalogue, details_of
from vizsla.details.collector import DetailsCollector
from vizsla.details.details import Details
from vizsla.item import Item
from vizsla.strings import Strings


def selected(details: Details, numbers: NDArray[np.int64]) -> Details:
    """Return the details of these items, in this order."""
    collector = DetailsCollector(keep_texts=details.texts is not None)
    for number in numbers.tolist():
        collector.add(Item("", details.text(number) or "", metadata=details.of(number)))
    return collector.details() or Details({}, len(numbers))


def described(ids: Strings, sources: Sequence[Strings]) -> Strings:
    """Return ids with what some catalogs know of them: for each field, what the first that has a value says.

    Examples
    --------
    >>> from vizsla.dataset import Dataset
    >>> fruit = Dataset.of([{"id": "f", "text": "fig", "price": 3}, {"id": "p", "text": "pear"}]).item_ids
    >>> details_of(described(Strings.of(["new", "f"]), [fruit])).of(1)
    {'price': 3}
    """
    known = [(source, details) for source in sources if (details := details_of(source)) is not None]
    if not known:
        return ids
    if len(known) == 1 and known[0][0] == ids:
        return Catalogue(ids, known[0][1])
    numbers = [source.find_all(ids).tolist() for source, _ in known]
    keep_texts = all(details.texts is not None for _, details in known)
    collector = DetailsCollector(keep_texts=keep_texts)
    for row in zip(*numbers, strict=True):
        found = [(details, number) for (_, details), number in zip(known, row, strict=True) if number >= 0]
        metadata = {name: value for details, number in reversed(found) for name, value in details.of(number).items()}
        text = found[0][0].text(found[0][1]) if found and keep_texts else None
        collector.add(Item("", text or "", metadata=metadata))
    joined = collector.details()
    return ids if joined is None else Catalogue(ids, joined)
