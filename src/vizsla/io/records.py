"""The items or the queries of a dataset: streamed, counted, and found by id."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, Generic

import numpy as np
from numpy.typing import NDArray

from vizsla.cached_property import cached_property
from vizsla.catalogue import Catalogue
from vizsla.dataset_warning import Tally
from vizsla.details.details import Details
from vizsla.details.gather import selected
from vizsla.errors import DataError
from vizsla.io.packed import Packed
from vizsla.io.source import Record, Source
from vizsla.progress import progress
from vizsla.strings import Strings

BATCH = 1024
"""Records that are looked at together: much faster than one by one."""


class Records(Generic[Record]):
    """Records with distinct ids; only the ids are held in memory.

    Iterating reads the source again. `records[number]` jumps where the source can; a source that can only be read
    from its start (a gzipped file) is packed into memory at the first jump.

    Parameters
    ----------
    source : Source
        Where the records are.
    ids : Strings
        Their ids, in the source's order.
    dropped : frozenset of int
        Numbers of source records that are left out.

    Examples
    --------
    >>> from vizsla.dataset import Dataset
    >>> items = Dataset.of(["a red fig", "a pear"]).items
    >>> len(items), items[1].text, [item.id for item in items]
    (2, 'a pear', ['0', '1'])
    """

    def __init__(self, source: Source[Record], ids: Strings, *, dropped: frozenset[int] = frozenset()):
        self.ids, self._source, self._dropped = ids, source, dropped

    def __iter__(self) -> Iterator[Record]:
        if not self._dropped:
            return iter(self._source)
        return (record for number, record in enumerate(self._source) if number not in self._dropped)

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, number: int) -> Record:
        at = range(len(self))[number]
        record = None if self._dropped else self._source.pick(at)
        return self._packed[at] if record is None else record

    def get(self, id: str, *, what: str = "item") -> Record:
        """Return the record with this id; an unknown one raises."""
        return self[self.ids.number(id, what=what)]

    def only(self, numbers: NDArray[np.int64], ids: Strings) -> Records[Record]:
        """Return some of the records, in their order, with the ids that these have."""
        kept = np.setdiff1d(np.arange(len(self.ids) + len(self._dropped)), sorted(self._dropped))[numbers]
        others = np.setdiff1d(np.arange(len(self.ids) + len(self._dropped)), kept)
        return Records(self._source, ids, dropped=frozenset(others.tolist()))

    def described(self, details: Details | None) -> Records[Record]:
        """Return the same records; their ids carry these details, which are by the source's numbers."""
        if details is None:
            return self
        if self._dropped:
            details = selected(details, np.setdiff1d(np.arange(details.count), sorted(self._dropped)))
        return Records(self._source, Catalogue(self.ids, details), dropped=self._dropped)

    def __repr__(self) -> str:
        return f"Records({len(self)} in {self._source.name})"

    @cached_property
    def _packed(self) -> Packed[Record]:
        return Packed(self)


def scan(
    source: Source[Record],
    tally: Tally,
    *,
    what: str,
    skips: bool,
    texts: bool = True,
    note: Callable[[list[Any]], None] | None = None,
) -> Records[Record]:
    """Read a source once: check ids, count empty texts, and return its records.

    Parameters
    ----------
    source : Source
        What to read.
    tally : Tally
        Receives the counts.
    what : {"item", "query"}
        For messages.
    skips : bool
        Keep the first of records with the same id and count the others; otherwise they raise.
    texts : bool
        Whether the format has texts at all; if not, empty ones are not counted.
    note : function of a list of records, optional
        Is told every record, many at a time.
    """
    plural = "items" if what == "item" else "queries"
    empty = _Counter()
    reading = progress(source, what=f"reading {plural}")
    ids, repeats = Strings.with_repeats(_ids(reading, empty, note))
    if not len(ids):
        raise DataError(f"there are no {plural}.", path=source.name, remedy="Give at least one.")
    source.report(tally)
    if texts:
        tally.add(empty.count, f"{plural} with an empty text in {source.name}: kept, but no word finds them")
    if not len(repeats):
        return Records(source, ids)
    return _without_repeats(source, ids, repeats.tolist(), tally, plural, skips=skips)


class _Counter:
    count = 0


def _ids(source: Iterable[Record], empty: _Counter, note: Callable[[list[Any]], None] | None) -> Iterator[str]:
    remaining = iter(source)
    while batch := list(islice(remaining, BATCH)):
        if note is not None:
            note(batch)
        wordless = [record for record in batch if not record.text.strip()]
        empty.count += sum(not record.default_text().strip() for record in wordless)
        yield from [record.id for record in batch]


def _without_repeats(
    source: Source[Record], ids: Strings, repeats: list[int], tally: Tally, plural: str, *, skips: bool
) -> Records[Record]:
    if not skips:
        repeated = ids[repeats[0]]
        first = source.place(ids.find(repeated)).number
        raise source.place(repeats[0]).error(
            f"the id {repeated!r} was given before, on line {first}.",
            'Give every id once, or pass on_error="warn" to keep the first.',
        )
    tally.add(len(repeats), f"{plural} with a repeated id in {source.name}: the first of each was kept")
    dropped = frozenset(repeats)
    kept = np.setdiff1d(np.arange(len(ids)), repeats).astype(np.int32)
    return Records(source, Strings.of(ids.take(kept)), dropped=dropped)
