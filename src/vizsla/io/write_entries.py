"""Writes clicks or judgements as a table with tabs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from vizsla.click_events import ClickEvents
from vizsla.dataset import Dataset
from vizsla.dataset_warning import Tally
from vizsla.errors import DataError
from vizsla.io.atomic import writing

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def write_entries(dataset: Dataset, matrix: csr_array, path: Path, value: str) -> None:
    """Write the stored entries of a matrix of the dataset: query-id, corpus-id, and the column `value`."""
    with writing(path) as out:
        out.write(f"query-id\tcorpus-id\t{value}\n".encode())
        for query, item, weight in entries_of(dataset, matrix):
            out.write(f"{_column(query)}\t{_column(item)}\t{weight:.9g}\n".encode())


def write_clicks(dataset: Dataset, path: Path) -> None:
    """Write the clicks: summed, or one by one with their times (seconds since 1970) where the log has times."""
    if dataset.events is None:
        write_entries(dataset, dataset.clicks, path, "weight")
        return
    with writing(path) as out:
        out.write(b"query-id\tcorpus-id\tweight\ttime\n")
        for query, item, weight, time in events_of(dataset.events, dataset):
            out.write(f"{_column(query)}\t{_column(item)}\t{weight:.9g}\t{time:.15g}\n".encode())


def events_of(events: ClickEvents, dataset: Dataset) -> Iterator[tuple[str, str, float, float]]:
    """Yield query id, item id, weight and time of every click."""
    queries, items = dataset.query_ids.take(events.queries), dataset.item_ids.take(events.items)
    yield from zip(queries, items, events.weights.tolist(), events.times.tolist(), strict=True)


def entries_of(dataset: Dataset, matrix: csr_array) -> Iterator[tuple[str, str, float]]:
    """Yield query id, item id and value of every stored entry."""
    for row in np.flatnonzero(np.diff(matrix.indptr)).tolist():
        at = slice(matrix.indptr[row], matrix.indptr[row + 1])
        query = dataset.query_ids[row]
        for item, weight in zip(dataset.item_ids.take(matrix.indices[at]), matrix.data[at].tolist(), strict=True):
            yield query, item, weight


def splits_to_write(dataset: Dataset) -> list[str]:
    """Return the splits that can be files: empty ones are left out and counted, odd names raise."""
    for split in dataset.judged_splits:
        if not split or split.startswith(".") or "/" in split or "\0" in split:
            raise DataError(f"a split's name must be good as a file's name. Got {split!r}.", remedy="Rename the split.")
    full = [split for split in dataset.judged_splits if dataset.qrels(split).nnz]
    tally = Tally()
    tally.add(len(dataset.judged_splits) - len(full), "splits without judgements left out")
    tally.emit()
    return full


def _column(id: str) -> str:
    if "\t" in id or "\n" in id or "\r" in id:
        raise DataError(f"an id must have no tab or line end in a table. Got {id!r}.", remedy="Write Parquet.")
    return id
