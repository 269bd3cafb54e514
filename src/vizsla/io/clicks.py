"""Click logs: CSV or TSV with the columns query, item, weight and time."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from pathlib import Path

from vizsla._native import EntryFormat
from vizsla.errors import InputError
from vizsla.io.entries import Entry, EntryLines, LineEntries
from vizsla.io.line_file import Line
from vizsla.io.moments import moment_of
from vizsla.io.reading import STRICT, Reading
from vizsla.io.unpacking import without_packing

NAMES = {
    "query": {"query", "query-id", "query_id", "qid", "search", "search_term", "keywords", "q"},
    "item": {"item", "item-id", "item_id", "corpus-id", "doc_id", "docid", "sku", "product_id", "asin"},
    "weight": {"weight", "score", "count", "clicks"},
    "time": {"time", "timestamp", "date", "datetime", "ts", "day", "clicked_at"},
}
ORDER = ("query", "item", "weight", "time")
MOST = 64


def read_clicks(
    path: str | Path, *, how: Reading = STRICT, columns: Mapping[str, str] | None = None, commas: bool | None = None
) -> LineEntries:
    """Return the entries of a click log, one a line.

    `.csv` means commas, with quotes around a field that holds one; anything else means tabs. A header is known by
    its names; without one the columns are query, item, weight, time, of which the last one or two may be missing. A
    missing weight is 1.

    Parameters
    ----------
    path : path
        The file.
    how : Reading
        The encoding, and what becomes of lines that cannot be read.
    columns : mapping, optional
        Names of the header for query, item, weight and time, where they are unusual; a wide log has other columns,
        which are passed over.
    commas : bool, optional
        Whether columns are separated by commas, if the name does not say so.
    """
    unknown = sorted(set(columns or {}) - set(ORDER))
    if unknown:
        raise InputError(f"`columns` must name query, item, weight or time. Got {unknown[0]!r}.")
    by_commas = without_packing(Path(path).name).endswith(".csv") if commas is None else commas
    return LineEntries(path, lambda line: _read_head(line, by_commas, columns or {}), how=how)


def _read_head(line: Line, commas: bool, columns: Mapping[str, str]) -> EntryLines:
    first = _split(line, commas)
    names = _named(first, columns)
    missing = next((f"{kind} ({name!r})" for kind, name in columns.items() if kind not in names), None)
    if missing is not None:
        raise line.error(f"the header has no column for the {missing}. Got {first[:12]}.", "Check the names.")
    if {"query", "item"} <= set(names):
        _check_titles(line, first, columns)
        return _lines(line, names, commas, width=len(first), header=True)
    if any(_is_title(field, columns) for field in first[:2]) or not 2 <= len(first) <= 4:
        raise line.error(
            f"expected a header with query and item, or 2 to 4 columns: query, item, weight, time. Got {len(first)}.",
            "Separate columns by tabs, or by commas in a .csv file.",
        )
    return _lines(line, {name: at for at, name in enumerate(ORDER[: len(first)])}, commas, width=len(first))


def _named(first: list[str], columns: Mapping[str, str]) -> dict[str, int]:
    names: dict[str, int] = {}
    for at, field in enumerate(first):
        kind = _name(field, columns)
        if kind is not None:
            names.setdefault(kind, at)
    return names


def _name(field: str, columns: Mapping[str, str]) -> str | None:
    word = field.strip().lower()
    for kind, words in NAMES.items():
        if word == columns[kind].lower() if kind in columns else word in words:
            return kind
    return None


def _check_titles(line: Line, first: list[str], columns: Mapping[str, str]) -> None:
    """Raise where two columns of a header could be the same thing."""
    seen: dict[str, str] = {}
    for field in first:
        kind = _name(field, columns)
        if kind is not None and kind in seen:
            problem = f"two columns could be the {kind}: {seen[kind]!r} and {field!r}."
            raise line.error(problem, "Say which by `click_columns`, or take one out.")
        if kind is not None:
            seen[kind] = field


def _is_title(field: str, columns: Mapping[str, str]) -> bool:
    """Whether a field is plainly the title of a column; people do search for a letter such as q."""
    return len(field.strip()) > 1 and _name(field, columns) is not None


def _lines(line: Line, names: Mapping[str, int], commas: bool, *, width: int, header: bool = False) -> EntryLines:
    if width > MOST:
        raise line.error(f"expected at most {MOST} columns. Got {width}.", "Leave some out.")

    def parse(line: Line) -> Entry:
        fields = _split(line, commas)
        if len(fields) != width:
            raise line.error(f"expected {width} columns, as above. Got {len(fields)}.", "Repair the line.")
        row = {name: fields[at] for name, at in names.items()}
        for name in ("query", "item", "time"):
            if name in row and not row[name].strip():
                raise line.error(f"the {name} is empty.", "Repair the line.")
        weight = weight_of(row.get("weight", "1"), line)
        return row["query"], row["item"], weight, time_of(row["time"], line) if "time" in row else math.nan

    at = {name: names.get(name, -1) for name in ORDER}
    form = EntryFormat(
        separator="," if commas else "\t", width=width,
        query=at["query"], item=at["item"], value=at["weight"], time=at["time"],
    )  # fmt: skip
    return EntryLines(parse, form, header)


def _split(line: Line, commas: bool) -> list[str]:
    if not commas:
        return line.text.split("\t")
    try:
        return next(csv.reader([line.text], strict=True))
    except csv.Error as error:
        raise line.error(f"this is not CSV ({error}).", "Close every quote on its own line.") from None


def weight_of(text: str, line: Line) -> float:
    """Return a click's weight: a number, 0 or more, that a float32 can hold."""
    try:
        weight = float(text)
    except ValueError:
        weight = math.nan
    if not 0 <= weight < 3e38:
        raise line.error(f"the weight must be a number, 0 or more. Got {text.strip()!r}.", "Repair the line.")
    return weight


def time_of(text: str, line: Line) -> float:
    """Return a click's time in seconds since 1970."""
    moment = moment_of(text)
    if moment is None or not math.isfinite(moment):
        forms = "2024-05-01, 2024-05-01 12:30:00, or seconds since 1970"
        raise line.error(f"the time must be like {forms}. Got {text.strip()!r:.60}.", "Repair the line.")
    return moment
