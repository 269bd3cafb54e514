"""Queries whose texts are a string table and whose ids are their numbers."""

from __future__ import annotations

from collections.abc import Iterator

from vizsla.dataset_warning import Tally
from vizsla.io.line_file import Line
from vizsla.query import Query
from vizsla.strings import Strings


class StringsSource:
    """Queries made from distinct texts.

    Examples
    --------
    >>> list(StringsSource(Strings.of(["red fig"]), name="log.tsv"))
    [Query(id='0', text='red fig', metadata={})]
    """

    def __init__(self, texts: Strings, *, name: str):
        self.name, self._texts = name, texts
        self.ids = Strings.of(map(str, range(len(texts))))

    def __iter__(self) -> Iterator[Query]:
        return map(Query, self.ids, self._texts)

    def place(self, number: int) -> Line:
        """Say which text it is."""
        return Line(self.name, number + 1)

    def pick(self, number: int) -> Query | None:
        """Return one query."""
        return Query(self.ids[number], self._texts[number])

    def report(self, tally: Tally) -> None:
        """Nothing is ever skipped."""
