"""TREC runs: `query Q0 item rank score tag`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from vizsla.arguments import check_unicode
from vizsla.candidates import Candidates
from vizsla.dataset_warning import Tally
from vizsla.errors import DataError
from vizsla.io.atomic import writing
from vizsla.io.line_file import Line, LineFile
from vizsla.io.reading import STRICT, Reading
from vizsla.io.refusals import Refusals
from vizsla.strings import Strings


def read_run(path: str | Path, *, catalogue: Strings | None = None) -> Candidates:
    """Return a run as Candidates: ordered by score, equal scores by item number; the rank column is not used.

    Parameters
    ----------
    path : path
        The file, plain or gzipped.
    catalogue : Strings, optional
        Item ids by number; an item that is not in it raises. Without it, items are numbered as they come.
    """
    return Candidates.from_dict(read_answers(path, catalogue=catalogue), catalogue=catalogue)


def read_answers(
    path: str | Path, *, catalogue: Strings | None = None, how: Reading = STRICT
) -> dict[str, dict[str, float]]:
    """Return a run as `{query id: {item id: score}}`, in the order of its lines.

    What cannot be read, an item that a query has before, and one that is not in the catalogue raise, or are left out.
    """
    answers: dict[str, dict[str, float]] = {}
    refusals = Refusals(how, str(path))
    file = LineFile(path, encoding=how.encoding)
    for line in file.lines(refusals.add) if how.skips else file:
        try:
            _add(line, answers, catalogue)
        except DataError as error:
            if not how.skips:
                raise
            refusals.add(error, line.text)
    if not answers:
        raise DataError("there are no entries.", path=path, remedy="Give at least one.")
    tally = Tally()
    refusals.report(tally)
    tally.emit()
    return answers


def _add(line: Line, answers: dict[str, dict[str, float]], catalogue: Strings | None) -> None:
    if not line.text.strip():
        return
    query, item, score = _entry(line)
    if catalogue is not None and item not in catalogue:
        raise line.error(f"the item {item!r} is unknown.", "Read the run with the catalogue that it was made from.")
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
        raise line.error(f"expected 6 columns (query Q0 item rank score tag). Got {len(columns)}.", "Repair the line.")
    try:
        score = float(columns[4])
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        raise line.error(f"the score must be a number. Got {columns[4]!r}.", "Repair the line.")
    return columns[0], columns[2], score
