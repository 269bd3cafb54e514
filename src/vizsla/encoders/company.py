"""Who may go through a model together, so that no answer depends on the company that a text has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

ROUNDS_BATCHES = b"DynamicQuantize"
"""What ONNX models hold that round a batch by its largest value; those of `export.int8_matrices` do not."""


def batch_for(model: NDArray[np.uint8], batch: int) -> int:
    """Return how many texts may go through an ONNX model at once: one, where it would round them by each other."""
    return 1 if ROUNDS_BATCHES in model.tobytes() else batch


def of_one_length(lengths: Sequence[int], batch: int) -> Iterator[list[int]]:
    """Yield the numbers of texts with equally many tokens, at most `batch` together: nothing is padded.

    Padding costs time, and changes the order in which libraries add up, and so the last digits.

    Examples
    --------
    >>> list(of_one_length([3, 2, 3, 3], 2))
    [[1], [0, 2], [3]]
    """
    order = sorted(range(len(lengths)), key=lambda number: lengths[number])
    for _, group in groupby(order, key=lambda number: lengths[number]):
        numbers = list(group)
        for start in range(0, len(numbers), batch):
            yield numbers[start : start + batch]
