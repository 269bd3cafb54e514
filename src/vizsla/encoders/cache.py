"""EmbeddingCache: vectors of texts kept in an SQLite file, so that no text is encoded twice."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from vizsla.base.encoder import Encoder, check_texts, checked_rows
from vizsla.base.queries import Queries
from vizsla.core.validation import validate_args
from vizsla.errors import InputError, check_positive
from vizsla.io.sqlite import SqliteFile, marks
from vizsla.typing import Float32Array

APPLICATION_ID = 0x565A454D
QUERIES, ITEMS = 0, 1
"""The two sides of an encoder: one text may have two vectors."""
VECTORS_PER_STATEMENT = 400
"""How many vectors are read by one statement."""
MIN_FILE_BYTES = 1 << 18
"""The least that a file may be limited to: the empty tables take some of it."""
ROW_OVERHEAD_BYTES = 160
"""Bytes that a row takes beside its vector: keys, their indexes, and what stays empty of a page."""


class EmbeddingFile(SqliteFile):
    """The file of an embedding cache."""

    application = APPLICATION_ID
    what = "embedding cache"
    tables = (
        "CREATE TABLE encoders (id INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL UNIQUE)",
        "CREATE TABLE vectors (id INTEGER PRIMARY KEY, encoder INTEGER NOT NULL, side INTEGER NOT NULL, "
        "text BLOB NOT NULL, numbers BLOB NOT NULL, seal INTEGER NOT NULL, used INTEGER NOT NULL)",
        "CREATE UNIQUE INDEX by_text ON vectors (encoder, side, text)",
        "CREATE INDEX by_use ON vectors (used)",
        *marks(APPLICATION_ID),
    )


class EmbeddingStore:
    """Vectors by the encoder's fingerprint, its side, and a digest of 256 bits of the text; no text is stored.

    Every vector carries a checksum. A call's vectors are stored all or none, so a killed process leaves a sound file.

    Parameters
    ----------
    path : path
        The file, made when it is not there. Encoders, threads and processes may share it.
    max_bytes : int, optional
        Maximum bytes of the file's pages; the least recently used vectors are removed first.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> folder = TemporaryDirectory()
    >>> store = EmbeddingStore(Path(folder.name) / "vectors.db")
    >>> store.put("mine", ITEMS, ["fig"], np.ones((1, 2), np.float32))
    >>> {text: row.tolist() for text, row in store.get("mine", ITEMS, 2, ["fig", "pear"]).items()}
    {'fig': [1.0, 1.0]}
    >>> store.close()
    >>> folder.cleanup()
    """

    def __init__(self, path: str | Path, max_bytes: int | None = None):
        if max_bytes is not None and check_positive("max_bytes", max_bytes) < MIN_FILE_BYTES:
            raise InputError(f"`max_bytes` must be at least {MIN_FILE_BYTES:,}. Got {max_bytes:,}.")
        self._file, self.max_bytes = EmbeddingFile(path), max_bytes

    @property
    def path(self) -> Path:
        """Where the vectors are."""
        return self._file.path

    def get(self, fingerprint: str, side: int, dim: int, texts: Sequence[str]) -> dict[str, Float32Array]:
        """Return the vectors of the texts that are stored."""
        wanted, numbers = {_digest(text): text for text in texts}, []
        found: dict[str, Float32Array] = {}
        with self._file.reading() as connection:
            encoder = _number(connection, fingerprint)
            for some in _parts(list(wanted)) if encoder is not None else ():
                places = ", ".join("?" * len(some))
                sql = "SELECT id, text, numbers, seal FROM vectors WHERE encoder = ? AND side = ? AND text IN "
                for number, key, stored, seal in connection.execute(f"{sql}({places})", (encoder, side, *some)):
                    if key not in wanted:  # where a page is damaged, SQLite gives rows that do not match
                        raise self._file.damaged("a row has another key than was asked for")
                    found[wanted[key]] = self._checked(encoder, side, key, stored, seal, dim)
                    numbers.append(number)
        if self.max_bytes is not None and numbers:
            self._note_use(numbers)
        return found

    def put(self, fingerprint: str, side: int, texts: Sequence[str], rows: Float32Array) -> None:
        """Store a vector for each text; of two for one text the first stays."""
        most = len(texts)
        if self.max_bytes is not None:  # what would not fit beside itself is not worth writing
            most = min(most, max(1, self.max_bytes // (2 * _row_bytes(rows))))
        with self._file.writing() as connection:
            connection.execute("INSERT OR IGNORE INTO encoders (fingerprint) VALUES (?)", (fingerprint,))
            encoder, used = _number(connection, fingerprint), _next_use(connection)
            entries = [_entry(encoder, side, text, row, used) for text, row in zip(texts, rows, strict=True)][-most:]
            self._make_room(connection, len(entries) * _row_bytes(rows))
            sql = "INSERT OR IGNORE INTO vectors (encoder, side, text, numbers, seal, used) VALUES (?, ?, ?, ?, ?, ?)"
            connection.executemany(sql, entries)
            self._make_room(connection, 0)

    def count(self, fingerprint: str) -> int:
        """Return how many vectors of this encoder are stored."""
        with self._file.reading() as connection:
            encoder = _number(connection, fingerprint)
            count: int = connection.execute("SELECT COUNT(*) FROM vectors WHERE encoder = ?", (encoder,)).fetchone()[0]
            return count

    def clear(self, fingerprint: str) -> None:
        """Forget the vectors of this encoder."""
        with self._file.writing() as connection:
            connection.execute("DELETE FROM vectors WHERE encoder = ?", (_number(connection, fingerprint),))

    def keep(self, texts: Iterable[str]) -> None:
        """Forget the vectors of all other texts, of every encoder, and leave nothing of them in the file."""
        with self._file.writing() as connection:
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("CREATE TEMP TABLE IF NOT EXISTS kept (text BLOB PRIMARY KEY) WITHOUT ROWID")
            connection.executemany("INSERT OR IGNORE INTO kept VALUES (?)", ((_digest(text),) for text in texts))
            connection.execute("DELETE FROM vectors WHERE text NOT IN (SELECT text FROM kept)")
            connection.execute("DELETE FROM kept")
        self._file.truncate_log()

    def close(self) -> None:
        """Close this thread's connection; the next use opens another."""
        self._file.close()

    def _note_use(self, numbers: list[int]) -> None:
        with self._file.writing() as connection:
            used = _next_use(connection)
            for some in _parts(numbers):
                places = ", ".join("?" * len(some))
                connection.execute(f"UPDATE vectors SET used = ? WHERE id IN ({places})", (used, *some))

    def _make_room(self, connection: sqlite3.Connection, wanted: int) -> None:
        """Remove the least recently used vectors until a number of bytes is free below the limit."""
        while self.max_bytes is not None and (excess := _bytes_in_use(connection) + wanted - self.max_bytes) > 0:
            oldest = connection.execute("SELECT LENGTH(numbers) FROM vectors ORDER BY used LIMIT 1").fetchone()
            if oldest is None:
                return
            some = -(-excess // (oldest[0] + ROW_OVERHEAD_BYTES))
            sql = "DELETE FROM vectors WHERE id IN (SELECT id FROM vectors ORDER BY used, id LIMIT ?)"
            connection.execute(sql, (some,))

    def _checked(self, encoder: int | None, side: int, key: bytes, stored: Any, seal: Any, dim: int) -> Float32Array:
        if not isinstance(stored, bytes) or seal != _seal(encoder, side, key, stored):
            raise self._file.damaged("a vector does not fit its checksum")
        if len(stored) != 4 * dim:
            raise self._file.damaged(f"a vector has not the {dim} dimensions of its encoder")
        return np.frombuffer(stored, np.float32)


def _number(connection: sqlite3.Connection, fingerprint: str) -> int | None:
    row = connection.execute("SELECT id FROM encoders WHERE fingerprint = ?", (fingerprint,)).fetchone()
    return None if row is None else int(row[0])


def _next_use(connection: sqlite3.Connection) -> int:
    """Return a number above all that say when a vector was used."""
    return int(connection.execute("SELECT COALESCE(MAX(used), 0) + 1 FROM vectors").fetchone()[0])


def _bytes_in_use(connection: sqlite3.Connection) -> int:
    asked = ("PRAGMA page_count", "PRAGMA freelist_count", "PRAGMA page_size")
    pages, free, size = (int(connection.execute(sql).fetchone()[0]) for sql in asked)
    return (pages - free) * size


def _row_bytes(rows: Float32Array) -> int:
    return int(rows.shape[1]) * 4 + ROW_OVERHEAD_BYTES


def _entry(encoder: int | None, side: int, text: str, row: Float32Array, used: int) -> tuple[Any, ...]:
    key, numbers = _digest(text), np.ascontiguousarray(row, np.float32).tobytes()
    return encoder, side, key, numbers, _seal(encoder, side, key, numbers), used


def _parts(values: list[Any]) -> Iterator[list[Any]]:
    for start in range(0, len(values), VECTORS_PER_STATEMENT):
        yield values[start : start + VECTORS_PER_STATEMENT]


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=32).digest()


def _seal(encoder: int | None, side: int, key: bytes, numbers: bytes) -> int:
    return crc32(numbers, crc32(key + f"{encoder}:{side}".encode()))


class EmbeddingCache(Encoder):
    """An encoder that caches the vectors of another one in a file that processes share.

    Vectors are stored by the encoder's fingerprint and a digest of the text, bit for bit, those of queries and of items
    apart. It has the fingerprint of the encoder inside, so whatever was built with the one accepts the other. What is
    missing is encoded in chunks, and a chunk is stored before the next one is encoded: a stopped process loses at most
    one chunk. A saved artifact holds the encoder inside, never the vectors.

    Parameters
    ----------
    encoder : Encoder
        A dense encoder.
    path : path
        An SQLite file, made when it is not there. Encoders, threads and processes may share it.
    max_bytes : int, optional
        What the file's pages may take, at least 262,144; the vectors used longest ago are forgotten first. SQLite's log
        beside it (`-wal`) takes some megabytes more.
    chunk : int
        How many texts are encoded at a time.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from vizsla.encoders import FunctionEncoder
    >>> folder, calls = TemporaryDirectory(), []
    >>> def lengths(texts):
    ...     calls.append(texts)
    ...     return [[len(text)] for text in texts]
    >>> cache = EmbeddingCache(FunctionEncoder(lengths, dim=1, name="length"), Path(folder.name) / "vectors.db")
    >>> cache.items(["fig", "apple"]).ravel().tolist(), cache.items(["apple", "pear"]).ravel().tolist()
    ([3.0, 5.0], [5.0, 4.0])
    >>> calls, len(cache)
    ([['fig', 'apple'], ['pear']], 3)
    >>> cache.close()
    >>> folder.cleanup()
    """

    @validate_args
    def __init__(self, encoder: Encoder, path: str | Path, max_bytes: int | None = None, *, chunk: int = 256):
        self.encoder = encoder.stored_form
        if encoder.sparse:
            raise InputError("`encoder` must give dense vectors. Got a sparse one, whose rows are cheap to make again.")
        self.chunk, self._store = check_positive("chunk", chunk), EmbeddingStore(path, max_bytes)

    @property
    def path(self) -> Path:
        """Where the vectors are."""
        return self._store.path

    @property
    def max_bytes(self) -> int | None:
        """What the file's pages may take."""
        return self._store.max_bytes

    @property
    def dim(self) -> int:
        """The width of the encoder inside."""
        return self.encoder.dim

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the encoder inside: its vectors are the same."""
        return self.encoder.fingerprint

    @property
    def nbytes(self) -> int:
        """Bytes of the encoder inside; the file's stay on the disk."""
        return self.encoder.nbytes

    @property
    def stored_form(self) -> Encoder:
        """The encoder inside."""
        return self.encoder

    def _byte_counts(self) -> dict[Any, int]:
        return self.encoder._byte_counts()

    def _live_parts(self) -> Iterable[Any]:
        return (self.encoder,)

    def __repr__(self) -> str:
        return f"EmbeddingCache({self.encoder!r}, {str(self.path)!r})"

    def __len__(self) -> int:
        """Return how many vectors of this encoder are stored."""
        return self._store.count(self.fingerprint)

    def __bool__(self) -> bool:
        return True

    def queries(self, texts: Sequence[str]) -> Float32Array:
        """Return the vectors of query texts; those that are not stored are made, and stored."""
        return self._rows(QUERIES, check_texts(texts), self.encoder.queries)

    def items(self, texts: Sequence[str]) -> Float32Array:
        """Return the vectors of item texts; those that are not stored are made, and stored."""
        return self._rows(ITEMS, check_texts(texts), self.encoder.items)

    def encoded(self, queries: Queries) -> Float32Array:
        """Return the vectors of a call's queries; an encoder that is made of another shares what that one made."""
        if not isinstance(queries, Queries):
            raise InputError(f"`queries` must be Queries. Got {type(queries).__name__}: see `queries(texts)`.")
        places = {text: at for at, text in enumerate(queries.texts)}

        def make(texts: list[str]) -> Any:
            if texts == queries.texts:
                return self.encoder.encoded(queries)
            return self.encoder.encoded(queries.take(np.array([places[text] for text in texts])))

        return self._rows(QUERIES, queries.texts, make)

    def clear(self) -> None:
        """Forget all vectors of this encoder; those of others in the same file stay."""
        self._store.clear(self.fingerprint)

    def close(self) -> None:
        """Close the file for this thread; the next use opens it again."""
        self._store.close()

    def _rows(self, side: int, texts: list[str], make: Callable[[list[str]], Any]) -> Float32Array:
        found = self._store.get(self.fingerprint, side, self.dim, texts)
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        for start in range(0, len(missing), self.chunk):
            some = missing[start : start + self.chunk]
            if start:  # another process may have stored some of them while the chunk before was encoded
                known = self._store.get(self.fingerprint, side, self.dim, some)
                found |= known
                some = [text for text in some if text not in known]
            if some:
                made = checked_rows(self.encoder, make(some), len(some))
                self._store.put(self.fingerprint, side, some, made)
                found.update(zip(some, made, strict=True))
        rows = np.empty((len(texts), self.dim), np.float32)
        for at, text in enumerate(texts):
            rows[at] = found[text]
        return rows


def cached_encoder(encoder: Encoder, cache: EmbeddingCache | str | Path | None) -> Encoder:
    """Return the encoder behind a cache: one around another encoder shares its file; None gives the encoder itself.

    Examples
    --------
    >>> from vizsla.encoders import FunctionEncoder
    >>> lengths = FunctionEncoder(lambda texts: [[len(text)] for text in texts], dim=1, name="length")
    >>> cached_encoder(lengths, None) is lengths
    True
    """
    if cache is None or encoder.sparse:
        return encoder
    if not isinstance(cache, EmbeddingCache):
        return EmbeddingCache(encoder, cache)
    if cache.fingerprint == encoder.fingerprint:
        return cache
    return EmbeddingCache(encoder, cache.path, cache.max_bytes)
