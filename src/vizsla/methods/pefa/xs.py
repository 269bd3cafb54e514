"""PefaXs: one index over item vectors moved towards the queries they were clicked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from vizsla._internal.terminal import abbreviate
from vizsla.base.encoder import Encoder, Rows
from vizsla.base.index_retriever import IndexRetriever, RowSpaceRetriever, query_of_item, weightiest
from vizsla.base.queries import Queries
from vizsla.base.recipe import refit
from vizsla.compose.updates import Memo, add_items, readable_twice, remove_items
from vizsla.core.candidates import Candidates
from vizsla.core.explanation import Explanation
from vizsla.core.sparse import SparseRows
from vizsla.core.validation import validate_args
from vizsla.data.filter import Filter
from vizsla.errors import FormatError, InputError
from vizsla.indexes.dense_index import DenseIndex
from vizsla.indexes.grouped import GroupedIndex
from vizsla.indexes.inverted import InvertedIndex
from vizsla.indexes.pq.pq_index import PqIndex
from vizsla.learning.clicks import WEIGHT_UNITS, ClickLog
from vizsla.learning.selection import Choice
from vizsla.methods.pefa.blending import (
    blended,
    grown_column_weights,
    grown_encode,
    grown_item_rows,
    length_factor,
    narrowed,
    past_query_rows,
    query_rows,
)
from vizsla.methods.pefa.options import XsSettings, clicks_not_in
from vizsla.typing import Float32Array, Float64Array, Int64Array

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter
    from vizsla.data.dataset import Dataset

MAX_VOTES_EXPLAINED = 10
MIN_EXPLAINED_REST = 1e-4
"""Rounding is smaller; more is what a base that cuts its rows left out."""


def explain_xs(
    score: float,
    query: Float32Array,
    own: float,
    log: ClickLog,
    item: int,
    settings: XsSettings,
    weights: Float32Array | None = None,
    length_factor: float = 1.0,
) -> Explanation:
    """Return shares that add up to `score`, or say which past query made it alone; `own` is the base's score.

    The item's row was multiplied by `length_factor` after it was blended.
    """
    row = query.astype(np.float64)
    log = log.binary if settings.paper else log
    clicks = np.flatnonzero(log.items == item)
    voters = log.rows[clicks]
    if not len(voters) or (settings.weight == 1 and not settings.best):
        reason = "no clicks: the base's full score" if not len(voters) else "weight 1: the base's full score"
        if settings.paper and settings.weight < 1:
            share = Explanation(settings.weight * own, f"base: {settings.weight:g} × {own:.4f}")
            return Explanation(score, "no clicks: the base's share", [share])
        return Explanation(score, reason, [Explanation(own, "base")])
    weighted = row if weights is None else row * weights
    similar = log.vectors[voters].astype(np.float64) @ weighted
    alone = _alone(score, own, similar, voters, log, settings, bool(np.any(row)))
    if alone is not None:
        return alone
    shares = log.units[clicks] / WEIGHT_UNITS
    total = shares @ log.vectors[voters].astype(np.float64)
    length = float(np.linalg.norm(total if weights is None else total * weights))
    factors = (length_factor, (1 - settings.weight) * settings.scale * length_factor / (length or 1.0))
    return _shares(score, own, similar, voters, shares, factors, log, settings, bool(np.any(row)))


def _alone(
    score: float, own: float, similar: Float64Array, voters: Int64Array, log: ClickLog, settings: XsSettings, says: bool
) -> Explanation | None:
    """Return the reason if the best past query's own vector made the score."""
    if settings.margin is None:
        return None
    best = int(np.argmax(similar))
    parts = [
        Explanation(settings.item_weight * own, f"base: {settings.item_weight:g} × {own:.4f}"),
        Explanation((1 - settings.item_weight) * float(similar[best]), f"similarity {similar[best]:.4f} to that query"),
        Explanation(-settings.margin if says else 0.0, "the margin by which a past query must be ahead to score alone"),
    ]
    total = sum(part.score for part in parts)
    if abs(total - score) > 1e-4 * max(1.0, abs(score)):
        return None
    return Explanation(score, f"the best past query scores alone: {log.queries[int(voters[best])]!r}", parts)


def _shares(
    score: float,
    own: float,
    similar: Float64Array,
    voters: Int64Array,
    weights: Float64Array,
    factors: tuple[float, float],
    log: ClickLog,
    settings: XsSettings,
    says: bool,
) -> Explanation:
    votes = factors[1] * weights * similar
    order = np.argsort(-votes, kind="stable")
    parts = [
        Explanation(
            float(votes[at]),
            f"{log.queries[int(voters[at])]!r}: weight {weights[at]:g}, similarity {similar[at]:.4f}",
        )
        for at in order[:MAX_VOTES_EXPLAINED]
    ]
    if len(order) > MAX_VOTES_EXPLAINED:
        others = float(votes[order[MAX_VOTES_EXPLAINED:]].sum())
        parts.append(Explanation(others, f"{len(order) - MAX_VOTES_EXPLAINED} other past queries"))
    shift = (1 - settings.weight) * settings.shift if says else 0.0
    if shift:
        parts.append(Explanation(shift, "shift to the base's mean"))
    longer = "" if factors[0] == 1 else f" × {factors[0]:.4f}, for its row's length"
    base = Explanation(factors[0] * settings.weight * own, f"base: {settings.weight:g} × {own:.4f}{longer}")
    past = "past query" if len(voters) == 1 else "past queries"
    clicks = Explanation(float(votes.sum()) + shift, f"clicks of {len(voters)} {past}", parts)
    left_out = score - base.score - clicks.score
    if left_out < -MIN_EXPLAINED_REST * max(1.0, abs(score)):
        cut = Explanation(left_out, "what was cut off: rows hold only their heaviest entries")
        return Explanation(score, "base share and click share, less what was cut off", [base, clicks, cut])
    return Explanation(score, "base share and click share", [base, clicks])


class PefaXs(IndexRetriever):
    """A retriever over vectors or words adapted to clicks, at the cost of its base. Use `pefa_xs` or `pefa_max`.

    Over bags of words its encoder also knows the words that only clicked queries have, so that such a word finds what
    was clicked for it.

    Parameters
    ----------
    base : Dense, Bm25 or Tfidf
        The adapted retriever.
    log : ClickLog
        The click log.
    settings : XsSettings
        The numbers of the formula.
    index : DenseIndex, GroupedIndex or InvertedIndex
        The moved vectors, with past queries' vectors if the best past query may score alone.
    choice : Choice, optional
        How the settings were chosen.
    """

    kind = "pefa-xs"

    @validate_args
    def __init__(
        self,
        base: RowSpaceRetriever,
        log: ClickLog,
        settings: XsSettings,
        index: DenseIndex | GroupedIndex | InvertedIndex,
        *,
        choice: Choice | None = None,
    ):
        self.base, self.log, self.settings, self.choice, self.scale = base, log, settings, choice, base.scale
        self.report = choice
        grown = base.grown_encoder(log.queries)
        if log.width != len(base.items) or log.dim != grown.dim:
            raise InputError("`log` must be of clicks on the base's items, in its dimensions. Got another.")
        super().__init__(base.items, grown if settings.moves else base.encoder, index)

    @classmethod
    def build(
        cls, base: RowSpaceRetriever, log: ClickLog, settings: XsSettings, *, choice: Choice | None = None
    ) -> Self:
        """Move the items' vectors and index them like the base's."""
        if not settings.moves:
            return cls(base, log, settings, base.index, choice=choice)
        weights, everything = grown_column_weights(base, log), np.arange(len(base.items))
        vectors = blended(grown_item_rows(base, log), log, everything, settings, weights)
        return cls(base, log, settings, _indexed(base, log, settings, vectors), choice=choice)

    def __repr__(self) -> str:
        return abbreviate(f"PefaXs({self.base!r}", f", {len(self.log):,} past queries)")

    def with_clicks(self, clicks: Any) -> PefaXs:
        """Return the retriever with more clicks: only the items they touch are recomputed.

        All settings stay. The answers are, bit for bit, those of a retriever built at once with these settings from
        all clicks. A graph index (HNSW) is built again.

        Parameters
        ----------
        clicks
            A Dataset, or (query text, item id) pairs with or without a weight.
        """
        return self._changed(clicks, 1)

    def without_clicks(self, clicks: Any) -> PefaXs:
        """Take clicks away again: adding and taking away leaves no trace."""
        return self._changed(clicks, -1)

    @property
    def takes_items(self) -> bool:
        """Whether the base takes items, and the moved vectors are not coded."""
        return self.base.takes_items and not isinstance(self._vectors, PqIndex)

    def with_items(self, items: Mapping[str, str] | Iterable[Any]) -> PefaXs:
        """Return the retriever over more items, which have no clicks, if the base takes them; all settings stay."""
        return self._with_items(readable_twice(items), {})

    def _with_items(self, items: Any, memo: Memo) -> PefaXs:
        return self._over(add_items(self.base, items, memo))

    def _without_items(self, ids: list[str], memo: Memo) -> PefaXs:
        return self._over(remove_items(self.base, ids, memo))

    def _over(self, base: Any) -> PefaXs:
        """Return the same clicks over a base with other items; those on items that went are gone."""
        if isinstance(self._vectors, PqIndex):
            raise InputError("`items` must change before the vectors are coded. Got a change after: code anew.")
        log = self.log.renumbered(base.items.find_all(self.items), len(base.items))
        if base.encoder.sparse:  # the base may know other words now
            log = log.encoded_by(grown_encode(base))
        return self._kept(PefaXs.build(base, log, self.settings, choice=self.choice))

    @property
    def _vectors(self) -> Any:
        return self.index.index if isinstance(self.index, GroupedIndex) else self.index

    def _ask_for(self, queries: Queries, item: str, text: str | None) -> bool:
        number = self.items.find(item)
        if number < 0:
            return text is not None
        if isinstance(self.index, InvertedIndex):
            weights = grown_column_weights(self.base, self.log)
            own = np.ones(self.encoder.dim, np.float32) if weights is None else np.asarray(weights, np.float32)
            row = query_of_item(SparseRows.of(self.index.to_csr()[np.array([number])]), own)
            queries.seed(self.encoder, weightiest(row, own))
        elif isinstance(self.index, GroupedIndex):
            self._seed(queries, self.index.index.take(self.index.vectors_of(number)[:1]))
        else:
            self._seed(queries, self.index.take(np.array([number])))
        return True

    def _seed(self, queries: Queries, rows: Float32Array) -> None:
        """Let a vector be the query, without the columns that were added to calibrate it."""
        queries.seed(self.encoder, np.ascontiguousarray(rows[:, : self.encoder.dim], np.float32))

    def _live_parts(self) -> Iterable[Any]:
        return (
            self.base,
            self.encoder,
        )

    def refit_on(self, dataset: Dataset, *, threads: int = 1) -> PefaXs:
        """Forget what this dataset does not have; all settings stay. A base that learned from clicks is built again."""
        base = self.base.refit_on(dataset, threads=threads)
        if base is not self.base:
            if self._recipe is None:
                remedy = "Give a function that builds both: `lambda dataset: vizsla.pefa(…, dataset)`."
                raise InputError(f"A base must have learned from no clicks, to stay. Got {self.base!r}. {remedy}")
            again: PefaXs = refit(self, dataset, threads=threads, members={"base": base}, base="base")
            return again
        lost = clicks_not_in(self.log, self.items, dataset)
        return self.without_clicks(lost) if lost else self

    def children(self) -> list[RowSpaceRetriever]:
        """Return the base."""
        return [self.base]

    def with_encoder(self, encoder: Encoder) -> Self:
        """Give the encoder that a load could not bring back; see `IndexRetriever.with_encoder`."""
        return self._with(base=self.base.with_encoder(encoder))

    def _changed(self, clicks: Any, sign: int) -> PefaXs:
        log, touched = self.log.changed(clicks, self.items, grown_encode(self.base), sign=sign)
        if isinstance(self.index, InvertedIndex) or not self.settings.moves:  # lists are rewritten in any case
            return self._kept(PefaXs.build(self.base, log, self.settings, choice=self.choice))
        inner = self._vectors
        if isinstance(inner, PqIndex):
            raise InputError("`clicks` must be added before the vectors are coded. Got some after: code anew.")
        vectors = np.array(inner.take(slice(0, len(self.items))), np.float32)
        vectors[touched] = blended(self.base.item_rows(touched), log, touched, self.settings)
        return self._with(log=log, index=_indexed(self.base, log, self.settings, vectors))

    def _with(self, **changes: Any) -> Self:
        same = {"base": self.base, "log": self.log, "settings": self.settings, "index": self.index}
        return self._kept(type(self)(**{**same, "choice": self.choice, **changes}))

    def _check_dim(self) -> None:
        if self.index.dim != self.encoder.dim + self.settings.extra:
            raise InputError("`index` must be over the base's items and dimensions. Got another.")

    def _rows(self, queries: Queries) -> Rows:
        rows: Rows = query_rows(queries.encoded(self.encoder), self.settings)
        return rows

    def _explain(self, queries: Queries, item: int, filter: Filter | None) -> Explanation:
        row = queries.encoded(self.encoder)
        query = (row.toarray() if isinstance(row, SparseRows) else row)[0]
        one = Candidates.from_rows([np.array([item], np.int32)])
        own = float(self.base.index.scores(narrowed(row, self.base.encoder.dim), one).scores[0])
        score = self._score_one(queries, item)
        weights, items = grown_column_weights(self.base, self.log), np.array([item])
        factor = length_factor(grown_item_rows(self.base, self.log, items), self.log, items, self.settings, weights)
        return explain_xs(score, query, own, self.log, item, self.settings, weights, factor)

    @property
    def _own_report(self) -> Choice | None:
        return self.choice

    def _write(self, writer: ArtifactWriter) -> None:
        choice = None if self.choice is None else self.choice.to_dict()
        writer.parameters(settings=self.settings.to_dict(), choice=choice)
        writer.child("base", self.base)
        writer.child("index", self.index)
        self.log.write(writer)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        base, index = reader.child("base"), reader.child("index")
        if not isinstance(base, RowSpaceRetriever) or not isinstance(index, _indexes_over(base)):
            raise FormatError(f"{reader.path}: expected a base and an index over its rows. Got other kinds.")
        log = ClickLog.read(reader, width=len(base.items))
        choice = reader.parameter("choice", (dict, type(None)))
        settings = XsSettings.of(reader.parameter("settings", dict))
        return cls(base, log, settings, index, choice=None if choice is None else Choice.of(choice))


def _indexes_over(base: RowSpaceRetriever) -> Any:
    return InvertedIndex if base.encoder.sparse else DenseIndex | GroupedIndex


def _indexed(
    base: RowSpaceRetriever, log: ClickLog, settings: XsSettings, vectors: Any
) -> DenseIndex | GroupedIndex | InvertedIndex:
    if not settings.best:
        built: DenseIndex | InvertedIndex = base.index_rows(vectors)  # type: ignore[assignment]
        return built
    past, owners = past_query_rows(base.item_rows(), log, settings)
    index: Any = base.index_rows(np.concatenate([vectors, past]))
    return GroupedIndex(index, np.concatenate([np.arange(len(vectors), dtype=np.int32), owners]))
