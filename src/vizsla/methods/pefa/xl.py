"""PefaXl: any retriever, and the past queries nearest to a query vote for what was clicked for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from vizsla.candidates import Candidates
from vizsla.clicks.choice import Choice
from vizsla.clicks.log import ClickLog
from vizsla.clicks.matrices import unit_rows
from vizsla.encoder import Encoder
from vizsla.encoders.given import check_wanted, given_encoder
from vizsla.encoders.reference import read_encoder, write_encoder
from vizsla.errors import FormatError, InputError, check_positive
from vizsla.explanation import Explanation
from vizsla.filter import Filter
from vizsla.indexes.dense_index import DenseIndex
from vizsla.indexes.make import make_index
from vizsla.methods.pefa.votes import Ballot, Values, Whole, XlSettings, ballot, counted
from vizsla.queries import Queries
from vizsla.retriever import Retriever
from vizsla.scored import Scored
from vizsla.short_text import short_text
from vizsla.stats import Stats
from vizsla.strings import Strings

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter

DEPTH = 100


class PefaXl(Retriever):
    """A retriever's score plus what its nearest past queries' clicks add. Use `pefa_xl` to make one.

    An item that nobody votes for keeps its full base score, and an item that only the votes found is scored by the
    base: a constant added to all base scores changes no ranking.

    Parameters
    ----------
    base : Retriever
        What is adapted.
    encoder : Encoder
        How queries become vectors.
    log : ClickLog
        What was clicked.
    settings : XlSettings
        The numbers of the formula.
    index : DenseIndex
        The past queries' vectors.
    depth : int
        How many items the base contributes.
    choice : Choice, optional
        How the settings were chosen.
    """

    kind = "pefa-xl"
    composed = True

    def __init__(
        self,
        base: Retriever,
        encoder: Encoder,
        log: ClickLog,
        settings: XlSettings,
        index: DenseIndex | None,
        *,
        depth: int = DEPTH,
        choice: Choice | None = None,
    ):
        self.base, self.encoder, self.log, self.settings, self.index = base, encoder, log, settings, index
        self.depth, self.choice, self.scale = check_positive("depth", depth), choice, base.scale
        if log.width != len(base.items) or log.dim != encoder.dim:
            raise InputError("`log` must be of clicks on the base's items, in the encoder's dimensions. Got another.")
        if (0 if index is None else len(index)) != len(log) or (index is not None and index.dim != log.dim):
            raise InputError(f"`index` must be over the log's {len(log)} past queries. Got another.")
        if base.scale == "none":
            raise InputError("`base` must give scores. Got a match set: score it with a Scorer (`>>`).")
        self._levels = item_levels(log, settings)

    @property
    def items(self) -> Strings:
        """Item ids by number."""
        return self.base.items

    @property
    def nbytes(self) -> int:
        """Bytes of the base, of the past queries' index and of their clicks."""
        clicks = self.log.nbytes - self.log.vector_bytes
        return int(self.base.nbytes + (0 if self.index is None else self.index.nbytes) + clicks)

    def __repr__(self) -> str:
        return short_text(f"PefaXl({self.base!r}", f", {len(self.log):,} past queries)")

    def with_clicks(self, clicks: Any) -> PefaXl:
        """Return the retriever with more clicks, and the same answers as one built with them at once."""
        return self._changed(clicks, 1)

    def without_clicks(self, clicks: Any) -> PefaXl:
        """Take clicks away again: adding and taking away leaves no trace."""
        return self._changed(clicks, -1)

    def with_encoder(self, encoder: Encoder) -> PefaXl:
        """Give an encoder that a load could not bring back: that of the past queries, of the base, or of both."""
        check_wanted(self, encoder)
        own = encoder if encoder.fingerprint == self.encoder.fingerprint else self.encoder
        return PefaXl(
            given_encoder(self.base, encoder), own, self.log, self.settings, self.index,
            depth=self.depth, choice=self.choice,
        )  # fmt: skip

    def _changed(self, clicks: Any, sign: int) -> PefaXl:
        log, _ = self.log.changed(clicks, self.items, self._encode, sign=sign)
        # A graph over the past queries is built anew; a flat index only copies them.
        kind, options = ("flat", {}) if self.index is None else (self.index.kind, self.index.options)
        index = query_index(kind, log, **options)
        return PefaXl(self.base, self.encoder, log, self.settings, index, depth=self.depth, choice=self.choice)

    def _search(self, queries: Queries, k: int, filter: Filter | None, threads: int) -> Candidates:
        found = self.base._search(queries, max(k, self.depth), filter, threads)
        keys, values = self._votes(queries, threads)
        width = len(self.items)
        if filter is not None:
            kept = filter.mask[keys % width]
            keys, values = keys[kept], values[kept]
        own = _keys(found, width)
        missing = np.setdiff1d(keys, own, assume_unique=True)
        base = found._required_scores().astype(np.float64)
        stats = found.stats
        if len(missing):
            scored = self.base._score(queries, _matches(missing, len(queries), self.items), filter, threads)
            own, base = np.concatenate([own, missing]), np.concatenate([base, scored.scores])
            stats = stats + scored.stats
        return self._ranked(own, base, keys, values, len(queries), stats.with_exact(False)).top(k)

    def _score(self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int) -> Scored:
        scored = self.base._score(queries, candidates, filter, threads)
        totals = self._totals(_keys(candidates, len(self.items)), scored.scores, *self._votes(queries, threads))
        return Scored(totals.astype(np.float32), scored.stats)

    def _ranked(self, own: Whole, base: Values, keys: Whole, values: Values, rows: int, stats: Stats) -> Candidates:
        width = len(self.items)
        totals = self._totals(own, base, keys, values)
        order = np.argsort(own, kind="stable")
        offsets = np.concatenate([[0], np.cumsum(np.bincount(own // width, minlength=rows))]).astype(np.int64)
        items = (own[order] % width).astype(np.int32)
        scores = totals[order].astype(np.float32)
        return Candidates.ranked(offsets, items, scores, catalogue=self.items, stats=stats)

    def _totals(self, own: Whole, base: Any, keys: Whole, values: Values) -> Values:
        votes = _looked_up(own, keys, values) - self._levels[own % len(self.items)]
        totals: Values = base + self.settings.worth * votes
        return totals

    def _votes(self, queries: Queries, threads: int) -> tuple[Whole, Values]:
        nothing = np.zeros(0, np.int64), np.zeros(0, np.float64)
        if self.index is None or self.settings.weight == 1 or not len(queries):
            return nothing
        return counted(self._ballot(queries, threads), len(self.items), self.settings)

    def _ballot(self, queries: Queries, threads: int) -> Ballot:
        if self.index is None:
            raise InputError("There must be past queries to vote. Got none.")
        # A query that says nothing is similar to nobody: similarity 0 is no vote.
        unit = unit_rows(queries.encoded(self.encoder), self.encoder.dim)
        return ballot(self.index.search(unit, self.settings.neighbours, threads=threads), self.log)

    def _encode(self, texts: list[str]) -> Any:
        return Queries(texts).encoded(self.encoder)

    def _explain(self, queries: Queries, item: int, filter: Filter | None) -> Explanation:
        base = self.base._explain(queries, item, filter)
        shares = [Explanation(base.score, "base", [base])]
        keys, values = self._votes(queries, 1)
        total = float(self.settings.worth * _looked_up(np.array([item]), keys, values)[0])
        if total:
            shares.append(Explanation(total, f"clicks, {self.settings.votes} of votes", self._voters(queries, item)))
        else:
            shares.append(Explanation(0.0, "clicks: no near past query led to this item"))
        level = -float(self.settings.worth * self._levels[item])
        if level:
            shares.append(Explanation(level, "what an item with clicks must earn by votes"))
        return Explanation(base.score + total + level, "base share and click share", shares)

    def _voters(self, queries: Queries, item: int) -> list[Explanation]:
        votes, how = self._ballot(queries, 1), self.settings
        said = np.flatnonzero((votes.items == item) & (votes.similar > how.near))
        worth = how.worth / (how.neighbours if how.votes == "mean" else 1)
        return [
            Explanation(
                float(worth * (votes.similar[at] - how.near) * votes.share[at]),
                f"{self.log.queries[int(votes.queries[at])]!r}: share {votes.share[at]:g}, "
                f"similarity {votes.similar[at]:.4f}",
            )
            for at in said
        ]

    def _write(self, writer: ArtifactWriter) -> None:
        choice = None if self.choice is None else self.choice.to_dict()
        writer.parameters(settings=vars(self.settings), choice=choice, depth=self.depth)
        # The vectors of a flat index are the log's: they are not stored twice.
        apart = self.index
        if apart is not None and apart.kind == "flat" and apart.stored.rows is self.log.vectors:
            apart = None
        writer.parameters(index="flat" if apart is None else "child")
        if apart is not None:
            writer.child("index", apart)
        write_encoder(writer, self.encoder)
        writer.child("base", self.base)
        self.log.write(writer)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        base = reader.child("base", Retriever)
        log = ClickLog.read(reader, width=len(base.items))
        choice, depth = reader.parameter("choice", (dict, type(None))), reader.parameter("depth", int)
        try:
            settings = XlSettings(**reader.parameter("settings", dict))
            index = _read_index(reader, log)
            done = None if choice is None else Choice.of(choice)
            return cls(base, read_encoder(reader), log, settings, index, depth=depth, choice=done)
        except InputError as error:
            raise FormatError(f"{reader.path}: {error}") from error


def query_index(kind: str, log: ClickLog, **options: Any) -> DenseIndex | None:
    """Index the past queries; None where there are none."""
    return make_index(kind, log.vectors, **options) if len(log) else None


def _read_index(reader: ArtifactReader, log: ClickLog) -> DenseIndex | None:
    if reader.parameter("index", str) == "flat":
        return query_index("flat", log)
    return reader.child("index", DenseIndex)


def item_levels(log: ClickLog, settings: XlSettings) -> Values:
    """Return how many votes each item must get to keep its base score: none, if it has no clicks."""
    levels = np.zeros(log.width)
    if settings.weight < 1:
        levels[log.items] = settings.level
    return levels


def _keys(found: Candidates, width: int) -> Whole:
    rows = np.repeat(np.arange(len(found)), np.diff(found.offsets))
    return rows * width + found.items


def _matches(keys: Whole, rows: int, items: Strings) -> Candidates:
    width = len(items)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(keys // width, minlength=rows))]).astype(np.int64)
    return Candidates(offsets, (keys % width).astype(np.int32), None, catalogue=items)


def _looked_up(wanted: Whole, keys: Whole, values: Values) -> Values:
    """Return the value of each wanted key, 0 where it is not among the ascending keys."""
    if not len(keys):
        return np.zeros(len(wanted))
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, values[at], 0.0)
