"""A retriever whose scores are written down: the truth that compositions are checked against."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from vizsla.base.retriever import Retriever
from vizsla.core.candidates import Candidates, PairScores, Stats
from vizsla.core.explanation import Explanation
from vizsla.core.strings import Strings


class TableRetriever(Retriever):
    """Answers each query text from a table `{query: {item: score}}`; an item that is not in the row costs `floor`."""

    kind = "table"

    def __init__(
        self,
        table: Mapping[str, Mapping[str, float]],
        items: list[str],
        *,
        scale: str = "table",
        floor: float = 0.0,
        exact: bool = False,
    ):
        self.table, self._items, self.scale, self.floor = table, Strings.unique(items), scale, floor
        self.exact_search = exact
        """Whether its searches say that they are exact: no score of the table may then be below the floor."""

    def __str__(self) -> str:
        return self.scale

    @property
    def items(self) -> Strings:
        return self._items

    @property
    def nbytes(self) -> int:
        return 8 * len(self._items)

    def _search(self, queries, k, filter, threads):
        rows = []
        for text in queries.texts:
            row = {self._items.number(item): score for item, score in self.table.get(text, {}).items()}
            ranked = sorted(row.items(), key=lambda pair: (-pair[1], pair[0]))
            rows.append([pair for pair in ranked if filter is None or filter.mask[pair[0]]][:k])
        offsets = np.cumsum([0, *map(len, rows)])
        flat = [pair for row in rows for pair in row]
        items = np.array([item for item, _ in flat], dtype=np.int32)
        return Candidates(
            offsets,
            items,
            np.array([s for _, s in flat], np.float32),
            catalog=self._items,
            stats=Stats(postings=len(flat), exact=self.exact_search),
        )

    def _score(self, queries, candidates, filter, threads):
        rows = np.repeat(np.arange(len(candidates)), np.diff(candidates.offsets))
        items = self._items.take(candidates.items)
        scores = [self._score_given(queries.texts[row], item) for row, item in zip(rows, items, strict=True)]
        return PairScores(np.array(scores, np.float32), Stats(scored=len(scores)))

    def _explain(self, queries, item, filter):
        return Explanation(self._score_given(queries.texts[0], self._items[item]), f"table {self.scale}")

    def _score_given(self, text: str, item: str) -> float:
        return self.table.get(text, {}).get(item, self.floor)

    def _write(self, writer):
        writer.parameters(table=self.table, scale=self.scale, floor=self.floor)
        writer.strings("items", self._items)

    @classmethod
    def _read(cls, reader):
        table = reader.parameter("table", dict)
        return cls(
            table,
            list(reader.strings("items")),
            scale=reader.parameter("scale", str),
            floor=reader.parameter("floor", float),
        )
