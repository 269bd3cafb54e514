"""TREC topics, runs and relevance judgments."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterator
from pathlib import Path

from vizsla.core.candidates import Candidates
from vizsla.core.catalog import Query
from vizsla.core.strings import Strings
from vizsla.core.validation import WarningLog, check_unicode
from vizsla.data.dataset import Dataset
from vizsla.errors import DataError
from vizsla.io.atomic import writing
from vizsla.io.bad_lines import STRICT_READING, BadLines, Reading
from vizsla.io.files import Line, LineFile
from vizsla.io.records import ListSource

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


def read_run(path: str | Path, *, catalog: Strings | None = None) -> Candidates:
    """Return a run as Candidates: ordered by score, equal scores by item number; the rank column is not used.

    With tabs between the columns, a query may be named by its text.

    Parameters
    ----------
    path : path
        The file, plain or gzipped.
    catalog : Strings, optional
        Item ids by number; an item that is not in it raises. Without it, items are numbered as they come.
    """
    return Candidates.from_dict(read_answers(path, catalog=catalog), catalog=catalog)


def read_answers(
    path: str | Path, *, catalog: Strings | None = None, how: Reading = STRICT_READING
) -> dict[str, dict[str, float]]:
    """Return a run as `{query id: {item id: score}}`, in the order of its lines.

    What cannot be read, an item that a query has before, and one that is not in the catalog raise, or are left out.
    """
    answers: dict[str, dict[str, float]] = {}
    refusals = BadLines(how, str(path))
    file = LineFile(path, encoding=how.encoding)
    for line in file.lines(refusals.add) if how.skips else file:
        try:
            _add(line, answers, catalog)
        except DataError as error:
            if not how.skips:
                raise
            refusals.add(error, line.text)
    if not answers:
        raise DataError("there are no entries.", path=path, remedy="Give at least one.")
    tally = WarningLog()
    refusals.report(tally)
    tally.emit()
    return answers


def _add(line: Line, answers: dict[str, dict[str, float]], catalog: Strings | None) -> None:
    if not line.text.strip():
        return
    query, item, score = _entry(line)
    if catalog is not None and item not in catalog:
        raise line.error(f"the item {item!r} is unknown.", "Read the run with the catalog that it was made from.")
    if item in answers.get(query, ()):
        raise line.error(f"query {query!r} has item {item!r} before.", "Keep one of the two.")
    answers.setdefault(query, {})[item] = score


def write_run(candidates: Candidates, path: str | Path, *, tag: str = "vizsla", overwrite: bool = False) -> None:
    """Write candidates as a run; ids with white space raise, because the columns would no longer be clear."""
    with writing(path, overwrite=overwrite) as out:
        for line in run_lines(candidates, tag=tag):
            out.write(line.encode())


def run_lines(candidates: Candidates, *, tag: str = "vizsla") -> Iterator[str]:
    """Yield the lines of a run; ids with white space raise."""
    for query, answer in candidates.to_dict().items():
        for rank, (item, score) in enumerate(answer.items(), 1):
            yield f"{word(query)} Q0 {word(item)} {rank} {score:.9g} {word(tag)}\n"


def word(id: str) -> str:
    """Return an id that can stand in a column of a TREC file."""
    if not id or len(id.split()) != 1 or id != id.strip():
        raise DataError(f"an id must have no white space in a TREC file. Got {id!r}.", remedy="Write another format.")
    return check_unicode("id", id)


def _entry(line: Line) -> tuple[str, str, float]:
    columns = line.text.split()
    if len(columns) != 6:
        tabbed = [column.strip() for column in line.text.split("\t")]
        if len(tabbed) != 6 or not all(tabbed):
            remedy = "Repair the line, or put tabs between the columns where a query is a text."
            raise line.error(f"expected 6 columns (query Q0 item rank score tag). Got {len(columns)}.", remedy)
        columns = tabbed
    try:
        score = float(columns[4])
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        raise line.error(f"the score must be a number. Got {columns[4]!r}.", "Repair the line.")
    return columns[0], columns[2], score


def write_qrels(dataset: Dataset, path: str | Path, *, split: str = "test", overwrite: bool = False) -> None:
    """Write the judgments of a split; ids with white space raise."""
    with writing(path, overwrite=overwrite) as out:
        for query, grades in dataset.qrels_dict(split).items():
            out.writelines(f"{word(query)} 0 {word(item)} {grade}\n".encode() for item, grade in grades.items())
