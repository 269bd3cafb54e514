"""Records packed into memory: for sources that can only be read from their start."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable
from typing import Any, Generic

from vizsla.io.source import Record


class Packed(Generic[Record]):
    """All records as JSON bytes in one buffer: far smaller than a list of objects.

    Examples
    --------
    >>> from vizsla.item import Item
    >>> Packed([Item("d1", "a fig"), Item("d2", "a pear")])[1]
    Item(id='d2', text='a pear', title='', metadata={})
    """

    def __init__(self, records: Iterable[Record]):
        self._kind: Any = None
        self._data, self._offsets = bytearray(), array("q", [0])
        for record in records:
            self._kind = type(record)
            self._data += json.dumps([*record[:-1], dict(record[-1])], ensure_ascii=False).encode()
            self._offsets.append(len(self._data))

    def __getitem__(self, number: int) -> Record:
        record: Record = self._kind(*json.loads(self._data[self._offsets[number] : self._offsets[number + 1]]))
        return record
