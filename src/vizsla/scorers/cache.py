"""ScoreCache: scores of pairs kept in an SQLite file."""

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

from vizsla.base.queries import Queries
from vizsla.base.scorer import Scorer, unwrapped
from vizsla.core.candidates import Candidates, PairScores, Stats
from vizsla.core.validation import validate_args
from vizsla.data.filter import Filter
from vizsla.errors import CompositionError, InputError, ScorerError, check_positive
from vizsla.io.sqlite import SqliteFile, marks
from vizsla.scorers.text import TextScorer
from vizsla.scorers.wrappers import WrappedScorer
from vizsla.typing import Float32Array, Int64Array

T = TypeVar("T")
Pair = tuple[str, str]
Texts = dict[str, int]

MAX_SQL_VARIABLES = 900
"""How many values one statement gets: older SQLite allows 999."""


APPLICATION_ID = 0x565A5343


class ScoreFile(SqliteFile):
    """The file of a score cache."""

    application = APPLICATION_ID
    what = "score cache"
    tables = (
        "CREATE TABLE texts (id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, text BLOB NOT NULL)",
        "CREATE TABLE scores (scorer INTEGER NOT NULL, query INTEGER NOT NULL, item INTEGER NOT NULL, "
        "bits INTEGER NOT NULL, seal INTEGER NOT NULL, PRIMARY KEY (scorer, query, item)) WITHOUT ROWID",
        *marks(APPLICATION_ID),
    )


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

    def get(self, fingerprint: str, pairs: Sequence[Pair]) -> Float32Array:
        """Return the pairs' scores, NaN where there is none."""
        scores = np.full(len(pairs), np.nan, np.float32)
        with self._file.reading() as connection:
            numbers = self._numbers(connection, {fingerprint, *(text for pair in pairs for text in pair)})
            scorer, rows = numbers.get(fingerprint), _rows(pairs, numbers)
            for query, places in rows.items() if scorer is not None else ():
                for item, bits, seal in _selected(connection, (scorer, query), places):
                    if item not in places:  # where a page is damaged, SQLite gives rows that do not match
                        raise self._file.damaged("a row has another key than was asked for")
                    if seal != _seal(scorer, query, item, bits):
                        raise self._file.damaged("a score does not fit its checksum")
                    scores.view(np.int32)[places[item]] = bits
        return scores

    def put(self, fingerprint: str, pairs: Sequence[Pair], scores: Float32Array) -> None:
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
    while some := tuple(islice(remaining, MAX_SQL_VARIABLES)):
        yield some


def _marks(values: Sequence[Any]) -> str:
    return ", ".join("?" * len(values))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()


def _seal(scorer: int | None, query: int, item: int, bits: int) -> int:
    return crc32(pack("<qqqi", scorer, query, item, bits))


class ScoreCache(WrappedScorer):
    """A scorer that caches the scores of another one in a file that processes share.

    Scores are stored by the scorer's fingerprint, the query's text and the item's text, bit for bit. What is missing
    is sent in chunks, and a chunk is stored before the next one is sent: a failed run loses at most one chunk,
    and of a scorer that tells what it has answered before it failed, as an HttpReranker does, nothing.
    `stats` count only the calls that were made. A saved composition holds the scorer inside, never the scores.

    Parameters
    ----------
    scorer : TextScorer, or a Budget around one
        The scorer whose scores are cached. A function must have a `name`.
    path : path
        An SQLite file, made when it is not there. Scorers, threads and processes may share it.
    chunk : int
        How many pairs are sent at a time.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from vizsla import FunctionScorer
    >>> folder = TemporaryDirectory()
    >>> scorer = FunctionScorer(lambda q, ts: [len(t) for t in ts], {"a": "fig", "b": "pear"}, name="length 1")
    >>> cache = ScoreCache(scorer, Path(folder.name) / "scores.db")
    >>> pair = Candidates.from_dict({"0": {"a": 0.0, "b": 0.0}})
    >>> cache.score("fruit", pair).stats.model_calls, cache.score("fruit", pair).stats.model_calls, len(cache)
    (2, 0, 2)
    >>> cache.close()
    >>> folder.cleanup()
    """

    @validate_args
    def __init__(self, scorer: Scorer, path: str | Path, *, chunk: int = 512):
        super().__init__(scorer)
        self._text_scorer = _text_scorer(scorer)
        self.chunk = check_positive("chunk", chunk)
        self._store = ScoreStore(path)

    @property
    def path(self) -> Path:
        """Where the scores are."""
        return self._store.path

    def __len__(self) -> int:
        """Return how many pairs of this scorer are stored."""
        return self._store.count(self._text_scorer.fingerprint)

    def __bool__(self) -> bool:
        return True

    def known(self, queries: str | Sequence[str] | Queries) -> Candidates:
        """Return all items whose scores are stored for each query, ranked; nothing is asked of the scorer.

        Past queries can so become further anchors: see `reused_anchors`.
        """
        asked = Queries.of(queries)
        every = Candidates.from_rows([np.arange(len(self.items), dtype=np.int32)] * len(asked), catalog=self.items)
        pairs, _, places = _distinct(*self._text_scorer.pairs(asked, every))
        scores = self._store.get(self._text_scorer.fingerprint, pairs)[places]
        stored = np.flatnonzero(~np.isnan(scores))
        return every.select(stored).with_scores(PairScores(scores[stored], Stats()))

    def clear(self) -> None:
        """Forget all scores of this scorer; those of others in the same file stay."""
        self._store.clear(self._text_scorer.fingerprint)

    def close(self) -> None:
        """Close the file for this thread; the next use opens it again."""
        self._store.close()

    def __repr__(self) -> str:
        return f"ScoreCache({self.wrapped}, {str(self.path)!r})"

    def _score(self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int) -> PairScores:
        pairs, first, places = _distinct(*self._text_scorer.pairs(queries, candidates))
        scores = np.full(len(pairs), np.nan, np.float32)
        missing = self._look_up(pairs, scores, np.arange(len(pairs)))
        self.wrapped._afford(queries, np.diff(candidates.select(first[missing]).offsets))
        stats = Stats()
        for start in range(0, len(missing), self.chunk):
            chunk = missing[start : start + self.chunk]
            if start:  # another process may have stored some of them while the chunk before was scored
                chunk = self._look_up(pairs, scores, chunk)
            if len(chunk):
                asked, wanted = candidates.select(first[chunk]), [pairs[at] for at in chunk.tolist()]
                scored = self._kept(queries, asked, wanted, filter, threads)
                scores[chunk], stats = scored.scores, stats + scored.stats
        return PairScores(scores[places], stats)

    def _kept(
        self, queries: Queries, asked: Candidates, pairs: list[Pair], filter: Filter | None, threads: int
    ) -> PairScores:
        """Score pairs and store them; of a call that fails, what was answered before."""
        try:
            scored = self.wrapped._score(queries, asked, filter, threads)
        except ScorerError as failure:
            known = np.array(failure.answered, np.float32)
            self._store.put(self._text_scorer.fingerprint, pairs[: len(known)], known)
            failure.answered, failure.sent = (), None  # these were this chunk's first pairs, not the caller's
            raise
        self._store.put(self._text_scorer.fingerprint, pairs, scored.scores)
        return scored

    def _look_up(self, pairs: list[Pair], scores: Float32Array, at: Int64Array) -> Int64Array:
        """Fill in the scores that are stored, and return where there are none."""
        scores[at] = self._store.get(self._text_scorer.fingerprint, [pairs[place] for place in at.tolist()])
        return at[np.isnan(scores[at])]


def _text_scorer(scorer: Scorer) -> TextScorer:
    inner = unwrapped(scorer)
    if not isinstance(inner, TextScorer):
        raise CompositionError(
            f"`scorer` must be a TextScorer, so that its scores can be kept by texts. Got {type(inner).__name__}."
        )
    if not inner.named:
        raise InputError(
            f"A scorer whose scores are kept must have an explicit name. Got {inner}: its code may change, and old "
            'scores would stay. Give it one with a version, FunctionScorer(…, name="overlap 1"), and change it when '
            "the code changes."
        )
    return inner


def _distinct(queries: list[str], texts: list[str]) -> tuple[list[Pair], Int64Array, Int64Array]:
    """Return the distinct pairs, the first candidate of each, and the pair of each candidate."""
    seen: dict[Pair, int] = {}
    places = np.array([seen.setdefault(pair, len(seen)) for pair in zip(queries, texts, strict=True)], np.int64)
    return list(seen), np.unique(places, return_index=True)[1], places
