"""Duplicates: items whose texts are the same, or nearly, get the same value of a metadata field."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from itertools import islice

from vizsla import _native
from vizsla.core.catalog import Item
from vizsla.core.validation import WarningLog
from vizsla.errors import check_choice
from vizsla.io.files import Line
from vizsla.io.records import Source

FIELD = "same_as"
"""The metadata field: items with the same value are duplicates. `distinct="same_as"` shows one of each."""
EXACT, NEAR = "exact", "near"
DEDUPE = (None, EXACT, NEAR)
DEFAULT_SIMILARITY = 0.8
"""Near duplicates share this part of their runs of four words, as estimated by MinHash."""
TEXTS_PER_BATCH = 256


def text_digest(item: Item) -> str:
    """Return a digest of an item's text, or of its title if it has none; white space does not count.

    Examples
    --------
    >>> text_digest(Item("a", "A  fig.")) == text_digest(Item("b", "A\\nfig.", title="Fig"))
    True
    """
    return blake2b(" ".join((item.text or item.title).split()).encode(errors="replace"), digest_size=8).hexdigest()


def with_digest(items: Iterable[Item]) -> Iterator[Item]:
    """Yield items with the digest of their texts: exact duplicates, found without a look at other items."""
    for item in items:
        yield item._replace(metadata={**item.metadata, FIELD: text_digest(item)})


class DeduplicatedSource:
    """Items of another source, each with a field that says which items are its duplicates.

    The field holds a digest of the first of the duplicates. Nothing is left out.

    Parameters
    ----------
    source : Source of Item
        Where the items are.
    dedupe : {"exact", "near"}
        "exact": texts are the same but for white space. "near": they share 80 % of their runs of four words.
    similarity : float
        The similarity of near duplicates.

    Examples
    --------
    >>> from vizsla.io.records import ListSource
    >>> source = DeduplicatedSource(ListSource([Item("a", "a red fig"), Item("b", "a pear"), Item("c", "a red  fig")]))
    >>> a, b, c = [item.metadata["same_as"] for item in source]
    >>> a == c != b, source.groups, source.repeats
    (True, 2, 1)
    """

    def __init__(self, source: Source[Item], dedupe: str = EXACT, *, similarity: float = DEFAULT_SIMILARITY):
        check_choice("dedupe", dedupe, DEDUPE)
        self.name, self._source, self._near, self._similarity = source.name, source, dedupe == NEAR, similarity
        self._known: array[int] | None = None
        self.groups = self.repeats = 0

    def __str__(self) -> str:
        return str(self._source)

    def __iter__(self) -> Iterator[Item]:
        if self._known is None:
            return self._first_reading()
        return (_grouped(item, group) for item, group in zip(self._source, self._known, strict=False))

    def place(self, number: int) -> Line:
        """Ask the source."""
        return self._source.place(number)

    def pick(self, number: int) -> Item | None:
        """Return one item, once all were read and where the source can."""
        item = None if self._known is None else self._source.pick(number)
        return None if item is None or self._known is None else _grouped(item, self._known[number])

    def report(self, tally: WarningLog) -> None:
        """Count duplicates, beside what the source counts."""
        self._source.report(tally)
        how = "resembles that" if self._near else "is that"
        tally.add(self.repeats, f"items of {self.name} whose text {how} of an item before: kept, with its `{FIELD}`")

    def _first_reading(self) -> Iterator[Item]:
        texts = _native.NearDuplicates(self._similarity) if self._near else None
        groups, distinct, left = array("Q"), set[int](), iter(self._source)
        digests = array("Q")
        while batch := list(islice(left, TEXTS_PER_BATCH)):
            own = [int(text_digest(item), 16) for item in batch]
            if texts is not None:
                digests.extend(own)
                own = [digests[first] for first in texts.add([item.text or item.title for item in batch]).tolist()]
            groups.extend(own)
            distinct.update(own)
            yield from map(_grouped, batch, own)
        self.groups, self.repeats = len(distinct), len(groups) - len(distinct)
        self._known = groups


def _grouped(item: Item, group: int) -> Item:
    return item._replace(metadata={**item.metadata, FIELD: f"{group:016x}"})
