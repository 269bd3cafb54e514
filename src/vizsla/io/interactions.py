"""Clicks and relevance judgments: reading, collecting and writing (query, item, value) entries."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla._internal.lazy import cached_property
from vizsla._native import EntryFormat
from vizsla.core.strings import Strings
from vizsla.core.validation import WarningLog
from vizsla.data.dataset import ClickEvents, Dataset
from vizsla.errors import DataError, InputError
from vizsla.io.atomic import writing
from vizsla.io.bad_lines import STRICT_READING, BadLines, Reading
from vizsla.io.files import Block, Line, LineFile, without_packing

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MIN_MILLISECONDS = 1e11
"""A number from here on counts milliseconds: as seconds it would be the year 5138."""


def timestamp_of(text: str) -> float | None:
    """Return a time as seconds since 1970, in UTC unless it names a zone; None for what is no time.

    Examples
    --------
    >>> timestamp_of("1970-01-02"), timestamp_of("1970-01-01 00:01:00")
    (86400.0, 60.0)
    >>> timestamp_of("1700000000000"), timestamp_of("soon")
    (1700000000.0, None)
    >>> timestamp_of("19700102")
    86400.0
    """
    text = text.strip()
    if not _is_date_number(text):
        try:
            number = float(text)
        except ValueError:
            return _written(text)
        seconds = number / 1000 if abs(number) >= MIN_MILLISECONDS else number
        return seconds if abs(seconds) < MIN_MILLISECONDS else None
    return _written(text)


def _is_date_number(text: str) -> bool:
    return len(text) == 8 and text.isdecimal() and text[:2] in ("19", "20")


def _written(text: str) -> float | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    try:
        return moment.timestamp()
    except (OverflowError, OSError):
        return None


Columns = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64], NDArray[np.int64]]
"""Row, column, value and line number of every entry."""


class Interactions:
    """Clicks or judgments as a queries × items matrix, in flat arrays until complete.

    Parameters
    ----------
    query_ids, item_ids : Strings, optional
        Rows and columns. Without them, what the entries name is numbered in order of appearance.
    dangling : {"warn", "raise"}
        What to do with an entry whose query or item is unknown: count and leave out, or raise.
    """

    def __init__(self, query_ids: Strings | None, item_ids: Strings | None, *, dangling: str):
        self._query_ids, self._item_ids, self._raise = query_ids, item_ids, dangling == "raise"
        self._late: DataError | None = None
        self._table = _native.EntryTable(_arrays(query_ids), _arrays(item_ids), stop_at_unknown=self._raise)

    @property
    def seen(self) -> int:
        """How many entries came, unknown ones among them."""
        return self._table.seen

    def add(self, line: Line, query: str, item: str, value: float, time: float = nan) -> None:
        """Add one entry; `line` is where it stands, `time` when it was made, in seconds since 1970."""
        names = _encoded(query, self._query_ids), _encoded(item, self._item_ids)
        if not self._table.add(*names, value, line.number, time) and self._raise:
            self._miss(line, query, item)

    def read(self, data: bytes, at: int, number: int, format: _native.EntryFormat) -> tuple[int, int, int]:
        """Add the entries of whole lines from byte `at` on, up to the first line that is not plain.

        Returns where that line begins (or the end), its number, and how many blank lines were passed.
        """
        return self._table.read(data, at, number, format)

    @cached_property
    def queries(self) -> Strings:
        """The rows' ids, or the texts that stood in their place; complete when all entries are."""
        return self._query_ids if self._query_ids is not None else _strings(*self._table.queries())

    @cached_property
    def items(self) -> Strings:
        """The columns' ids; complete when all entries are."""
        return self._item_ids if self._item_ids is not None else _strings(*self._table.items())

    @cached_property
    def columns(self) -> Columns:
        """Row, column, value and line number of the entries, in the order in which they came."""
        if self._late is not None:
            raise self._late
        return self._table.take()

    @cached_property
    def events(self) -> ClickEvents | None:
        """Every entry with its time, in the order in which they came; None where they have none."""
        (rows, columns, values, _), times = self.columns, self._table.take_times()
        if not len(times):
            return None
        if len(times) < len(rows):
            raise InputError(f"Every click must have a time, or none. Got {len(times)} times of {len(rows)} clicks.")
        return ClickEvents(rows, columns, values, times)

    def summed(self, tally: WarningLog, *, name: str) -> csr_array:
        """Return clicks: repeated pairs are summed; pairs of weight 0 are left out and counted."""
        matrix = self._matrix(*self._sorted()[:3])
        matrix.sum_duplicates()
        zeros = int((matrix.data == 0).sum())
        tally.add(zeros, f"clicks of weight 0 left out of {name}")
        matrix.eliminate_zeros()
        self._report(tally, name)
        return matrix.astype(np.float32)

    def graded(self, tally: WarningLog, *, name: str) -> csr_array:
        """Return judgments: a pair repeated with the same grade counts once, with another grade it raises."""
        rows, columns, values, lines = self._sorted()
        same = np.zeros(len(rows), dtype=np.bool_)
        same[1:] = (rows[1:] == rows[:-1]) & (columns[1:] == columns[:-1])
        clash = np.flatnonzero(same[1:] & (values[1:] != values[:-1]))
        if len(clash):
            raise self._clash(name, int(clash[0]), rows, columns, values, lines)
        tally.add(int(same.sum()), f"judgments repeated in {name}: each counted once")
        self._report(tally, name)
        return self._matrix(rows[~same], columns[~same], values[~same]).astype(np.int32)

    def _miss(self, line: Line, query: str, item: str) -> None:
        unknown = self._query_ids is not None and self._query_ids.find(query) < 0
        kind, id = ("query", query) if unknown else ("item", item)
        error = line.error(f"the {kind} {id!r} is unknown.", 'Add it, or pass dangling="warn" to leave it out.')
        if self._query_ids is not None:
            raise error
        # Where the log names the queries, its own faults come first: this waits until it is read.
        self._late = self._late or error

    def _report(self, tally: WarningLog, name: str) -> None:
        found = {"query": self._table.unknown_queries, "item": self._table.unknown_items}
        for kind, (count, example) in found.items():
            id = example.decode("utf-8", "surrogatepass")
            tally.add(count, f"entries of {name} left out: unknown {kind}, for example {id!r}")

    def _sorted(self) -> Columns:
        rows, columns, values, lines = self.columns
        order = np.lexsort((columns, rows))
        return rows[order], columns[order], values[order], lines[order]

    def _matrix(self, rows: NDArray[np.int32], columns: NDArray[np.int32], values: NDArray[np.float64]) -> csr_array:
        from scipy.sparse import csr_array

        starts = np.zeros(len(self.queries) + 1, dtype=np.int64)
        np.cumsum(np.bincount(rows, minlength=len(self.queries)), out=starts[1:])
        return csr_array((values, columns, starts), shape=(len(self.queries), len(self.items)))

    def _clash(
        self,
        name: str,
        at: int,
        rows: NDArray[np.int32],
        columns: NDArray[np.int32],
        values: NDArray[np.float64],
        lines: NDArray[np.int64],
    ) -> Exception:
        query, item = self.queries[int(rows[at])], self.items[int(columns[at])]
        first, second = values[at], values[at + 1]
        return Line(name, int(lines[at + 1])).error(
            f"query {query!r} and item {item!r} have grade {second:g} here and {first:g} on line {lines[at]}.",
            "Keep one of the two.",
        )


def _arrays(ids: Strings | None) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.uint32]] | None:
    return None if ids is None else (ids.data, ids.offsets, ids.slots)


def _strings(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> Strings:
    return Strings(data, offsets, _native.build_slots(data, offsets)[0])


def _encoded(name: str, known: Strings | None) -> bytes:
    try:
        return name.encode()
    except UnicodeEncodeError as error:
        if known is not None:
            return name.encode("utf-8", "surrogatepass")  # No table holds it, so it is an unknown name.
        raise InputError(f"Every string must be valid Unicode. Got {name!r}, {error.reason}.") from error


Entry = tuple[str, str, float] | tuple[str, str, float, float]
"""Query, item, value, and perhaps the time in seconds since 1970."""


class InteractionSource(Protocol):
    """Clicks or judgments that can be read again and again."""

    name: str

    def into(self, pairs: Interactions) -> None:
        """Read from the start and add everything to `pairs`."""
        ...

    def report(self, tally: WarningLog) -> None:
        """Count what the last complete reading skipped."""
        ...


class ListInteractions:
    """Clicks or judgments in memory, counted from 1."""

    def __init__(self, entries: Iterable[Entry], *, name: str):
        self.name, self._entries = name, list(entries)

    def into(self, pairs: Interactions) -> None:
        """Add them all."""
        for number, entry in enumerate(self._entries, 1):
            pairs.add(Line(self.name, number), *entry)

    def report(self, tally: WarningLog) -> None:
        """Nothing is ever skipped."""


class InteractionFormat(NamedTuple):
    """How the lines of a file are read, told by its first line.

    Parameters
    ----------
    parse : function of a Line
        Returns query, item, value and time (seconds since 1970, NaN without one), or raises a DataError.
    format : EntryFormat
        The same for the native reader, which reads the plain lines among them.
    header : bool
        Whether the first line is a header.
    """

    parse: Callable[[Line], Entry]
    format: EntryFormat
    header: bool = False


class LineInteractions:
    """Clicks or judgments in a file, one per line.

    Blocks of lines go to the native reader. It stops at every line that it cannot vouch for; `parse` has the last word
    on that line, so that all rules and errors are in one place.

    Parameters
    ----------
    path : path
        The file.
    read_head : function of the first Line
        Returns how the lines are read.
    how : Reading
        The encoding, and what becomes of lines that cannot be read.
    """

    def __init__(
        self, path: str | Path, read_head: Callable[[Line], InteractionFormat], *, how: Reading = STRICT_READING
    ):
        self.name, self._file = str(path), LineFile(path, encoding=how.encoding)
        self._read_head, self._refusals, self._blank = read_head, BadLines(how, str(path)), 0

    def into(self, pairs: Interactions) -> None:
        """Read the file once; a file without entries raises."""
        self._blank, before = 0, pairs.seen
        self._refusals.begin()
        lines: InteractionFormat | None = None
        for block in self._file.blocks():
            lines = self._read(block, lines, pairs)
        if pairs.seen == before:
            raise DataError("there are no entries.", path=self.name, remedy="Give at least one, or leave the file out.")

    def report(self, tally: WarningLog) -> None:
        """Count blank and unreadable lines."""
        tally.add(self._blank, f"blank lines skipped in {self.name}")
        self._refusals.report(tally)

    def _read(self, block: Block, lines: InteractionFormat | None, pairs: Interactions) -> InteractionFormat | None:
        at, number = 0, block.number
        while True:
            if lines is not None:
                at, number, blank = pairs.read(block.data, at, number, lines.format)
                self._blank += blank
            if at == len(block.data):
                return lines
            end = block.data.find(b"\n", at) + 1 or len(block.data)
            lines = self._read_line(block.data[at:end], number, block.offset + at, lines, pairs)
            at, number = end, number + 1

    def _read_line(
        self, raw: bytes, number: int, offset: int, lines: InteractionFormat | None, pairs: Interactions
    ) -> InteractionFormat | None:
        """Read one line by Python's rules, which have the last word; a head that cannot be read raises."""
        try:
            line = self._file.line(raw, number, offset)
            if not line.text.strip():
                self._blank += 1
                return lines
            if lines is None:
                lines = self._read_head(line)
                if lines.header:
                    return lines
            entry = lines.parse(line)
        except DataError as error:
            if lines is None:
                raise
            self._refusals.add(error, raw)
            return lines
        pairs.add(line, *entry)
        return lines


COLUMN_NAMES = {
    "query": {"query", "query-id", "query_id", "qid", "search", "search_term", "keywords", "q"},
    "item": {"item", "item-id", "item_id", "corpus-id", "doc_id", "docid", "docno", "sku", "product_id", "asin"},
    "weight": {"weight", "score", "count", "clicks", "grade", "label", "relevance"},
    "time": {"time", "timestamp", "date", "datetime", "ts", "day", "clicked_at"},
}
COLUMN_ORDER = ("query", "item", "weight", "time")
MAX_COLUMNS = 64


def read_clicks(
    path: str | Path,
    *,
    how: Reading = STRICT_READING,
    columns: Mapping[str, str] | None = None,
    commas: bool | None = None,
) -> LineInteractions:
    """Return the entries of a click log, one a line.

    `.csv` means commas, with quotes around a field that holds one; anything else means tabs. A header is known by
    its names; without one the columns are query, item, weight, time, of which the last one or two may be missing. A
    missing weight is 1.

    Parameters
    ----------
    path : path
        The file.
    how : Reading
        The encoding, and what becomes of lines that cannot be read.
    columns : mapping, optional
        Names of the header for query, item, weight and time, where they are unusual; a wide log has other columns,
        which are passed over.
    commas : bool, optional
        Whether columns are separated by commas, if the name does not say so.
    """
    unknown = sorted(set(columns or {}) - set(COLUMN_ORDER))
    if unknown:
        raise InputError(f"`columns` must name query, item, weight or time. Got {unknown[0]!r}.")
    by_commas = without_packing(Path(path).name).endswith(".csv") if commas is None else commas
    return LineInteractions(path, lambda line: _read_click_head(line, by_commas, columns or {}), how=how)


def _read_click_head(line: Line, commas: bool, columns: Mapping[str, str]) -> InteractionFormat:
    first = _split(line, commas)
    names = _named(first, columns)
    missing = next((f"{kind} ({name!r})" for kind, name in columns.items() if kind not in names), None)
    if missing is not None:
        raise line.error(f"the header has no column for the {missing}. Got {first[:12]}.", "Check the names.")
    if {"query", "item"} <= set(names):
        _check_titles(line, first, columns)
        return _lines(line, names, commas, width=len(first), header=True)
    if any(_is_title(field, columns) for field in first[:2]) or not 2 <= len(first) <= 4:
        raise line.error(
            f"expected a header with query and item, or 2 to 4 columns: query, item, weight, time. Got {len(first)}.",
            "Separate columns by tabs, or by commas in a .csv file.",
        )
    return _lines(line, {name: at for at, name in enumerate(COLUMN_ORDER[: len(first)])}, commas, width=len(first))


def _named(first: list[str], columns: Mapping[str, str]) -> dict[str, int]:
    names: dict[str, int] = {}
    for at, field in enumerate(first):
        kind = _name(field, columns)
        if kind is not None:
            names.setdefault(kind, at)
    return names


def _name(field: str, columns: Mapping[str, str]) -> str | None:
    word = field.strip().lower()
    for kind, words in COLUMN_NAMES.items():
        if word == columns[kind].lower() if kind in columns else word in words:
            return kind
    return None


def _check_titles(line: Line, first: list[str], columns: Mapping[str, str]) -> None:
    """Raise where two columns of a header could be the same thing."""
    seen: dict[str, str] = {}
    for field in first:
        kind = _name(field, columns)
        if kind is not None and kind in seen:
            problem = f"two columns could be the {kind}: {seen[kind]!r} and {field!r}."
            raise line.error(problem, "Say which by `click_columns`, or take one out.")
        if kind is not None:
            seen[kind] = field


def _is_title(field: str, columns: Mapping[str, str]) -> bool:
    """Whether a field is plainly the title of a column; people do search for a letter such as q."""
    return len(field.strip()) > 1 and _name(field, columns) is not None


def _lines(
    line: Line, names: Mapping[str, int], commas: bool, *, width: int, header: bool = False
) -> InteractionFormat:
    if width > MAX_COLUMNS:
        raise line.error(f"expected at most {MAX_COLUMNS} columns. Got {width}.", "Leave some out.")

    def parse(line: Line) -> Entry:
        fields = _split(line, commas)
        if len(fields) != width:
            raise line.error(f"expected {width} columns, as above. Got {len(fields)}.", "Repair the line.")
        row = {name: fields[at] for name, at in names.items()}
        for name in ("query", "item", "time"):
            if name in row and not row[name].strip():
                raise line.error(f"the {name} is empty.", "Repair the line.")
        weight = weight_of(row.get("weight", "1"), line)
        return row["query"], row["item"], weight, time_of(row["time"], line) if "time" in row else math.nan

    at = {name: names.get(name, -1) for name in COLUMN_ORDER}
    form = EntryFormat(
        separator="," if commas else "\t", width=width,
        query=at["query"], item=at["item"], value=at["weight"], time=at["time"],
    )  # fmt: skip
    return InteractionFormat(parse, form, header)


def _split(line: Line, commas: bool) -> list[str]:
    if not commas:
        return line.text.split("\t")
    try:
        return next(csv.reader([line.text], strict=True))
    except csv.Error as error:
        raise line.error(f"this is not CSV ({error}).", "Close every quote on its own line.") from None


def weight_of(text: str, line: Line) -> float:
    """Return a click's weight: a number, 0 or more, that a float32 can hold."""
    try:
        weight = float(text)
    except ValueError:
        weight = math.nan
    if not 0 <= weight < 3e38:
        raise line.error(f"the weight must be a number, 0 or more. Got {text.strip()!r}.", "Repair the line.")
    return weight


def time_of(text: str, line: Line) -> float:
    """Return a click's time in seconds since 1970."""
    moment = timestamp_of(text)
    if moment is None or not math.isfinite(moment):
        forms = "2024-05-01, 2024-05-01 12:30:00, or seconds since 1970"
        raise line.error(f"the time must be like {forms}. Got {text.strip()!r:.60}.", "Repair the line.")
    return moment


HEADER_WORDS = {"query-id", "query_id", "qid", "query", "topic"}
BEIR_FORMAT = EntryFormat(separator="\t", width=3, query=0, item=1, value=2, grades=True)
TREC_FORMAT = EntryFormat(separator=" ", width=4, query=0, item=2, value=3, grades=True)


def read_qrels(path: str | Path, *, how: Reading = STRICT_READING) -> LineInteractions:
    """Return the entries of a judgment file, told by its first line.

    Three columns with tabs are BEIR's `query item grade`, with or without a header. Four columns, by tabs or
    spaces, are TREC's `query iteration item grade`.
    """
    return LineInteractions(path, _read_head, how=how)


def _read_head(line: Line) -> InteractionFormat:
    tabs = line.text.split("\t")
    if len(tabs) == 3:
        return InteractionFormat(_parse_beir, BEIR_FORMAT, tabs[0].strip().lower() in HEADER_WORDS)
    if len(line.text.split()) == 4:
        return InteractionFormat(_parse_trec, TREC_FORMAT)
    raise line.error(
        f"expected 3 columns (query, item, grade) with tabs, or TREC's 4 columns. Got {len(tabs)} with tabs.",
        "Check that this is a judgment file.",
    )


def _parse_beir(line: Line) -> tuple[str, str, float]:
    columns = line.text.split("\t")
    if len(columns) != 3:
        raise line.error(f"expected 3 columns with tabs, as above. Got {len(columns)}.", "Repair the line.")
    query, item, grade = columns
    if not query or not item:
        raise line.error("the query or the item is empty.", "Repair the line.")
    return query, item, grade_of(grade, line)


def _parse_trec(line: Line) -> tuple[str, str, float]:
    columns = line.text.split()
    if len(columns) != 4:
        raise line.error(f"expected 4 columns, as above. Got {len(columns)}.", "Repair the line.")
    return columns[0], columns[2], grade_of(columns[3], line)


def grade_of(text: str, line: Line) -> float:
    """Return a grade: a whole number (`2` or `2.0`); negative ones mean not relevant, as TREC has them."""
    try:
        grade = float(text)
    except ValueError:
        grade = 0.5
    if not grade.is_integer() or abs(grade) > 2**31 - 1:
        raise line.error(f"the grade must be a whole number. Got {text.strip()!r}.", "Repair the line.")
    return grade


def write_entries(dataset: Dataset, matrix: csr_array, path: Path, value: str) -> None:
    """Write the stored entries of a matrix of the dataset: query-id, corpus-id, and the column `value`."""
    with writing(path) as out:
        out.write(f"query-id\tcorpus-id\t{value}\n".encode())
        for query, item, weight in entries_of(dataset, matrix):
            out.write(f"{_column(query)}\t{_column(item)}\t{weight:.9g}\n".encode())


def write_clicks(dataset: Dataset, path: Path) -> None:
    """Write the clicks: summed, or one by one with their times (seconds since 1970) where the log has times."""
    if dataset.events is None:
        write_entries(dataset, dataset.clicks, path, "weight")
        return
    with writing(path) as out:
        out.write(b"query-id\tcorpus-id\tweight\ttime\n")
        for query, item, weight, time in events_of(dataset.events, dataset):
            out.write(f"{_column(query)}\t{_column(item)}\t{weight:.9g}\t{time:.15g}\n".encode())


def events_of(events: ClickEvents, dataset: Dataset) -> Iterator[tuple[str, str, float, float]]:
    """Yield query id, item id, weight and time of every click."""
    queries, items = dataset.query_ids.take(events.queries), dataset.item_ids.take(events.items)
    yield from zip(queries, items, events.weights.tolist(), events.times.tolist(), strict=True)


def entries_of(dataset: Dataset, matrix: csr_array) -> Iterator[tuple[str, str, float]]:
    """Yield query id, item id and value of every stored entry."""
    for row in np.flatnonzero(np.diff(matrix.indptr)).tolist():
        at = slice(matrix.indptr[row], matrix.indptr[row + 1])
        query = dataset.query_ids[row]
        for item, weight in zip(dataset.item_ids.take(matrix.indices[at]), matrix.data[at].tolist(), strict=True):
            yield query, item, weight


def splits_to_write(dataset: Dataset) -> list[str]:
    """Return the splits that can be files: empty ones are left out and counted, odd names raise."""
    for split in dataset.judged_splits:
        if not split or split.startswith(".") or "/" in split or "\0" in split:
            raise DataError(f"a split's name must be good as a file's name. Got {split!r}.", remedy="Rename the split.")
    full = [split for split in dataset.judged_splits if dataset.qrels(split).nnz]
    tally = WarningLog()
    tally.add(len(dataset.judged_splits) - len(full), "splits without judgments left out")
    tally.emit()
    return full


def _column(id: str) -> str:
    if "\t" in id or "\n" in id or "\r" in id:
        raise DataError(f"an id must have no tab or line end in a table. Got {id!r}.", remedy="Write Parquet.")
    return id
