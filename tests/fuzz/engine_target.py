"""Target "engines": the files of an engine, damaged or forged, and then everything that an engine does.

One case in two damages a file: its catalog, the catalog's log, or a segment. Segments have checksums, so an answer is
then the right one or there is none; SQLite's pages have none, so answers from a damaged catalog may be others. The
other cases change rows of the catalog by SQL: definitions, settings, lists of segments, items, clicks.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import warnings
from collections.abc import Iterator
from contextlib import closing, suppress
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import vizsla
from tests.contract.catalog import CLICKED, CLICKS, ITEMS, QUERIES
from tests.fuzz import documents
from tests.fuzz.picking import NothingLeftError, files_of, pick
from tests.fuzz.store_target import VALUES, damage
from tests.fuzz.uses import Use, UseError, attempt
from vizsla import Recipe

MOST_STEPS = 3
ASKED = QUERIES[:4]
WORDS = ["", "..", "/etc", "segments/..", "\x00", "words", "both", "words + words", "fig", "\ud800", "a" * 3000]


class EngineTarget:
    """Forges and uses; a case's number and the seed decide everything.

    Parameters
    ----------
    scratch : Path
        An empty folder.
    seed : int
        What the numbers of cases are drawn with.
    only : str
        "damaged" or "forged"; empty for both.
    """

    def __init__(self, scratch: Path, seed: int, only: str = ""):
        warnings.simplefilter("ignore")
        np.seterr(all="ignore")
        self.scratch, self.seed = scratch, seed
        self.modes = [mode for mode in ("damaged", "forged") if only in mode]

    def run(self, case: int, kept: list[int] | None = None) -> tuple[str, list[str]]:
        """Run a case, or only these of its steps; return the outcome and what the steps did."""
        mode = self.modes[case % len(self.modes)]
        copy, said = self.scratch / "copy", [mode]
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self._made(), copy)
        for step in range(MOST_STEPS) if kept is None else kept:
            random = np.random.default_rng([self.seed, case, step])
            if step == 0 or random.random() < 0.3:
                with suppress(NothingLeftError, OSError):
                    said.append(_damage(copy, random) if mode == "damaged" else _forge(copy, random))
        try:
            return self._outcome(copy, mode, said, np.random.default_rng([self.seed, case, 9])), said
        except UseError as failure:
            return f"failure: {failure}", said

    @cache  # noqa: B019 - one target a process
    def _made(self) -> Path:
        return make_engine(self.scratch / "live", self.scratch / "sound")

    @cache  # noqa: B019
    def _right(self) -> Any:
        path = Path(shutil.copytree(self._made(), self.scratch / "right"))
        with closing(vizsla.Engine.open(path, maintenance="manual")) as engine:
            return _answers(engine)

    def _outcome(self, copy: Path, mode: str, said: list[str], random: np.random.Generator) -> str:
        right, found = self._right(), list[Any]()
        sealed = mode == "damaged" and not any("catalog.sqlite" in line for line in said)
        verify = sealed or bool(random.integers(2))
        engine = attempt("open", lambda: vizsla.Engine.open(copy, maintenance="manual", verify=verify))
        if engine is None:
            return "refused"
        with closing(engine):
            attempt("answers", lambda: found.append(_answers(engine)))
            if sealed and found and found[0] != right:
                raise UseError("search: damage was not noticed and the answer is another one")
            actions = list(_uses(engine, self.scratch / "backup"))
            for place in random.permutation(len(actions)).tolist():
                attempt(*actions[place])
            attempt("answers at last", lambda: _answers(engine))
        attempt("open again", lambda: vizsla.Engine.open(copy, maintenance="manual").close())
        return "answered" if found else "refused"


def make_engine(live: Path, path: Path) -> Path:
    """Make an engine with segments, deletions, clicks, a snapshot, a built model and a log; return a copy of it."""
    members = {
        "words": Recipe.of("bm25"),
        "tokens": Recipe.of("tokens"),
        "built": Recipe.of("xrlinear", cold_start=False, click_weights="none"),
        "both": "words | tokens",
    }
    items = [
        {"id": id, "text": text, "price": number, "kind": text[:2]} for number, (id, text) in enumerate(ITEMS.items())
    ]
    half, numbers = len(items) // 2, count(1)
    named = patch("vizsla.engine.segments.secrets.token_hex", lambda size: f"{next(numbers):0{2 * size}x}")
    with named, closing(vizsla.Engine.create(live, members=members, default="words", maintenance="manual")) as engine:
        engine.add(items[:half])
        engine.flush()
        engine.add(items[half:-4])
        engine.clicks([(CLICKED[query], item, weight) for query, item, weight in _clicks()])
        engine.flush()
        engine.rebuild()
        engine.snapshot("before")
        engine.add(items[-4:])
        engine.delete([items[1]["id"], items[-1]["id"]])
        engine.update_metadata({items[2]["id"]: {"price": 7}})
        shutil.copytree(live, path)  # with the catalog's log, as a copy of a disk would have it
    shutil.rmtree(live)
    return path


def _clicks() -> Iterator[tuple[int, str, float]]:
    ids = list(ITEMS)
    for number, (query, _, weight) in enumerate(CLICKS[:40]):
        yield query, ids[number % 20], float(weight)


def _answers(engine: Any) -> list[Any]:
    found = [engine.search(ASKED, 7, using=name) for name in engine.members]
    found.append(engine.search(ASKED, 7, where=vizsla.where("price>3")))
    return [(answer.ids, [[hit.score for hit in row] for row in answer]) for answer in found]


def _uses(engine: Any, backup: Path) -> Iterator[Use]:
    """Yield what an engine does, by name."""
    first, second = list(ITEMS)[:2]
    shutil.rmtree(backup, ignore_errors=True)
    yield "repr", lambda: (repr(engine), engine.members, engine.nbytes, len(engine.items))
    yield "get", lambda: [engine.get(id) for id in (first, second, "none")]
    yield "count", lambda: (engine.count(), engine.count(vizsla.where("price<5")), engine.missing("price"))
    yield "show", lambda: engine.search("fig", 3).metadata(0)
    yield "explain", lambda: engine.search("fig", 3, explain=True)
    yield "exact", lambda: engine.exact("fig", 3)
    yield "stats", engine.stats
    yield "history", engine.history
    yield "check", engine.check
    yield "repair", lambda: engine.check(repair=True)
    yield "add", lambda: engine.add([{"id": "new", "text": "a fig", "price": 1}])
    yield "upsert", lambda: engine.upsert({first: "another fig"})
    yield "update", lambda: engine.update_metadata({second: {"price": 2}, first: {"kind": None}})
    yield "delete", lambda: engine.delete(where=vizsla.where("price=4"))
    yield "click", lambda: engine.click("fig", first)
    yield "forget", lambda: engine.delete_clicks(item=first)
    yield "flush", engine.flush
    yield "compact", lambda: engine.compact(erase=True)
    yield "rebuild", engine.rebuild
    yield "add member", lambda: engine.add_member("more", Recipe.of("bm25", b=0.3))
    yield "drop member", lambda: engine.drop_member("both")
    yield "default", lambda: engine.set_default("tokens")
    yield "snapshot", lambda: engine.snapshot("after")
    yield "rollback", lambda: engine.rollback("before")
    yield "backup", lambda: engine.backup(backup)


def _damage(copy: Path, random: np.random.Generator) -> str:
    """Do to a file what a disk, a copy or a person does."""
    files = files_of(copy)
    file = pick(random, [each for each in files if (each.parent != copy) == (random.random() < 0.7)] or files)
    name, how = str(file.relative_to(copy)), int(random.integers(8))
    if how == 0:
        file.unlink()
        return f"{name} deleted"
    if how == 1:
        other = pick(random, files)
        shutil.copyfile(other, file) if other != file else None
        return f"{name} as {other.relative_to(copy)}"
    return f"{name}: {damage(file, random)}"


def _forge(copy: Path, random: np.random.Generator) -> str:
    """Change a value of a row by SQL; what SQLite refuses is not done."""
    said = "nothing"
    with (
        suppress(sqlite3.Error, UnicodeError),
        closing(sqlite3.connect(copy / "catalog.sqlite", isolation_level=None)) as connection,
    ):
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        favored = ["members", "segments", "parts", "settings", "state", "fields", "snapshots"]
        table = str(random.choice(favored if random.random() < 0.7 else tables))
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        rows = connection.execute(f"SELECT * FROM {table}").fetchall()
        row = pick(random, rows)
        at = int(random.integers(len(columns)))
        value, said = _changed(row[at], random)
        said = f"{table}.{columns[at]}: {said}"
        keys = " AND ".join(f"{column} IS ?" for column in columns)
        connection.execute(f"UPDATE {table} SET {columns[at]} = ? WHERE {keys}", (value, *row))
    return said


def _changed(value: Any, random: np.random.Generator) -> tuple[Any, str]:
    """Return another value: JSON with one thing changed, a word or number that makes no sense, or any value."""
    if isinstance(value, str) and random.random() < 0.6:
        with suppress(ValueError):
            said, document = documents.changed(json.loads(value), random)
            return json.dumps(document), said
    if isinstance(value, str) and random.random() < 0.5:
        chosen: Any = pick(random, WORDS)
    elif isinstance(value, int) and random.random() < 0.5:
        chosen = value + int(random.integers(-3, 4))
    else:
        chosen = pick(random, VALUES)
    return chosen, f"{value!r:.40} now {chosen!r:.40}"
