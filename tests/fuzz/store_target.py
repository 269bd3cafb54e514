"""Target "stores": the SQLite files of score caches and of late parametric search, damaged or forged, and then used.

One case in three is raw damage, after which an answer is right or there is none. The others change rows by SQL and make
their seals right again: answers may be others then, and nothing else may happen.
"""

from __future__ import annotations

import shutil
import sqlite3
import warnings
from contextlib import closing, suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import vizsla
from tests.contract.catalog import ITEMS, QUERIES
from tests.fuzz.uses import UseError, attempt
from vizsla.scorers import cache as score_store
from vizsla.scorers import lazy_vectors

KINDS = ("scores", "dense vectors", "sparse vectors")
ASKED = QUERIES[:4]
MOST_STEPS = 3
VALUES: list[Any] = [
    b"", b"x", b"\x00" * 4, b"\xff" * 8, b"\x00" * 4096, b"\xff" * (1 << 20), "", "text", "\x00", 0, 1, -1, 2**31,
    2**32, 2**63 - 1, -(2**63), 0.5, -0.0, 1e308, float("inf"),
]  # fmt: skip
PRAGMAS = [
    "user_version = 2", "user_version = -1", "application_id = 0", "application_id = 1448760131",
    "journal_mode = DELETE", "journal_mode = TRUNCATE", "auto_vacuum = FULL", "page_size = 512",
]  # fmt: skip
COLUMNS = {
    "vectors": ("encoder", "text", "columns", "numbers", "seal"),
    "encoders": ("digest", "fingerprint"),
    "texts": ("id", "digest", "text"),
    "scores": ("scorer", "query", "item", "bits", "seal"),
}


def _overlap(query: str, texts: list[str]) -> list[float]:
    return [float(len(set(query.split()) & set(text.split()))) for text in texts]


class StoreTarget:
    """Forges and uses; a case's number and the seed decide everything."""

    def __init__(self, scratch: Path, seed: int, only: str = ""):
        warnings.simplefilter("ignore")
        np.seterr(all="ignore")
        self.scratch, self.seed = scratch, seed
        self.kinds = [kind for kind in KINDS if only in kind]

    def run(self, case: int, kept: list[int] | None = None) -> tuple[str, list[str]]:
        """Run a case, or only these of its steps; return the outcome and what the steps did."""
        kind, raw = self.kinds[case % len(self.kinds)], case // len(self.kinds) % 3 == 0
        file, said = self._copy(kind), [f"{kind}, {'damaged' if raw else 'forged'}"]
        for step in range(MOST_STEPS) if kept is None else kept:
            random = np.random.default_rng([self.seed, case, step])
            if step == 0 or random.random() < 0.3:
                said.append(damage(file, random) if raw else forge(file, random))
        try:
            return self._outcome(kind, file, raw), said
        except UseError as failure:
            return f"failure: {failure}", said

    def _copy(self, kind: str) -> Path:
        copy = self.scratch / "copy.db"
        for beside in self.scratch.glob("copy.db*"):
            beside.unlink()
        shutil.copyfile(self._made(kind), copy)
        return copy

    @cache  # noqa: B019 - one target a process
    def _made(self, kind: str) -> Path:
        file = self.scratch / f"{kind}.db"
        scorer = made_scorer(kind, file)
        self._answers(scorer)
        scorer.close()
        with closing(sqlite3.connect(file)) as connection:  # all of it in one file
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return file

    @cache  # noqa: B019
    def _right(self, kind: str) -> Any:
        return self._answers(made_scorer(kind, self._made(kind)))

    @staticmethod
    def _answers(scorer: Any) -> Any:
        return (vizsla.bm25(ITEMS) >> scorer)(ASKED, k=9)

    def _outcome(self, kind: str, file: Path, raw: bool) -> str:
        right, found = self._right(kind), []
        attempt("use", lambda: self._use(kind, file, found))
        if kind != "scores":
            attempt("stored_counts", lambda: lazy_vectors.stored_counts(file))
        if raw and found and found[0] != right:
            raise UseError("search: damage was not noticed and the answer is another one")
        return "answered" if found else "refused"

    def _use(self, kind: str, file: Path, found: list[Any]) -> None:
        with closing(made_scorer(kind, file)) as scorer:
            answer = attempt("search", lambda: self._answers(scorer))
            found += [answer] if answer is not None else []
            attempt("again", lambda: self._answers(scorer))
            attempt("repr", lambda: repr(scorer))
            attempt("explain", lambda: str((vizsla.bm25(ITEMS) >> scorer).explain("fig", next(iter(ITEMS)))))
            if kind == "scores":
                attempt("known", lambda: scorer.known(ASKED))
                attempt("count", lambda: len(scorer))
                attempt("clear", scorer.clear)
            attempt("search at last", lambda: self._answers(scorer))


def made_scorer(kind: str, file: Path) -> Any:
    """Return the scorer that keeps its file of this kind."""
    if kind == "scores":
        return vizsla.ScoreCache(vizsla.FunctionScorer(_overlap, ITEMS, name="overlap 1"), file, chunk=10)
    return vizsla.scorers.LateParametric(_encoder(kind), ITEMS, file, chunk=10)


@cache
def _encoder(kind: str) -> Any:
    return (
        vizsla.encoders.LsaEncoder.fit(ITEMS.values(), dim=8)
        if kind.startswith("dense")
        else vizsla.tokens(ITEMS).encoder
    )


def damage(file: Path, random: np.random.Generator) -> str:
    """Do to a file what a disk, a copy or a person does."""
    data, how = bytearray(file.read_bytes()), int(random.integers(6))
    place = int(random.integers(max(1, len(data))))
    if how == 0:
        file.write_bytes(data[:place])
        return f"cut to {place}"
    if how == 1:
        length = int(2 ** random.integers(1, 13))
        data[place : place + length] = random.bytes(len(data[place : place + length]))
        said = f"{length} random bytes from {place}"
    elif how == 2:
        page, other = (int(number) * 4096 for number in random.integers(0, max(1, len(data) // 4096), 2))
        data[page : page + 4096] = data[other : other + 4096]
        said = f"page at {page} is that at {other}"
    elif how == 3:
        file.with_name(file.name + "-wal").write_bytes(random.bytes(int(random.integers(1, 9000))))
        return "a log of random bytes"
    else:
        place = place % 4096 if how == 4 else place
        for at in [place, *random.integers(0, len(data), int(random.exponential(4))).tolist()] if data else ():
            data[at] ^= 1 << int(random.integers(8))
        said = f"flipped, first at {place}"
    file.write_bytes(data)
    return said


def forge(file: Path, random: np.random.Generator) -> str:
    """Change a row by SQL and seal it again; what SQLite refuses is not done."""
    said = "nothing"
    with suppress(sqlite3.Error), closing(sqlite3.connect(file, isolation_level=None)) as connection:
        if random.random() < 0.05:
            said = f"PRAGMA {random.choice(PRAGMAS)}"
            connection.execute(said)
            connection.execute("VACUUM")
            return said
        there = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        table = str(random.choice([name for name in there if name in COLUMNS]))
        rows = connection.execute(f"SELECT * FROM {table}").fetchall()
        old = list(rows[int(random.integers(len(rows)))])
        new, said = _changed(table, old, random)
        keys = " AND ".join(f"{column} IS ?" for column in COLUMNS[table])
        connection.execute(f"DELETE FROM {table} WHERE {keys}", old)
        connection.execute(f"INSERT OR REPLACE INTO {table} VALUES ({', '.join('?' * len(new))})", new)
    return said


def _changed(table: str, row: list[Any], random: np.random.Generator) -> tuple[list[Any], str]:
    names = COLUMNS[table]
    at = int(random.integers(len(names)))
    value = _bytes_like(row[at], random) if isinstance(row[at], bytes) and random.random() < 0.7 else None
    row[at] = VALUES[int(random.integers(len(VALUES)))] if value is None else value
    if random.random() < 0.9:
        with suppress(Exception):  # values of a type that nobody can seal
            if table == "vectors":
                row[4] = lazy_vectors._seal(*row[:4])
            elif table == "scores":
                row[4] = score_store._seal(*row[:4])
    return row, f"{table}.{names[at]} = {row[at]!r:.60}"


def _bytes_like(old: bytes, random: np.random.Generator) -> bytes:
    """Return numbers of the same kind that make no sense: wild, not finite, fewer, more, in another order."""
    numbers = np.frombuffer(old[: len(old) // 4 * 4], np.int32).copy()
    how = int(random.integers(7))
    if how == 0 and len(numbers) > 2:
        numbers[1:3] = 2**31 - 1, -(2**31)
    elif how == 1 and len(numbers):
        numbers[int(random.integers(len(numbers)))] = random.choice([-1, 2**31 - 1, 0, 1])
    elif how == 2 and len(numbers):
        wild = np.array([np.nan, np.inf, -np.inf, 3e38, 1e-45], np.float32)
        numbers.view(np.float32)[int(random.integers(len(numbers)))] = random.choice(wild)
    elif how == 3:
        numbers = numbers[:-1]
    elif how == 4:
        numbers = np.concatenate([numbers, numbers])
    elif how == 5:
        numbers = numbers[::-1]
    else:
        return old[: int(random.integers(len(old) + 1))]
    return numbers.tobytes()
