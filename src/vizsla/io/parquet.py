"""Parquet: a file of items, or a folder with corpus, queries, clicks and qrels/SPLIT (extra `parquet`)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vizsla.dataset_warning import Tally
from vizsla.errors import DataError, MissingExtraError
from vizsla.io.entry_columns import EntryColumns
from vizsla.io.fields import ITEM_FIELDS, QUERY_FIELDS, Fields, item_from, query_from
from vizsla.io.line_file import Line
from vizsla.io.pairs import Pairs
from vizsla.io.parquet_rows import rows_of
from vizsla.io.parquet_source import ParquetSource
from vizsla.io.parts import Parts
from vizsla.io.reading import STRICT, Reading
from vizsla.io.refusals import Refusals
from vizsla.item import Item
from vizsla.query import Query


def read_parquet(folder: str | Path, *, fields: Fields = ITEM_FIELDS, how: Reading = STRICT) -> Parts:
    """Return the parts of a folder of Parquet files."""
    folder = Path(folder)
    queries, clicks = folder / "queries.parquet", folder / "clicks.parquet"
    return Parts(
        read_items(folder / "corpus.parquet", fields=fields, how=how),
        read_queries(queries, how=how) if queries.is_file() else None,
        ParquetEntries(clicks, how=how) if clicks.is_file() else None,
        {path.stem: ParquetEntries(path, grades=True, how=how) for path in sorted(folder.glob("qrels/*.parquet"))},
    )


def read_items(path: str | Path, *, fields: Fields = ITEM_FIELDS, how: Reading = STRICT) -> ParquetSource[Item]:
    """Return the items of a Parquet file."""
    return ParquetSource(path, lambda record, line: item_from(record, line, fields), how=how)


def read_queries(path: str | Path, *, how: Reading = STRICT) -> ParquetSource[Query]:
    """Return the queries of a Parquet file."""
    return ParquetSource(path, lambda record, line: query_from(record, line, QUERY_FIELDS), how=how)


class ParquetEntries:
    """Clicks, or with `grades` judgements, of a Parquet file; columns are known by their names."""

    def __init__(
        self, path: str | Path, *, grades: bool = False, how: Reading = STRICT, columns: Mapping[str, str] | None = None
    ):
        self.name = str(path)
        self._path, self._refusals = Path(path), Refusals(how, str(path), what="rows")
        self._columns = EntryColumns.of(open_parquet(self._path).schema_arrow.names, path, columns, grades=grades)

    def into(self, pairs: Pairs) -> None:
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

    def report(self, tally: Tally) -> None:
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
        return ParquetFile(path)
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(f"this is no readable Parquet file ({error}).", path=path, remedy="Check the path.") from None
