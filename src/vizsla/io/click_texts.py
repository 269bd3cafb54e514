"""A click log as (query text, item id, weight), without a dataset around it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from vizsla.dataset_warning import Tally
from vizsla.errors import InputError
from vizsla.io.entries import Entries
from vizsla.io.pairs import Pairs
from vizsla.io.query_files import read_entries, read_queries
from vizsla.io.reading import Reading
from vizsla.io.rejected import putting_aside

Triple = tuple[str, str, float] | tuple[str, str, float, float]
"""Query text, item id, weight, and the time in seconds since 1970 where the log has times."""


def read_click_texts(
    path: str | Path,
    *,
    queries: str | Path | None = None,
    encoding: str = "utf-8",
    on_error: str = "raise",
    click_columns: Mapping[str, str] | None = None,
    rejected: str | Path | None = None,
) -> list[Triple]:
    """Read a click log; clicks of weight 0 or less are left out.

    Parameters
    ----------
    path : path
        CSV, TSV or Parquet: query, item, weight.
    queries : path, optional
        Texts of the queries, when the log names them by id: JSONL, TSV, Parquet or TREC topics.
    encoding, on_error, click_columns, rejected
        As in `open_dataset`.
    """
    with putting_aside(rejected, [path, queries]) as aside:
        how = Reading(encoding, on_error, aside)
        rows = _triples(read_entries(Path(path), how=how, columns=click_columns))
        if queries is None:
            return rows
        texts = {query.id: query.text for query in read_queries(Path(queries), how=how)}
    unknown = next((row[0] for row in rows if row[0] not in texts), None)
    if unknown is not None:
        raise InputError(f"Every query of the clicks must be in `queries`. Got {unknown!r}.")
    return [(texts[row[0]], *row[1:]) for row in rows]


def _triples(entries: Entries) -> list[Triple]:
    pairs, tally = Pairs(None, None, dangling="warn"), Tally()
    entries.into(pairs)
    entries.report(tally)
    tally.emit()
    queries, items, events = list(pairs.queries), list(pairs.items), pairs.events
    columns = [column.tolist() for column in (pairs.columns[:3] if events is None else events)]
    clicks = zip(*columns, strict=True)
    return [(queries[row], items[column], *more) for row, column, *more in clicks if more[0] > 0]
