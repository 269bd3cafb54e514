"""The parts that a reader finds, and how they become a Dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vizsla.dataset import Dataset
from vizsla.dataset_warning import Tally
from vizsla.details.collector import DetailsCollector
from vizsla.errors import DataError, check_choice
from vizsla.io.entries import Entries
from vizsla.io.pairs import Pairs
from vizsla.io.reading import ON_ERROR
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
    mapping: str = ""
    """Which columns are what, in words, where that was told by their names."""


def assemble(
    parts: Parts,
    *,
    on_error: str = "raise",
    dangling: str = "warn",
    meta: Sequence[str] | None = None,
    keep_texts: bool = False,
) -> Dataset:
    """Read every part once, check that they fit together, and return the dataset.

    Without queries, the query column of the clicks holds texts: the distinct texts become the queries, and their
    ids are numbers in order of appearance. What is known of items besides their texts goes with their ids, if `meta`
    is not empty; texts do if `keep_texts`.
    """
    check_choice("on_error", on_error, ON_ERROR)
    check_choice("dangling", dangling, ["raise", "warn"])
    tally, skips = Tally(), on_error != "raise"
    items = _items(parts, tally, skips=skips, meta=meta, keep_texts=keep_texts)
    known = _known_queries(parts, tally, skips=skips)
    pairs, clicks, events = None, None, None
    if parts.clicks is not None:
        pairs = _pairs(parts.clicks, None if known is None else known.ids, items.ids, dangling)
        events, clicks = pairs.events, pairs.summed(tally, name=parts.clicks.name)
        parts.clicks.report(tally)
    queries = known if known is not None else _clicked_queries(parts, pairs)
    qrels = {split: _judgements(found, queries.ids, items.ids, dangling, tally) for split, found in parts.qrels.items()}
    tally.emit()
    return Dataset(
        items, queries, clicks=clicks, qrels=qrels, warnings=tally.messages, events=events, mapping=parts.mapping
    )


def _items(parts: Parts, tally: Tally, *, skips: bool, meta: Sequence[str] | None, keep_texts: bool) -> Records[Item]:
    """Read the items once, and let their ids carry what else is known of them."""
    wanted = meta is None or len(meta) > 0
    collector = DetailsCollector(named=meta is not None, metadata=wanted, keep_texts=keep_texts)
    note = collector.add_all if wanted or keep_texts else None
    records = scan(parts.items, tally, what="item", skips=skips, texts=parts.texts, note=note)
    return records.described(collector.details())


def _known_queries(parts: Parts, tally: Tally, *, skips: bool) -> Records[Query] | None:
    if parts.queries is not None:
        return scan(parts.queries, tally, what="query", skips=skips, texts=parts.texts)
    if parts.qrels:
        raise DataError(
            "there are judgements but no queries.", path=next(iter(parts.qrels.values())).name, remedy="Pass `queries`."
        )
    return None


def _clicked_queries(parts: Parts, pairs: Pairs | None) -> Records[Query]:
    texts = Strings.of([]) if pairs is None else pairs.queries
    source = StringsSource(texts, name=parts.clicks.name if parts.clicks is not None else "no queries")
    return Records(source, source.ids)


def _judgements(entries: Entries, queries: Strings, items: Strings, dangling: str, tally: Tally) -> csr_array:
    matrix = _pairs(entries, queries, items, dangling).graded(tally, name=entries.name)
    entries.report(tally)
    return matrix


def _pairs(entries: Entries, queries: Strings | None, items: Strings, dangling: str) -> Pairs:
    pairs = Pairs(queries, items, dangling=dangling)
    entries.into(pairs)
    return pairs
