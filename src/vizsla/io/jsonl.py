"""JSONL: one JSON object a line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from vizsla.io.fields import ITEM_FIELDS, QUERY_FIELDS, Fields, item_from, query_from
from vizsla.io.line_file import Line, LineFile
from vizsla.io.line_source import LineSource
from vizsla.item import Item
from vizsla.query import Query


def read_items(path: str | Path, *, fields: Fields = ITEM_FIELDS, skip_errors: bool = False) -> LineSource[Item]:
    """Return the items of a JSONL file, plain or gzipped."""
    return LineSource(LineFile(path), lambda line: item_from(_object(line), line, fields), skip_errors=skip_errors)


def read_queries(path: str | Path, *, fields: Fields = QUERY_FIELDS, skip_errors: bool = False) -> LineSource[Query]:
    """Return the queries of a JSONL file, plain or gzipped."""
    return LineSource(LineFile(path), lambda line: query_from(_object(line), line, fields), skip_errors=skip_errors)


def _object(line: Line) -> dict[str, Any]:
    try:
        value = json.loads(line.text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise line.error(f"this is not JSON ({error}).", "Write one JSON object a line.") from None
    if not isinstance(value, dict):
        raise line.error(f"expected a JSON object. Got {type(value).__name__}.", "Write one JSON object a line.")
    return value


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not allowed")
