"""MS MARCO's files: collection.tsv, queries*.tsv, qrels*.tsv, without headers."""

from __future__ import annotations

from pathlib import Path

from vizsla.core.catalog import Item, Query
from vizsla.errors import DataError
from vizsla.io.bad_lines import STRICT_READING, Reading
from vizsla.io.builder import DatasetParts
from vizsla.io.files import Line, LineFile, found
from vizsla.io.interactions import read_qrels
from vizsla.io.records import ChainSource, LineSource, Source


def read_msmarco(folder: str | Path, *, how: Reading = STRICT_READING) -> DatasetParts:
    """Return the parts of a folder of MS MARCO.

    All `queries*.tsv` are read, but for `queries.S.small.tsv` where `queries.S.tsv`, which includes it, is there too.
    A file `qrels.S.tsv` is the split S, and `qrels.tsv` the split "test".
    """
    folder = Path(folder)
    collection = found(folder, "collection.tsv")
    if collection is None:
        raise DataError("there is no collection.tsv or collection.tsv.gz.", path=folder, remedy="Give another folder.")
    judged = {name.removeprefix("qrels").strip(".") or "test": path for name, path in _tables(folder, "qrels").items()}
    return DatasetParts(
        read_items(collection, how=how),
        _queries(folder, how=how),
        qrels={split: read_qrels(path, how=how) for split, path in judged.items()},
    )


def read_items(path: str | Path, *, how: Reading = STRICT_READING) -> LineSource[Item]:
    """Return items from `id, text` (passages) or `id, url, title, text` (documents)."""
    return LineSource(LineFile(path, encoding=how.encoding), _item, how=how)


def read_queries(path: str | Path, *, how: Reading = STRICT_READING) -> LineSource[Query]:
    """Return queries from `id, text`."""
    return LineSource(LineFile(path, encoding=how.encoding), _query, how=how)


def _queries(folder: Path, *, how: Reading) -> Source[Query] | None:
    tables = _tables(folder, "queries")
    paths = [path for name, path in tables.items() if name.removesuffix(".small") == name or name[:-6] not in tables]
    sources = [read_queries(path, how=how) for path in paths]
    return ChainSource(sources) if len(sources) > 1 else sources[0] if sources else None


def _tables(folder: Path, kind: str) -> dict[str, Path]:
    names = {path.name.removesuffix(".gz") for path in folder.glob(f"{kind}*.tsv*")}
    paths = {name.removesuffix(".tsv"): found(folder, name) for name in sorted(names) if name.endswith(".tsv")}
    return {name: path for name, path in paths.items() if path is not None}


def _item(line: Line) -> Item:
    columns = line.text.split("\t")
    if len(columns) == 2:
        return Item(_id(columns[0], line), columns[1])
    if len(columns) == 4:
        return Item(_id(columns[0], line), columns[3], columns[2], {"url": columns[1]})
    raise line.error(f"expected 2 columns (id, text) or 4 (id, url, title, text). Got {len(columns)}.", "Repair it.")


def _query(line: Line) -> Query:
    columns = line.text.split("\t")
    if len(columns) != 2:
        raise line.error(f"expected 2 columns with a tab (id, text). Got {len(columns)}.", "Repair the line.")
    return Query(_id(columns[0], line), columns[1])


def _id(text: str, line: Line) -> str:
    if not text.strip():
        raise line.error("the id is empty.", "Repair the line.")
    return text
