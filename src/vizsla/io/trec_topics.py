"""TREC topics: `<top>` records, or XML with a `<topic>` each."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path

from vizsla.errors import DataError
from vizsla.io.line_file import Line, LineFile
from vizsla.io.list_source import ListSource
from vizsla.query import Query

_TOPIC = re.compile(r"<(top|topic)\b([^<>]*)>(.*?)</\1>", re.S | re.I)
_OPEN = re.compile(r"<(?:top|topic)\b", re.I)
_NUMBER = re.compile(r"<num>\s*(?:number\s*:\s*)?([^\s<]+)", re.I)
_ATTRIBUTE = re.compile(r"""\b(?:number|id)\s*=\s*["']([^"']+)["']""", re.I)


def read_topics(path: str | Path, *, field: str | None = None) -> ListSource[Query]:
    """Return the queries of a topics file, which is small and read whole.

    Parameters
    ----------
    path : path
        The file.
    field : str, optional
        Which field is the query's text. Without it: `title`, or else `query`; a topic that has neither is its own
        text (as in `<topic number="1">words</topic>`).
    """
    text = "\n".join(line.text for line in LineFile(path))
    begins = [found.start() for found in _OPEN.finditer(text)]
    # Each is looked for before the next begins: the search for an end that is missing stops there.
    ends = [*begins[1:], len(text)]
    topics = [found for begin, end in zip(begins, ends, strict=False) if (found := _TOPIC.match(text, begin, end))]
    if len(topics) != len(begins) or not topics:
        raise DataError(
            f"{len(begins)} topics begin but {len(topics)} end.",
            path=path,
            remedy="Give TREC topics: <top>…</top> or <topic>…</topic>.",
        )
    return ListSource(list(_queries(topics, text, Path(path), field)), name=str(path))


def _queries(topics: list[re.Match[str]], text: str, path: Path, field: str | None) -> Iterator[Query]:
    number, passed = 1, 0
    for topic in topics:
        number, passed = number + text.count("\n", passed, topic.start()), topic.start()
        yield _query(topic, Line(path, number), field)


def _query(topic: re.Match[str], line: Line, field: str | None) -> Query:
    attributes, body = topic[2], topic[3]
    number = _NUMBER.search(body) or _ATTRIBUTE.search(attributes)
    if number is None:
        raise line.error("the topic has no <num> and no number.", "Number the topic.")
    return Query(number[1], _field(body, field, line))


def _field(body: str, field: str | None, line: Line) -> str:
    for name in (field,) if field else ("title", "query"):
        # Classic topics leave fields open: a field ends where the next tag begins.
        found = re.search(rf"<{re.escape(name)}\b[^<>]*>(?:\s*topic\s*:)?([^<]*)", body, re.I)
        if found:
            return _plain(found[1])
    if field or "<" in body:
        wanted = f"<{field}>" if field else "<title> and no <query>"
        raise line.error(f"the topic has no {wanted}.", "Name the field of the query's text.")
    return _plain(body)


def _plain(text: str) -> str:
    return " ".join(html.unescape(text).split())
