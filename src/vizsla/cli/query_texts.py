"""The queries of a file: one a line, or records whose ids are left aside."""

from __future__ import annotations

import argparse
from pathlib import Path

from vizsla.cli.options import read_lines
from vizsla.dataset_warning import Tally
from vizsla.io.fields import QUERY_FIELDS
from vizsla.io.line_file import LineFile
from vizsla.io.query_files import read_queries
from vizsla.io.reading import Reading
from vizsla.io.sniff import sniff


def read_query_texts(path: str, arguments: argparse.Namespace) -> list[str]:
    """Return the texts to ask for; JSONL, CSV and TSV with ids, Parquet and TREC topics are told from plain lines."""
    how = Reading(arguments.encoding or "utf-8", arguments.on_error or "raise")
    if path == "-" or not Path(path).is_file() or not _has_ids(Path(path), how.encoding):
        return read_lines(path)
    source, tally = read_queries(Path(path), how=how), Tally()
    texts = [query.text for query in source]
    source.report(tally)
    tally.emit()
    return texts


def _has_ids(path: Path, encoding: str) -> bool:
    kind = sniff(path, encoding=encoding)
    if kind in ("jsonl", "parquet"):
        return True
    first = next((line.text for line in LineFile(path, encoding=encoding) if line.text.strip()), "").lower()
    if kind == "csv":
        return any(name in first.replace('"', "").split(",") for name in QUERY_FIELDS.id)
    return "\t" in first if kind == "tsv" else kind == "trec" and first.startswith("<top")
