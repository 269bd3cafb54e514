"""A retriever of your own: implement seven methods, and filters, composition, files and evaluation come for free."""

import tempfile
from pathlib import Path
from typing import Any, Self

import numpy as np

import vizsla
from vizsla.base.queries import Queries
from vizsla.base.retriever import Retriever
from vizsla.core.candidates import Candidates, PairScores, Stats
from vizsla.core.explanation import Explanation
from vizsla.core.strings import Strings
from vizsla.data.filter import Filter


class Shortest(Retriever):
    """Prefers items whose ids are as long as the query."""

    kind = "example-shortest"
    scale = "length"

    def __init__(self, items: Strings):
        self._items = items
        self._lengths = np.array([len(item) for item in items], np.float32)

    @property
    def items(self) -> Strings:
        """Item ids by number."""
        return self._items

    @property
    def nbytes(self) -> int:
        """One number an item."""
        return int(self._lengths.nbytes)

    def _search(self, queries: Queries, k: int, filter: Filter | None, threads: int) -> Candidates:
        allowed = np.arange(len(self._items), dtype=np.int32) if filter is None else filter.numbers
        everything = Candidates.from_rows([allowed] * len(queries), catalog=self._items)
        return everything.with_scores(self._score(queries, everything, filter, threads), k=k)

    def _score(self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int) -> PairScores:
        lengths = np.repeat([len(text) for text in queries.texts], np.diff(candidates.offsets))
        scores = -np.abs(self._lengths[candidates.items] - lengths)
        return PairScores(scores.astype(np.float32), Stats(scored=len(scores)))

    def _explain(self, queries: Queries, item: int, filter: Filter | None) -> Explanation:
        return Explanation(self._score_one(queries, item), "how far the lengths are apart")

    def _write(self, writer: Any) -> None:
        writer.strings("items", self._items)

    @classmethod
    def _read(cls, reader: Any) -> Self:
        return cls(reader.strings("items"))


search = Shortest(Strings.of(["fig", "apple", "pomegranate"]))
print(search("plums", k=1, where={"fig", "apple"}).ids)
with tempfile.TemporaryDirectory() as folder:
    mixed = search.normalized() + vizsla.bm25(["a", "b", "c"], ids=list(search.items)).normalized()
    again = vizsla.load(mixed.save(Path(folder) / "mixed"))
    print(again("apple", k=1).ids)
