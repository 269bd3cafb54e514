"""Judgement files: BEIR's three columns, TREC's and MS MARCO's four."""

from __future__ import annotations

from pathlib import Path

from vizsla._native import EntryFormat
from vizsla.io.entries import EntryLines, LineEntries
from vizsla.io.line_file import Line
from vizsla.io.reading import STRICT, Reading

HEADER = {"query-id", "query_id", "qid", "query", "topic"}
BEIR = EntryFormat(separator="\t", width=3, query=0, item=1, value=2, grades=True)
TREC = EntryFormat(separator=" ", width=4, query=0, item=2, value=3, grades=True)


def read_qrels(path: str | Path, *, how: Reading = STRICT) -> LineEntries:
    """Return the entries of a judgement file, told by its first line.

    Three columns with tabs are BEIR's `query item grade`, with or without a header. Four columns, by tabs or
    spaces, are TREC's `query iteration item grade`.
    """
    return LineEntries(path, _read_head, how=how)


def _read_head(line: Line) -> EntryLines:
    tabs = line.text.split("\t")
    if len(tabs) == 3:
        return EntryLines(_parse_beir, BEIR, tabs[0].strip().lower() in HEADER)
    if len(line.text.split()) == 4:
        return EntryLines(_parse_trec, TREC)
    raise line.error(
        f"expected 3 columns (query, item, grade) with tabs, or TREC's 4 columns. Got {len(tabs)} with tabs.",
        "Check that this is a judgement file.",
    )


def _parse_beir(line: Line) -> tuple[str, str, float]:
    columns = line.text.split("\t")
    if len(columns) != 3:
        raise line.error(f"expected 3 columns with tabs, as above. Got {len(columns)}.", "Repair the line.")
    query, item, grade = columns
    if not query or not item:
        raise line.error("the query or the item is empty.", "Repair the line.")
    return query, item, grade_of(grade, line)


def _parse_trec(line: Line) -> tuple[str, str, float]:
    columns = line.text.split()
    if len(columns) != 4:
        raise line.error(f"expected 4 columns, as above. Got {len(columns)}.", "Repair the line.")
    return columns[0], columns[2], grade_of(columns[3], line)


def grade_of(text: str, line: Line) -> float:
    """Return a grade: a whole number (`2` or `2.0`); negative ones mean not relevant, as TREC has them."""
    try:
        grade = float(text)
    except ValueError:
        grade = 0.5
    if not grade.is_integer() or abs(grade) > 2**31 - 1:
        raise line.error(f"the grade must be a whole number. Got {text.strip()!r}.", "Repair the line.")
    return grade
