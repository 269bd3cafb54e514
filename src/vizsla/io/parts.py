"""The parts that a reader finds, and how they become a Dataset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from vizsla.catalogue import details_of
from vizsla.dataset import Dataset
from vizsla.dataset_warning import Tally
from vizsla.details.collector import DetailsCollector
from vizsla.details.details import Details
from vizsla.errors import DataError, check_choice
from vizsla.io.entries import Entries
from vizsla.io.fields import Meta, named_meta
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

MOST_REPORTED = 10
"""Fields of the metadata that a warning names one by one."""


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
    meta: Meta = None,
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


def _items(parts: Parts, tally: Tally, *, skips: bool, meta: Meta, keep_texts: bool) -> Records[Item]:
    """Read the items once, and let their ids carry what else is known of them."""
    names, kinds = named_meta(meta)
    wanted = names is None or len(names) > 0
    collector = DetailsCollector(named=names is not None, metadata=wanted, keep_texts=keep_texts, kinds=kinds)
    note = collector.add_all if wanted or keep_texts else None
    records = scan(parts.items, tally, what="item", skips=skips, texts=parts.texts, note=note)
    described = records.described(collector.details())
    _report_metadata(details_of(described.ids), kinds, tally)
    return described


def _report_metadata(details: Details | None, kinds: Mapping[str, str], tally: Tally) -> None:
    """Count the values that do not parse as their column's kind, and name declared fields that no item has."""
    odd = {} if details is None else details.unparsed()
    for name, (kind, count, example) in islice(odd.items(), MOST_REPORTED):
        tally.add(count, f"values of {name!r} that are no {kind}, such as {example!r:.60}: they count as missing")
    rest = sum(count for _, count, _ in islice(odd.values(), MOST_REPORTED, None))
    tally.add(rest, f"such values of {len(odd) - MOST_REPORTED} other fields: they count as missing")
    held = set() if details is None else {name.lower() for name in details.columns}
    absent = [name for name in kinds if name.lower() not in held]
    tally.add(len(absent), f"fields that `meta` declares and no item has, such as {(absent or [''])[0]!r:.60}")


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
