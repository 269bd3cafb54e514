"""AnchorScores: all items scored for some anchor queries, as an artefact."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla.artifact import Artifact
from vizsla.candidates import Candidates
from vizsla.checked import checked
from vizsla.errors import InputError
from vizsla.methods.cur.factors import Factors
from vizsla.queries import Queries
from vizsla.scorer import Scorer
from vizsla.strings import Strings
from vizsla.text.item_changes import kept_items

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter


class AnchorScores(Artifact):
    """Exact scores, anchor queries × items: what an expensive scorer says of the whole catalogue.

    Parameters
    ----------
    items : Strings
        Item ids, one a column.
    queries : Strings
        Anchor queries' texts, one a row.
    factors : Factors
        The scores.

    Examples
    --------
    >>> anchors = AnchorScores.of(["a", "b"], ["fig", "pear"], [[1.0, 0.5], [0.0, 2.0]])
    >>> anchors
    AnchorScores(2 queries, 2 items, float32)
    >>> anchors.without_items(["a"]).scores().tolist()
    [[0.5], [2.0]]
    """

    kind = "anchor-scores"

    @checked
    def __init__(self, items: Strings, queries: Strings, factors: Factors):
        if (factors.dim, factors.count) != (len(queries), len(items)) or not len(queries):
            wanted = f"{len(queries)} × {len(items)}"
            raise InputError(f"`factors` must be queries × items ({wanted}). Got {factors.dim} × {factors.count}.")
        if not len(items):
            raise InputError("`items` must be some items. Got none.")
        self.items, self.queries, self.factors = items, queries, factors

    @classmethod
    @checked
    def of(
        cls,
        items: Iterable[str],
        queries: Iterable[str],
        scores: NDArray[Any] | Sequence[Any],
        *,
        storage: str = "float32",
    ) -> Self:
        """Take scores that are there already: one row a query."""
        factors = Factors.of(_finite(np.atleast_2d(np.asarray(scores, np.float32))), storage)
        ids = items if isinstance(items, Strings) else Strings.unique(items, what="item id")
        return cls(ids, Strings.unique(queries, what="anchor query"), factors)

    @property
    def nbytes(self) -> int:
        """Bytes of the scores."""
        return self.factors.nbytes

    def __repr__(self) -> str:
        return f"AnchorScores({len(self.queries):,} queries, {len(self.items):,} items, {self.factors.storage})"

    def scores(self) -> NDArray[np.float32]:
        """Return all scores as float32."""
        return np.asarray(self.factors.values * self.factors.steps[:, None], np.float32)

    def with_items(self, scorer: Scorer, ids: Sequence[str], *, threads: int = 1) -> Self:
        """Return the anchors with more items, which the scorer scores for every anchor query now."""
        new = [item for item in dict.fromkeys(ids) if item not in self.items]
        if not new:
            return self
        pair = Candidates.matches([np.arange(len(new), dtype=np.int32)] * len(self.queries), catalogue=Strings.of(new))
        scored = scorer._score(Queries(list(self.queries)), scorer._own(pair), None, threads)
        columns = scored.scores.reshape(len(self.queries), len(new))
        joined = Strings.unique([*self.items, *new], what="item id")
        return type(self)(joined, self.queries, self._joined(columns, axis=1))

    def without_items(self, ids: Iterable[str]) -> Self:
        """Return the anchors without these items."""
        kept = kept_items(self.items, ids)
        values = np.ascontiguousarray(self.factors.values[:, kept])
        return type(self)(Strings.of(self.items.take(kept.astype(np.int32))), self.queries, self._like(values))

    def with_queries(self, queries: Sequence[str], scores: NDArray[np.float32]) -> Self:
        """Return the anchors with more queries; one that is there already keeps its row."""
        new = {query: at for at, query in enumerate(queries) if query not in self.queries}
        if not new:
            return self
        joined = Strings.of([*self.queries, *new])
        return type(self)(self.items, joined, self._joined(scores[list(new.values())], axis=0))

    def _joined(self, scores: NDArray[np.float32], axis: int) -> Factors:
        """Return the factors with more scores; bytes are rounded anew, since a row's largest number may grow."""
        return Factors.of(np.concatenate([self.scores(), _finite(scores)], axis=axis), self.factors.storage)

    def _like(self, values: NDArray[np.generic]) -> Factors:
        return Factors(values, self.factors.steps)

    def _write(self, writer: ArtifactWriter) -> None:
        writer.catalogue("items", self.items)
        writer.strings("queries", self.queries)
        writer.child("factors", self.factors)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        factors = reader.child("factors", Factors)
        return cls(reader.catalogue("items"), reader.strings("queries"), factors)


def _finite(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    if not np.isfinite(scores).all():
        raise InputError("`scores` must be finite numbers. Got others: find the scorer that makes them.")
    return scores
