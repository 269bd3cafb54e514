"""The parts that a reader finds, and how they become a Dataset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vizsla.dataset import Dataset
from vizsla.dataset_warning import Tally
from vizsla.errors import DataError, check_choice
from vizsla.io.entries import Entries
from vizsla.io.pairs import Pairs
from vizsla.io.records import Records, scan
from vizsla.io.source import Source
from vizsla.io.strings_source import StringsSource
from vizsla.item import Item
from vizsla.query import Query
from vizsla.strings import Strings

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(slots=True)
class Parts:
    """What a reader found; a part that is not there is None or empty."""

    items: Source[Item]
    queries: Source[Query] | None = None
    clicks: Entries | None = None
    qrels: Mapping[str, Entries] = field(default_factory=dict)
    texts: bool = True


def assemble(parts: Parts, *, on_error: str = "raise", dangling: str = "warn") -> Dataset:
    """Read every part once, check that they fit together, and return the dataset.

    Without queries, the query column of the clicks holds texts: the distinct texts become the queries, and their
    ids are numbers in order of appearance.
    """
    check_choice("on_error", on_error, ["raise", "warn"])
    check_choice("dangling", dangling, ["raise", "warn"])
    tally, skip = Tally(), on_error == "warn"
    items = scan(parts.items, tally, what="item", skip_errors=skip, texts=parts.texts)
    queries, keys = _queries(parts, tally, skip_errors=skip)
    clicks = None
    if parts.clicks is not None:
        clicks = _pairs(parts.clicks, keys, items.ids, dangling).summed(tally, name=parts.clicks.name)
        parts.clicks.report(tally)
    qrels = {split: _judgements(found, keys, items.ids, dangling, tally) for split, found in parts.qrels.items()}
    tally.emit()
    return Dataset(items, queries, clicks=clicks, qrels=qrels, warnings=tally.messages)


def _queries(parts: Parts, tally: Tally, *, skip_errors: bool) -> tuple[Records[Query], Strings]:
    if parts.queries is not None:
        queries = scan(parts.queries, tally, what="query", skip_errors=skip_errors, texts=parts.texts)
        return queries, queries.ids
    if parts.qrels:
        raise DataError(
            "there are judgements but no queries.", path=next(iter(parts.qrels.values())).name, remedy="Pass `queries`."
        )
    clicks = parts.clicks if parts.clicks is not None else ()
    texts = Strings.of(dict.fromkeys(query for _, query, _, _ in clicks))
    source = StringsSource(texts, name=parts.clicks.name if parts.clicks is not None else "no queries")
    return Records(source, source.ids), texts


def _judgements(entries: Entries, keys: Strings, items: Strings, dangling: str, tally: Tally) -> csr_array:
    matrix = _pairs(entries, keys, items, dangling).graded(tally, name=entries.name)
    entries.report(tally)
    return matrix


def _pairs(entries: Entries, keys: Strings, items: Strings, dangling: str) -> Pairs:
    pairs = Pairs(keys, items, dangling=dangling)
    for line, query, item, value in entries:
        pairs.add(line, query, item, value)
    return pairs
