"""All items that a filter allows, for queries that name fields or exclude words, and look for no word in the texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn, Self

import numpy as np

from vizsla.base.queries import Queries
from vizsla.base.retriever import Retriever
from vizsla.base.scorer import Scorer
from vizsla.core.candidates import Candidates, PairScores, Stats
from vizsla.core.explanation import Explanation
from vizsla.core.strings import Strings
from vizsla.data.filter import Filter
from vizsla.errors import InputError
from vizsla.text.highlights import Highlighter
from vizsla.text.web_syntax import WebQuery
from vizsla.typing import Int32Array

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter


class AllowedItems(Retriever):
    """A retriever that finds every allowed item, ordered by the scores of another.

    Parameters
    ----------
    part : Retriever
        The retriever.

    Examples
    --------
    >>> from vizsla.methods.bm25 import bm25
    >>> AllowedItems(bm25({"f": "a fig", "p": "a pear"}))("pear").ids
    [['p', 'f']]
    """

    def __init__(self, part: Retriever):
        self.part, self.scale = part, part.scale

    @property
    def items(self) -> Strings:
        """Those of the part."""
        return self.part.items

    @property
    def nbytes(self) -> int:
        """Bytes of the part."""
        return self.part.nbytes

    def _search(self, queries: Queries, k: int, filter: Filter | None, threads: int) -> Candidates:
        numbers = np.arange(len(self.items), dtype=np.int32) if filter is None else filter.numbers
        allowed = Candidates.from_rows([numbers] * len(queries), catalog=self.items, stats=Stats(exact=True))
        if self.scale == "none":  # a match set
            return allowed.top(k)
        scored = self.part._score_once(queries, allowed, filter, threads)
        return allowed.with_scores(PairScores(scored.scores, scored.stats.with_exact(True)), k=k)

    def _score(self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int) -> PairScores:
        return self.part._score_once(queries, candidates, filter, threads)

    def _explain(self, queries: Queries, item: int, filter: Filter | None) -> Explanation:
        return self.part._explain(queries, item, filter)

    def _matches(self, queries: Queries, threads: int) -> Int32Array | None:
        return np.arange(len(self.items), dtype=np.int32)

    def _highlighter(self, query: str) -> Highlighter | None:
        return self.part._highlighter(query)

    def _write(self, writer: ArtifactWriter) -> NoReturn:
        raise InputError("`AllowedItems` is made for one query. Got `save`: save its part.")

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        raise InputError("`AllowedItems` is made for one query. Got `load`.")


def answering(retriever: Retriever, query: WebQuery, asked: Queries, threads: int) -> Retriever:
    """Return what answers a query in the web syntax: all that it allows is found where it looks for no word.

    A retriever that finds something for every query, such as dense search, answers by itself; and no model is called
    for whole catalogs.
    """
    if not query.only_filters or _calls_models(retriever) or retriever._matches(asked, threads) is None:
        return retriever
    return AllowedItems(retriever)


def _calls_models(scorer: Scorer) -> bool:
    return scorer.model_calls or any(map(_calls_models, scorer.children()))
