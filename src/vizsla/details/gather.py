"""Details for another numbering of items: when items come and go, or catalogs join."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vizsla.catalogue import Catalogue, details_of
from vizsla.checked import caller_level
from vizsla.dataset_warning import DatasetWarning
from vizsla.details.column import Column
from vizsla.details.details import Details
from vizsla.details.infer import column_of
from vizsla.details.kept_texts import KeptTexts, TextPacker
from vizsla.strings import Strings

Numbers = NDArray[np.int64]


def selected(details: Details, numbers: NDArray[np.int64]) -> Details:
    """Return the details of these items, in this order."""
    columns = {name: column.take(numbers) for name, column in details.columns.items()}
    texts = None if details.texts is None else _texts([details], [numbers])
    return Details(columns, len(numbers), texts)


def described(ids: Strings, sources: Sequence[Strings], *, settled: bool = False) -> Strings:
    """Return ids with what some catalogs know of them: for each field, what the first that has a value says.

    Parameters
    ----------
    ids : Strings
        The items.
    sources : sequence of Strings
        The catalogs; those that know only ids say nothing.
    settled : bool
        Whether a field keeps the kind that it has in the first source, as when items are added to it: what does not
        parse there is missing, and a warning counts it. Otherwise, where kinds differ, all values decide anew.

    Examples
    --------
    >>> from vizsla.dataset import Dataset
    >>> fruit = Dataset.of([{"id": "f", "text": "fig", "price": 3}, {"id": "p", "text": "pear"}]).item_ids
    >>> details_of(described(Strings.of(["new", "f"]), [fruit])).of(1)
    {'price': 3}
    """
    known = [(source, details) for source in sources if (details := details_of(source)) is not None]
    if not known:
        return ids
    if len(known) == 1 and known[0][0] == ids:
        return Catalogue(ids, known[0][1])
    numbers = [source.find_all(ids) for source, _ in known]
    parts = [details for _, details in known]
    columns: dict[str, Column] = {}
    for name in dict.fromkeys(name for details in parts for name in details.columns):
        held = [(part.columns[name], at) for part, at in zip(parts, numbers, strict=True) if name in part.columns]
        columns[name] = _joined(name, [column.take(at) for column, at in held], settled=settled)
    # A field that none of these items has is dropped, so that removing added items restores what was there before.
    columns = {name: column for name, column in columns.items() if (column.codes >= 0).any()}
    texts = _texts(parts, numbers) if all(details.texts is not None for details in parts) else None
    return Catalogue(ids, Details(columns, len(ids), texts)) if columns or texts is not None else ids


def _joined(name: str, columns: list[Column], *, settled: bool) -> Column:
    """Return one column of several over the same items."""
    if len(columns) == 1:
        return columns[0]
    codes, values = columns[0].codes.copy(), columns[0].raw()
    for column in columns[1:]:
        new = (codes < 0) & (column.codes >= 0)
        codes[new] = column.codes[new] + len(values)
        values += column.raw()
    kinds = {column.kind for column in columns}
    kind = columns[0].kind if settled or len(kinds) == 1 else None
    joined = column_of(values, codes, kind)
    lost = joined.odd_count - sum(column.odd_count for column in columns)
    if settled and lost > 0:
        said = f"{lost} new values of {name!r} are no {joined.kind}, such as {joined.odd[0]!r:.60}"
        warnings.warn(f"{said}: they count as missing", DatasetWarning, stacklevel=caller_level())
    return joined


def _texts(parts: Sequence[Details], numbers: Sequence[Numbers]) -> KeptTexts:
    packer = TextPacker()
    for row in zip(*(at.tolist() for at in numbers), strict=True):
        found = (part.text(number) for part, number in zip(parts, row, strict=True) if number >= 0)
        packer.add(next(found, None) or "")
    return packer.packed()
