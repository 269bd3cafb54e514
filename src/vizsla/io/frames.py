"""Data frames as records: pandas, polars and Arrow tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time
from math import nan
from pathlib import Path
from typing import Any, NamedTuple, Self

from vizsla.core.catalog import NO_METADATA, Item, Query
from vizsla.core.validation import check_listed
from vizsla.errors import DataError, InputError, MissingExtraError
from vizsla.io.fields import QUERY_FIELDS, Fields, id_from, metadata_from, text_from
from vizsla.io.files import Line
from vizsla.io.interactions import COLUMN_NAMES, COLUMN_ORDER, Entry, ListInteractions, grade_of, time_of, weight_of
from vizsla.io.tables import TableHead, table_head


class InteractionColumns(NamedTuple):
    """The columns of a Parquet file or a data frame that hold clicks, or with `grades` judgments.

    Examples
    --------
    >>> columns = InteractionColumns.of(["SKU", "query", "page"], "clicks")
    >>> columns.entry({"query": "red fig", "SKU": 7}, Line("clicks", 1))[:3]
    ('red fig', '7', 1.0)
    """

    query: str
    item: str
    weight: str | None
    time: str | None
    grades: bool

    @classmethod
    def of(
        cls, names: Sequence[str], path: str | Path, given: Mapping[str, str] | None = None, *, grades: bool = False
    ) -> Self:
        """Say which column is what, by the names that the user gave, or else by the usual ones; raise if that fails."""
        unknown = sorted(set(given or {}) - set(COLUMN_ORDER))
        if unknown:
            raise InputError(f"`click_columns` must name query, item, weight or time. Got {unknown[0]!r}.")
        kinds = COLUMN_ORDER[:3] if grades else COLUMN_ORDER
        found = {kind: _column(names, kind, (given or {}).get(kind), path) for kind in kinds}
        return cls(str(found["query"]), str(found["item"]), found["weight"], found.get("time"), grades)

    @property
    def names(self) -> list[str]:
        """The names of the columns that are read."""
        return [name for name in (self.query, self.item, self.weight, self.time) if name is not None]

    def entry(self, row: Mapping[str, Any], line: Line) -> Entry:
        """Return the entry that a row holds."""
        query, item = row[self.query], row[self.item]
        if query in (None, "") or item in (None, ""):
            raise line.error("the query or the item is empty.", "Repair the row.")
        for id in (query, item):
            if isinstance(id, float):
                raise line.error(f"ids must be texts or whole numbers. Got {id!r}.", "Convert the column to text.")
        value = (grade_of if self.grades else weight_of)(str(1 if self.weight is None else row[self.weight]), line)
        return str(query), str(item), value, nan if self.time is None else time_of(str(row[self.time]), line)


def _column(names: Sequence[str], kind: str, given: str | None, path: str | Path) -> str | None:
    known = COLUMN_NAMES[kind] if given is None else {given.lower()}
    found = next((name for name in names if name.lower() in known), None)
    if found is None and (given is not None or kind in ("query", "item")):
        wanted = ", ".join(sorted(known))
        raise DataError(f"a column must be called one of {wanted}. Got {list(names)}.", path=path, remedy="Rename.")
    return found


# Data frames as records: pandas, polars, Arrow tables, and whatever speaks Arrow's stream protocol.
#
# No library is imported unless a frame of it was given. pandas and polars are read by their own methods, so that
# neither needs pyarrow, and a pandas column of mixed objects is no error; anything else goes through pyarrow.

_NO_FRAMES = (str, bytes, list, tuple, Mapping, type)
_PROTOCOLS = ("__arrow_c_stream__", "__arrow_c_array__", "__dataframe__")


class Frame(NamedTuple):
    """A table in memory: names of its columns, and the values of each; None is missing."""

    names: list[str]
    columns: list[list[Any]]

    @property
    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows, one by one."""
        return zip(*self.columns, strict=True)


def is_frame(thing: Any) -> bool:
    """Return whether a thing is a data frame that can be read; one column of a frame is none.

    Examples
    --------
    >>> import pyarrow
    >>> is_frame(pyarrow.table({"id": [1]})), is_frame(pyarrow.array([1])), is_frame([1])
    (True, False, False)
    """
    if isinstance(thing, _NO_FRAMES):
        return False
    library = _library(thing)
    if library in ("pandas", "polars"):
        return hasattr(type(thing), "columns")
    if library == "pyarrow":
        return hasattr(thing, "schema")
    return any(hasattr(thing, name) for name in _PROTOCOLS)


def frame_of(thing: Any, what: str) -> Frame | None:
    """Return a data frame as plain columns; None for anything that is no frame.

    Examples
    --------
    >>> import pyarrow
    >>> frame_of(pyarrow.table({"id": [1, 2], "text": ["fig", None]}), "items")
    Frame(names=['id', 'text'], columns=[[1, 2], ['fig', None]])
    """
    if not is_frame(thing):
        return None
    library = _library(thing)
    if library == "pandas" and hasattr(thing, "iloc"):
        return _of_pandas(thing, what)
    if library == "polars" and hasattr(thing, "iter_rows"):
        names = list(thing.columns)
        return Frame(_named(names, what), [_plain(thing[name].to_list()) for name in names])
    if hasattr(thing, "collect"):
        raise InputError(f"`{what}` must be read already. Got {type(thing).__name__}: call collect() first.")
    return _of_arrow(thing, what)


def series_of(thing: Any) -> Any:
    """Return one column of a frame as a list, or by id where a pandas index holds texts; anything else as it is.

    Examples
    --------
    >>> import pyarrow
    >>> series_of(pyarrow.array(["fig", "pear"])), series_of(["fig"])
    (['fig', 'pear'], ['fig'])
    """
    if isinstance(thing, _NO_FRAMES):
        return thing
    library = _library(thing)
    if library == "pandas" and getattr(thing, "ndim", 0) == 1 and hasattr(thing, "tolist"):
        index = getattr(thing, "index", None)
        if index is None or not len(index) or not all(isinstance(label, str) for label in index):
            return _values(thing)
        if not index.is_unique:
            raise InputError("The index of a Series must name every item once. Got a label twice.")
        return dict(zip(index.tolist(), _values(thing), strict=True))
    if library == "polars" and hasattr(thing, "to_list"):
        return thing.to_list()
    if library == "pyarrow" and hasattr(thing, "to_pylist") and not hasattr(thing, "schema"):
        return thing.to_pylist()
    return thing


def plain_items(items: Any) -> Any:
    """Return items as they are, unless they are a data frame, a Series or dicts: these become a Dataset or plain texts.

    Whatever takes items calls this, so that all take the same forms, and what holds no items is refused.

    Examples
    --------
    >>> plain_items([{"id": "f", "text": "a fig", "price": 3}]).item_ids
    Strings(['f'], 1 in all)
    """
    from vizsla.data.dataset import Dataset

    if isinstance(items, Dataset):
        return items
    if is_frame(items):
        return Dataset.of(items)
    given = series_of(items)
    check_listed("items", given)
    first = None
    if isinstance(given, Mapping):
        first = next(iter(given.values()), None)
    elif isinstance(given, list | tuple):
        first = given[0] if given else None
    return Dataset.of(given) if isinstance(first, Mapping) else given


def frame_items(frame: Frame, fields: Fields) -> tuple[TableHead, list[Item]]:
    """Return which column of a frame was taken for what, and its items."""
    head = table_head(frame.names, fields, Line("items", 0))
    return head, [_item(head, row, Line("items", number)) for number, row in enumerate(frame.rows, 1)]


def frame_queries(frame: Frame) -> list[Query]:
    """Return the queries of a frame."""
    head = table_head(frame.names, QUERY_FIELDS, Line("queries", 0))
    items = (_item(head, row, Line("queries", number)) for number, row in enumerate(frame.rows, 1))
    return [Query(item.id, item.text, item.metadata) for item in items]


def frame_entries(
    frame: Frame, name: str, *, grades: bool = False, columns: Mapping[str, str] | None = None
) -> ListInteractions:
    """Return the clicks, or with `grades` the judgments, of a frame."""
    return ListInteractions(frame_rows(frame, name, grades=grades, columns=columns), name=name)


def frame_rows(
    frame: Frame, name: str, *, grades: bool = False, columns: Mapping[str, str] | None = None
) -> list[Entry]:
    """Return (query, item, weight) of each row of a frame, with the time as the fourth where it has such a column."""
    found = InteractionColumns.of(frame.names, name, columns, grades=grades)
    rows = (dict(zip(frame.names, row, strict=True)) for row in frame.rows)
    entries = (found.entry(row, Line(name, number)) for number, row in enumerate(rows, 1))
    return [entry if found.time is not None else entry[:3] for entry in entries]


def _item(head: TableHead, row: tuple[Any, ...], line: Line) -> Item:
    names = head.names
    texts = (_text(names[at], row[at], line) for at in head.text)
    title = "" if head.title is None else _text(names[head.title], row[head.title], line)
    known = {names[at]: row[at] for at in head.meta if row[at] is not None}
    id = id_from({names[head.id]: row[head.id]}, names[head.id], line)
    text = " ".join(text for text in texts if text)
    return Item(id, text, title, metadata_from(known, set()) if known else NO_METADATA)


def _text(name: str, value: Any, line: Line) -> str:
    return "" if value is None else text_from({name: value}, name, line)


def _library(thing: Any) -> str:
    return type(thing).__module__.partition(".")[0]


def _of_pandas(frame: Any, what: str) -> Frame:
    """Read a pandas frame; an index with names is columns too, as it was before `set_index`, unless it is one already.

    As of `reset_index`, its columns come first.
    """
    names = _named(frame.columns.tolist(), what)
    levels = [
        (str(name), at) for at, name in enumerate(frame.index.names) if name is not None and str(name) not in names
    ]
    columns = [_plain(_values(frame.index.get_level_values(at))) for _, at in levels]
    columns += [_plain(_values(frame.iloc[:, at])) for at in range(frame.shape[1])]
    return Frame([*(name for name, _ in levels), *names], columns)


def _values(series: Any) -> list[Any]:
    """Return the values of a pandas Series; NaN, NaT and NA become None."""
    missing = series.isna().tolist() if hasattr(series, "isna") else [False] * len(series)
    return [None if gone is True else value for value, gone in zip(series.tolist(), missing, strict=True)]


def _of_arrow(thing: Any, what: str) -> Frame:
    try:
        import pyarrow
        from pyarrow import interchange
    except ImportError:
        raise MissingExtraError(f"Reading `{what}` from {type(thing).__name__}", "parquet") from None
    try:
        if isinstance(thing, pyarrow.RecordBatchReader):
            table = thing.read_all()
        elif hasattr(thing, "__arrow_c_stream__") or hasattr(thing, "__arrow_c_array__"):
            table = pyarrow.table(thing)
        else:
            table = interchange.from_dataframe(thing)
        columns = [_plain(table.column(at).to_pylist()) for at in range(table.num_columns)]
    except (pyarrow.ArrowException, TypeError, ValueError, OverflowError, RuntimeError) as error:
        got = f"{type(thing).__name__}, which cannot be read as an Arrow table ({error})"
        raise InputError(f"`{what}` must be a table with named columns. Got {got}.") from None
    return Frame(_named(table.column_names, what), columns)


def _named(names: list[Any], what: str) -> list[str]:
    if any(isinstance(name, tuple) for name in names):
        raise InputError(f"`{what}` must have plain column names. Got {names[0]!r:.60}: flatten the columns first.")
    return [str(name) for name in names]


def _plain(values: list[Any]) -> list[Any]:
    """Return values as files have them: times as ISO 8601, NaN as missing."""
    return [value if isinstance(value, str | int) else _value(value) for value in values]


def _value(value: Any) -> Any:
    if isinstance(value, float):
        return None if value != value else value
    return value.isoformat() if isinstance(value, datetime | date | time) else value
