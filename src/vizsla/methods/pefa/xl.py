"""PefaXl: any retriever, and the nearest past queries vote for what was clicked for them (Eq. 5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla._internal.terminal import abbreviate
from vizsla.base.encoder import Encoder
from vizsla.base.queries import Queries
from vizsla.base.retriever import Retriever
from vizsla.compose.updates import Memo, add_items, readable_twice, remove_items
from vizsla.core.candidates import Candidates, PairScores, Stats
from vizsla.core.explanation import Explanation
from vizsla.core.strings import Strings
from vizsla.core.validation import validate_args
from vizsla.data.filter import Filter
from vizsla.encoders.persistence import check_wanted, given_encoder, read_encoder, write_encoder
from vizsla.errors import InputError, check_positive
from vizsla.indexes.dense_index import DenseIndex
from vizsla.indexes.factory import make_index
from vizsla.indexes.flat import FlatIndex
from vizsla.learning.clicks import ClickLog
from vizsla.learning.matrices import divided, lengths_of
from vizsla.learning.selection import Choice
from vizsla.methods.pefa.options import XlSettings, clicks_not_in
from vizsla.text.highlights import Highlighter
from vizsla.typing import Float32Array, Float64Array, Int32Array, Int64Array

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter
    from vizsla.data.dataset import Dataset


class Votes(NamedTuple):
    """Votes by query: the items with votes, ascending, and their votes."""

    offsets: Int64Array
    items: Int32Array
    values: Float64Array


class VoteCounter:
    """Counts the votes of past queries; the log is checked once.

    Parameters
    ----------
    log : ClickLog
        Items clicked for the past queries.

    Examples
    --------
    >>> from vizsla.core.strings import Strings
    >>> log = ClickLog.of([("a", "x", 2), ("a", "y", 1)], Strings.of(["x", "y"]), lambda texts: np.eye(1))
    >>> near = Candidates([0, 1], [0], [0.5])
    >>> VoteCounter(log).count(near, XlSettings(weight=0.5, neighbors=1)).values.tolist()
    [0.5, 0.25]
    """

    def __init__(self, log: ClickLog):
        self._log = log
        self._clicks = _native.ClickVotes(log.offsets, log.items, log.units, log.width)

    def count(self, neighbors: Candidates, settings: XlSettings, filter: Filter | None = None) -> Votes:
        """Return what these past queries, nearest first, say about items; a query's strongest item has share 1."""
        if settings.paper:
            return self._paper_votes(neighbors, settings.neighbors, filter)
        arrays = self._clicks.count(
            neighbors.offsets, neighbors.items, neighbors._required_scores(),
            settings.neighbors, settings.near, settings.votes == "max", None if filter is None else filter.mask,
        )  # fmt: skip
        return Votes(*map(np.frombuffer, arrays, (np.int64, np.int32, np.float64)))

    def _paper_votes(self, neighbors: Candidates, k: int, filter: Filter | None) -> Votes:
        """Return Eq. 5 divided by k: the sum of similarities, negative ones too, with clicks of weight 1."""
        from scipy.sparse import csr_array

        scores = neighbors._required_scores().astype(np.float64)
        shape = len(neighbors.offsets) - 1, len(self._log)
        similar = csr_array((scores, neighbors.items, neighbors.offsets), shape=shape)
        clicks = self._log.matrix.astype(np.float64)
        clicks.data[:] = 1
        votes = (similar @ clicks).tocoo()
        rows, items, values = votes.row, votes.col, votes.data / k
        kept = np.ones(len(items), np.bool_) if filter is None else filter.mask[items]
        order = np.lexsort((items[kept], rows[kept]))
        offsets = np.zeros(shape[0] + 1, np.int64)
        np.cumsum(np.bincount(rows[kept], minlength=shape[0]), out=offsets[1:])
        return Votes(offsets, items[kept][order].astype(np.int32), values[kept][order])


DEFAULT_BASE_DEPTH = 100


class PefaXl(Retriever):
    """A retriever's score plus votes of the nearest past queries' clicks. Use `pefa_xl` to make one.

    An item without votes keeps its full base score, and an item that only the votes found is scored by the
    base: a constant added to all base scores changes no ranking.

    Parameters
    ----------
    base : Retriever
        The adapted retriever.
    encoder : Encoder
        How queries become vectors.
    log : ClickLog
        The click log.
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
    encoder: Encoder
    is_composite = True

    @validate_args
    def __init__(
        self,
        base: Retriever,
        encoder: Encoder,
        log: ClickLog,
        settings: XlSettings,
        index: DenseIndex | None,
        *,
        depth: int = DEFAULT_BASE_DEPTH,
        choice: Choice | None = None,
    ):
        self.base, self.encoder, self.log, self.settings, self.index = base, encoder, log, settings, index
        self.depth, self.choice, self.scale = check_positive("depth", depth), choice, base.scale
        self.report = choice
        if encoder.sparse:
            raise InputError(f"`encoder` must be a dense Encoder. Got {encoder!r}.")
        if log.width != len(base.items) or log.dim != encoder.dim:
            raise InputError("`log` must be of clicks on the base's items, in the encoder's dimensions. Got another.")
        if (0 if index is None else len(index)) != len(log) or (index is not None and index.dim != log.dim):
            raise InputError(f"`index` must be over the log's {len(log)} past queries. Got another.")
        if base.scale == "none":
            raise InputError("`base` must give scores. Got a match set: score it with a Scorer (`>>`).")
        self._counter, self._clicked = VoteCounter(log), log.clicked

    @property
    def items(self) -> Strings:
        """Item ids by number."""
        return self.base.items

    @property
    def nbytes(self) -> int:
        """Bytes of the base, of the past queries' index, of their clicks, and of an encoder that the base lacks."""
        return sum(self._byte_counts().values())

    def _byte_counts(self) -> dict[Any, int]:
        clicks = self.log.nbytes - self.log.vector_bytes + self._clicked.nbytes
        past = clicks + (0 if self.index is None else self.index.nbytes)
        return {**self.base._byte_counts(), **self.encoder._byte_counts(), id(self): int(past)}

    def __repr__(self) -> str:
        return abbreviate(f"PefaXl({self.base!r}", f", {len(self.log):,} past queries)")

    def with_clicks(self, clicks: Any) -> PefaXl:
        """Return the retriever with more clicks, and the same answers as one built with them at once."""
        return self._changed(clicks, 1)

    def without_clicks(self, clicks: Any) -> PefaXl:
        """Take clicks away again: adding and taking away leaves no trace."""
        return self._changed(clicks, -1)

    def children(self) -> list[Retriever]:
        """Return the base."""
        return [self.base]

    @property
    def takes_items(self) -> bool:
        """Whether the base takes items."""
        return self.base.takes_items

    def with_items(self, items: Mapping[str, str] | Iterable[Any]) -> PefaXl:
        """Return the retriever over more items, which have no clicks, if the base takes them; nothing is trained."""
        return self._with_items(readable_twice(items), {})

    def _live_parts(self) -> Iterable[Any]:
        return (
            self.base,
            self.encoder,
        )

    def refit_on(self, dataset: Dataset, *, threads: int = 1) -> PefaXl:
        """Forget what this dataset does not have, and let the base forget it too; all settings stay."""
        lost, base = clicks_not_in(self.log, self.items, dataset), self.base.refit_on(dataset, threads=threads)
        left = self.without_clicks(lost) if lost else self
        if base is self.base:
            return left
        return left._with_log(left.log, base, left.index)

    def with_encoder(self, encoder: Encoder) -> PefaXl:
        """Give an encoder that a load could not bring back: that of the past queries, of the base, or of both."""
        check_wanted(self, encoder)
        own = encoder if encoder.fingerprint == self.encoder.fingerprint else self.encoder
        base = given_encoder(self.base, encoder)
        made = PefaXl(base, own, self.log, self.settings, self.index, depth=self.depth, choice=self.choice)
        return self._kept(made)

    def _given_encoder(self, encoder: Encoder) -> PefaXl:
        return self.with_encoder(encoder)

    def _with_items(self, items: Any, memo: Memo) -> PefaXl:
        return self._over(add_items(self.base, items, memo))

    def _without_items(self, ids: list[str], memo: Memo) -> PefaXl:
        return self._over(remove_items(self.base, ids, memo))

    @property
    def effort(self) -> int | None:
        """The effort of the base; past queries are searched as they were."""
        return self.base.effort

    def with_effort(self, effort: int) -> PefaXl:
        """Return the same clicks over the base with another effort."""
        made = self._with_log(self.log, self.base.with_effort(effort), self.index)
        return self._kept(made, effort=effort)

    def _over(self, base: Retriever) -> PefaXl:
        """Return the same clicks over a base with other items."""
        log = self.log.renumbered(base.items.find_all(self.items), len(base.items))
        return self._with_log(log, base, self.index if len(log) == len(self.log) else None)

    def _changed(self, clicks: Any, sign: int) -> PefaXl:
        log, _ = self.log.changed(clicks, self.items, self._encode, sign=sign)
        return self._with_log(log, self.base, None)

    def _with_log(self, log: ClickLog, base: Retriever, index: DenseIndex | None) -> PefaXl:
        """Return it with another log; past queries are indexed unless they are still the same."""
        if index is None:
            # A graph over the past queries is built again; a flat index only copies them.
            kind, options = ("flat", {}) if self.index is None else (self.index.kind, self.index.options)
            index = query_index(kind, log, **options)
        made = PefaXl(base, self.encoder, log, self.settings, index, depth=self.depth, choice=self.choice)
        return self._kept(made)

    def _steady_depth(self, filter: Filter | None) -> float:
        return self.depth

    def _ask_for(self, queries: Queries, item: str, text: str | None) -> bool:
        return self.base._ask_for(queries, item, text)

    def _highlighter(self, query: str) -> Highlighter | None:
        return self.base._highlighter(query)

    def _search(self, queries: Queries, k: int, filter: Filter | None, threads: int) -> Candidates:
        votes, cost = self._votes(queries, filter, threads)
        if votes is None:
            return self.base._search_checked(queries, k, filter, threads)
        how = self.settings
        depth = max(k, self.depth)
        joined, stats = joined_with_votes(self.base, queries, depth, votes, filter, threads, share=how.base_share)
        return _answer(joined.best(how.worth, how.threshold, self._clicked, k), self.items, stats + cost)

    def _score(self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int) -> PairScores:
        scored = self.base._score_once(queries, candidates, filter, threads)
        votes, cost = self._votes(queries, None, threads)
        if votes is None:
            return scored
        totals = with_votes(candidates, scored.scores, votes, self.settings, self._clicked)
        return PairScores(totals, scored.stats + cost)

    def _ignored_cut(self) -> int | None:
        return self.base._ignored_cut()

    def _votes(self, queries: Queries, filter: Filter | None, threads: int) -> tuple[Votes | None, Stats]:
        """Return the votes and what the search among past queries cost; None where clicks cannot count."""
        if self.index is None or self.settings.weight == 1 or not len(queries):
            return None, Stats()
        near = self._neighbors(queries, self.index, threads)
        return self._counter.count(near, self.settings, filter), near.stats

    def _neighbors(self, queries: Queries, index: DenseIndex, threads: int) -> Candidates:
        # A query without features is similar to none: similarity 0 is no vote.
        rows = queries.encoded(self.encoder)
        return index.search(divided(rows, lengths_of(rows)), self.settings.neighbors, threads=threads)

    def _encode(self, texts: list[str]) -> Any:
        return Queries(texts).encoded(self.encoder)

    def _explain(self, queries: Queries, item: int, filter: Filter | None) -> Explanation:
        base = self.base._explain(queries, item, filter)
        return explain_xl(base, self._voters(queries, item), self.settings, clicked=bool(self._clicked[item]))

    def _voters(self, queries: Queries, item: int) -> list[tuple[str, float, float]]:
        """Return text, share and similarity of the nearest past queries that led to the item."""
        if self.index is None or self.settings.weight == 1:
            return []
        near, log = self._neighbors(queries, self.index, 1), self.log
        clicks = np.flatnonzero(log.items == item)
        weights = np.ones(len(clicks)) if self.settings.paper else log.shares[clicks]
        shares = dict(zip(log.rows[clicks].tolist(), weights.tolist(), strict=True))
        found = zip(near.items.tolist(), near._required_scores().tolist(), strict=True)
        return [(log.queries[past], shares[past], similar) for past, similar in found if past in shares]

    @property
    def _own_report(self) -> Choice | None:
        return self.choice

    def _write(self, writer: ArtifactWriter) -> None:
        choice = None if self.choice is None else self.choice.to_dict()
        writer.parameters(settings=self.settings.to_dict(), choice=choice, depth=self.depth)
        # The vectors of a flat index are the log's: they are not stored twice.
        apart = self.index
        if isinstance(apart, FlatIndex) and apart.stored.rows is self.log.vectors and apart.guard is None:
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
        settings = XlSettings.of(reader.parameter("settings", dict))
        index = _read_index(reader, log)
        done = None if choice is None else Choice.of(choice)
        return cls(base, read_encoder(reader), log, settings, index, depth=depth, choice=done)


def explain_xl(
    base: Explanation, voters: list[tuple[str, float, float]], settings: XlSettings, *, clicked: bool
) -> Explanation:
    """Return the base's share of an item's score and what each past query adds to it: text, share and similarity."""
    own = settings.base_share
    shares = [Explanation(own * base.score, "base" if own == 1 else f"base: {own:g} × {base.score:.4f}", [base])]
    worth = settings.worth / (settings.neighbors if settings.votes == "mean" else 1)
    votes = [
        Explanation(worth * (similar - settings.near) * share, f"{text!r}: share {share:g}, similarity {similar:.4f}")
        for text, share, similar in voters
        if similar > settings.near or settings.paper
    ]
    total = float(sum(vote.score for vote in votes))
    if settings.votes == "max":
        total = max((vote.score for vote in votes), default=0.0)
    if votes:
        shares.append(Explanation(total, f"clicks, {settings.votes} of votes", votes))
    else:
        shares.append(Explanation(0.0, "clicks: no near past query led to this item"))
    if settings.weight < 1 and clicked and settings.threshold:
        least = -settings.worth * settings.threshold
        shares.append(Explanation(least, "threshold: the votes at which an item with clicks keeps its base score"))
    return Explanation(sum(share.score for share in shares), "base share and click share", shares)


def query_index(kind: str, log: ClickLog, **options: Any) -> DenseIndex | None:
    """Index the past queries; None where there are none."""
    return make_index(kind, log.vectors, **options) if len(log) else None


def _read_index(reader: ArtifactReader, log: ClickLog) -> DenseIndex | None:
    if reader.parameter("index", str) == "flat":
        return query_index("flat", log)
    return reader.child("index", DenseIndex)


def joined_with_votes(
    base: Retriever,
    queries: Queries,
    depth: int,
    votes: Votes,
    filter: Filter | None,
    threads: int,
    *,
    share: float = 1.0,
) -> tuple[_native.VotedSum, Stats]:
    """Search the base to `depth` and score items that only have votes; return both joined, and the cost.

    The base's scores count `share` times.
    """
    found = base._search_checked(queries, depth, filter, threads)
    scores = times(found._required_scores(), share)
    joined = _native.VotedSum((found.offsets, found.items, scores), votes, len(base.items))
    missing: Any = joined.missing()
    stats = found.stats.with_exact(False)
    if missing is None:
        return joined, stats
    offsets, items = map(np.frombuffer, missing, (np.int64, np.int32))
    wanted = Candidates.unchecked(offsets, items, None, base.items, Stats())
    scored = base._score_once(queries, wanted, filter, threads)
    joined.fill(times(scored.scores, share))
    return joined, stats + scored.stats


def times(scores: Float32Array, share: float) -> Float32Array:
    """Return the scores times a share, as kernels take them; infinite ones stay, and a share of 0 keeps none."""
    plain = np.ascontiguousarray(scores, np.float32)
    if share == 1:
        return plain
    return plain * np.float32(share) if share else np.zeros_like(plain)


def with_votes(
    candidates: Candidates, scores: Float32Array, votes: Votes, settings: XlSettings, clicked: NDArray[np.bool_]
) -> Float32Array:
    """Return the base's scores of candidates with their votes, in the candidates' order."""
    scored = candidates.offsets, candidates.items, times(scores, settings.base_share)
    totals: Any = _native.add_votes(scored, votes, settings.worth, settings.threshold, clicked)
    return np.frombuffer(totals, np.float32)


def _answer(arrays: tuple[bytes, bytes, bytes], items: Strings, stats: Stats) -> Candidates:
    offsets, numbers, scores = map(np.frombuffer, arrays, (np.int64, np.int32, np.float32))
    return Candidates.unchecked(offsets, numbers, scores, items, stats)
