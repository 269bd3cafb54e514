"""Judgments alone: relevance grades without a catalog, which is all that the evaluation of a run needs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from vizsla.core.validation import WarningLog
from vizsla.errors import InputError
from vizsla.evaluation.measures import JudgedSplits
from vizsla.io.bad_lines import STRICT_READING, Reading
from vizsla.io.builder import read_judgments
from vizsla.io.frames import is_frame
from vizsla.io.interactions import Interactions
from vizsla.io.readers import read_entries, read_queries


class Judgments:
    """Grades of one split, by query id and item id; query texts where they are known.

    Parameters
    ----------
    grades : mapping
        `{query id: {item id: grade}}`.
    split : str
        The name of the split.
    texts : mapping, optional
        Texts of the queries by id, for display; a retriever cannot be evaluated on ids alone.

    Examples
    --------
    >>> Judgments.of([("q1", "fig", 2), ("q1", "pear", 0)]).qrels_dict()
    {'q1': {'fig': 2, 'pear': 0}}
    """

    def __init__(
        self, grades: Mapping[str, Mapping[str, int]], split: str = "test", texts: Mapping[str, str] | None = None
    ):
        self.splits = (split,)
        self._grades = {query: dict(row) for query, row in grades.items()}
        self._texts = dict(texts or {})

    @classmethod
    def of(
        cls,
        qrels: Any,
        split: str = "test",
        *,
        queries: str | Path | None = None,
        how: Reading = STRICT_READING,
    ) -> Self:
        """Read judgments: `{query id: {item id: grade}}`, triples, a data frame, or a TREC, BEIR or Parquet file.

        Parameters
        ----------
        qrels : mapping, list, data frame or path
            The judgments. A pair that is given twice must have one grade.
        split : str
            What to call the split.
        queries : path, optional
            A file of query texts by id.
        how : Reading
            The encoding, and what becomes of lines that cannot be read.
        """
        if isinstance(qrels, str | os.PathLike):
            name, entries = str(qrels), read_entries(Path(qrels), grades=True, how=how)
        else:
            name, entries = "qrels", read_judgments(qrels, split)
        pairs, tally = Interactions(None, None, dangling="warn"), WarningLog()
        entries.into(pairs)
        entries.report(tally)
        matrix = pairs.graded(tally, name=name)
        items, ids = pairs.items.take(matrix.indices), list(pairs.queries)
        grades, bounds = matrix.data.tolist(), matrix.indptr.tolist()
        rows = {
            query: dict(zip(items[start:end], grades[start:end], strict=True))
            for query, start, end in zip(ids, bounds, bounds[1:], strict=False)
        }
        texts = None if queries is None else {one.id: one.text for one in read_queries(Path(queries), how=how)}
        tally.emit()
        if not rows:
            raise InputError("`qrels` must hold at least one judgment. Got none.")
        return cls(rows, split, texts)

    @property
    def has_texts(self) -> bool:
        """Whether every judged query has a text."""
        return all(query in self._texts for query in self._grades)

    def query_texts(self, split: str = "test") -> tuple[list[str], list[str]]:
        """Return the judged queries' ids and texts; an empty text where none is known."""
        return list(self._grades), [self._texts.get(query, "") for query in self._grades]

    def qrels_dict(self, split: str = "test") -> dict[str, dict[str, int]]:
        """Return `{query id: {item id: grade}}`."""
        return self._grades

    def __repr__(self) -> str:
        pairs = sum(map(len, self._grades.values()))
        return f"Judgments({len(self._grades)} queries, {pairs} judgments, split: {self.splits[0]})"


def judged_splits(given: Any, split: str = "test") -> JudgedSplits:
    """Return what evaluation can ask for judgments: a dataset as it is, judgments alone in any form."""
    if hasattr(given, "qrels_dict"):
        asked: JudgedSplits = given
        return asked
    if isinstance(given, str | os.PathLike | Mapping | list | tuple) or is_frame(given):
        return Judgments.of(given, split)
    raise InputError(
        "`dataset` must be a Dataset, or judgments alone: {query id: {item id: grade}}, a data frame, or the path of a "
        f"qrels file. Got {type(given).__name__}."
    )
