"""Read and write Parquet files (extra `parquet`)."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import accumulate, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic

from vizsla._internal.lazy import cached_property
from vizsla._internal.terminal import progress
from vizsla.core.catalog import Item, Query
from vizsla.core.validation import WarningLog
from vizsla.data.dataset import Dataset
from vizsla.errors import DataError, MissingExtraError
from vizsla.io.atomic import writing_folder
from vizsla.io.bad_lines import STRICT_READING, BadLines, Reading
from vizsla.io.builder import DatasetParts
from vizsla.io.fields import ITEM_FIELDS, QUERY_FIELDS, Fields, item_from, query_from
from vizsla.io.files import RECORD_SIZE_VARIABLE, Line, is_bomb, max_record_bytes
from vizsla.io.frames import InteractionColumns
from vizsla.io.interactions import Interactions, entries_of, events_of, splits_to_write
from vizsla.io.records import Record

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MAX_ROWS_PER_BATCH = 2048


def rows_of(file: Any, path: str | Path, *, columns: list[str] | None = None) -> Iterator[dict[str, Any]]:
    """Yield the rows of an open file, or these columns of them; damage, and what no type of Python holds, raises."""
    with readable(path):
        batches = file.iter_batches(batch_size=_rows_at_once(file), columns=columns)
    while True:
        with readable(path):
            batch = next(batches, None)
        if batch is None:
            return
        for some in _short(batch, path):
            with readable(path):
                rows = _plain_rows(some)
            yield from rows


def _short(batch: Any, path: str | Path) -> Iterator[Any]:
    """Yield a batch in pieces that a record's limit has room for.

    A value that is stored once, in a dictionary, and used in every row takes little until it is written out.
    """
    most = max_record_bytes()
    with readable(path):
        size = sum(_written_out(column) for column in batch.columns)
    if size <= most:
        yield batch
    elif batch.num_rows == 1:
        raise DataError(
            f"a row has more than {most >> 20} MB.",
            path=path,
            remedy=f"Split it, or allow longer ones with {RECORD_SIZE_VARIABLE}.",
        )
    else:
        half = batch.num_rows // 2
        yield from _short(batch.slice(0, half), path)
        yield from _short(batch.slice(half), path)


def _written_out(column: Any) -> int:
    """Return the bytes of a column whose dictionaries are written out, without doing so."""
    import pyarrow
    import pyarrow.compute

    kind = column.type
    if pyarrow.types.is_dictionary(kind):
        lengths: Any = pyarrow.compute.binary_length(column.dictionary)
        return int(pyarrow.compute.sum(lengths.cast("int64").take(column.indices)).as_py() or 0)
    if pyarrow.types.is_map(kind):
        return _written_out(column.keys) + _written_out(column.items)
    if pyarrow.types.is_nested(kind) and not pyarrow.types.is_union(kind):
        inner = column.flatten()
        return sum(map(_written_out, inner)) if isinstance(inner, list) else _written_out(inner)
    return int(column.nbytes)


def _plain_rows(batch: Any) -> list[dict[str, Any]]:
    import pyarrow

    columns = [
        column.dictionary_decode() if pyarrow.types.is_dictionary(column.type) else column for column in batch.columns
    ]
    values = [column.to_pylist() for column in columns]
    names = batch.schema.names
    return [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)] if names else batch.to_pylist()


def _rows_at_once(file: Any) -> int:
    """Return how many rows are decoded together: fewer where values have a fixed length that is large."""
    widths = sum(max(0, file.schema.column(at).length) for at in range(len(file.schema)))
    return int(max(1, min(MAX_ROWS_PER_BATCH, max_record_bytes() // max(1, widths))))


@contextmanager
def readable(path: str | Path) -> Iterator[None]:
    """Turn what pyarrow raises while it reads into a DataError."""
    import pyarrow

    try:
        yield
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError) as error:
        problem = f"a value of this Parquet file cannot be read ({error})."
        raise DataError(problem, path=path, remedy="Write the column as text or numbers.") from None


class ParquetSource(Generic[Record]):
    """Items or queries, one a row.

    Parameters
    ----------
    path : path
        The file.
    make : function of a row and its place
        Returns the row's record or raises a DataError.
    how : Reading
        What to do with unreadable rows.
    """

    def __init__(
        self, path: str | Path, make: Callable[[dict[str, Any], Line], Record], *, how: Reading = STRICT_READING
    ):
        self.name, self._path, self._make = str(path), Path(path), make
        self._refusals = BadLines(how, str(path), what="rows")
        self._group: tuple[int, Any] = (-1, None)

    def __iter__(self) -> Iterator[Record]:
        return (record for _, record in self._walk())

    def place(self, number: int) -> Line:
        """Read again up to the record: only an error message pays for it."""
        return next(line for at, (line, _) in enumerate(self._walk()) if at == number)

    def pick(self, number: int) -> Record | None:
        """Read the row group that holds the record; the last one read stays in memory."""
        if self._refusals.count:
            return None
        group = bisect_right(self._starts, number) - 1
        if self._group[0] != group:
            with readable(self._path):
                self._group = (group, self._file.read_row_group(group))
        with readable(self._path):
            found = self._group[1].slice(number - self._starts[group], 1).to_batches()[0]
        row = _plain_rows(next(_short(found, self._path)))[0]
        return self._make(row, Line(self._path, number + 1))

    def report(self, tally: WarningLog) -> None:
        """Count unreadable rows."""
        self._refusals.report(tally)

    @property
    def _file(self) -> Any:
        return open_parquet(self._path)

    @cached_property
    def _starts(self) -> list[int]:
        metadata = self._file.metadata
        return [0, *accumulate(metadata.row_group(group).num_rows for group in range(metadata.num_row_groups))]

    def _walk(self) -> Iterator[tuple[Line, Record]]:
        self._refusals.begin()
        for number, row in enumerate(rows_of(self._file, self._path), 1):
            line = Line(self._path, number)
            try:
                record = self._make(row, line)
            except DataError as error:
                self._refusals.add(error, json.dumps(row, ensure_ascii=False, default=str))
            else:
                yield line, record


def read_parquet(folder: str | Path, *, fields: Fields = ITEM_FIELDS, how: Reading = STRICT_READING) -> DatasetParts:
    """Return the parts of a folder of Parquet files."""
    folder = Path(folder)
    queries, clicks = folder / "queries.parquet", folder / "clicks.parquet"
    return DatasetParts(
        read_items(folder / "corpus.parquet", fields=fields, how=how),
        read_queries(queries, how=how) if queries.is_file() else None,
        ParquetInteractions(clicks, how=how) if clicks.is_file() else None,
        {path.stem: ParquetInteractions(path, grades=True, how=how) for path in sorted(folder.glob("qrels/*.parquet"))},
    )


def read_items(path: str | Path, *, fields: Fields = ITEM_FIELDS, how: Reading = STRICT_READING) -> ParquetSource[Item]:
    """Return the items of a Parquet file."""
    return ParquetSource(path, lambda record, line: item_from(record, line, fields), how=how)


def read_queries(path: str | Path, *, how: Reading = STRICT_READING) -> ParquetSource[Query]:
    """Return the queries of a Parquet file."""
    return ParquetSource(path, lambda record, line: query_from(record, line, QUERY_FIELDS), how=how)


class ParquetInteractions:
    """Clicks, or with `grades` judgments, of a Parquet file; columns are known by their names."""

    def __init__(
        self,
        path: str | Path,
        *,
        grades: bool = False,
        how: Reading = STRICT_READING,
        columns: Mapping[str, str] | None = None,
    ):
        self.name = str(path)
        self._path, self._refusals = Path(path), BadLines(how, str(path), what="rows")
        self._columns = InteractionColumns.of(open_parquet(self._path).schema_arrow.names, path, columns, grades=grades)

    def into(self, pairs: Interactions) -> None:
        """Add all rows."""
        self._refusals.begin()
        rows = rows_of(open_parquet(self._path), self._path, columns=self._columns.names)
        for number, row in enumerate(rows, 1):
            line = Line(self._path, number)
            try:
                entry = self._columns.entry(row, line)
            except DataError as error:
                self._refusals.add(error, json.dumps(row, ensure_ascii=False, default=str))
            else:
                pairs.add(line, *entry)

    def report(self, tally: WarningLog) -> None:
        """Count what was left out."""
        self._refusals.report(tally)


def open_parquet(path: Path) -> Any:
    """Return the opened Parquet file."""
    try:
        import pyarrow
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise MissingExtraError(f"Reading {path}", "parquet") from None
    try:
        file = ParquetFile(path)
        dictionaries = _dictionaries(file, path.stat().st_size)
        return ParquetFile(path, read_dictionary=dictionaries) if dictionaries else file
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError) as error:
        raise DataError(f"this is no readable Parquet file ({error}).", path=path, remedy="Check the path.") from None


def _dictionaries(file: Any, size: int) -> list[str]:
    """Return the columns of texts that have dictionaries; raise ValueError for a decompression bomb.

    A row group's pages say how long they are unpacked. Lists are counted by their values: equal ones take no room.
    """
    metadata, schema, found = file.metadata, file.schema, set[str]()
    for number in range(metadata.num_row_groups):
        group, stored, unpacked = metadata.row_group(number), 0, 0
        for at in range(group.num_columns):
            column, repeated = group.column(at), schema.column(at).max_repetition_level > 0
            stored += max(0, column.total_compressed_size)
            unpacked += max(column.total_uncompressed_size, 8 * column.num_values if repeated else 0)
            if column.has_dictionary_page and column.physical_type == "BYTE_ARRAY":
                found.add(column.path_in_schema)
        if is_bomb(min(stored, size), unpacked):
            raise ValueError(f"a row group of {stored:,} bytes unpacks to {unpacked:,}: write smaller row groups")
    return sorted(found)


ROWS_PER_TABLE = 4096


def write_parquet(dataset: Dataset, folder: str | Path, *, overwrite: bool = False) -> None:
    """Write corpus, queries, clicks and qrels/SPLIT; an item's metadata become columns.

    The columns are those of the first 4096 records; a later record with other metadata raises.
    """
    with writing_folder(folder, overwrite=overwrite) as out:
        items = ({"_id": item.id, "title": item.title, "text": item.text, **item.metadata} for item in dataset.items)
        _write(progress(items, total=len(dataset.items), what="items"), out / "corpus.parquet")
        if len(dataset.queries):
            queries = ({"_id": query.id, "text": query.text, **query.metadata} for query in dataset.queries)
            _write(queries, out / "queries.parquet")
        if dataset.has_click_log:
            _write(_clicks(dataset), out / "clicks.parquet")
        (out / "qrels").mkdir()
        for split in splits_to_write(dataset):
            _write(_entries(dataset, dataset.qrels(split), "score"), out / "qrels" / f"{split}.parquet")


def _clicks(dataset: Dataset) -> Iterator[dict[str, Any]]:
    if dataset.events is None:
        return _entries(dataset, dataset.clicks, "weight")
    names = ("query-id", "corpus-id", "weight", "time")
    return (dict(zip(names, event, strict=True)) for event in events_of(dataset.events, dataset))


def _entries(dataset: Dataset, matrix: csr_array, value: str) -> Iterator[dict[str, Any]]:
    return (
        {"query-id": query, "corpus-id": item, value: weight} for query, item, weight in entries_of(dataset, matrix)
    )


def _write(rows: Iterable[dict[str, Any]], path: Path) -> None:
    try:
        import pyarrow
        from pyarrow.parquet import ParquetWriter
    except ImportError:
        raise MissingExtraError("Writing Parquet", "parquet") from None
    rows = iter(rows)
    first = list(islice(rows, ROWS_PER_TABLE))
    try:
        table = pyarrow.Table.from_pylist(first, schema=_schema(first))
        with ParquetWriter(path, table.schema) as writer:
            while table.num_rows:
                writer.write_table(table)
                table = _table(list(islice(rows, ROWS_PER_TABLE)), table.schema)
    except pyarrow.ArrowException as error:
        raise DataError(f"the metadata do not fit columns ({error}).", path=path.name, remedy="Write BEIR.") from None


def _schema(rows: list[dict[str, Any]]) -> Any:
    """Unite the fields of all rows: Arrow looks at the first row's names only."""
    import pyarrow

    names = dict.fromkeys(name for row in rows for name in row)
    fields = [(name, pyarrow.infer_type([row.get(name) for row in rows])) for name in names]
    return pyarrow.schema(fields)


def _table(rows: list[dict[str, Any]], schema: Any) -> Any:
    import pyarrow

    known = set(schema.names)
    for row in rows:
        if not row.keys() <= known:
            new = sorted(row.keys() - known)
            raise DataError(f"{row.get('_id')!r} has metadata that earlier items lack: {new}.", remedy="Write BEIR.")
    return pyarrow.Table.from_pylist(rows, schema=schema)
