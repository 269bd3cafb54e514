"""Sample: a stream of texts that keeps some of them while it passes."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator

from vizsla.errors import check_positive


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
