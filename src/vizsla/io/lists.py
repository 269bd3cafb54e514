"""Datasets from Python lists and mappings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from vizsla.arguments import check_listed, is_several
from vizsla.errors import InputError
from vizsla.io.clicks import time_of, weight_of
from vizsla.io.entries import Entry, ListEntries
from vizsla.io.fields import ITEM_FIELDS, QUERY_FIELDS, Fields, item_from, query_from
from vizsla.io.frames import frame_entries, frame_items, frame_of, frame_queries, is_frame, series_of
from vizsla.io.line_file import Line
from vizsla.io.list_source import ListSource
from vizsla.io.parts import Parts
from vizsla.io.qrels import grade_of
from vizsla.item import Item
from vizsla.query import Query


def read_lists(
    items: Any,
    *,
    queries: Any = None,
    clicks: Any = None,
    qrels: Any = None,
    fields: Fields = ITEM_FIELDS,
    click_columns: Mapping[str, str] | None = None,
) -> Parts:
    """Return the parts of a dataset in memory; see `Dataset.of` for what each may be."""
    frame = frame_of(items, "items")
    head, listed = frame_items(frame, fields) if frame is not None else (None, list(read_items(items, fields)))
    return Parts(
        ListSource(listed, name="items"),
        None if queries is None else ListSource(list(read_queries(queries)), name="queries"),
        None if clicks is None else read_clicks(clicks, click_columns),
        {} if qrels is None else {split: read_judgements(rows, split) for split, rows in _by_split(qrels).items()},
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


def read_clicks(clicks: Any, columns: Mapping[str, str] | None = None) -> ListEntries:
    """Return click entries from a data frame, triples, pairs, or a mapping of query id to item ids or to weights."""
    frame = frame_of(clicks, "clicks")
    if frame is not None:
        return frame_entries(frame, "clicks", columns=columns)
    entries: list[Entry] = []
    for number, (query, item, weight, *time) in enumerate(_triples(clicks, "clicks"), 1):
        line = Line("clicks", number)
        entry = str(query), str(item), weight_of(str(weight), line)
        entries.append((*entry, time_of(str(time[0]), line)) if time else entry)
    return ListEntries(entries, name="clicks")


def read_judgements(rows: Any, split: str) -> ListEntries:
    """Return the judgements of one split, from the same forms as clicks."""
    name = f"qrels {split}"
    frame = frame_of(rows, name)
    if frame is not None:
        return frame_entries(frame, name, grades=True)
    entries = [
        (str(query), str(item), grade_of(str(grade), Line(name, number)))
        for number, (query, item, grade, *_) in enumerate(_triples(rows, name), 1)
    ]
    return ListEntries(entries, name=name)


def _records(things: Any, what: str, kind: type, fields: Fields) -> Iterator[Any]:
    things = series_of(things)
    check_listed(what, things)
    if not is_several(things):
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
    if not is_several(rows):
        raise InputError(f"`{what}` must hold (query, item) or (query, item, weight). Got {type(rows).__name__}.")
    for row in rows:
        if isinstance(row, str) or not isinstance(row, tuple | list) or len(row) not in (2, 3, 4):
            raise InputError(f"`{what}` must hold (query, item) or (query, item, weight). Got {row!r:.80}.")
        yield tuple(row) if len(row) > 2 else (*row, 1)
