"""Records of a data set, read again from their source or kept in memory."""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from vizsla._internal.lazy import cached_property
from vizsla._internal.terminal import progress
from vizsla.core.catalog import NO_METADATA, Catalog, Item, Query
from vizsla.core.strings import Strings
from vizsla.core.validation import WarningLog
from vizsla.data.metadata import ItemMetadata
from vizsla.data.metadata_join import selected
from vizsla.errors import DataError
from vizsla.io.bad_lines import STRICT_READING, BadLines, Reading
from vizsla.io.files import Line, LineFile, max_record_bytes

Record = TypeVar("Record", bound=Item | Query)
RecordOut = TypeVar("RecordOut", bound=Item | Query, covariant=True)


class Source(Protocol[RecordOut]):
    """Reads all records from the start, each time it is iterated."""

    name: str

    def __iter__(self) -> Iterator[RecordOut]:
        """Read from the start."""
        ...

    def place(self, number: int) -> Line:
        """Say where record `number` stands, for an error message."""
        ...

    def pick(self, number: int) -> RecordOut | None:
        """Return one record by its number; None if only reading from the start is possible."""
        ...

    def report(self, tally: WarningLog) -> None:
        """Count what the last complete reading skipped."""
        ...


class Numbered(Protocol[RecordOut]):
    """Records by number: a list, or something that makes them when asked."""

    def __len__(self) -> int:
        """How many there are."""
        ...

    def __getitem__(self, number: int, /) -> RecordOut:
        """Return one record."""
        ...


class ListSource(Generic[Record]):
    """Records that are in memory already."""

    def __init__(self, records: Numbered[Record], *, name: str = "input"):
        self.name, self._records = name, records

    def __iter__(self) -> Iterator[Record]:
        return (self._records[number] for number in range(len(self._records)))

    def place(self, number: int) -> Line:
        """Records in memory are counted from 1."""
        return Line(self.name, number + 1)

    def pick(self, number: int) -> Record | None:
        """Return one record."""
        return self._records[number]

    def report(self, tally: WarningLog) -> None:
        """Nothing is ever skipped."""


class ChainSource(Generic[Record]):
    """Several sources, one after another."""

    def __init__(self, parts: Sequence[Source[Record]]):
        self.name, self._parts = ", ".join(part.name for part in parts), parts

    def __iter__(self) -> Iterator[Record]:
        return (record for part in self._parts for record in part)

    def place(self, number: int) -> Line:
        """Ask the part that holds the record."""
        for part in self._parts:
            count = sum(1 for _ in part)
            if number < count:
                return part.place(number)
            number -= count
        return Line(self.name, number)

    def pick(self, number: int) -> Record | None:
        """A chain is read from the start."""
        return None

    def report(self, tally: WarningLog) -> None:
        """Count what the parts skipped."""
        for part in self._parts:
            part.report(tally)


class StringsSource:
    """Queries made from distinct texts.

    Examples
    --------
    >>> list(StringsSource(Strings.of(["red fig"]), name="log.tsv"))
    [Query(id='0', text='red fig', metadata={})]
    """

    def __init__(self, texts: Strings, *, name: str):
        self.name, self._texts = name, texts
        self.ids = Strings.of(map(str, range(len(texts))))

    def __iter__(self) -> Iterator[Query]:
        return map(Query, self.ids, self._texts)

    def place(self, number: int) -> Line:
        """Say which text it is."""
        return Line(self.name, number + 1)

    def pick(self, number: int) -> Query | None:
        """Return one query."""
        return Query(self.ids[number], self._texts[number])

    def report(self, tally: WarningLog) -> None:
        """Nothing is ever skipped."""


class LineSource(Generic[Record]):
    """Records that stand one a line in a file.

    Parameters
    ----------
    file : LineFile
        The file.
    parse : function of a Line
        Returns the line's record or raises a DataError.
    how : Reading
        What to do with unreadable lines.
    """

    def __init__(self, file: LineFile, parse: Callable[[Line], Record], *, how: Reading = STRICT_READING):
        self.name, self._file, self._parse, self._skips = file.name, file, parse, how.skips
        self._blank, self._refusals = 0, BadLines(how, file.name)

    def __iter__(self) -> Iterator[Record]:
        return (record for _, record in self._walk())

    def place(self, number: int) -> Line:
        """Read again up to the record: only an error message pays for it."""
        return next(line for at, (line, _) in enumerate(self._walk()) if at == number)

    def pick(self, number: int) -> Record | None:
        """Jump to the record; a packed file cannot jump."""
        if not self._file.jumps:
            return None
        return self._parse(self._file.at(int(self._offsets[number])))

    def report(self, tally: WarningLog) -> None:
        """Count blank and unreadable lines."""
        tally.add(self._blank, f"blank lines skipped in {self.name}")
        self._refusals.report(tally)

    @cached_property
    def _offsets(self) -> NDArray[np.int64]:
        if self._skips:
            return np.fromiter((line.offset for line, _ in self._walk()), dtype=np.int64)
        return np.fromiter((line.offset for line in self._file if line.text.strip()), dtype=np.int64)

    def _walk(self) -> Iterator[tuple[Line, Record]]:
        blank = 0
        self._refusals.begin()
        for line in self._file.lines(self._refusals.add):
            if not line.text.strip():
                blank += 1
                continue
            try:
                record = self._parse(line)
            except DataError as error:
                self._refusals.add(error, line.text)
            else:
                yield line, record
        self._blank = blank


class JsonBuffer(Generic[Record]):
    """All records as JSON bytes in one buffer: far smaller than a list of objects.

    Examples
    --------
    >>> from vizsla.core.catalog import Item
    >>> JsonBuffer([Item("d1", "a fig"), Item("d2", "a pear")])[1]
    Item(id='d2', text='a pear', title='', metadata={})
    """

    def __init__(self, records: Iterable[Record]):
        self._kind: Any = None
        self._data, self._offsets = bytearray(), array("q", [0])
        for record in records:
            self._kind = type(record)
            self._data += json.dumps([*record[:-1], dict(record[-1])], ensure_ascii=False).encode()
            self._offsets.append(len(self._data))

    def __getitem__(self, number: int) -> Record:
        record: Record = self._kind(*json.loads(self._data[self._offsets[number] : self._offsets[number + 1]]))
        return record


RECORDS_PER_BATCH = 1024
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
    columns : mapping, optional
        Roles of the columns that the user named: "title", "text", or a field of its own name.

    Examples
    --------
    >>> from vizsla.data.dataset import Dataset
    >>> items = Dataset.of(["a red fig", "a pear"]).items
    >>> len(items), items[1].text, [item.id for item in items]
    (2, 'a pear', ['0', '1'])
    """

    def __init__(
        self,
        source: Source[Record],
        ids: Strings,
        *,
        dropped: frozenset[int] = frozenset(),
        columns: Mapping[str, str] = NO_METADATA,
    ):
        self.ids, self._source, self._dropped, self.columns = ids, source, dropped, columns

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
        return Records(self._source, ids, dropped=frozenset(others.tolist()), columns=self.columns)

    def described(self, details: ItemMetadata | None, columns: Mapping[str, str] = NO_METADATA) -> Records[Record]:
        """Return the same records; their ids carry these details, which are by the source's numbers."""
        if details is not None and self._dropped:
            details = selected(details, np.setdiff1d(np.arange(details.count), sorted(self._dropped)))
        ids = self.ids if details is None else Catalog(self.ids, details)
        return Records(self._source, ids, dropped=self._dropped, columns=columns)

    def __repr__(self) -> str:
        return f"Records({len(self)} in {self._source.name})"

    @cached_property
    def _packed(self) -> JsonBuffer[Record]:
        return JsonBuffer(self)


def scan(
    source: Source[Record],
    tally: WarningLog,
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
        The source to read.
    tally : WarningLog
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
    for batch in _batches(source):
        if note is not None:
            note(batch)
        wordless = [record for record in batch if not record.text.strip()]
        empty.count += sum(not record.default_text().strip() for record in wordless)
        yield from [record.id for record in batch]


def _batches(source: Iterable[Record]) -> Iterator[list[Record]]:
    """Yield `RECORDS_PER_BATCH` records at a time; fewer where together they exceed the limit of a record."""
    batch: list[Record] = []
    left = most = max_record_bytes()
    for record in source:
        batch.append(record)
        left -= sum(map(len, record[:-1]))  # the id, the text and the title
        if record.metadata:
            left -= sum(map(_length, record.metadata.values()))
        if len(batch) == RECORDS_PER_BATCH or left < 0:
            yield batch
            batch, left = [], most
    if batch:
        yield batch


def _length(value: Any) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, list | dict):
        return 8 * len(value) + sum(map(_length, value.values() if isinstance(value, dict) else value))
    return 8


def _without_repeats(
    source: Source[Record], ids: Strings, repeats: list[int], tally: WarningLog, plural: str, *, skips: bool
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
