"""Assemble a data set from the parts that files or Python lists give."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from vizsla.core.catalog import NO_METADATA, Item, Query, details_of
from vizsla.core.strings import Strings
from vizsla.core.validation import WarningLog, check_listed, is_iterable
from vizsla.data.columns import TextColumn
from vizsla.data.conditions import declare
from vizsla.data.dataset import Dataset
from vizsla.data.metadata import ItemMetadata
from vizsla.data.metadata_builder import DetailsCollector
from vizsla.errors import DataError, InputError, check_choice
from vizsla.io.bad_lines import ON_ERROR
from vizsla.io.fields import ITEM_FIELDS, QUERY_FIELDS, Fields, Meta, item_from, named_meta, query_from
from vizsla.io.files import Line
from vizsla.io.frames import frame_entries, frame_items, frame_of, frame_queries, is_frame, series_of
from vizsla.io.interactions import (
    Entry,
    Interactions,
    InteractionSource,
    ListInteractions,
    grade_of,
    time_of,
    weight_of,
)
from vizsla.io.records import ListSource, Records, Source, StringsSource, scan

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MAX_FIELDS_NAMED = 10
"""Fields of the metadata that a warning names one by one."""


@dataclass(slots=True)
class DatasetParts:
    """What a reader found; a part that is not there is None or empty."""

    items: Source[Item]
    queries: Source[Query] | None = None
    clicks: InteractionSource | None = None
    qrels: Mapping[str, InteractionSource] = field(default_factory=dict)
    texts: bool = True
    mapping: object = ""
    """Says in words, once all is read, which columns are what by their names, or which documents were read."""


def stored_dataset(items: Any, clicks: Any = None) -> Dataset:
    """Return a dataset of what an engine has stored, without warnings: they were given when the items came.

    Parameters
    ----------
    items, clicks
        As `Dataset.of` takes them.
    """
    return build_dataset(read_lists(items, clicks=clicks, fields=Fields.named()), warns=False)


def build_dataset(
    parts: DatasetParts,
    *,
    on_error: str = "raise",
    dangling: str = "warn",
    meta: Meta = None,
    keep_texts: bool = False,
    columns: Mapping[str, str] = NO_METADATA,
    warns: bool = True,
) -> Dataset:
    """Read every part once, check that they fit together, and return the dataset.

    Without queries, the query column of the clicks holds texts: the distinct texts become the queries, and their
    ids are numbers in order of appearance. What is known of items besides their texts goes with their ids, if `meta`
    is not empty; texts do if `keep_texts`. `columns` says what those columns are that the user named.
    Unless it `warns`, what is tolerable is noted in the dataset alone.
    """
    check_choice("on_error", on_error, ON_ERROR)
    check_choice("dangling", dangling, ["raise", "warn"])
    tally, skips = WarningLog(), on_error != "raise"
    items = _items(parts, tally, skips=skips, meta=meta, keep_texts=keep_texts, columns=columns)
    known = _known_queries(parts, tally, skips=skips)
    pairs, clicks, events = None, None, None
    if parts.clicks is not None:
        pairs = _pairs(parts.clicks, None if known is None else known.ids, items.ids, dangling)
        events, clicks = pairs.events, pairs.summed(tally, name=parts.clicks.name)
        parts.clicks.report(tally)
    queries = known if known is not None else _clicked_queries(parts, pairs)
    qrels = {split: _judgments(found, queries.ids, items.ids, dangling, tally) for split, found in parts.qrels.items()}
    if warns:
        tally.emit()
    return Dataset(
        items, queries, clicks=clicks, qrels=qrels, warnings=tally.messages, events=events, mapping=str(parts.mapping)
    )


def _items(
    parts: DatasetParts, tally: WarningLog, *, skips: bool, meta: Meta, keep_texts: bool, columns: Mapping[str, str]
) -> Records[Item]:
    """Read the items once, and let their ids carry what else is known of them."""
    names, kinds = named_meta(meta)
    wanted = names is None or len(names) > 0
    collector = DetailsCollector(named=names is not None, metadata=wanted, keep_texts=keep_texts, kinds=kinds)
    note = collector.add_all if wanted or keep_texts else None
    records = scan(parts.items, tally, what="item", skips=skips, texts=parts.texts, note=note)
    described = records.described(collector.details(), columns)
    details = details_of(described.ids)
    _report_metadata(details, tally)
    for name, (count, kind) in islice(collector.left_out.items(), MAX_FIELDS_NAMED):
        advice = "" if names is not None else ": name the field in `meta` to keep it"
        tally.add(count, f"values of {name!r:.60} that are left out, such as one of type {kind}{advice}")
    held = {name.lower() for name in (details.columns if details is not None else ())}
    absent = [name for name in dict.fromkeys((*(names or ()), *kinds)) if name.lower() not in held]
    absent = [name for name in absent if name not in collector.left_out]
    tally.add(len(absent), f"fields that `meta` names and no item has, such as {(absent or [''])[0]!r:.60}")
    return described


def _report_metadata(details: ItemMetadata | None, tally: WarningLog) -> None:
    """Count the values that do not parse as their column's kind, and texts where most are of another."""
    odd = {} if details is None else details.unparsed()
    for name, (kind, count, example) in islice(odd.items(), MAX_FIELDS_NAMED):
        tally.add(count, f"values of {name!r} that are no {kind}, such as {example!r:.60}: they count as missing")
    rest = sum(count for _, count, _ in islice(odd.values(), MAX_FIELDS_NAMED, None))
    tally.add(rest, f"such values of {len(odd) - MAX_FIELDS_NAMED} other fields: they count as missing")
    texts = {} if details is None else {n: c for n, c in details.columns.items() if isinstance(c, TextColumn)}
    nearly = {name: column.nearly for name, column in texts.items() if column.nearly}
    for name, kind in islice(nearly.items(), MAX_FIELDS_NAMED):
        tally.add(1, f"field of texts, most of which are of kind {kind}, is {name!r:.60}: {declare(name, kind)}")


def _known_queries(parts: DatasetParts, tally: WarningLog, *, skips: bool) -> Records[Query] | None:
    if parts.queries is not None:
        return scan(parts.queries, tally, what="query", skips=skips, texts=parts.texts)
    if parts.qrels:
        raise DataError(
            "there are judgments but no queries.", path=next(iter(parts.qrels.values())).name, remedy="Pass `queries`."
        )
    return None


def _clicked_queries(parts: DatasetParts, pairs: Interactions | None) -> Records[Query]:
    texts = Strings.of([]) if pairs is None else pairs.queries
    source = StringsSource(texts, name=parts.clicks.name if parts.clicks is not None else "no queries")
    return Records(source, source.ids)


def _judgments(
    entries: InteractionSource, queries: Strings, items: Strings, dangling: str, tally: WarningLog
) -> csr_array:
    matrix = _pairs(entries, queries, items, dangling).graded(tally, name=entries.name)
    entries.report(tally)
    return matrix


def _pairs(entries: InteractionSource, queries: Strings | None, items: Strings, dangling: str) -> Interactions:
    pairs = Interactions(queries, items, dangling=dangling)
    entries.into(pairs)
    return pairs


def read_lists(
    items: Any,
    *,
    queries: Any = None,
    clicks: Any = None,
    qrels: Any = None,
    fields: Fields = ITEM_FIELDS,
    click_columns: Mapping[str, str] | None = None,
) -> DatasetParts:
    """Return the parts of a dataset in memory; see `Dataset.of` for what each may be."""
    frame = frame_of(items, "items")
    head, listed = frame_items(frame, fields) if frame is not None else (None, list(read_items(items, fields)))
    return DatasetParts(
        ListSource(listed, name="items"),
        None if queries is None else ListSource(list(read_queries(queries)), name="queries"),
        None if clicks is None else read_clicks(clicks, click_columns),
        {} if qrels is None else {split: read_judgments(rows, split) for split, rows in _by_split(qrels).items()},
        mapping="" if head is None else f"items: {head}",
    )


def read_items(items: Any, fields: Fields = ITEM_FIELDS) -> Iterator[Item]:
    """Yield Items from texts, (id, text) pairs, dicts, Items, or a mapping of id to one of these."""
    for number, thing in enumerate(_records(items, "items", Item, fields), 1):
        record = thing._asdict() if isinstance(thing, Item) else thing
        yield item_from(record, Line("items", number), fields)


def read_queries(queries: Any) -> Iterator[Query]:
    """Yield Queries, from the same forms as items."""
    frame = frame_of(queries, "queries")
    if frame is not None:
        yield from frame_queries(frame)
        return
    for number, thing in enumerate(_records(queries, "queries", Query, QUERY_FIELDS), 1):
        record = thing._asdict() if isinstance(thing, Query) else thing
        yield query_from(record, Line("queries", number))


def read_clicks(clicks: Any, columns: Mapping[str, str] | None = None) -> ListInteractions:
    """Return click entries from a data frame, triples, pairs, or a mapping of query id to item ids or to weights."""
    frame = frame_of(clicks, "clicks")
    if frame is not None:
        return frame_entries(frame, "clicks", columns=columns)
    entries: list[Entry] = []
    for number, (query, item, weight, *time) in enumerate(_triples(clicks, "clicks"), 1):
        line = Line("clicks", number)
        entry = str(query), str(item), weight_of(str(weight), line)
        entries.append((*entry, time_of(str(time[0]), line)) if time else entry)
    return ListInteractions(entries, name="clicks")


def read_judgments(rows: Any, split: str) -> ListInteractions:
    """Return the judgments of one split, from the same forms as clicks."""
    name = f"qrels {split}"
    frame = frame_of(rows, name)
    if frame is not None:
        return frame_entries(frame, name, grades=True)
    entries = [
        (str(query), str(item), grade_of(str(grade), Line(name, number)))
        for number, (query, item, grade, *_) in enumerate(_triples(rows, name), 1)
    ]
    return ListInteractions(entries, name=name)


def _records(things: Any, what: str, kind: type, fields: Fields) -> Iterator[Any]:
    things = series_of(things)
    check_listed(what, things)
    if not is_iterable(things):
        raise InputError(f"`{what}` must be a list or a mapping. Got {things!r:.80}: put it into a list.")
    if isinstance(things, Mapping):
        return (_with_id(id, thing, what, kind, ("_id", "id")) for id, thing in things.items())
    return (_with_id(str(number), thing, what, kind, fields.id) for number, thing in enumerate(things))


def _with_id(id: object, thing: Any, what: str, kind: type, names: Sequence[str]) -> Any:
    """Return a thing as a record; a dict without an id of its own, by one of these names, gets this one."""
    if isinstance(thing, kind):
        return thing
    if isinstance(thing, str):
        return {"_id": id, "text": thing}
    if isinstance(thing, Mapping):
        named = len(names) == 1  # by the user: it must be there
        return thing if named or not thing.keys().isdisjoint(names) else {"_id": id, **thing}
    if isinstance(thing, tuple | list) and len(thing) == 2:
        return {"_id": thing[0], "text": thing[1]}
    raise InputError(f"`{what}` must hold texts, (id, text) pairs, dicts or {kind.__name__}s. Got {thing!r:.80}.")


def _by_split(qrels: Any) -> Mapping[str, Any]:
    """A mapping two deep is one split, called "test"; three deep, or of data frames, names its splits."""
    if not isinstance(qrels, Mapping):
        return {"test": qrels}
    rows = next(iter(qrels.values()), None)
    if is_frame(rows):
        return qrels
    inner = next(iter(rows.values()), None) if isinstance(rows, Mapping) else None
    pairs = isinstance(rows, list | tuple) and rows and isinstance(rows[0], list | tuple)
    return qrels if isinstance(inner, Mapping | list | tuple | set) or pairs else {"test": qrels}


def _triples(rows: Any, what: str) -> Iterator[tuple[Any, ...]]:
    if isinstance(rows, Mapping):
        for query, answers in rows.items():
            if isinstance(answers, str):
                answers = [answers]
            if not isinstance(answers, Iterable):
                got = type(answers).__name__
                raise InputError(f"`{what}` must map a query to its items. Got {got} for {query!r:.60}.")
            pairs = answers.items() if isinstance(answers, Mapping) else ((item, 1) for item in answers)
            yield from ((query, item, weight) for item, weight in pairs)
        return
    check_listed(what, rows)
    if not is_iterable(rows):
        raise InputError(f"`{what}` must hold (query, item) or (query, item, weight). Got {type(rows).__name__}.")
    for row in rows:
        if isinstance(row, str) or not isinstance(row, tuple | list) or len(row) not in (2, 3, 4):
            raise InputError(f"`{what}` must hold (query, item) or (query, item, weight). Got {row!r:.80}.")
        yield tuple(row) if len(row) > 2 else (*row, 1)
