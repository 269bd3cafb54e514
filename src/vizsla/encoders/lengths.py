"""Texts of like length share a batch, so that little is padded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def by_length(texts: Sequence[str], batch: int) -> Iterator[list[int]]:
    """Yield the numbers of the texts, batch by batch, in the order of their lengths.

    Examples
    --------
    >>> list(by_length(["plum", "fig", "apple"], 2))
    [[1, 0], [2]]
    """
    order = sorted(range(len(texts)), key=lambda number: len(texts[number]))
    for start in range(0, len(order), batch):
        yield order[start : start + batch]
