"""Datasets of the ir_datasets package, by their id (extra `datasets`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic

from vizsla.core.catalog import NO_METADATA, Item, Query
from vizsla.core.validation import WarningLog
from vizsla.errors import InputError, MissingExtraError
from vizsla.io.builder import DatasetParts
from vizsla.io.files import Line
from vizsla.io.interactions import Interactions
from vizsla.io.records import Record

SPLIT_NAMES = {"train", "dev", "valid", "validation", "test", "eval"}


def read_ir_dataset(name: str) -> DatasetParts:
    """Return the parts of a dataset; `beir/scifact/test` has the split "test".

    An id's last word is the split if it is a usual name of one; otherwise the split is "test". An id without
    judgments of its own, such as `beir/scifact`, has those of the ids one word longer.
    """
    dataset = _load(name)
    if not dataset.has_docs():
        raise InputError(f"`source` must be a dataset with documents. Got {name!r}, which has none.")
    judged = {name: dataset} if dataset.has_qrels() else _children(name) if dataset.has_queries() else {}
    return DatasetParts(
        _Source(name, dataset.docs_iter, _item),
        _Source(name, dataset.queries_iter, _query) if dataset.has_queries() else None,
        qrels={_split(key): _Qrels(key, found.qrels_iter) for key, found in judged.items()},
    )


def is_ir_dataset(name: str) -> bool:
    """Whether the installed ir_datasets knows this id."""
    try:
        _load(name)
    except (InputError, MissingExtraError):
        return False
    return True


def _load(name: str) -> Any:
    try:
        import ir_datasets
    except ImportError:
        raise MissingExtraError(f"Reading {name!r}", "datasets") from None
    try:
        return ir_datasets.load(name)
    except KeyError:
        raise InputError(f"`source` must be an id that ir_datasets knows. Got {name!r}.") from None


def _children(name: str) -> dict[str, Any]:
    import ir_datasets

    keys = [key for key in ir_datasets.registry if key.startswith(f"{name}/") and key.rpartition("/")[0] == name]
    found = {key: ir_datasets.load(key) for key in sorted(keys)}
    return {key: dataset for key, dataset in found.items() if dataset.has_qrels()}


def _split(name: str) -> str:
    last = name.rpartition("/")[2]
    return last if last in SPLIT_NAMES else "test"


def _item(doc: Any) -> Item:
    title, text = getattr(doc, "title", None), getattr(doc, "text", None)
    if not isinstance(text, str):
        title, text = "", doc.default_text()
    return Item(doc.doc_id, text, title if isinstance(title, str) else "", _rest(doc, {"doc_id", "title", "text"}))


def _query(query: Any) -> Query:
    text = getattr(query, "text", None)
    return Query(
        query.query_id, text if isinstance(text, str) else query.default_text(), _rest(query, {"query_id", "text"})
    )


def _rest(record: Any, used: set[str]) -> Mapping[str, Any]:
    """Keep the fields that are texts or numbers; structures stay with ir_datasets."""
    fields = {name: getattr(record, name) for name in record._fields if name not in used}
    return {name: value for name, value in fields.items() if isinstance(value, str | int | float)} or NO_METADATA


def _downloaded(name: str, read: Callable[[], Iterator[Any]]) -> Iterator[Any]:
    """Yield records, which are downloaded first where they are not on this machine; say so where that fails."""
    try:
        yield from read()
    except OSError as error:
        import ir_datasets

        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(
            f"{name} must be downloaded first, which failed: {reason:.120}. Without a network, copy what ir_datasets "
            f"downloaded elsewhere to {ir_datasets.util.home_path()}, or open a BEIR folder: corpus.jsonl, "
            "queries.jsonl and qrels/test.tsv."
        ) from error


class _Source(Generic[Record]):
    """Documents or queries."""

    def __init__(self, name: str, read: Callable[[], Iterator[Any]], make: Callable[[Any], Record]):
        self.name, self._read, self._make = f"ir_datasets:{name}", read, make

    def __iter__(self) -> Iterator[Record]:
        return map(self._make, _downloaded(self.name, self._read))

    def place(self, number: int) -> Line:
        return Line(self.name, number + 1)

    def pick(self, number: int) -> Record | None:
        return None

    def report(self, tally: WarningLog) -> None:
        pass


class _Qrels:
    """Judgments."""

    def __init__(self, name: str, read: Callable[[], Iterator[Any]]):
        self.name, self._read = f"ir_datasets:{name}", read

    def into(self, pairs: Interactions) -> None:
        for number, qrel in enumerate(_downloaded(self.name, self._read), 1):
            pairs.add(Line(self.name, number), qrel.query_id, qrel.doc_id, float(qrel.relevance))

    def report(self, tally: WarningLog) -> None:
        pass
