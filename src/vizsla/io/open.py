"""Opens a dataset by what is there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from vizsla.checked import checked
from vizsla.dataset import Dataset
from vizsla.errors import InputError
from vizsla.io import jsonl, msmarco, parquet
from vizsla.io.beir import read_beir
from vizsla.io.clicks import read_clicks
from vizsla.io.entries import Entries
from vizsla.io.fields import Fields
from vizsla.io.found import found
from vizsla.io.ir_dataset import is_ir_dataset, read_ir_dataset
from vizsla.io.parts import Parts, assemble
from vizsla.io.pecos import read_pecos
from vizsla.io.qrels import read_qrels
from vizsla.io.sniff import sniff
from vizsla.io.source import Source
from vizsla.io.trec_topics import read_topics
from vizsla.item import Item
from vizsla.query import Query

PREFIX = "ir_datasets:"


@checked
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
    """Open a dataset; its format is told by what is there.

    Parameters
    ----------
    source : path or str
        A folder (BEIR, MS MARCO, Parquet, PECOS), a file of items (JSONL, TSV, Parquet), or an id of ir_datasets
        such as `beir/scifact/test`, with `ir_datasets:` before it where a path of that name exists.
    queries : path, optional
        A file of queries (JSONL, TSV, Parquet, TREC topics) in place of those of the source.
    clicks : path, optional
        A click log (CSV, TSV, Parquet) in place of that of the source. Its query column holds query ids; in a
        dataset without queries it holds texts, and the distinct texts become the queries.
    qrels : path or mapping of split name to path, optional
        Judgements (BEIR's or TREC's columns, Parquet) in place of those of the source. One path is the split "test".
    id_key, text_key, title_key : str, optional
        Names of an item's fields in JSONL and Parquet where they are unusual.
    on_error : {"raise", "warn"}
        A record that cannot be read, or an id given before: raise, or leave it out and count it.
    dangling : {"warn", "raise"}
        A click or judgement of an unknown query or item: leave it out and count it, or raise.

    Returns
    -------
    Dataset
        Its `warnings` tell what was counted.
    """
    skip, folder = on_error == "warn", Path(source)
    if folder.is_dir() and any(folder.glob("Y*.npz")):
        if queries is not None or clicks is not None or qrels is not None:
            raise InputError("`queries`, `clicks` and `qrels` must be left out for a PECOS folder. Got at least one.")
        return read_pecos(folder)
    parts = _parts(source, Fields.named(id_key=id_key, text_key=text_key, title_key=title_key), skip_errors=skip)
    if queries is not None:
        parts = replace(parts, queries=read_queries(Path(queries), skip_errors=skip))
    if clicks is not None:
        parts = replace(parts, clicks=read_entries(Path(clicks), skip_errors=skip))
    if qrels is not None:
        by_split = qrels if isinstance(qrels, Mapping) else {"test": qrels}
        judged = {split: read_entries(Path(path), grades=True, skip_errors=skip) for split, path in by_split.items()}
        parts = replace(parts, qrels=judged)
    return assemble(parts, on_error=on_error, dangling=dangling)


def _parts(source: str | Path, fields: Fields, *, skip_errors: bool) -> Parts:
    path, name = Path(source), str(source)
    if name.startswith(PREFIX):
        return read_ir_dataset(name.removeprefix(PREFIX))
    if path.is_dir():
        return _folder(path, fields, skip_errors=skip_errors)
    if path.is_file():
        return Parts(_items(path, fields, skip_errors=skip_errors))
    if is_ir_dataset(name):
        return read_ir_dataset(name)
    raise InputError(f"`source` must be a folder, a file or an id of ir_datasets that exists. Got {name!r}.")


def _folder(folder: Path, fields: Fields, *, skip_errors: bool) -> Parts:
    if found(folder, "corpus.jsonl"):
        return read_beir(folder, fields=fields, skip_errors=skip_errors)
    if found(folder, "collection.tsv"):
        return msmarco.read_msmarco(folder, skip_errors=skip_errors)
    if (folder / "corpus.parquet").is_file():
        return parquet.read_parquet(folder, fields=fields, skip_errors=skip_errors)
    raise InputError(
        "`source` must be a folder with corpus.jsonl (BEIR), collection.tsv (MS MARCO), corpus.parquet or "
        f"Y.npz (PECOS). Got {folder}, which has none of them."
    )


def _items(path: Path, fields: Fields, *, skip_errors: bool) -> Source[Item]:
    kind = sniff(path)
    if kind == "jsonl":
        return jsonl.read_items(path, fields=fields, skip_errors=skip_errors)
    if kind == "tsv":
        return msmarco.read_items(path, skip_errors=skip_errors)
    if kind == "parquet":
        return parquet.read_items(path, fields=fields, skip_errors=skip_errors)
    raise InputError(f"`source` must be a file of items: JSONL, TSV or Parquet. Got {path}, which looks like none.")


def read_queries(path: Path, *, skip_errors: bool = False) -> Source[Query]:
    """Read a file of queries: JSONL, TSV, Parquet or TREC topics, by what it looks like."""
    kind = sniff(path)
    if kind == "jsonl":
        return jsonl.read_queries(path, skip_errors=skip_errors)
    if kind == "tsv":
        return msmarco.read_queries(path, skip_errors=skip_errors)
    if kind == "parquet":
        return parquet.read_queries(path, skip_errors=skip_errors)
    if kind == "trec":
        return read_topics(path)
    raise InputError(f"`queries` must be JSONL, TSV, Parquet or TREC topics. Got {path}, which looks like none.")


def read_entries(path: Path, *, grades: bool = False, skip_errors: bool = False) -> Entries:
    """Read clicks, or judgements with `grades`: text columns or Parquet."""
    if path.suffix == ".parquet":
        return parquet.ParquetEntries(path, grades=grades)
    return read_qrels(path, skip_errors=skip_errors) if grades else read_clicks(path, skip_errors=skip_errors)
