"""Opens a dataset by what is there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from vizsla.dataset import Dataset
from vizsla.errors import InputError
from vizsla.io.beir import read_beir
from vizsla.io.clicks import read_clicks
from vizsla.io.fields import Fields
from vizsla.io.found import found
from vizsla.io.jsonl import read_items, read_queries
from vizsla.io.parts import Parts, assemble
from vizsla.io.qrels import read_qrels


def open_dataset(
    source: str | Path,
    *,
    queries: str | Path | None = None,
    clicks: str | Path | None = None,
    qrels: str | Path | Mapping[str, str | Path] | None = None,
    id_key: str | None = None,
    text_key: str | None = None,
    title_key: str | None = None,
    on_error: str = "raise",
    dangling: str = "warn",
) -> Dataset:
    """Open a folder or file, whose format is told by what is there."""
    skip = on_error == "warn"
    fields = Fields.named(id_key=id_key, text_key=text_key, title_key=title_key)
    parts = _parts(Path(source), fields, skip_errors=skip)
    if queries is not None:
        parts = replace(parts, queries=read_queries(queries, skip_errors=skip))
    if clicks is not None:
        parts = replace(parts, clicks=read_clicks(clicks, skip_errors=skip))
    if qrels is not None:
        by_split = qrels if isinstance(qrels, Mapping) else {"test": qrels}
        parts = replace(parts, qrels={s: read_qrels(p, skip_errors=skip) for s, p in by_split.items()})
    return assemble(parts, on_error=on_error, dangling=dangling)


def _parts(path: Path, fields: Fields, *, skip_errors: bool) -> Parts:
    if path.is_dir() and found(path, "corpus.jsonl"):
        return read_beir(path, fields=fields, skip_errors=skip_errors)
    if path.is_file():
        return Parts(read_items(path, fields=fields, skip_errors=skip_errors))
    raise InputError(f"`source` must be a BEIR folder or a JSONL file. Got {path}.")
