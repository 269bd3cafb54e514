"""Files of queries, clicks and judgements, by what they look like."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from vizsla.errors import InputError
from vizsla.io import jsonl, msmarco, parquet
from vizsla.io.clicks import read_clicks
from vizsla.io.entries import Entries
from vizsla.io.fields import QUERY_FIELDS
from vizsla.io.line_file import LineFile
from vizsla.io.qrels import read_qrels
from vizsla.io.reading import STRICT, Reading
from vizsla.io.sniff import sniff
from vizsla.io.source import Source
from vizsla.io.table_source import TableSource, query_maker
from vizsla.io.trec_topics import read_topics
from vizsla.query import Query


def read_queries(path: Path, *, how: Reading = STRICT) -> Source[Query]:
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
    path: Path, *, grades: bool = False, how: Reading = STRICT, columns: Mapping[str, str] | None = None
) -> Entries:
    """Read clicks, or judgements with `grades`: text columns or Parquet."""
    if path.suffix == ".parquet":
        return parquet.ParquetEntries(path, grades=grades, how=how, columns=columns)
    return read_qrels(path, how=how) if grades else read_clicks(path, how=how, columns=columns)
