"""ScoreStore: scores of (query text, item text) in an SQLite file that many threads and processes share."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from struct import pack
from typing import Any, TypeVar
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from vizsla.score_file import ScoreFile

T = TypeVar("T")
Pair = tuple[str, str]
Texts = dict[str, int]
Scores = NDArray[np.float32]

VARIABLES = 900
"""How many values one statement gets: older SQLite allows 999."""


class ScoreStore:
    """Scores by the scorer's fingerprint, the query's text and the item's text.

    Texts are stored once and compared on reading, and every score carries a checksum: a collision of hashes or a
    flipped bit can raise, but never give a wrong score. A score is stored as the bits of its float32.

    Parameters
    ----------
    path : path
        The file, made when it is not there.
    """

    def __init__(self, path: str | Path):
        self._file = ScoreFile(path)

    @property
    def path(self) -> Path:
        """Where the scores are."""
        return self._file.path

    def get(self, fingerprint: str, pairs: Sequence[Pair]) -> Scores:
        """Return the pairs' scores, NaN where there is none."""
        scores = np.full(len(pairs), np.nan, np.float32)
        with self._file.reading() as connection:
            numbers = self._numbers(connection, {fingerprint, *(text for pair in pairs for text in pair)})
            scorer, rows = numbers.get(fingerprint), _rows(pairs, numbers)
            for query, places in rows.items() if scorer is not None else ():
                for item, bits, seal in _selected(connection, (scorer, query), places):
                    if seal != _seal(scorer, query, item, bits):
                        raise self._file.damaged("a score does not fit its checksum")
                    scores.view(np.int32)[places[item]] = bits
        return scores

    def put(self, fingerprint: str, pairs: Sequence[Pair], scores: Scores) -> None:
        """Store scores for good; of two for one pair, the first stays."""
        texts = {fingerprint, *(text for pair in pairs for text in pair)}
        bits = np.ascontiguousarray(scores, np.float32).view(np.int32).tolist()
        with self._file.writing() as connection:
            rows = sorted((_digest(data), data) for data in map(_bytes, texts))
            connection.executemany("INSERT OR IGNORE INTO texts (digest, text) VALUES (?, ?)", rows)
            numbers = self._numbers(connection, texts)
            if len(numbers) != len(texts):
                raise self._file.damaged("a text that was stored is not there any more")
            keys = [(numbers[fingerprint], numbers[query], numbers[item]) for query, item in pairs]
            entries = [(*key, value, _seal(*key, value)) for key, value in zip(keys, bits, strict=True)]
            connection.executemany("INSERT OR IGNORE INTO scores VALUES (?, ?, ?, ?, ?)", entries)

    def count(self, fingerprint: str) -> int:
        """Return how many pairs of this scorer are stored."""
        with self._file.reading() as connection:
            scorer = self._numbers(connection, {fingerprint}).get(fingerprint)
            count: int = connection.execute("SELECT COUNT(*) FROM scores WHERE scorer = ?", (scorer,)).fetchone()[0]
            return count

    def clear(self, fingerprint: str) -> None:
        """Forget the pairs of this scorer, and the texts that no other scorer needs."""
        with self._file.writing() as connection:
            scorer = self._numbers(connection, {fingerprint}).get(fingerprint)
            connection.execute("DELETE FROM scores WHERE scorer = ?", (scorer,))
            used = "SELECT scorer FROM scores UNION SELECT query FROM scores UNION SELECT item FROM scores"
            connection.execute(f"DELETE FROM texts WHERE id NOT IN ({used})")

    def close(self) -> None:
        """Close this thread's connection; the next use opens another."""
        self._file.close()

    def _numbers(self, connection: sqlite3.Connection, texts: Iterable[str]) -> Texts:
        """Return the number of every text that is stored."""
        wanted = {_digest(data): (data, text) for text in texts for data in (_bytes(text),)}
        numbers: Texts = {}
        for some in _some(wanted):
            sql = f"SELECT id, digest, text FROM texts WHERE digest IN ({_marks(some)})"
            for number, digest, stored in connection.execute(sql, some):
                data, text = wanted.get(digest, (None, ""))
                if stored != data:
                    raise self._file.damaged("a text is not the one that was stored")
                numbers[text] = number
        return numbers


def _rows(pairs: Sequence[Pair], numbers: Texts) -> dict[int, dict[int, int]]:
    """Return {query: {item: place}} of pairs whose texts are stored."""
    rows: dict[int, dict[int, int]] = {}
    for place, (query, item) in enumerate(pairs):
        if query in numbers and item in numbers:
            rows.setdefault(numbers[query], {})[numbers[item]] = place
    return rows


def _selected(connection: sqlite3.Connection, key: tuple[int | None, int], items: Iterable[int]) -> Iterator[Any]:
    for some in _some(items):
        sql = f"SELECT item, bits, seal FROM scores WHERE scorer = ? AND query = ? AND item IN ({_marks(some)})"
        yield from connection.execute(sql, (*key, *some))


def _some(values: Iterable[T]) -> Iterator[tuple[T, ...]]:
    """Yield as many values at a time as a statement may get."""
    remaining = iter(values)
    while some := tuple(islice(remaining, VARIABLES)):
        yield some


def _marks(values: Sequence[Any]) -> str:
    return ", ".join("?" * len(values))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()


def _seal(scorer: int | None, query: int, item: int, bits: int) -> int:
    return crc32(pack("<qqqi", scorer, query, item, bits))
