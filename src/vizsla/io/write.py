"""Writes a dataset in a format of choice."""

from __future__ import annotations

from pathlib import Path

from vizsla.core.validation import WarningLog
from vizsla.data.dataset import Dataset
from vizsla.errors import check_choice
from vizsla.io.atomic import writing_folder
from vizsla.io.interactions import splits_to_write
from vizsla.io.jsonl import write_beir, write_items
from vizsla.io.parquet import write_parquet
from vizsla.io.trec import write_qrels

FORMATS = ("beir", "parquet", "jsonl", "trec")


def write_dataset(dataset: Dataset, path: str | Path, *, format: str = "beir", overwrite: bool = False) -> None:
    """Write a dataset; the target is there whole or not at all.

    Parameters
    ----------
    dataset : Dataset
        The dataset.
    path : path
        A folder, or for "jsonl" a file. It must be new unless `overwrite`.
    format : {"beir", "parquet", "jsonl", "trec"}
        What is written. "beir" and "parquet" keep everything. "jsonl" is the items only, "trec" a folder with one
        `SPLIT.qrels` each; what they cannot keep is counted in a warning.
    overwrite : bool
        Replace what is there.
    """
    check_choice("format", format, FORMATS)
    if format == "beir":
        write_beir(dataset, path, overwrite=overwrite)
    elif format == "parquet":
        write_parquet(dataset, path, overwrite=overwrite)
    elif format == "jsonl":
        write_items(dataset, path, overwrite=overwrite)
        _warn(len(dataset.queries), "queries and their clicks and judgments not written: a JSONL file has items only")
    else:
        with writing_folder(path, overwrite=overwrite) as folder:
            for split in splits_to_write(dataset):
                write_qrels(dataset, folder / f"{split}.qrels", split=split)
        _warn(len(dataset.items) + len(dataset.queries), "texts not written: TREC qrels have judgments only")


def _warn(count: int, what: str) -> None:
    tally = WarningLog()
    tally.add(count, what)
    tally.emit()
