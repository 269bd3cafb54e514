"""ReadTexts: texts as they are read, and a checksum of them when they are through."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vizsla.encoders.resume import chained


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
