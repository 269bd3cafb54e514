"""Rearrange item metadata by item number, and join what several catalogs know of the same or of other items."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vizsla.core.catalog import Catalog, details_of
from vizsla.core.strings import Strings
from vizsla.core.validation import DatasetWarning, user_stacklevel
from vizsla.data.columns import Column, NumberColumn
from vizsla.data.metadata import CompressedTexts, GatheredTexts, ItemMetadata, TextStore
from vizsla.data.metadata_builder import column_of
from vizsla.typing import Int32Array, Int64Array


def selected(details: ItemMetadata, numbers: NDArray[np.int64]) -> ItemMetadata:
    """Return the details of these items, in this order."""
    columns = {name: column.take(numbers) for name, column in details.columns.items()}
    return ItemMetadata(columns, len(numbers), _texts([details], [numbers]))


def described(ids: Strings, sources: Sequence[Strings], *, settled: bool = False) -> Strings:
    """Return ids with all fields and texts that some catalogs know of them; the first that knows a field wins.

    Where the catalogs hold the same items, whole columns are taken over. Where they differ, an item that the first does
    not know, or has no value for, gets the next one's. Values are carried over as they were read, never read again, so
    that no item's number changes because others join it; only values of another kind are read again. Where kinds
    differ, a declared one wins, and among others all values decide.

    Parameters
    ----------
    ids : Strings
        The items.
    sources : sequence of Strings
        The catalogs; those that know only ids say nothing.
    settled : bool
        Whether a field keeps the kind that it has in the first source, and numbers that may be read in two ways are
        read as there, as when items are added to it: what does not parse there is missing, and a warning counts it.

    Examples
    --------
    >>> from vizsla.data.dataset import Dataset
    >>> one = Dataset.of([{"id": "f", "text": "fig", "price": 3}, {"id": "p", "text": "pear"}]).item_ids
    >>> details_of(described(Strings.of(["new", "f"]), [one])).of(1)
    {'price': 3}
    >>> other = Dataset.of([{"id": "f", "text": "fig", "price": 4, "color": "green"}]).item_ids
    >>> details_of(described(one, [one, other])).of(0)
    {'price': 3, 'color': 'green'}
    """
    known = [(source, details) for source in sources if (details := details_of(source)) is not None]
    known = list({id(details): (source, details) for source, details in known}.values())
    if not known:
        return ids
    same = all(source is ids or source == ids for source, _ in known)
    if same and len(known) == 1:
        return ids if details_of(ids) is known[0][1] else Catalog(ids, known[0][1])
    parts = [details for _, details in known]
    numbers = None if same else [source.find_all(ids) for source, _ in known]
    columns: dict[str, Column] = {}
    for name in dict.fromkeys(name for details in parts for name in details.columns):
        if numbers is None:
            columns[name] = _whole([details.columns[name] for details in parts if name in details.columns])
            continue
        held = [(part.columns[name], at) for part, at in zip(parts, numbers, strict=True) if name in part.columns]
        columns[name] = joined(name, [column.take(at) for column, at in held], settled=settled)
    if numbers is None:
        texts = next((details.texts for details in parts if details.texts is not None), None)
    else:
        # A field that none of these items has is dropped, so that removing added items restores what was there before.
        columns = {name: column for name, column in columns.items() if (column.codes >= 0).any()}
        texts = _texts(parts, numbers)
    return Catalog(ids, ItemMetadata(columns, len(ids), texts)) if columns or texts is not None else ids


def _whole(columns: list[Column]) -> Column:
    """Return the first column over the same items, or the first of a declared kind where the first's is told."""
    declared = next((column for column in columns if column.declared), columns[0])
    return columns[0] if columns[0].kind == declared.kind else declared


def joined(name: str, columns: list[Column], *, settled: bool) -> Column:
    """Return one column of several over the same items: for each item the first value that one of them has."""
    if len(columns) == 1:
        return columns[0]
    leading = columns[0] if settled else next((column for column in columns if column.declared), None)
    if leading is not None:
        kind = leading.kind
    elif len({column.kind for column in columns}) == 1:
        kind = columns[0].kind
    else:
        kind = column_of([value for column in columns for value in column.raw()], _stacked(columns)).kind
        leading = next((column for column in columns if column.kind == kind), None)
    own = [column if column is leading else _as(column, kind, leading, settled=settled) for column in columns]
    made = type(own[0]).merged(own, _stacked(own))
    made.declared = leading is not None and leading.declared
    if settled and isinstance(made, NumberColumn) and isinstance(leading, NumberColumn):
        made.style = leading.style
    lost = [one.odd_count - given.odd_count for one, given in zip(own, columns, strict=True)]
    if sum(lost) > 0 and (settled or made.declared):
        odd = own[int(np.argmax(lost))].odd[0]
        problem = f"{sum(lost)} new values of {name!r} are no {kind}, such as {odd!r:.60}"
        warnings.warn(f"{problem}: they count as missing", DatasetWarning, stacklevel=user_stacklevel())
    return made


def _as(column: Column, kind: str, leading: Column | None, *, settled: bool) -> Column:
    """Return a column as one of this kind; its values are read again only if that is another kind.

    Numbers that were read without a hint of what their point is are read as those of the column that they are added to.
    """
    style = leading.style if isinstance(leading, NumberColumn) else None
    if column.kind == kind:
        undecided = isinstance(column, NumberColumn) and not column.style.point and not column.declared
        if not (settled and undecided and style is not None and style.point):
            return column
    declared = leading is not None and leading.declared
    return column_of(column.raw(), column.codes, kind, declared=declared, style=style)


def _stacked(columns: Sequence[Column]) -> Int32Array:
    """Return each item's number in the columns' dictionaries, one after another: that of the first that has one."""
    codes, start = columns[0].codes.copy(), columns[0].known + len(columns[0].odd)
    for column in columns[1:]:
        new = (codes < 0) & (column.codes >= 0)
        codes[new] = column.codes[new] + start
        start += column.known + len(column.odd)
    return codes


def _texts(parts: Sequence[ItemMetadata], numbers: Sequence[Int64Array]) -> TextStore | None:
    """Return the texts of items, of the first catalog that has one of each; None where there is no text at all."""
    which, places = np.full(len(numbers[0]), -1, np.int32), np.zeros(len(numbers[0]), np.int64)
    stores: list[CompressedTexts] = []
    for part, at in zip(parts, numbers, strict=True):
        held = part.texts
        new = np.flatnonzero((which < 0) & (at >= 0))
        if held is None or not len(new):
            continue
        own = at[new]
        if isinstance(held, GatheredTexts):
            inner = held.which[own]
            which[new], places[new] = np.where(inner < 0, -1, inner + len(stores)), held.places[own]
            stores += held.stores
        else:
            which[new], places[new] = len(stores), own
            stores.append(held)
    used = np.unique(which[which >= 0])
    if not len(used):
        return None
    stores = [stores[number] for number in used.tolist()]
    which = np.where(which < 0, -1, np.searchsorted(used, which)).astype(np.int32)
    if len(stores) == 1 and len(which) == len(stores[0]) and np.array_equal(places, np.arange(len(places))):
        return stores[0] if (which == 0).all() else GatheredTexts(stores, which, places)
    return GatheredTexts(stores, which, places)
