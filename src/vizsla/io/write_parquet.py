"""Writes a dataset as a folder of Parquet files (extra `parquet`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vizsla.dataset import Dataset
from vizsla.errors import DataError, MissingExtraError
from vizsla.io.atomic import writing_folder
from vizsla.io.write_entries import entries_of, events_of, splits_to_write
from vizsla.progress import progress

if TYPE_CHECKING:
    from scipy.sparse import csr_array

ROWS = 4096


def write_parquet(dataset: Dataset, folder: str | Path, *, overwrite: bool = False) -> None:
    """Write corpus, queries, clicks and qrels/SPLIT; an item's metadata become columns.

    The columns are those of the first 4096 records; a later record with other metadata raises.
    """
    with writing_folder(folder, overwrite=overwrite) as out:
        items = ({"_id": item.id, "title": item.title, "text": item.text, **item.metadata} for item in dataset.items)
        _write(progress(items, total=len(dataset.items), what="items"), out / "corpus.parquet")
        if len(dataset.queries):
            queries = ({"_id": query.id, "text": query.text, **query.metadata} for query in dataset.queries)
            _write(queries, out / "queries.parquet")
        if dataset.has_click_log:
            _write(_clicks(dataset), out / "clicks.parquet")
        (out / "qrels").mkdir()
        for split in splits_to_write(dataset):
            _write(_entries(dataset, dataset.qrels(split), "score"), out / "qrels" / f"{split}.parquet")


def _clicks(dataset: Dataset) -> Iterator[dict[str, Any]]:
    if dataset.events is None:
        return _entries(dataset, dataset.clicks, "weight")
    names = ("query-id", "corpus-id", "weight", "time")
    return (dict(zip(names, event, strict=True)) for event in events_of(dataset.events, dataset))


def _entries(dataset: Dataset, matrix: csr_array, value: str) -> Iterator[dict[str, Any]]:
    return (
        {"query-id": query, "corpus-id": item, value: weight} for query, item, weight in entries_of(dataset, matrix)
    )


def _write(rows: Iterable[dict[str, Any]], path: Path) -> None:
    try:
        import pyarrow
        from pyarrow.parquet import ParquetWriter
    except ImportError:
        raise MissingExtraError("Writing Parquet", "parquet") from None
    rows = iter(rows)
    first = list(islice(rows, ROWS))
    try:
        table = pyarrow.Table.from_pylist(first, schema=_schema(first))
        with ParquetWriter(path, table.schema) as writer:
            while table.num_rows:
                writer.write_table(table)
                table = _table(list(islice(rows, ROWS)), table.schema)
    except pyarrow.ArrowException as error:
        raise DataError(f"the metadata do not fit columns ({error}).", path=path.name, remedy="Write BEIR.") from None


def _schema(rows: list[dict[str, Any]]) -> Any:
    """Unite the fields of all rows: Arrow looks at the first row's names only."""
    import pyarrow

    names = dict.fromkeys(name for row in rows for name in row)
    fields = [(name, pyarrow.infer_type([row.get(name) for row in rows])) for name in names]
    return pyarrow.schema(fields)


def _table(rows: list[dict[str, Any]], schema: Any) -> Any:
    import pyarrow

    known = set(schema.names)
    for row in rows:
        if not row.keys() <= known:
            new = sorted(row.keys() - known)
            raise DataError(f"{row.get('_id')!r} has metadata that earlier items lack: {new}.", remedy="Write BEIR.")
    return pyarrow.Table.from_pylist(rows, schema=schema)
