"""Batches of texts for encoders: grouped by length, sampled, and encoded with progress."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from vizsla._internal.terminal import progress
from vizsla.base.encoder import Encoder, checked_rows
from vizsla.encoders.resumable import chained
from vizsla.errors import check_positive
from vizsla.text.streams import batches

ROUNDS_BATCHES = b"DynamicQuantize"
"""What ONNX models hold that round a batch by its largest value; those of `export.int8` do not."""


def batch_for(model: NDArray[np.uint8], batch: int) -> int:
    """Return how many texts may go through an ONNX model at once: one, where it would round them by each other."""
    return 1 if ROUNDS_BATCHES in model.tobytes() else batch


def same_length_batches(lengths: Sequence[int], batch: int) -> Iterator[list[int]]:
    """Yield the numbers of texts with equally many tokens, at most `batch` together: nothing is padded.

    Padding costs time, and changes the order in which libraries add up, and so the last digits.

    Examples
    --------
    >>> list(same_length_batches([3, 2, 3, 3], 2))
    [[1], [0, 2], [3]]
    """
    order = sorted(range(len(lengths)), key=lambda number: lengths[number])
    for _, group in groupby(order, key=lambda number: lengths[number]):
        numbers = list(group)
        for start in range(0, len(numbers), batch):
            yield numbers[start : start + batch]


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


class Sample:
    """Yields all texts, once, and keeps at most `size` of them, drawn so that each has the same chance.

    Parameters
    ----------
    texts : iterable of str
        The stream.
    size : int
        How many to keep.
    seed : int
        Fixes which.

    Examples
    --------
    >>> sample = Sample(["fig", "pear", "plum"], 2, seed=0)
    >>> list(sample), len(sample.texts)
    (['fig', 'pear', 'plum'], 2)
    """

    def __init__(self, texts: Iterable[str], size: int, *, seed: int):
        self._texts, self._size, self._random = texts, check_positive("sample", size), random.Random(seed)
        self.texts: list[str] = []

    def __iter__(self) -> Iterator[str]:
        for number, text in enumerate(self._texts):
            if number < self._size:
                self.texts.append(text)
            elif (place := self._random.randrange(number + 1)) < self._size:
                self.texts[place] = text
            yield text


class ReadTexts:
    """Yields texts, and keeps a checksum of those that it has yielded since the first.

    Parameters
    ----------
    texts : iterable of str
        In an order that belongs to them: another order has another checksum.

    Examples
    --------
    >>> one, other = ReadTexts(["fig", "pear"]), ReadTexts(["fig", "plum"])
    >>> list(one), list(other)
    (['fig', 'pear'], ['fig', 'plum'])
    >>> one.checksum == other.checksum
    False
    """

    def __init__(self, texts: Iterable[str]):
        self._texts, self._seen = texts, 0

    @property
    def checksum(self) -> str:
        """Of what was read."""
        return f"{self._seen:016x}"

    def __iter__(self) -> Iterator[str]:
        self._seen = 0
        for text in self._texts:
            self._seen = chained([text], self._seen)
            yield text


def encode_items(encoder: Encoder, texts: Iterable[str]) -> NDArray[np.float32]:
    """Encode item texts, read once, in batches. For results larger than memory see `Vectors.encode`.

    Examples
    --------
    >>> from vizsla.base.encoder import FunctionEncoder
    >>> lengths = FunctionEncoder(lambda texts: [[len(t)] for t in texts], dim=1, name="length")
    >>> encode_items(lengths, ["fig", "apple"]).ravel().tolist()
    [3.0, 5.0]
    """
    parts = [np.zeros((0, encoder.dim), np.float32)]
    for batch in progress(batches(texts), what="encoding"):
        parts.append(checked_rows(encoder, encoder.items(batch), len(batch)))
    return np.concatenate(parts)
