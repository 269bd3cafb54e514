"""One file of items, by its format."""

from __future__ import annotations

from pathlib import Path

from vizsla.errors import DataError, InputError
from vizsla.io import jsonl, msmarco, parquet
from vizsla.io.fields import Fields
from vizsla.io.line_file import LineFile
from vizsla.io.parts import Parts
from vizsla.io.reading import Reading
from vizsla.io.sniff import sniff
from vizsla.io.table_source import TableSource, item_maker

FORMATS = ("csv", "tsv", "jsonl", "parquet")


def item_parts(
    path: Path, fields: Fields, how: Reading, *, format: str | None = None, separator: str | None = None
) -> Parts:
    """Return the items of a file; for a table whose columns were told by their names, say so too."""
    kind = format or sniff(path, encoding=how.encoding)
    if kind == "jsonl":
        return Parts(jsonl.read_items(path, fields=fields, how=how))
    if kind == "parquet":
        return Parts(parquet.read_items(path, fields=fields, how=how))
    if kind == "csv" or (kind == "tsv" and (separator or fields.given or _is_headed(path, fields, how))):
        file = LineFile(path, encoding=how.encoding)
        table = TableSource(
            file, item_maker, fields=fields, how=how, separator=separator or ("\t" if kind == "tsv" else None)
        )
        return Parts(table, mapping=f"{file.name}: {table.head}")
    if kind == "tsv":
        return Parts(msmarco.read_items(path, how=how))
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
