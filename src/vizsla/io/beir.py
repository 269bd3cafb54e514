"""BEIR folders: corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv; each may be gzipped."""

from __future__ import annotations

from pathlib import Path

from vizsla.dataset import Dataset
from vizsla.errors import DataError
from vizsla.io.atomic import writing_folder
from vizsla.io.clicks import read_clicks
from vizsla.io.fields import ITEM_FIELDS, Fields
from vizsla.io.found import found
from vizsla.io.jsonl import read_items, read_queries, write_items, write_queries
from vizsla.io.parts import Parts
from vizsla.io.qrels import read_qrels
from vizsla.io.reading import STRICT, Reading
from vizsla.io.write_entries import splits_to_write, write_clicks, write_entries


def read_beir(folder: str | Path, *, fields: Fields = ITEM_FIELDS, how: Reading = STRICT) -> Parts:
    """Return the parts of a BEIR folder; `clicks.tsv`, if there, is a click log by query id."""
    folder = Path(folder)
    corpus, queries, clicks = (found(folder, name) for name in ("corpus.jsonl", "queries.jsonl", "clicks.tsv"))
    if corpus is None:
        raise DataError("there is no corpus.jsonl or corpus.jsonl.gz.", path=folder, remedy="Give a BEIR folder.")
    return Parts(
        read_items(corpus, fields=fields, how=how),
        read_queries(queries, how=how) if queries else None,
        read_clicks(clicks, how=how) if clicks else None,
        {split: read_qrels(path, how=how) for split, path in _splits(folder).items()},
    )


def write_beir(dataset: Dataset, folder: str | Path, *, overwrite: bool = False) -> None:
    """Write a dataset as a BEIR folder; a click log becomes `clicks.tsv`, which other readers of BEIR pass over."""
    with writing_folder(folder, overwrite=overwrite) as out:
        write_items(dataset, out / "corpus.jsonl")
        if len(dataset.queries):
            write_queries(dataset, out / "queries.jsonl")
        if dataset.has_click_log:
            write_clicks(dataset, out / "clicks.tsv")
        for split in splits_to_write(dataset):
            write_entries(dataset, dataset.qrels(split), out / "qrels" / f"{split}.tsv", "score")


def _splits(folder: Path) -> dict[str, Path]:
    files = sorted([*folder.glob("qrels/*.tsv"), *folder.glob("qrels/*.tsv.gz")])
    splits = {path.name.removesuffix(".gz").removesuffix(".tsv"): path for path in files}
    if len(splits) < len(files):
        raise DataError("a split is there twice, plain and gzipped.", path=folder / "qrels", remedy="Keep one of them.")
    return splits
