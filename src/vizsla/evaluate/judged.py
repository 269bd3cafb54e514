"""The queries that an evaluation can use: those of a split that have judgements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from vizsla.errors import InputError, check_choice

Qrels = Mapping[str, Mapping[str, int]]


class JudgedSplits(Protocol):
    """What evaluation asks of a dataset."""

    @property
    def splits(self) -> Iterable[str]:
        """The names of the splits."""

    def query_texts(self, split: str) -> tuple[Sequence[str], Sequence[str]]:
        """Return query ids and query texts."""

    def qrels_dict(self, split: str) -> Qrels:
        """Return `{query id: {item id: relevance}}`."""


@dataclass(frozen=True)
class JudgedQueries:
    """Queries with judgements, and how many of the split had none.

    Parameters
    ----------
    ids, texts : list of str
        The judged queries, in the split's order.
    qrels : dict
        `{query id: {item id: relevance}}` for exactly these queries.
    unjudged : int
        Queries of the split that have no judgement and are left out.
    """

    ids: list[str]
    texts: list[str]
    qrels: dict[str, dict[str, int]]
    unjudged: int

    @classmethod
    def of(cls, dataset: JudgedSplits, split: str) -> JudgedQueries:
        """Take a split's judged queries; a judged query without a text raises."""
        splits = list(getattr(dataset, "splits", ()))
        if not splits:
            raise InputError("`dataset` must have judgements (qrels) to be evaluated on. Got none.")
        check_choice("split", split, splits)
        ids, texts = dataset.query_texts(split)
        text_of = dict(zip(ids, texts, strict=True))
        judged = {query: row for query, row in dataset.qrels_dict(split).items() if row}
        unknown = next((query for query in judged if query not in text_of), None)
        if unknown is not None:
            raise InputError(f"Every judged query must have a text. Got {unknown!r} in split {split!r}.")
        if not judged:
            raise InputError(f"`split` must have judged queries. Got {split!r}, which has none.")
        kept = [query for query in text_of if query in judged]
        qrels = {query: {item: int(grade) for item, grade in judged[query].items()} for query in kept}
        return cls(kept, [text_of[query] for query in kept], qrels, len(text_of) - len(kept))
