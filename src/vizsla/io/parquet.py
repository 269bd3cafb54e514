"""Parquet: a file of items, or a folder with corpus, queries, clicks and qrels/SPLIT (extra `parquet`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from vizsla.dataset_warning import Tally
from vizsla.errors import DataError, MissingExtraError
from vizsla.io.clicks import NAMES, weight_of
from vizsla.io.fields import ITEM_FIELDS, QUERY_FIELDS, Fields, item_from, query_from
from vizsla.io.line_file import Line
from vizsla.io.pairs import Pairs
from vizsla.io.parquet_source import ParquetSource
from vizsla.io.parts import Parts
from vizsla.io.qrels import grade_of
from vizsla.item import Item
from vizsla.query import Query


def read_parquet(folder: str | Path, *, fields: Fields = ITEM_FIELDS, skip_errors: bool = False) -> Parts:
    """Return the parts of a folder of Parquet files."""
    folder = Path(folder)
    queries, clicks = folder / "queries.parquet", folder / "clicks.parquet"
    return Parts(
        read_items(folder / "corpus.parquet", fields=fields, skip_errors=skip_errors),
        read_queries(queries, skip_errors=skip_errors) if queries.is_file() else None,
        ParquetEntries(clicks) if clicks.is_file() else None,
        {path.stem: ParquetEntries(path, grades=True) for path in sorted(folder.glob("qrels/*.parquet"))},
    )


def read_items(path: str | Path, *, fields: Fields = ITEM_FIELDS, skip_errors: bool = False) -> ParquetSource[Item]:
    """Return the items of a Parquet file."""
    return ParquetSource(path, lambda record, line: item_from(record, line, fields), skip_errors=skip_errors)


def read_queries(path: str | Path, *, skip_errors: bool = False) -> ParquetSource[Query]:
    """Return the queries of a Parquet file."""
    return ParquetSource(path, lambda record, line: query_from(record, line, QUERY_FIELDS), skip_errors=skip_errors)


class ParquetEntries:
    """Clicks, or with `grades` judgements, of a Parquet file; columns are known by their names."""

    def __init__(self, path: str | Path, *, grades: bool = False):
        self.name, self._value = str(path), grade_of if grades else weight_of
        self._path = Path(path)

    def into(self, pairs: Pairs) -> None:
        """Add all rows."""
        file = open_parquet(self._path)
        names = {kind: self._column(file.schema_arrow.names, kind) for kind in ("query", "item", "weight")}
        columns = [name for name in names.values() if name is not None]
        number = 0
        for batch in file.iter_batches(batch_size=8192, columns=columns):
            for row in batch.to_pylist():
                number += 1
                line = Line(self._path, number)
                pairs.add(line, *self._entry(row, names, line))

    def report(self, tally: Tally) -> None:
        """Nothing is ever skipped."""

    def _entry(self, row: dict[str, Any], names: dict[str, str | None], line: Line) -> tuple[str, str, float]:
        query, item = row[str(names["query"])], row[str(names["item"])]
        if query in (None, "") or item in (None, ""):
            raise line.error("the query or the item is empty.", "Repair the row.")
        value = 1 if names["weight"] is None else row[names["weight"]]
        return str(query), str(item), self._value(str(value), line)

    def _column(self, names: list[str], kind: str) -> str | None:
        found = next((name for name in names if name.lower() in NAMES[kind]), None)
        if found is None and kind != "weight":
            wanted = ", ".join(sorted(NAMES[kind]))
            raise DataError(f"a column must be called one of {wanted}. Got {names}.", path=self._path, remedy="Rename.")
        return found


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
