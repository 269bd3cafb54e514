"""Tells a file's format by its name, or else by its first line."""

from __future__ import annotations

from pathlib import Path

from vizsla.arguments import path_of
from vizsla.io.fields import ITEM_FIELDS
from vizsla.io.line_file import LineFile
from vizsla.io.unpacking import without_packing

PARQUET = b"PAR1"
SUFFIXES = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".csv": "csv", ".tsv": "tsv", ".parquet": "parquet",
}  # fmt: skip


def sniff(path: Path, *, encoding: str = "utf-8") -> str | None:
    """Return "jsonl", "csv", "tsv", "parquet", "trec" (topics), or None."""
    kind = SUFFIXES.get(Path(without_packing(path_of(path).name)).suffix.lower())
    if kind is not None:
        return kind
    with path.open("rb") as stream:
        if stream.read(4) == PARQUET:
            return "parquet"
    first = next((line.text for line in LineFile(path, encoding=encoding) if line.text.strip()), "")
    if first.lstrip().startswith("<"):
        return "trec"
    if first.startswith("{"):
        return "jsonl"
    if "\t" in first:
        return "tsv"
    return "csv" if _is_header(first) else None


def _is_header(first: str) -> bool:
    """Return whether a line names an id among other columns."""
    names = {name.strip(' "').lower() for separator in ",;|" for name in first.split(separator)}
    return len(names) > 1 and any(name in names for name in ITEM_FIELDS.id)
