"""Fields of records by their usual names, and the format of a file by its first bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from vizsla.core.catalog import NO_METADATA, Item, Query
from vizsla.core.validation import as_path
from vizsla.data.values import COLUMN_KIND_NAMES
from vizsla.errors import InputError
from vizsla.io.files import Line, LineFile, without_packing

Names = str | Sequence[str] | None
Meta = str | Sequence[str] | Mapping[str, str | None] | None
"""Which fields are kept as metadata, and of which kind they are: names, `name:kind`, or kinds by name; "*" is all."""
ALL_FIELDS = "*"


class Fields(NamedTuple):
    """Names that a field may have; the first that a record has is taken.

    Parameters
    ----------
    id, text, title : tuple of str
        The names.
    joined : bool
        Whether the texts of all fields that `text` names are joined, each of which must be there.
    meta : tuple of str, optional
        The fields that become metadata; None: all that are not id, text or title.
    given : bool
        Whether the user named any field.
    """

    id: tuple[str, ...]
    text: tuple[str, ...]
    title: tuple[str, ...] = ("title",)
    joined: bool = False
    meta: tuple[str, ...] | None = None
    given: bool = False

    @classmethod
    def named(cls, *, id: Names = None, text: Names = None, title: Names = None, meta: Meta = None) -> Fields:
        """Return the usual names of an item's fields, or those that the user gives.

        Several texts are joined by spaces; where the first of them is called like a title, it is the title.

        Examples
        --------
        >>> Fields.named(text="title,description").title, Fields.named(text="title,description").text
        (('title',), ('description',))
        """
        texts, titles = listed("text", text), listed("title", title)
        if texts and len(texts) > 1 and titles is None and texts[0].lower() in ITEM_FIELDS.title:
            titles, texts = texts[:1], texts[1:]
        names = listed("id", id)
        if names is not None and len(names) != 1:
            raise InputError(f"`id` must be one field. Got {', '.join(names) or 'none'}.")
        usual = () if texts and titles is None and texts[0].lower() in ITEM_FIELDS.title else ITEM_FIELDS.title
        return cls(
            names or ITEM_FIELDS.id,
            texts or ITEM_FIELDS.text,
            usual if titles is None else titles,
            joined=texts is not None,
            meta=named_meta(meta)[0],
            given=any(part is not None for part in (id, text, title, meta)),
        )

    @property
    def columns(self) -> dict[str, str]:
        """What the columns are that the user named: title, text, or a field of its own where several make the text."""
        titles = dict.fromkeys(self.title[:1], "title") if self.given and len(self.title) == 1 else {}
        if not self.joined:
            return titles
        return titles | ({self.text[0]: "text"} if len(self.text) == 1 else {name: name for name in self.text})


def listed(option: str, names: Names) -> tuple[str, ...] | None:
    """Return names that were given as a list, or as one text with commas."""
    if names is None:
        return None
    parts = names.split(",") if isinstance(names, str) else list(names)
    if not all(isinstance(part, str) for part in parts):
        raise InputError(f"`{option}` must be names of fields. Got {names!r:.80}.")
    return tuple(dict.fromkeys(part.strip() for part in parts if part.strip()))


def named_meta(meta: Meta) -> tuple[tuple[str, ...] | None, dict[str, str]]:
    """Return the fields that are kept as metadata, None for all, and the kinds of those that are declared.

    Examples
    --------
    >>> named_meta("price:number,brand"), named_meta({"tags": "list", "*": None})
    ((('price', 'brand'), {'price': 'number'}), (None, {'tags': 'list'}))
    """
    if isinstance(meta, Mapping):
        parts = [(name, kind) for name, kind in meta.items()]
    else:
        parts = [_declared(name) for name in listed("meta", meta) or ()]
    for name, kind in parts:
        if not isinstance(name, str) or (kind is not None and kind not in COLUMN_KIND_NAMES):
            got = f"{name!r:.60}: {kind!r:.60}"
            raise InputError(f"`meta` must give a field one of the kinds {', '.join(COLUMN_KIND_NAMES)}. Got {got}.")
    names = tuple(dict.fromkeys(name for name, _ in parts))
    kinds = {name: kind for name, kind in parts if kind is not None}
    return None if meta is None or ALL_FIELDS in names else names, kinds


def _declared(name: str) -> tuple[str, str | None]:
    field, colon, kind = (part.strip() for part in name.rpartition(":"))
    return (field, kind) if colon and field and kind in COLUMN_KIND_NAMES else (name, None)  # dc:title is a name


ITEM_FIELDS = Fields(
    ("_id", "id", "doc_id", "docid", "docno", "item_id", "sku", "product_id", "asin", "uid", "uuid", "key"),
    ("text", "contents", "body", "content", "passage", "description", "abstract"),
    ("title", "name", "product_name", "product_title", "headline", "subject"),
)
QUERY_FIELDS = Fields(("_id", "id", "query_id", "qid"), ("text", "query"), ())


def item_from(record: Mapping[str, Any], line: Line, fields: Fields = ITEM_FIELDS) -> Item:
    """Return the item that a record describes; what is not id, text or title becomes metadata."""
    id_key = _key(record, fields.id, line, "an id")
    title_key = next((key for key in fields.title if key in record), None)
    text, text_keys = _texts(record, fields, line)
    title = "" if title_key is None or record[title_key] is None else text_from(record, title_key, line)
    # Of several columns that make up the text, each stays a field: to be weighed, filtered and counted by.
    used = {id_key, title_key, *(text_keys if len(text_keys) == 1 else ())}
    return Item(id_from(record, id_key, line), text, title, _metadata(record, used, fields.meta))


def query_from(record: Mapping[str, Any], line: Line, fields: Fields = QUERY_FIELDS) -> Query:
    """Return the query that a record describes."""
    id_key = _key(record, fields.id, line, "an id")
    text_key = _key(record, fields.text, line, "a text")
    metadata = metadata_from(record, {id_key, text_key})
    return Query(id_from(record, id_key, line), text_from(record, text_key, line), metadata)


def _texts(record: Mapping[str, Any], fields: Fields, line: Line) -> tuple[str, tuple[str, ...]]:
    if not fields.joined:
        key = _key(record, fields.text, line, "a text")
        return text_from(record, key, line), (key,)
    for name in fields.text:
        _key(record, (name,), line, "a text")
    texts = (text_from(record, name, line) for name in fields.text if record[name] is not None)
    return " ".join(text for text in texts if text), fields.text


def _metadata(record: Mapping[str, Any], used: set[str | None], meta: tuple[str, ...] | None) -> Mapping[str, Any]:
    if meta is None:
        return metadata_from(record, used)
    everything = {**record, **metadata_from(record, set())}
    known = {name: everything[name] for name in meta if name in everything}
    if len(known) < len(meta):
        for name in meta:
            field, _, kind = (part.strip() for part in name.rpartition(":"))
            if name not in known and field in everything:
                raise InputError(
                    f"`meta` must give {field!r:.60} one of the kinds {', '.join(COLUMN_KIND_NAMES)}. Got {kind!r:.60}."
                )
    return known or NO_METADATA


def _key(record: Mapping[str, Any], names: tuple[str, ...], line: Line, what: str) -> str:
    for name in names:
        if name in record:
            return name
    found = ", ".join(map(repr, list(record)[:8])) or "no field"
    wanted = " or ".join(map(repr, names[:5]))
    raise line.error(f"the record must have {what} ({wanted}). Got {found}.", "Rename or name the field.")


def id_from(record: Mapping[str, Any], key: str, line: Line) -> str:
    """Return a record's id: a text that is not empty, or a whole number."""
    value = record[key]
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value:
        raise line.error(f"{key!r} must be a text, not empty, or a whole number. Got {value!r}.", "Repair the id.")
    return _sound(value, key, line)


def text_from(record: Mapping[str, Any], key: str, line: Line) -> str:
    """Return a text of a record."""
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


def metadata_from(record: Mapping[str, Any], used: set[str | None]) -> Mapping[str, Any]:
    """Return what a record holds besides; what a mapping called `metadata` holds stands beside the rest."""
    if len(record) == len(used - {None}):
        return NO_METADATA
    rest = {key: value for key, value in record.items() if key not in used}
    nested = rest.get("metadata")
    if isinstance(nested, Mapping):
        del rest["metadata"]
        rest = {**nested, **rest}
    return rest or NO_METADATA


PARQUET_MAGIC = b"PAR1"
FORMAT_SUFFIXES = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".csv": "csv", ".tsv": "tsv", ".parquet": "parquet",
}  # fmt: skip


def sniff(path: Path, *, encoding: str = "utf-8") -> str | None:
    """Return "jsonl", "csv", "tsv", "parquet", "trec" (topics), or None."""
    kind = FORMAT_SUFFIXES.get(Path(without_packing(as_path(path).name)).suffix.lower())
    if kind is not None:
        return kind
    if path.is_fifo():  # opening it waits until something writes, and it cannot be read twice
        raise InputError(f"Data must be in a file. Got {path}, a pipe: write it to a file first.")
    with path.open("rb") as stream:
        if stream.read(4) == PARQUET_MAGIC:
            return "parquet"
    first = next((line.text for line in LineFile(path, encoding=encoding) if line.text.strip()), "")
    if first.lstrip().startswith("<"):
        return "trec"
    if first.startswith("{"):
        return "jsonl"
    if "\t" in first:
        return "tsv"
    return "csv" if _is_header(first) else None


def _is_header(first: str) -> bool:
    """Return whether a line names an id among other columns."""
    names = {name.strip(' "').lower() for separator in ",;|" for name in first.split(separator)}
    return len(names) > 1 and any(name in names for name in ITEM_FIELDS.id)
