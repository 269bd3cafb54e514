"""Search by queries in the web syntax: what they require and exclude are filters, whatever the retriever."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from vizsla.base.queries import Queries
from vizsla.core.candidates import Candidates
from vizsla.core.strings import Strings
from vizsla.data.filter import Filter, Where
from vizsla.errors import check_choice
from vizsla.text.web_syntax import SYNTAXES, WEB, WebQuery, parse_web
from vizsla.text.word_filter import CatalogWords, is_field

if TYPE_CHECKING:
    from vizsla.base.retriever import Retriever


def parsed(items: Strings, text: str) -> WebQuery:
    """Read a query with the fields that a catalog has."""
    return parse_web(text, lambda name: is_field(items, name))


def is_web(syntax: str) -> bool:
    """Return whether queries are in the web syntax; an unknown syntax raises."""
    check_choice("syntax", syntax, SYNTAXES)
    return syntax == WEB


def prepared(items: Strings, query: WebQuery, where: Where | None) -> tuple[str, Where | None]:
    """Return what is searched for, and the filter that a query makes, together with another."""
    if query.is_plain:
        return query.words, where
    words = CatalogWords.of(items)
    mask, condition = words.mask(query), None
    if where is not None:
        other = Filter.of(where, items)
        mask, condition = mask & other.mask, other.condition
    return words.words(query), Filter(mask, items, condition=condition)


def search_web(
    retriever: Retriever,
    queries: str | Sequence[str] | Queries,
    k: int,
    where: Where | None,
    threads: int,
) -> Candidates:
    """Answer queries in the web syntax: those that are plain words together, every other under its own filter."""
    from vizsla.base.allowed_items import answering

    asked, items = Queries.of(queries), retriever.items
    read = [parsed(items, text) for text in asked.texts]
    together = [row for row, query in enumerate(read) if query.is_plain]
    answers: dict[int, Candidates] = {}
    if together or not read:
        plain = asked.reworded(together, [read[row].words for row in together])
        found = retriever(plain, k, where=where, threads=threads)
        if len(together) == len(read):
            return found
        answers = {row: found[at : at + 1] for at, row in enumerate(together)}
    for row, query in enumerate(read):
        if row not in answers:
            words, filter = prepared(items, query, where)
            alone = asked.reworded([row], [words])
            found = answering(retriever, query, alone, threads)(alone, k, where=filter, threads=threads)
            nothing = len(read) == 1 and not found.hints and not len(found.items)
            answers[row] = found.with_hints(retriever._hints(alone)) if nothing else found
    return stacked([answers[row] for row in range(len(read))])


def stacked(rows: list[Candidates]) -> Candidates:
    """Return answers over one catalog, at least one, one after another."""
    if len(rows) == 1:
        return rows[0]
    lengths = [len(row.items) for row in rows]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    scores = None
    if all(row.scores is not None for row in rows):
        scores = np.concatenate([row._required_scores() for row in rows])
    stats = rows[0].stats
    for row in rows[1:]:
        stats += row.stats
    items = np.concatenate([row.items for row in rows])
    found = Candidates.unchecked(offsets, items, scores, rows[0].catalog, stats)
    sure = [row.confidences for row in rows if row.confidences is not None]
    return found.with_confidences(np.concatenate(sure)) if len(sure) == len(rows) else found
