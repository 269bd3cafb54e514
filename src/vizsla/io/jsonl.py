"""JSON Lines files of items and queries, and BEIR's folders of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vizsla._internal.terminal import progress
from vizsla.core.catalog import Item, Query
from vizsla.data.dataset import Dataset
from vizsla.errors import DataError
from vizsla.io.atomic import writing, writing_folder
from vizsla.io.bad_lines import STRICT_READING, Reading
from vizsla.io.builder import DatasetParts
from vizsla.io.fields import ITEM_FIELDS, QUERY_FIELDS, Fields, item_from, query_from
from vizsla.io.files import Line, LineFile, found
from vizsla.io.interactions import read_clicks, read_qrels, splits_to_write, write_clicks, write_entries
from vizsla.io.records import LineSource


def read_items(path: str | Path, *, fields: Fields = ITEM_FIELDS, how: Reading = STRICT_READING) -> LineSource[Item]:
    """Return the items of a JSONL file, plain or gzipped."""
    return LineSource(
        LineFile(path, encoding=how.encoding), lambda line: item_from(json_object(line), line, fields), how=how
    )


def read_queries(
    path: str | Path, *, fields: Fields = QUERY_FIELDS, how: Reading = STRICT_READING
) -> LineSource[Query]:
    """Return the queries of a JSONL file, plain or gzipped."""
    return LineSource(
        LineFile(path, encoding=how.encoding), lambda line: query_from(json_object(line), line, fields), how=how
    )


def write_items(dataset: Dataset, path: str | Path, *, overwrite: bool = False) -> None:
    """Write the items as JSONL: `_id`, `title`, `text`, `metadata`."""
    with writing(path, overwrite=overwrite) as out:
        for item in progress(dataset.items, total=len(dataset.items), what="items"):
            out.write(_line({"_id": item.id, "title": item.title, "text": item.text}, item.metadata))


def write_queries(dataset: Dataset, path: str | Path, *, overwrite: bool = False) -> None:
    """Write the queries as JSONL: `_id`, `text`, `metadata`."""
    with writing(path, overwrite=overwrite) as out:
        for query in progress(dataset.queries, total=len(dataset.queries), what="queries"):
            out.write(_line({"_id": query.id, "text": query.text}, query.metadata))


def _line(record: dict[str, Any], metadata: Mapping[str, Any]) -> bytes:
    try:
        more = {"metadata": dict(metadata)} if metadata else {}
        return json.dumps({**record, **more}, ensure_ascii=False, allow_nan=False).encode() + b"\n"
    except (TypeError, ValueError) as error:
        raise DataError(
            f"the metadata of {record['_id']!r} cannot be JSON ({error}).", remedy="Use texts and numbers."
        ) from None


def json_object(line: Line) -> dict[str, Any]:
    """Return the object that a line holds; anything else raises DataError."""
    try:
        value = _decoded(line.text)
    except (ValueError, RecursionError) as error:
        raise line.error(f"this is not JSON ({error}).", "Write one JSON object a line.") from None
    if not isinstance(value, dict):
        raise line.error(f"expected a JSON object. Got {type(value).__name__}.", "Write one JSON object a line.")
    return value


def _decoded(text: str) -> Any:
    """Decode one value; white space around it, and what is no JSON, take the longer way."""
    try:
        value, end = _DECODER.raw_decode(text)
    except ValueError:
        end = -1
    return value if end == len(text) else _DECODER.decode(text)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not allowed")


# One decoder for all lines: json.loads would make one for each, which takes longer than the line itself.
_DECODER = json.JSONDecoder(parse_constant=_refuse)


def read_beir(folder: str | Path, *, fields: Fields = ITEM_FIELDS, how: Reading = STRICT_READING) -> DatasetParts:
    """Return the parts of a BEIR folder; `clicks.tsv`, if there, is a click log by query id."""
    folder = Path(folder)
    corpus, queries, clicks = (found(folder, name) for name in ("corpus.jsonl", "queries.jsonl", "clicks.tsv"))
    if corpus is None:
        raise DataError("there is no corpus.jsonl or corpus.jsonl.gz.", path=folder, remedy="Give a BEIR folder.")
    return DatasetParts(
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
