"""Hit: one item of an answer, with its text, metadata, highlights and snippet; and answers as HTML and data frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from vizsla.core.catalog import Excerpt, known_of
from vizsla.core.strings import Strings

if TYPE_CHECKING:
    from vizsla.core.candidates import Candidates

Span = tuple[int, int]
"""Where something begins and ends in a text, in characters."""

MAX_HITS_SHOWN = 50
"""Hits of a query that a notebook shows."""
MAX_VALUE_CHARS = 200
"""Characters of a value that a notebook shows."""


class Snippet(NamedTuple):
    """The part of a text with the most query words.

    Attributes
    ----------
    text : str
        The part, as it stands in the text.
    start : int
        Where it begins in the text.
    spans : list of (int, int)
        Where the query's words stand in the part.
    """

    text: str
    start: int
    spans: list[Span]


@dataclass(slots=True)
class Hit:
    """One item of an answer.

    Parameters
    ----------
    id : str
        The item.
    score : float or None
        None for an unscored match.
    rank : int
        Its place in the whole list, from 1 on: that of the first hit of a second page of ten is 11.
    highlights : dict of str to list of (int, int), optional
        For each highlighted field, where the query's words stand in its value, in characters.
    snippet : Snippet, optional
        The part of its text that shows most of the query's words.
    confidence : float, optional
        The probability that it is clicked, of a retriever `with_confidence`.
    more : int, optional
        How many other items of its group were found, where a page has one hit per group.
    parent : str, optional
        The text of the section or the document that it is a passage of, where a page was asked for it.

    Examples
    --------
    >>> from vizsla import Dataset, bm25
    >>> fruit = Dataset.of([{"id": "f", "text": "a fig", "price": 3}], keep_texts=True)
    >>> hit = bm25(fruit)("fig")[0][0]
    >>> hit.id, hit.rank, hit.text, hit.metadata
    ('f', 1, 'a fig', {'price': 3})
    """

    id: str
    score: float | None
    rank: int = field(default=1, compare=False, repr=False)
    highlights: dict[str, list[Span]] | None = field(default=None, compare=False, repr=False)
    snippet: Snippet | None = field(default=None, compare=False, repr=False)
    confidence: float | None = field(default=None, compare=False, repr=False)
    more: int | None = field(default=None, compare=False, repr=False)
    parent: str | None = field(default=None, compare=False, repr=False)
    _catalog: Strings | None = field(default=None, compare=False, repr=False)
    _number: int = field(default=0, compare=False, repr=False)

    @property
    def text(self) -> str | None:
        """The item's text; None where texts were not kept."""
        details = known_of(self._catalog)
        return None if details is None else details.text(self._number)

    @property
    def metadata(self) -> dict[str, Any]:
        """The item's metadata; a field that it does not have is left out."""
        details = known_of(self._catalog)
        return {} if details is None else details.of(self._number)

    def value(self, name: str) -> Any:
        """Return one field of the item, or its text under the name "text"; None where it has none."""
        details = known_of(self._catalog)
        return None if details is None else details.value(name, self._number)

    def to_dict(self, fields: Sequence[str] | None = None) -> dict[str, Any]:
        """Return the hit as JSON has it: with all metadata and the text, or with the given fields alone.

        Parameters
        ----------
        fields : sequence of str, optional
            Which fields of the metadata; "text" is the item's text.
        """
        shown: dict[str, Any] = {"id": self.id, "score": self.score, "rank": self.rank}
        if fields is None:
            details = known_of(self._catalog)
            metadata, text = ({}, None) if details is None else (details.of(self._number), details.text(self._number))
            shown |= ({"text": text} if text is not None else {}) | ({"metadata": metadata} if metadata else {})
        else:
            values = {name: self.value(name) for name in fields}
            shown |= {"text": values.pop("text")} if "text" in values else {}
            shown["metadata"] = {name: value for name, value in values.items() if value is not None}
        if self.highlights is not None:
            shown["highlights"] = {name: [list(span) for span in spans] for name, spans in self.highlights.items()}
        if self.snippet is not None:
            text, start, spans = self.snippet
            shown["snippet"] = {"text": text, "start": start, "spans": [list(span) for span in spans]}
        known = {"confidence": self.confidence, "more": self.more, "parent": self.parent}
        return shown | {name: value for name, value in known.items() if value is not None}

    def __iter__(self) -> Iterator[Any]:
        """Unpack the id and the score: `for id, score in found[0]`."""
        return iter((self.id, self.score))

    def __hash__(self) -> int:
        return hash((self.id, self.score))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the hit with its own text and metadata alone."""
        catalog = None if self._catalog is None else Excerpt.taken(self._catalog, np.array([self._number], np.int32))
        marks = self.highlights, self.snippet, self.confidence, self.more, self.parent
        return Hit, (self.id, self.score, self.rank, *marks, catalog, 0)


def marked_html(text: str, spans: Sequence[Span]) -> str:
    """Return a text as HTML in which spans are marked; everything else is escaped.

    Examples
    --------
    >>> marked_html("a <fig> tree", [(3, 6)])
    'a &lt;<mark>fig</mark>&gt; tree'
    """
    pieces, at = [], 0
    for start, end in spans:
        pieces += [escape(text[at:start]), "<mark>", escape(text[start:end]), "</mark>"]
        at = end
    return "".join([*pieces, escape(text[at:])])


def hits_html(title: str, hits: Sequence[Hit]) -> str:
    """Return hits as an HTML table; ids, texts and metadata are escaped."""
    fields = list(dict.fromkeys(name for hit in hits[:MAX_HITS_SHOWN] for name in hit.metadata))
    texts = any(hit.text is not None for hit in hits[:MAX_HITS_SHOWN])
    header = ["rank", "score", "id", *fields, *(["text"] if texts else [])]
    lines = ["<table>", f"<caption>{escape(title)}</caption>"]
    lines.append("<tr>" + "".join(f"<th>{escape(name)}</th>" for name in header) + "</tr>")
    for hit in hits[:MAX_HITS_SHOWN]:
        metadata, score = hit.metadata, "" if hit.score is None else f"{hit.score:.4f}"
        values = [str(hit.rank), score, hit.id, *(str(metadata.get(name, "")) for name in fields)]
        cells = [escape(value[:MAX_VALUE_CHARS]) for value in values]
        if texts:
            shown = hit.snippet or Snippet((hit.text or "")[:MAX_VALUE_CHARS], 0, [])
            cells.append(marked_html(shown.text, shown.spans))
        lines.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    more = len(hits) - MAX_HITS_SHOWN
    return "\n".join([*lines, f"<tr><td>+{more} more</td></tr>" if more > 0 else "", "</table>"])


def answers_html(found: Candidates) -> str:
    """Return an answer as HTML tables, one per query."""
    titles = found.query_ids
    shown = [hits_html(f"query {titles[row]}", found[row]) for row in range(min(len(found), MAX_HITS_SHOWN))]
    more = f"<p>+{len(found) - MAX_HITS_SHOWN} more queries</p>" if len(found) > MAX_HITS_SHOWN else ""
    return "\n".join([*shown, more])


def answer_columns(found: Candidates, fields: Sequence[str] | None) -> dict[str, Any]:
    """Return an answer as columns: query, rank, score, id, and the given fields of the items."""
    rows = found.row_numbers()
    ranks = np.arange(len(rows), dtype=np.int64) - found.offsets[:-1][rows] + 1
    names = found.query_ids
    columns: dict[str, Any] = {"query": [names[row] for row in rows.tolist()], "rank": ranks}
    if found.scores is not None:
        columns["score"] = found.scores
    columns["id"] = [id for row in found.ids for id in row]
    if found.confidences is not None:
        columns["confidence"] = found.confidences
    for name in fields or ():
        columns[name] = [known[name] for row in range(len(found)) for known in found.metadata(row, [name])]
    return columns


def hits_of(found: Candidates, row: int) -> Iterator[Hit]:
    """Yield the hits of one query."""
    items, scores = found.row(row)
    numbers, catalog = items.tolist(), found.catalog
    ids = [str(number) for number in numbers] if catalog is None else catalog.take(items)
    values: Sequence[float | None] = [None] * len(ids) if scores is None else scores.tolist()
    sure: Mapping[int, float] = {}
    if found.confidences is not None:
        start = int(found.offsets[row])
        sure = dict(enumerate(found.confidences[start : start + len(ids)].tolist()))
    for at, (id, score, number) in enumerate(zip(ids, values, numbers, strict=True)):
        yield Hit(id, score, at + 1, None, None, sure.get(at), None, None, catalog, number)
