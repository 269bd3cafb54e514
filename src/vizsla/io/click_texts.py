"""A click log as (query text, item id, weight), without a dataset around it."""

from __future__ import annotations

from pathlib import Path

from vizsla.errors import InputError
from vizsla.io.pairs import Pairs
from vizsla.io.query_files import read_entries, read_queries

Triple = tuple[str, str, float]


def read_click_texts(path: str | Path, *, queries: str | Path | None = None) -> list[Triple]:
    """Read a click log; clicks of weight 0 or less are left out.

    Parameters
    ----------
    path : path
        CSV, TSV or Parquet: query, item, weight.
    queries : path, optional
        Texts of the queries, when the log names them by id: JSONL, TSV, Parquet or TREC topics.
    """
    rows = _triples(Path(path))
    if queries is None:
        return rows
    texts = {query.id: query.text for query in read_queries(Path(queries))}
    unknown = next((query for query, _, _ in rows if query not in texts), None)
    if unknown is not None:
        raise InputError(f"Every query of the clicks must be in `queries`. Got {unknown!r}.")
    return [(texts[query], item, weight) for query, item, weight in rows]


def _triples(path: Path) -> list[Triple]:
    pairs = Pairs(None, None, dangling="warn")
    read_entries(path).into(pairs)
    queries, items = list(pairs.queries), list(pairs.items)
    rows, columns, weights = (column.tolist() for column in pairs.columns[:3])
    clicks = zip(rows, columns, weights, strict=True)
    return [(queries[row], items[column], weight) for row, column, weight in clicks if weight > 0]
