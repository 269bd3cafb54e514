"""JSONL: one JSON object a line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vizsla.dataset import Dataset
from vizsla.errors import DataError
from vizsla.io.atomic import writing
from vizsla.io.fields import ITEM_FIELDS, QUERY_FIELDS, Fields, item_from, query_from
from vizsla.io.line_file import Line, LineFile
from vizsla.io.line_source import LineSource
from vizsla.io.reading import STRICT, Reading
from vizsla.item import Item
from vizsla.progress import progress
from vizsla.query import Query


def read_items(path: str | Path, *, fields: Fields = ITEM_FIELDS, how: Reading = STRICT) -> LineSource[Item]:
    """Return the items of a JSONL file, plain or gzipped."""
    return LineSource(
        LineFile(path, encoding=how.encoding), lambda line: item_from(_object(line), line, fields), how=how
    )


def read_queries(path: str | Path, *, fields: Fields = QUERY_FIELDS, how: Reading = STRICT) -> LineSource[Query]:
    """Return the queries of a JSONL file, plain or gzipped."""
    return LineSource(
        LineFile(path, encoding=how.encoding), lambda line: query_from(_object(line), line, fields), how=how
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


def _object(line: Line) -> dict[str, Any]:
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
