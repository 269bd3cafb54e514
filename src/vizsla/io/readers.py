"""Choose the reader for a file of items, queries or clicks by its format."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from vizsla.core.catalog import Query
from vizsla.core.validation import WarningLog
from vizsla.errors import DataError, InputError
from vizsla.io import jsonl, msmarco, parquet
from vizsla.io.bad_lines import STRICT_READING, Reading, rejected_file
from vizsla.io.builder import DatasetParts
from vizsla.io.fields import QUERY_FIELDS, Fields, sniff
from vizsla.io.files import LineFile
from vizsla.io.interactions import Interactions, InteractionSource, read_clicks, read_qrels
from vizsla.io.records import Source
from vizsla.io.tables import TableSource, item_maker, query_maker
from vizsla.io.trec import read_topics


def read_queries(path: Path, *, how: Reading = STRICT_READING) -> Source[Query]:
    """Read a file of queries: JSONL, CSV, TSV, Parquet or TREC topics, by what it looks like."""
    kind = sniff(path, encoding=how.encoding)
    if kind == "jsonl":
        return jsonl.read_queries(path, how=how)
    if kind == "csv":
        file = LineFile(path, encoding=how.encoding)
        return TableSource(file, query_maker, fields=QUERY_FIELDS, how=how)
    if kind == "tsv":
        return msmarco.read_queries(path, how=how)
    if kind == "parquet":
        return parquet.read_queries(path, how=how)
    if kind == "trec":
        return read_topics(path)
    raise InputError(f"`queries` must be JSONL, CSV, TSV, Parquet or TREC topics. Got {path}, which looks like none.")


def read_entries(
    path: Path, *, grades: bool = False, how: Reading = STRICT_READING, columns: Mapping[str, str] | None = None
) -> InteractionSource:
    """Read clicks, or judgments with `grades`: text columns or Parquet."""
    if path.suffix == ".parquet":
        return parquet.ParquetInteractions(path, grades=grades, how=how, columns=columns)
    return read_qrels(path, how=how) if grades else read_clicks(path, how=how, columns=columns)


Triple = tuple[str, str, float] | tuple[str, str, float, float]
"""Query text, item id, weight, and the time in seconds since 1970 where the log has times."""


def read_click_texts(
    path: str | Path,
    *,
    queries: str | Path | None = None,
    encoding: str = "utf-8",
    on_error: str = "raise",
    click_columns: Mapping[str, str] | None = None,
    rejected: str | Path | None = None,
) -> list[Triple]:
    """Read a click log; clicks of weight 0 or less are left out.

    Parameters
    ----------
    path : path
        CSV, TSV or Parquet: query, item, weight.
    queries : path, optional
        Texts of the queries, when the log names them by id: JSONL, TSV, Parquet or TREC topics.
    encoding, on_error, click_columns, rejected
        As in `open_dataset`.
    """
    with rejected_file(rejected, [path, queries]) as aside:
        how = Reading(encoding, on_error, aside)
        rows = _triples(read_entries(Path(path), how=how, columns=click_columns))
        if queries is None:
            return rows
        texts = {query.id: query.text for query in read_queries(Path(queries), how=how)}
    unknown = next((row[0] for row in rows if row[0] not in texts), None)
    if unknown is not None:
        raise InputError(f"Every query of the clicks must be in `queries`. Got {unknown!r}.")
    return [(texts[row[0]], *row[1:]) for row in rows]


def _triples(entries: InteractionSource) -> list[Triple]:
    pairs, tally = Interactions(None, None, dangling="warn"), WarningLog()
    entries.into(pairs)
    entries.report(tally)
    tally.emit()
    queries, items, events = list(pairs.queries), list(pairs.items), pairs.events
    columns = [column.tolist() for column in (pairs.columns[:3] if events is None else events)]
    clicks = zip(*columns, strict=True)
    return [(queries[row], items[column], *more) for row, column, *more in clicks if more[0] > 0]


FORMATS = ("csv", "tsv", "jsonl", "parquet")


def item_parts(
    path: Path, fields: Fields, how: Reading, *, format: str | None = None, separator: str | None = None
) -> DatasetParts:
    """Return the items of a file; for a table whose columns were told by their names, say so too."""
    kind = format or sniff(path, encoding=how.encoding)
    if kind == "jsonl":
        return DatasetParts(jsonl.read_items(path, fields=fields, how=how))
    if kind == "parquet":
        return DatasetParts(parquet.read_items(path, fields=fields, how=how))
    if kind == "csv" or (kind == "tsv" and (separator or fields.given or _is_headed(path, fields, how))):
        file = LineFile(path, encoding=how.encoding)
        table = TableSource(
            file, item_maker, fields=fields, how=how, separator=separator or ("\t" if kind == "tsv" else None)
        )
        return DatasetParts(table, mapping=f"{file.name}: {table.head}")
    if kind == "tsv":
        return DatasetParts(msmarco.read_items(path, how=how))
    raise InputError(
        f"`source` must be a file of items: CSV, JSONL, TSV or Parquet. Got {path}, which looks like none: pass "
        "`format`, or name it by what it is."
    )


def _is_headed(path: Path, fields: Fields, how: Reading) -> bool:
    """Return whether the first line of a table with tabs names its columns."""
    try:
        TableSource(LineFile(path, encoding=how.encoding), item_maker, fields=fields, separator="\t")
    except DataError:
        return False
    return True
