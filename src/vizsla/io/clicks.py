"""Click logs: CSV or TSV with the columns query, item, weight and time."""

from __future__ import annotations

import csv
import math
from pathlib import Path

from vizsla._native import EntryFormat
from vizsla.io.entries import EntryLines, LineEntries
from vizsla.io.line_file import Line

NAMES = {
    "query": {"query", "query-id", "query_id", "qid"},
    "item": {"item", "item-id", "item_id", "corpus-id", "doc_id", "docid"},
    "weight": {"weight", "score", "count", "clicks"},
    "time": {"time", "timestamp"},
}
ORDER = ("query", "item", "weight", "time")


def read_clicks(path: str | Path, *, skip_errors: bool = False) -> LineEntries:
    """Return the entries of a click log, one a line.

    `.csv` means commas, with quotes around a field that holds one; anything else means tabs. A header is known by
    its names; without one the columns are query, item, weight, time, of which the last one or two may be missing. A
    missing weight is 1. The time must be there where its column is, and is not used.
    """
    commas = Path(path).name.removesuffix(".gz").endswith(".csv")
    return LineEntries(path, lambda line: _read_head(line, commas), skip_errors=skip_errors)


def _read_head(line: Line, commas: bool) -> EntryLines:
    first = _split(line, commas)
    names = [_name(field) for field in first]
    if not {"query", "item"} <= set(names):
        return _lines(line, list(ORDER[: len(first)]), commas, width=len(first), header=False)
    if None in names or len(set(names)) < len(names):
        raise line.error(f"the header must name query, item, weight and time once. Got {first}.", "Rename the columns.")
    return _lines(line, [str(name) for name in names], commas, width=len(first), header=True)


def _name(field: str) -> str | None:
    word = field.strip().lower()
    return next((name for name, words in NAMES.items() if word in words), None)


def _lines(line: Line, names: list[str], commas: bool, *, width: int, header: bool) -> EntryLines:
    if not 2 <= width <= 4:
        raise line.error(
            f"expected 2 to 4 columns: query, item, weight, time. Got {width}.",
            "Separate columns by tabs, or by commas in a .csv file.",
        )

    def parse(line: Line) -> tuple[str, str, float]:
        fields = _split(line, commas)
        if len(fields) != width:
            raise line.error(f"expected {width} columns, as above. Got {len(fields)}.", "Repair the line.")
        row = dict(zip(names, fields, strict=True))
        for name in ("query", "item", "time"):
            if name in row and not row[name].strip():
                raise line.error(f"the {name} is empty.", "Repair the line.")
        return row["query"], row["item"], weight_of(row.get("weight", "1"), line)

    return EntryLines(parse, _format(names, commas), header)


def _format(names: list[str], commas: bool) -> EntryFormat:
    query, item, value, time = (names.index(name) if name in names else -1 for name in ORDER)
    separator = "," if commas else "\t"
    return EntryFormat(separator=separator, width=len(names), query=query, item=item, value=value, time=time)


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
