"""LateParametric: items are encoded when they are first asked for, and kept; scores are those of a full index."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from vizsla.candidates import Candidates
from vizsla.checked import checked
from vizsla.encoder import Encoder, Rows, checked_rows
from vizsla.encoders.token_shares import token_shares
from vizsla.errors import check_positive
from vizsla.explanation import Explanation
from vizsla.filter import Filter
from vizsla.indexes.flat import FlatIndex
from vizsla.indexes.inverted import InvertedIndex
from vizsla.queries import Queries, encoded_queries
from vizsla.scored import Scored
from vizsla.sparse_rows import SparseRows
from vizsla.stats import Stats
from vizsla.text.bag import BagOfWords
from vizsla.text_scorer import TextScorer
from vizsla.vector_store import VectorStore


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
    >>> from vizsla import FunctionEncoder, bag
    >>> folder, items = TemporaryDirectory(), {"a": "a fig tree", "b": "a fig", "c": "a car"}
    >>> lengths = FunctionEncoder(lambda texts: [[len(t)] for t in texts], dim=1, name="length")
    >>> late = LateParametric(lengths, items, Path(folder.name) / "vectors.db")
    >>> (bag(items) >> late)("fig").ids, late
    ([['a', 'b']], LateParametric(2 of 3 items encoded))
    >>> late.close()
    >>> folder.cleanup()
    """

    @checked
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
        """How many items have a vector by now; texts that are no longer in the catalogue count too."""
        return len(self._store)

    @property
    def nbytes(self) -> int:
        """Bytes of the encoder, and of the vectors that are stored by now."""
        return sum(self._byte_counts().values())

    def _byte_counts(self) -> dict[Any, int]:
        return {**self.encoder._byte_counts(), id(self): self._store.nbytes}

    def __repr__(self) -> str:
        return f"LateParametric({self.encoded:,} of {len(self.items):,} items encoded)"

    def close(self) -> None:
        """Close the file for this thread; the next use opens it again."""
        self._store.close()

    def score_pairs(self, queries: list[str], texts: list[str]) -> Any:
        """Score pairs of texts."""
        offsets = np.arange(len(queries) + 1)
        found = Candidates.trusted(offsets, offsets[:-1].astype(np.int32), None, None, Stats())
        return _index(self._vectors(texts)).scores(encoded_queries(self.encoder, queries), found).scores

    def _score(self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int) -> Scored:
        if not len(candidates.items):
            return Scored(np.zeros(0, np.float32), Stats())
        distinct, places = np.unique(candidates.items, return_inverse=True)
        rows = self._vectors(self._item_texts(distinct))
        inside = Candidates.trusted(candidates.offsets, places.astype(np.int32), None, None, Stats())
        scored: Scored = _index(rows).scores(queries.encoded(self.encoder), inside, threads=threads)
        return scored

    def _explain(self, queries: Queries, item: int, filter: Filter | None) -> Explanation:
        said, bag = super()._explain(queries, item, filter), getattr(self.encoder, "bag", None)
        if not isinstance(bag, BagOfWords):
            return said
        given = SparseRows.of(self._vectors(self._item_texts(np.array([item], np.int32))))
        asked = SparseRows.of(queries.encoded(self.encoder))
        parts = token_shares(bag, queries.texts[0], asked, given)
        return Explanation(said.score, "learned tokens, query × item, encoded when first found", parts)

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
