"""Tells a file's format by its name, or else by its first line."""

from __future__ import annotations

from pathlib import Path

from vizsla.io.line_file import LineFile

SUFFIXES = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".tsv": "tsv", ".parquet": "parquet"}


def sniff(path: Path) -> str | None:
    """Return "jsonl", "tsv", "parquet", "trec" (topics), or None."""
    kind = SUFFIXES.get(Path(path.name.removesuffix(".gz")).suffix.lower())
    if kind is not None:
        return kind
    first = next((line.text for line in LineFile(path) if line.text.strip()), "")
    if first.lstrip().startswith("<"):
        return "trec"
    if first.startswith("{"):
        return "jsonl"
    return "tsv" if "\t" in first else None
