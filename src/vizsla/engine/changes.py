"""Changes of an engine's catalog: what one transaction adds, replaces, deletes and learns, and how it is stored."""

from __future__ import annotations

import json
import math
import sqlite3
import sys
import time as clock
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from vizsla.core.catalog import Item
from vizsla.core.validation import check_listed, check_unicode, is_iterable
from vizsla.data.columns import ListText, NumberColumn
from vizsla.data.conditions import Condition
from vizsla.data.metadata_builder import DetailsCollector, column_of
from vizsla.data.values import NUMBER
from vizsla.engine.catalog import last_given, live_numbers
from vizsla.engine.sources import files_under, forget_files, ids_of_file
from vizsla.errors import InputError, check_choice

T = TypeVar("T")

KEYS = ("id", "text", "title", "metadata")
FieldFacts = dict[str, tuple[str, str]]
"""The kind of fields, and how their texts are read."""


class ItemRow(NamedTuple):
    """An item as the catalog stores it.

    Attributes
    ----------
    id, title, text : str
        As given.
    fields : dict
        Metadata as plain values: texts, numbers, booleans, lists of them.
    """

    id: str
    title: str
    text: str
    fields: dict[str, Any]


class Changes:
    """What one transaction does, in order; nothing is stored before the block of `engine.transaction()` ends.

    Parameters
    ----------
    evaluate : function of a Condition
        Returns what fulfills it now, before the transaction begins.
    matching : function of a connection, a Condition and what fulfilled it before
        Returns the ids of the items that fulfill the condition, in the transaction that is being stored.

    Examples
    --------
    >>> changes = Changes(lambda condition: None, lambda connection, condition, known: [])
    >>> changes.add({"f": "a fig"})
    >>> changes.click("sweet", "f")
    >>> changes
    Changes(2 steps)
    """

    def __init__(
        self,
        evaluate: Callable[[Condition], T],
        matching: Callable[[sqlite3.Connection, Condition, T | None], list[str]],
    ):
        self._evaluate, self._matching = evaluate, matching
        self._conditions: dict[str, Condition] = {}
        self._known: dict[str, Any] = {}
        self._steps: list[Callable[[sqlite3.Connection], int]] = []

    def __len__(self) -> int:
        return len(self._steps)

    def __repr__(self) -> str:
        return f"Changes({len(self)} steps)"

    def add(self, items: Any) -> None:
        """Add items; an id that is there already raises, and nothing of the transaction is stored."""
        rows = rows_of(items)
        self._steps.append(lambda connection: insert_rows(connection, rows, replace=False))

    def upsert(self, items: Any) -> None:
        """Add items, in place of those that have the same ids; their clicks stay."""
        rows = rows_of(items)
        self._steps.append(lambda connection: insert_rows(connection, rows, replace=True))

    def upsert_numbered(self, items: Any, numbers: Sequence[int]) -> None:
        """Do the same under given row numbers, above all that were given: those of a collection of several engines.

        Rows that are there under these numbers already are left alone, so that a write may be repeated.
        """
        rows, given = rows_of(items), list(numbers)
        self._steps.append(lambda connection: insert_rows(connection, rows, replace=True, numbers=given))

    def settle_fields(self, fields: FieldFacts) -> None:
        """Store what was decided of fields elsewhere, as by the values of all shards."""

        def settled(connection: sqlite3.Connection) -> int:
            store_fields(connection, fields)
            return 0

        self._steps.append(settled)

    def update_metadata(self, changes: Mapping[str, Mapping[str, Any]]) -> None:
        """Change fields of items by id; None removes a field. Texts and what was made of them stay as they are."""
        if not isinstance(changes, Mapping):
            raise InputError(f"`changes` must be a mapping of ids to fields. Got {type(changes).__name__}.")
        known = {_text("id", id): _fields(values, id) for id, values in changes.items()}
        for name in ("id", "text", "title"):
            if any(name in values for values in changes.values()):
                raise InputError(f"`update_metadata` must change metadata alone. Got {name!r}: use `upsert`.")
        gone = {id: [name for name, value in values.items() if value is None] for id, values in changes.items()}
        self._steps.append(lambda connection: _update(connection, known, gone))

    def delete(
        self,
        ids: str | Iterable[str] | None = None,
        *,
        where: Condition | None = None,
        path: str | Path | None = None,
        unknown: str = "raise",
    ) -> None:
        """Delete items by id, by a condition on their metadata, or by the file they came from, with their clicks.

        Parameters
        ----------
        ids : str or iterable of str, optional
            Which items.
        where : Condition, optional
            Which items, by `vizsla.where`; evaluated when the transaction is stored.
        path : path, optional
            A file or folder that `engine.sync` has read: all items that came from it.
        unknown : {"raise", "ignore"}
            What becomes of ids that are no items, and of a path that was never read.
        """
        check_choice("unknown", unknown, ["raise", "ignore"])
        if sum(given is not None for given in (ids, where, path)) != 1:
            raise InputError("`delete` must be given either ids or `where` or `path`. Got none, or more than one.")
        if path is not None:
            place = str(path)
            self._steps.append(lambda connection: _delete_files(connection, place, unknown))
            return
        if where is not None:
            if not isinstance(where, Condition):
                raise InputError(f"`where` must be made by `vizsla.where`. Got {type(where).__name__}: pass ids alone.")
            self._conditions[str(where)] = where
            self._steps.append(lambda connection: self._delete_matching(connection, where))
            return
        wanted = _ids(ids)
        self._steps.append(lambda connection: delete_rows(connection, wanted, unknown))

    def click(self, query: str, item: str, weight: float = 1.0, time: float | datetime | None = None) -> None:
        """Note that the item was chosen for the query; `time` is now unless given, in seconds since 1970."""
        self.clicks([(query, item, weight, time)])

    def clicks(self, clicks: Iterable[Sequence[Any]]) -> None:
        """Note several clicks: (query, item), with a weight and a time where these are known."""
        if isinstance(clicks, str) or not is_iterable(clicks):
            raise InputError(f"`clicks` must be several clicks. Got {type(clicks).__name__}.")
        rows = [_click(each) for each in clicks]
        self._steps.append(lambda connection: _insert_clicks(connection, rows))

    def delete_clicks(
        self, *, query: str | None = None, item: str | None = None, before: float | datetime | None = None
    ) -> None:
        """Forget the clicks of a query, of an item, or from before a moment; given several, those that fit all."""
        if query is None and item is None and before is None:
            raise InputError("`delete_clicks` must be given a query, an item or a moment. Got none.")
        query, item = (None if text is None else _text("query or item", text) for text in (query, item))
        moment = None if before is None else _moment(before)
        self._steps.append(lambda connection: _delete_clicks(connection, query, item, moment))

    def prepare(self) -> None:
        """Evaluate conditions: what takes long is done before other writers have to wait."""
        for name, condition in self._conditions.items():
            with suppress(InputError):  # of a field that comes with this transaction, or that there is not
                self._known[name] = self._evaluate(condition)

    def _delete_matching(self, connection: sqlite3.Connection, where: Condition) -> int:
        return delete_rows(connection, self._matching(connection, where, self._known.get(str(where))), "ignore")

    def apply(self, connection: sqlite3.Connection) -> int:
        """Make all changes within the transaction of this connection; return how many rows they concerned."""
        return sum(step(connection) for step in self._steps)


def rows_of(items: Any) -> list[ItemRow]:
    """Return items as rows: Items, dicts, (id, text) pairs, or a mapping of ids to texts."""
    if isinstance(items, Item | str) or not is_iterable(items):
        raise InputError(f"`items` must be several items, or a mapping of ids to texts. Got {type(items).__name__}.")
    if isinstance(items, Mapping):
        check_listed("items", items)
    several = items.items() if isinstance(items, Mapping) else items
    rows = [_row(each) for each in several]
    seen = set[str]()
    for row in rows:
        if row.id in seen:
            raise InputError(f"Every id must be given once. Got {row.id!r} again.")
        seen.add(row.id)
    return rows


def _row(item: Any) -> ItemRow:
    if isinstance(item, Mapping):
        for name in ("id", "text"):
            if name not in item:
                raise InputError(f"An item must have an id and a text. Got one without {name!r}: {dict(item)!r:.100}.")
        named = item.get("metadata") or {}
        if not isinstance(named, Mapping):
            raise InputError(f"`metadata` must be a mapping of fields. Got {type(named).__name__}.")
        more = {**named, **{name: value for name, value in item.items() if name not in KEYS}}  # as a Dataset has it
        return _checked(item["id"], item.get("title") or "", item["text"], more)
    if isinstance(item, Item):
        return _checked(item.id, item.title, item.text, item.metadata)
    if isinstance(item, tuple | list) and len(item) == 2:
        return _checked(item[0], "", item[1], {})
    raise InputError(f"An item must be an Item, a dict or a pair of id and text. Got {item!r:.100}.")


def _checked(id: Any, title: Any, text: Any, metadata: Mapping[str, Any]) -> ItemRow:
    if id == "":
        raise InputError("`id` must not be empty. Got an item without one.")
    return ItemRow(_text("id", id), _text("title", title), _text("text", text), _fields(metadata, id))


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise InputError(f"`{name}` must be a text. Got {value!r:.60}.")
    check_unicode(name, value)
    if "\0" in value and name == "id":
        raise InputError(f"`{name}` must have no zero character. Got {value!r:.60}.")
    return value


def _ids(ids: Any) -> list[str]:
    if isinstance(ids, str):
        return [ids]
    if not is_iterable(ids):
        raise InputError(f"`ids` must be ids. Got {type(ids).__name__}.")
    return list(dict.fromkeys(_text("id", id) for id in ids))


def _fields(metadata: Mapping[str, Any], id: Any) -> dict[str, Any]:
    """Return metadata as JSON can hold it; a value that has no plain form raises."""
    if not isinstance(metadata, Mapping):
        raise InputError(f"The metadata of {id!r:.60} must be a mapping of fields. Got {type(metadata).__name__}.")
    known: dict[str, Any] = {}
    collector = DetailsCollector(named=True) if metadata else None
    for name, value in metadata.items():
        if value is None or collector is None:
            continue
        if type(value) in (str, int, bool):
            plain: Any = value
        else:
            plain = collector.plain(value, name)
            if plain is None and name in collector.left_out:
                raise InputError(
                    f"Metadata must be texts, numbers, booleans, dates or lists. Got {name!r:.60} of {id!r:.60}: "
                    f"{type(value).__name__}."
                )
        if plain is not None and plain != "":
            known[_text("field", name)] = _stored(plain)
    return known


def _stored(plain: Any) -> Any:
    """Return a plain value as JSON tells it from others; a text must have no half of a surrogate pair."""
    if isinstance(plain, ListText):
        return json.loads(plain)
    if isinstance(plain, float) and not math.isfinite(plain):
        raise InputError(f"A number must be finite. Got {plain}.")
    return check_unicode("metadata", str(plain)) if isinstance(plain, str) else plain


def restored(value: Any) -> Any:
    """Return a stored value as columns take it."""
    return ListText(json.dumps(value, ensure_ascii=False)) if isinstance(value, list) else value


def _click(click: Sequence[Any]) -> tuple[str, str, float, float]:
    if not isinstance(click, tuple | list) or not 2 <= len(click) <= 4:
        raise InputError(f"A click must be a query, an item and, if known, weight and time. Got {click!r:.100}.")
    query, item, weight, moment = (*click, None, None)[:4]
    value = 1.0 if weight is None else weight
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= sys.float_info.max:
        raise InputError(f"`weight` must be above 0 and finite. Got {_shown(value)}.")
    at = clock.time() if moment is None else _moment(moment)
    return _text("query", query), _text("item", item), float(value), at


def _moment(moment: Any) -> float:
    value = moment.timestamp() if isinstance(moment, datetime) else moment
    largest = sys.float_info.max
    if isinstance(value, bool) or not isinstance(value, int | float) or not -largest <= value <= largest:
        raise InputError(f"`time` must be seconds since 1970 or a datetime. Got {_shown(moment)}.")
    return float(value)


def _shown(value: Any) -> str:
    """Return a value for a message; Python refuses to write numbers of thousands of digits."""
    return "too large a number" if isinstance(value, int) and value.bit_length() > 1024 else f"{value!r:.60}"


def insert_rows(
    connection: sqlite3.Connection, rows: list[ItemRow], *, replace: bool, numbers: Sequence[int] | None = None
) -> int:
    """Store items in place of those with the same ids, or raise where there are such."""
    if numbers is not None and _is_stored(connection, rows, numbers):
        return len(rows)
    known = live_numbers(connection, (row.id for row in rows))
    if known and not replace:
        taken = next(row.id for row in rows if row.id in known)
        raise InputError(f"Every id must be new. Got {taken!r}, which is an item: use `upsert` to replace it.")
    if known:
        _mark_deleted(connection, known.values())
    last = last_given(connection, "items")
    numbers = range(last + 1, last + 1 + len(rows)) if numbers is None else numbers
    insert = "INSERT INTO items (n, id, title, text) VALUES (?, ?, ?, ?)"
    connection.executemany(insert, ((n, row.id, row.title, row.text) for n, row in zip(numbers, rows, strict=True)))
    _put_metadata(connection, {n: row.fields for n, row in zip(numbers, rows, strict=True) if row.fields})
    return len(rows)


def _is_stored(connection: sqlite3.Connection, rows: list[ItemRow], numbers: Sequence[int]) -> bool:
    """Return whether these rows are stored under these numbers; other rows above the first of them raise."""
    if not rows or numbers[0] > last_given(connection, "items"):
        return False
    sql = "SELECT n, id FROM items WHERE n IN (SELECT value FROM json_each(?))"
    found = dict(connection.execute(sql, (json.dumps(list(numbers)),)).fetchall())
    if found != dict(zip(numbers, (row.id for row in rows), strict=True)):
        raise InputError(
            f"Row numbers must be above {last_given(connection, 'items')}. Got {numbers[0]}: another process has "
            "written, so open the shards again."
        )
    return True


def _put_metadata(connection: sqlite3.Connection, rows: dict[int, dict[str, Any]]) -> None:
    if not rows:
        return
    _settle_fields(connection, list(rows.values()))
    pairs = ((n, json.dumps(fields, ensure_ascii=False)) for n, fields in rows.items())
    connection.executemany("INSERT OR REPLACE INTO metadata VALUES (?, ?)", pairs)


def _settle_fields(connection: sqlite3.Connection, rows: list[dict[str, Any]]) -> None:
    """Decide, for each field that is new, what kind it is: by its first values, once and for every process."""
    store_fields(connection, new_fields(known_fields(connection), rows))


def known_fields(connection: sqlite3.Connection) -> FieldFacts:
    """Return the kind of each field, and how its texts are read."""
    return {name: (kind, style) for name, kind, style in connection.execute("SELECT name, kind, style FROM fields")}


def new_fields(known: FieldFacts, rows: list[dict[str, Any]]) -> FieldFacts:
    """Return what is decided of fields by these values of theirs, which are the first."""
    named = dict.fromkeys(name for fields in rows for name in fields)
    # The first numbers of a declared field decide how its texts are read.
    new = [name for name in named if name not in known or known[name] == (NUMBER, "[]")]
    found = {}
    for name in new:
        values = [restored(fields[name]) for fields in rows if name in fields]
        kind = known[name][0] if name in known else None
        column = column_of(values, np.arange(len(values), dtype=np.int32), kind)
        style = json.dumps(list(column.style) if isinstance(column, NumberColumn) else [])
        found[name] = column.kind, style
    return found


def store_fields(connection: sqlite3.Connection, fields: FieldFacts) -> None:
    """Store what was decided of fields; what is known of them stays."""
    known = known_fields(connection)
    for name, (kind, style) in fields.items():
        if name not in known:
            connection.execute("INSERT INTO fields VALUES (?, ?, 0, ?)", (name, kind, style))
        elif known[name] == (NUMBER, "[]") and known[name] != (kind, style):
            connection.execute("UPDATE fields SET style = ? WHERE name = ?", (style, name))


def _update(connection: sqlite3.Connection, known: dict[str, dict[str, Any]], gone: dict[str, list[str]]) -> int:
    numbers = live_numbers(connection, known)
    _check_known(known, numbers)
    rows: dict[int, dict[str, Any]] = {}
    for id, fields in known.items():
        row = connection.execute("SELECT fields FROM metadata WHERE n = ?", (numbers[id],)).fetchone()
        merged = ({} if row is None else json.loads(row[0])) | fields
        rows[numbers[id]] = {name: value for name, value in merged.items() if name not in gone[id]}
    replace_metadata(connection, rows)
    return len(rows)


def replace_metadata(connection: sqlite3.Connection, rows: dict[int, dict[str, Any]]) -> None:
    """Give items, by row number, other fields; texts and what was made of them stay as they are."""
    _put_metadata(connection, rows)
    connection.executemany("INSERT INTO metadata_changes (n) VALUES (?)", ((n,) for n in rows))


def delete_rows(connection: sqlite3.Connection, ids: list[str], unknown: str) -> int:
    """Delete items, their clicks, and the record of the files that they came from."""
    numbers = live_numbers(connection, ids)
    if unknown == "raise":
        _check_known(ids, numbers)
    _mark_deleted(connection, numbers.values())
    # Members forget the clicks of an item with the item itself.
    given = (json.dumps([*numbers]),)
    connection.execute("DELETE FROM clicks WHERE item IN (SELECT value FROM json_each(?))", given)
    connection.execute("DELETE FROM source_items WHERE id IN (SELECT value FROM json_each(?))", given)
    return len(numbers)


def _delete_files(connection: sqlite3.Connection, path: str, unknown: str) -> int:
    files = files_under(connection, path)
    if not files and unknown == "raise":
        raise InputError(f"`path` must be a file or folder that was synced. Got {path!r}, which was not.")
    ids = [id for f in files for id in ids_of_file(connection, f)]
    forget_files(connection, files)
    return delete_rows(connection, ids, "ignore")


def _mark_deleted(connection: sqlite3.Connection, numbers: Iterable[int]) -> None:
    connection.executemany("INSERT INTO deletions (n) VALUES (?)", ((n,) for n in sorted(numbers)))


def _check_known(ids: Iterable[str], numbers: Mapping[str, int]) -> None:
    missing = next((id for id in ids if id not in numbers), None)
    if missing is not None:
        raise InputError(f"`ids` must be items of the engine. Got {missing!r}, which is none.")


def _insert_clicks(connection: sqlite3.Connection, rows: list[tuple[str, str, float, float]]) -> int:
    _check_known((row[1] for row in rows), live_numbers(connection, {row[1] for row in rows}))
    connection.executemany("INSERT INTO clicks (query, item, weight, time) VALUES (?, ?, ?, ?)", rows)
    return len(rows)


def _delete_clicks(connection: sqlite3.Connection, query: str | None, item: str | None, before: float | None) -> int:
    tests = {"query = ?": query, "item = ?": item, "time < ?": before}
    given = {test: value for test, value in tests.items() if value is not None}
    condition, values = " AND ".join(given), tuple(given.values())
    connection.execute(f"INSERT INTO click_deletions (c) SELECT c FROM clicks WHERE {condition} ORDER BY c", values)
    return connection.execute(f"DELETE FROM clicks WHERE {condition}", values).rowcount
