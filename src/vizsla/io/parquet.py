"""Parquet: a file of items, or a folder with corpus, queries, clicks and qrels/SPLIT (extra `parquet`)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import nan
from pathlib import Path
from typing import Any

from vizsla.dataset_warning import Tally
from vizsla.errors import DataError, MissingExtraError
from vizsla.io.clicks import NAMES, ORDER, time_of, weight_of
from vizsla.io.entries import Entry
from vizsla.io.fields import ITEM_FIELDS, QUERY_FIELDS, Fields, item_from, query_from
from vizsla.io.line_file import Line
from vizsla.io.pairs import Pairs
from vizsla.io.parquet_rows import rows_of
from vizsla.io.parquet_source import ParquetSource
from vizsla.io.parts import Parts
from vizsla.io.qrels import grade_of
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
        self.name, self._value = str(path), grade_of if grades else weight_of
        self._path, self._refusals = Path(path), Refusals(how, str(path), what="rows")
        kinds = ("query", "item", "weight") if grades else ORDER
        names = open_parquet(self._path).schema_arrow.names
        self._names = {kind: self._column(names, kind, (columns or {}).get(kind)) for kind in kinds}

    def into(self, pairs: Pairs) -> None:
        """Add all rows."""
        self._refusals.begin()
        columns = [name for name in self._names.values() if name is not None]
        for number, row in enumerate(rows_of(open_parquet(self._path), self._path, columns=columns), 1):
            line = Line(self._path, number)
            try:
                entry = self._entry(row, line)
            except DataError as error:
                self._refusals.add(error, json.dumps(row, ensure_ascii=False, default=str))
            else:
                pairs.add(line, *entry)

    def report(self, tally: Tally) -> None:
        """Count what was left out."""
        self._refusals.report(tally)

    def _entry(self, row: dict[str, Any], line: Line) -> Entry:
        query, item = row[str(self._names["query"])], row[str(self._names["item"])]
        if query in (None, "") or item in (None, ""):
            raise line.error("the query or the item is empty.", "Repair the row.")
        weight, time = self._names["weight"], self._names.get("time")
        value = self._value(str(1 if weight is None else row[weight]), line)
        return str(query), str(item), value, nan if time is None else time_of(str(row[time]), line)

    def _column(self, names: list[str], kind: str, given: str | None) -> str | None:
        known = NAMES[kind] if given is None else {given.lower()}
        found = next((name for name in names if name.lower() in known), None)
        if found is None and (given is not None or kind in ("query", "item")):
            wanted = ", ".join(sorted(known))
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
