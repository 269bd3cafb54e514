"""Which fields of a record are its id, text and title."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from vizsla.io.line_file import Line
from vizsla.item import NO_METADATA, Item
from vizsla.query import Query


class Fields(NamedTuple):
    """Names that a field may have; the first that a record has is taken."""

    id: tuple[str, ...]
    text: tuple[str, ...]
    title: tuple[str, ...] = ("title",)

    @classmethod
    def named(cls, *, id_key: str | None = None, text_key: str | None = None, title_key: str | None = None) -> Fields:
        """Return the usual names of an item's fields, or those that the user gives."""
        return cls(
            (id_key,) if id_key else ITEM_FIELDS.id,
            (text_key,) if text_key else ITEM_FIELDS.text,
            (title_key,) if title_key else ITEM_FIELDS.title,
        )


ITEM_FIELDS = Fields(("_id", "id", "doc_id", "docid", "item_id"), ("text", "contents", "body"))
QUERY_FIELDS = Fields(("_id", "id", "query_id", "qid"), ("text", "query"), ())


def item_from(record: Mapping[str, Any], line: Line, fields: Fields = ITEM_FIELDS) -> Item:
    """Return the item that a record describes; what is not id, text or title becomes metadata."""
    id_key = _key(record, fields.id, line, "an id")
    title_key = next((key for key in fields.title if key in record), None)
    text_key = _key(record, fields.text, line, "a text")
    title = "" if title_key is None or record[title_key] is None else _text(record, title_key, line)
    return Item(
        _id(record, id_key, line),
        _text(record, text_key, line),
        title,
        _rest(record, {id_key, text_key, title_key}),
    )


def query_from(record: Mapping[str, Any], line: Line, fields: Fields = QUERY_FIELDS) -> Query:
    """Return the query that a record describes."""
    id_key = _key(record, fields.id, line, "an id")
    text_key = _key(record, fields.text, line, "a text")
    return Query(_id(record, id_key, line), _text(record, text_key, line), _rest(record, {id_key, text_key}))


def _key(record: Mapping[str, Any], names: tuple[str, ...], line: Line, what: str) -> str:
    for name in names:
        if name in record:
            return name
    found = ", ".join(map(repr, list(record)[:8])) or "no field"
    wanted = " or ".join(map(repr, names))
    raise line.error(f"the record must have {what} ({wanted}). Got {found}.", "Rename or name the field.")


def _id(record: Mapping[str, Any], key: str, line: Line) -> str:
    value = record[key]
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value:
        raise line.error(f"{key!r} must be a text, not empty, or a whole number. Got {value!r}.", "Repair the id.")
    return _sound(value, key, line)


def _text(record: Mapping[str, Any], key: str, line: Line) -> str:
    value = record[key]
    if not isinstance(value, str):
        raise line.error(f"{key!r} must be a text. Got {value!r:.80}.", "Repair the record.")
    return _sound(value, key, line)


def _sound(value: str, key: str, line: Line) -> str:
    if value.isascii():
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        raise line.error(f"{key!r} has half a surrogate pair, which is no character.", "Repair the text.") from None
    return value


def _rest(record: Mapping[str, Any], used: set[str | None]) -> Mapping[str, Any]:
    if len(record) == len(used - {None}):
        return NO_METADATA
    rest = {key: value for key, value in record.items() if key not in used}
    nested = rest.get("metadata")
    if isinstance(nested, Mapping):
        del rest["metadata"]
        rest = {**nested, **rest}
    return rest or NO_METADATA
