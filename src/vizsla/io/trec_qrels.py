"""Writes TREC qrels: `query 0 item grade`. They are read by `vizsla.io.qrels`."""

from __future__ import annotations

from pathlib import Path

from vizsla.dataset import Dataset
from vizsla.io.atomic import writing
from vizsla.io.trec_run import word


def write_qrels(dataset: Dataset, path: str | Path, *, split: str = "test", overwrite: bool = False) -> None:
    """Write the judgements of a split; ids with white space raise."""
    with writing(path, overwrite=overwrite) as out:
        for query, grades in dataset.qrels_dict(split).items():
            out.writelines(f"{word(query)} 0 {word(item)} {grade}\n".encode() for item, grade in grades.items())
