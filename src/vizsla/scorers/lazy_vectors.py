"""LateParametric: items are encoded when they are first found, and their vectors kept in a file."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from vizsla.base.encoder import Encoder, Rows, checked_rows
from vizsla.base.queries import Queries
from vizsla.core.candidates import Candidates, PairScores, Stats
from vizsla.core.explanation import Explanation
from vizsla.core.sparse import SparseRows, are_rising
from vizsla.core.validation import validate_args
from vizsla.data.filter import Filter
from vizsla.encoders.token_table import token_shares
from vizsla.errors import FormatError, check_positive
from vizsla.indexes.flat import FlatIndex
from vizsla.indexes.inverted import InvertedIndex
from vizsla.io.sqlite import SqliteFile, marks
from vizsla.scorers.text import TextScorer
from vizsla.text.bag_of_words import BagOfWords

Vector = tuple[NDArray[np.int32], NDArray[np.float32]]
"""Columns, none of a plain vector, and values."""

APPLICATION_ID = 0x565A5645
VECTORS_PER_STATEMENT = 400
"""How many vectors are read by one statement."""


class VectorFile(SqliteFile):
    """The file of a vector store."""

    application = APPLICATION_ID
    what = "store of vectors"
    tables = (
        "CREATE TABLE vectors (encoder BLOB NOT NULL, text BLOB NOT NULL, columns BLOB NOT NULL, "
        "numbers BLOB NOT NULL, seal INTEGER NOT NULL, PRIMARY KEY (encoder, text)) WITHOUT ROWID",
        "CREATE TABLE encoders (digest BLOB PRIMARY KEY, fingerprint TEXT NOT NULL) WITHOUT ROWID",
        *marks(APPLICATION_ID),
    )


class VectorStore:
    """Vectors of one encoder; others, threads and processes may share the file.

    Every vector carries a checksum, and is found by a digest of 256 bits of its text: a changed text is another item.
    A call's vectors are stored all or none, so a killed process leaves a sound file.

    Parameters
    ----------
    path : path
        The file, made when it is not there.
    fingerprint : str
        The encoder's.
    width : int
        The encoder's dimensions.
    sparse : bool
        Whether vectors are rows of weighted columns, or plain.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> folder = TemporaryDirectory()
    >>> store = VectorStore(Path(folder.name) / "vectors.db", "mine", 3, sparse=True)
    >>> store.put(["fig"], SparseRows.of(np.array([[0, 2.5, 0]])))
    >>> {text: values.tolist() for text, (columns, values) in store.get(["fig", "pear"]).items()}, len(store)
    ({'fig': [2.5]}, 1)
    >>> store.close()
    >>> folder.cleanup()
    """

    def __init__(self, path: str | Path, fingerprint: str, width: int, *, sparse: bool):
        self._file, self.fingerprint, self.width, self.sparse = VectorFile(path), fingerprint, width, sparse
        self._encoder = _digest(fingerprint)
        with self._file.writing() as connection:
            named = (self._encoder, fingerprint)
            connection.execute("INSERT OR IGNORE INTO encoders VALUES (?, ?)", named)

    @property
    def path(self) -> Path:
        """Where the vectors are."""
        return self._file.path

    def __len__(self) -> int:
        """Return how many vectors of this encoder are stored."""
        with self._file.reading() as connection:
            sql = "SELECT COUNT(*) FROM vectors WHERE encoder = ?"
            return int(connection.execute(sql, (self._encoder,)).fetchone()[0])

    @property
    def nbytes(self) -> int:
        """Bytes of this encoder's vectors."""
        with self._file.reading() as connection:
            sql = "SELECT COALESCE(SUM(LENGTH(columns) + LENGTH(numbers)), 0) FROM vectors WHERE encoder = ?"
            return int(connection.execute(sql, (self._encoder,)).fetchone()[0])

    def __bool__(self) -> bool:
        return True

    def get(self, texts: Sequence[str]) -> dict[str, Vector]:
        """Return columns and values of the texts that are stored."""
        wanted = {_digest(text): text for text in texts}
        keys, found = list(wanted), {}
        with self._file.reading() as connection:
            for start in range(0, len(keys), VECTORS_PER_STATEMENT):
                some = keys[start : start + VECTORS_PER_STATEMENT]
                marks = ", ".join("?" * len(some))
                sql = f"SELECT text, columns, numbers, seal FROM vectors WHERE encoder = ? AND text IN ({marks})"
                for key, columns, numbers, seal in connection.execute(sql, (self._encoder, *some)):
                    if key not in wanted:  # where a page is damaged, SQLite gives rows that do not match
                        raise self._file.damaged("a row has another key than was asked for")
                    found[wanted[key]] = self._checked(key, columns, numbers, seal)
        return found

    def put(self, texts: Sequence[str], rows: Rows) -> None:
        """Store a vector for each text, for good; of two for one text the first stays."""
        entries = [self._entry(text, *pair) for text, pair in zip(texts, _pairs(rows), strict=True)]
        with self._file.writing() as connection:
            connection.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?, ?, ?, ?)", entries)

    def stored(self, texts: Sequence[str]) -> dict[str, Vector]:
        """Return columns and values of texts that must be stored; a file that does not give back all is damaged."""
        found = self.get(texts)
        if len(found) != len(set(texts)):
            raise self._file.damaged("a vector that was stored is not there any more")
        return found

    def close(self) -> None:
        """Close this thread's connection; the next use opens another."""
        self._file.close()

    def _entry(self, text: str, columns: bytes, numbers: bytes) -> tuple[bytes, bytes, bytes, bytes, int]:
        key = _digest(text)
        return self._encoder, key, columns, numbers, _seal(self._encoder, key, columns, numbers)

    def _checked(self, key: bytes, columns: object, numbers: object, seal: object) -> Vector:
        if not isinstance(columns, bytes) or not isinstance(numbers, bytes) or len(columns) % 4 or len(numbers) % 4:
            raise self._file.damaged("a vector is not one that was stored")
        if seal != _seal(self._encoder, key, columns, numbers):
            raise self._file.damaged("a vector does not fit its checksum")
        places, values = np.frombuffer(columns, np.int32), np.frombuffer(numbers, np.float32)
        length = len(places) if self.sparse else self.width
        if len(values) != length or not are_rising(places, self.width) or not np.isfinite(values).all():
            raise self._file.damaged("a vector is not as wide as the encoder's")
        return places, values


class StoredCount(NamedTuple):
    """How many vectors an encoder has, their bytes, and how many of some texts have one."""

    vectors: int
    nbytes: int
    among: int


def stored_counts(path: str | Path, texts: Collection[str] = ()) -> dict[str, StoredCount]:
    """Return what is stored by the fingerprint of its encoder, and how many of these texts; the file must be there."""
    if not Path(path).is_file():
        raise FormatError(f"{path}: not a store of vectors (there is no such file).")
    file, wanted = VectorFile(path), {_digest(text) for text in texts}
    sql = (
        "SELECT fingerprint, digest, COUNT(text), COALESCE(SUM(LENGTH(columns) + LENGTH(numbers)), 0) FROM encoders "
        "LEFT JOIN vectors ON vectors.encoder = encoders.digest GROUP BY fingerprint ORDER BY fingerprint"
    )
    found = {}
    with file.reading() as connection:
        for name, digest, count, size in connection.execute(sql).fetchall():
            keys = connection.execute("SELECT text FROM vectors WHERE encoder = ?", (digest,)) if wanted else ()
            found[str(name)] = StoredCount(int(count), int(size), sum(key in wanted for (key,) in keys))
    file.close()
    return found


def _pairs(rows: Rows) -> list[tuple[bytes, bytes]]:
    if not isinstance(rows, SparseRows):
        return [(b"", np.ascontiguousarray(row, np.float32).tobytes()) for row in rows]
    spans = zip(rows.offsets[:-1].tolist(), rows.offsets[1:].tolist(), strict=True)
    return [(rows.columns[a:b].tobytes(), rows.values[a:b].tobytes()) for a, b in spans]


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=32).digest()


def _seal(*parts: bytes) -> int:
    return crc32(b"".join(len(part).to_bytes(8, "little") + part for part in parts))


class LateParametric(TextScorer):
    """Re-ranks candidates by learned vectors, which are made on first use: `sidr_beta >> late`.

    The query is encoded once for both stages when both have the same encoder. The store grows with what is asked, so
    the index drifts towards a full parametric one as it serves. Scoring a pair is arithmetic; `encoded` tells how many
    items the model has seen.

    Parameters
    ----------
    encoder : Encoder
        SiDR's, or any other, sparse or dense.
    texts : mapping or Dataset
        Item texts by id.
    path : path
        The file of the vectors, made when it is not there; threads, processes and encoders may share it.
    chunk : int
        How many items are encoded before they are stored.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from vizsla import tokens
    >>> from vizsla.encoders import FunctionEncoder
    >>> folder, items = TemporaryDirectory(), {"a": "a fig tree", "b": "a fig", "c": "a car"}
    >>> lengths = FunctionEncoder(lambda texts: [[len(t)] for t in texts], dim=1, name="length")
    >>> late = LateParametric(lengths, items, Path(folder.name) / "vectors.db")
    >>> (tokens(items) >> late)("fig").ids, late
    ([['a', 'b']], LateParametric(2 of 3 items encoded))
    >>> late.close()
    >>> folder.cleanup()
    """

    encoder: Encoder

    @validate_args
    def __init__(self, encoder: Encoder, texts: Any, path: str | Path, *, chunk: int = 64):
        super().__init__(texts, scale="late parametric", model_calls=False)
        self.encoder, self.chunk = encoder, check_positive("chunk", chunk)
        self._store = VectorStore(path, encoder.fingerprint, encoder.dim, sparse=encoder.sparse)

    @property
    def path(self) -> Path:
        """Where the vectors are."""
        return self._store.path

    @property
    def fingerprint(self) -> str:
        """The encoder's."""
        return f"late:{self.encoder.fingerprint}"

    @property
    def encoded(self) -> int:
        """How many items have a vector by now; texts that are no longer in the catalog count too."""
        return len(self._store)

    @property
    def nbytes(self) -> int:
        """Bytes of the encoder, and of the vectors that are stored by now."""
        return sum(self._byte_counts().values())

    def _byte_counts(self) -> dict[Any, int]:
        return {**self.encoder._byte_counts(), id(self): self._store.nbytes}

    def _live_parts(self) -> Iterable[Any]:
        return (self.encoder,)

    def __repr__(self) -> str:
        return f"LateParametric({self.encoded:,} of {len(self.items):,} items encoded)"

    def close(self) -> None:
        """Close the file for this thread; the next use opens it again."""
        self._store.close()

    def score_pairs(self, queries: list[str], texts: list[str]) -> Any:
        """Score pairs of texts."""
        offsets = np.arange(len(queries) + 1)
        found = Candidates.unchecked(offsets, offsets[:-1].astype(np.int32), None, None, Stats())
        return _index(self._vectors(texts)).scores(self.encoder.encoded(Queries(queries)), found).scores

    def _score(self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int) -> PairScores:
        if not len(candidates.items):
            return PairScores(np.zeros(0, np.float32), Stats())
        distinct, places = np.unique(candidates.items, return_inverse=True)
        rows = self._vectors(self._item_texts(distinct))
        inside = Candidates.unchecked(candidates.offsets, places.astype(np.int32), None, None, Stats())
        scored: PairScores = _index(rows).scores(queries.encoded(self.encoder), inside, threads=threads)
        return scored

    def _explain(self, queries: Queries, item: int, filter: Filter | None) -> Explanation:
        explained, words = super()._explain(queries, item, filter), getattr(self.encoder, "words", None)
        if not isinstance(words, BagOfWords):
            return explained
        given = SparseRows.of(self._vectors(self._item_texts(np.array([item], np.int32))))
        asked = SparseRows.of(queries.encoded(self.encoder))
        parts = token_shares(words, queries.texts[0], asked, given)
        return Explanation(explained.score, "learned tokens, query × item, encoded when first found", parts)

    def _vectors(self, texts: list[str]) -> Rows:
        """Return the texts' vectors; those that are not stored are made, and stored."""
        found = self._store.get(texts)
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        for start in range(0, len(missing), self.chunk):
            some = missing[start : start + self.chunk]
            self._store.put(some, checked_rows(self.encoder, self.encoder.items(some), len(some)))
        found |= self._store.stored(missing)
        return self._joined([found[text] for text in texts])

    def _joined(self, vectors: list[Any]) -> Rows:
        if not self.encoder.sparse:
            return np.array([values for _, values in vectors], np.float32)
        offsets = np.cumsum([0, *(len(columns) for columns, _ in vectors)]).astype(np.int64)
        columns, values = (np.concatenate([pair[side] for pair in vectors]) for side in (0, 1))
        return SparseRows(offsets, columns, values, self.encoder.dim)


def parametric_index(rows: SparseRows) -> InvertedIndex:
    """Return weighted postings in which a query's tokens are added by its weights alone, whatever items there are.

    So an item has the same score among a few as among all, to the last bit.
    """
    return InvertedIndex.from_rows(rows, priorities=np.ones(rows.width, np.float32))


def _index(rows: Rows) -> Any:
    return parametric_index(rows) if isinstance(rows, SparseRows) else FlatIndex.build(rows)
