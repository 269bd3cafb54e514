"""Anchor queries: how they are chosen, scored and stored."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla._internal.lazy import cached_property
from vizsla._internal.terminal import progress
from vizsla.artifacts.artifact import Artifact
from vizsla.artifacts.manifest import digest
from vizsla.base.encoder import Encoder
from vizsla.base.placement import Placement
from vizsla.base.queries import Queries
from vizsla.base.recipe import fingerprint_of
from vizsla.base.scorer import Scorer, check_uncut, unwrapped
from vizsla.core.candidates import Candidates, PairScores, Stats
from vizsla.core.strings import Strings
from vizsla.core.validation import generator, validate_args
from vizsla.data.dataset import Dataset
from vizsla.encoders.resumable import chained, locked
from vizsla.errors import InputError, check_choice, check_positive
from vizsla.io.atomic import writing
from vizsla.learning.data import pseudo_queries
from vizsla.methods.cur.factors import Factors
from vizsla.scorers.cache import ScoreCache
from vizsla.text.streams import kept_items

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter

ANCHOR_STRATEGIES = ("random", "clicks", "clusters", "pseudo")


@validate_args
def anchor_queries(
    dataset: Dataset, count: int = 200, *, how: str = "random", encoder: Encoder | None = None, seed: int = 0
) -> list[str]:
    """Choose anchor queries among those with clicks; where there are none, pieces of item texts.

    Parameters
    ----------
    dataset : Dataset
        Queries with clicks, and items.
    count : int
        How many anchor queries, at most.
    how : {"random", "clicks", "clusters", "pseudo"}
        How they are chosen. "clicks": the most clicked. "clusters": those nearest to the centers of k-means over the
        encoder's vectors. "pseudo": runs of words out of item texts.
    encoder : Encoder, optional
        For "clusters": a dense one.
    seed : int
        Fixes what is drawn.

    Examples
    --------
    >>> log = Dataset.of({"a": "fig tree"}, queries={"q": "fig"}, clicks=[("q", "a", 1.0)])
    >>> anchor_queries(log, 5), anchor_queries(log, 5, how="pseudo")
    (['fig'], ['fig tree'])
    """
    check_choice("how", how, ANCHOR_STRATEGIES)
    check_positive("count", count)
    random = generator(seed)
    texts, weights = _clicked(dataset)
    if how == "pseudo" or not texts:
        pieces = pseudo_queries((item.default_text() for item in dataset.items), seed=seed)
        return [pieces[at] for at in random.permutation(len(pieces))[:count].tolist()]
    if how == "clicks":
        return [texts[at] for at in np.argsort(-weights, kind="stable")[:count].tolist()]
    if how == "clusters":
        return [texts[at] for at in _nearest(texts, _dense(encoder), min(count, len(texts)), random, seed)]
    return [texts[at] for at in random.permutation(len(texts))[:count].tolist()]


def _clicked(dataset: Dataset) -> tuple[list[str], Any]:
    """Return the texts of queries with clicks, each once, and the sum of their clicks."""
    clicks = dataset.clicks
    sums: dict[str, float] = {}
    if clicks is not None and clicks.nnz:
        totals = np.asarray(clicks.sum(axis=1)).ravel()
        texts = dataset.query_texts()[1]
        for at in np.flatnonzero(np.diff(clicks.tocsr().indptr)).tolist():
            sums[texts[at]] = sums.get(texts[at], 0.0) + float(totals[at])
    return list(sums), np.array(list(sums.values()))


def _dense(encoder: Encoder | None) -> Encoder:
    if encoder is None or encoder.sparse:
        given = "none" if encoder is None else f"{encoder!r}, whose rows are sparse"
        raise InputError(f'`encoder` must be a dense encoder for how="clusters". Got {given}.')
    return encoder


def _nearest(texts: list[str], encoder: Encoder, count: int, random: np.random.Generator, seed: int) -> list[int]:
    """Return the query nearest to each cluster's center, and random ones where two clusters share it."""
    import faiss

    rows = np.ascontiguousarray(encoder.queries(texts), np.float32)
    clusters = faiss.Kmeans(rows.shape[1], count, niter=10, seed=seed % 2**31, min_points_per_centroid=1)
    clusters.train(rows)
    index = faiss.IndexFlatL2(rows.shape[1])
    index.add(rows)
    chosen = list(dict.fromkeys(index.search(np.asarray(clusters.centroids, np.float32), 1)[1].ravel().tolist()))
    rest = [at for at in random.permutation(len(texts)).tolist() if at not in set(chosen)]
    return [*chosen, *rest][:count]


class AnchorScores(Artifact):
    """Exact scores of an expensive scorer over the whole catalog, anchor queries × items.

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

    @validate_args
    def __init__(self, items: Strings, queries: Strings, factors: Factors):
        if (factors.dim, factors.count) != (len(queries), len(items)) or not len(queries):
            wanted = f"{len(queries)} × {len(items)}"
            raise InputError(f"`factors` must be queries × items ({wanted}). Got {factors.dim} × {factors.count}.")
        if not len(items):
            raise InputError("`items` must be some items. Got none.")
        self.items, self.queries, self.factors = items, queries, factors

    @cached_property
    def fingerprint(self) -> str:
        """Changes with every id, every query and every score."""
        arrays = " ".join(str(fingerprint_of(each)) for each in (self.factors.values, self.factors.steps))
        return f"anchors:{digest(f'{self.items.fingerprint} {self.queries.fingerprint} {arrays}'.encode())}"

    @classmethod
    @validate_args
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
        pair = Candidates.from_rows([np.arange(len(new), dtype=np.int32)] * len(self.queries), catalog=Strings.of(new))
        scored = scorer._score(Queries(list(self.queries)), scorer._align_ids(pair), None, threads)
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
        """Return the factors with more scores; bytes are rounded again, since a row's largest number may grow."""
        return Factors.of(np.concatenate([self.scores(), _finite(scores)], axis=axis), self.factors.storage)

    def _like(self, values: NDArray[np.generic]) -> Factors:
        return Factors(values, self.factors.steps)

    def _write(self, writer: ArtifactWriter) -> None:
        writer.catalog("items", self.items)
        writer.strings("queries", self.queries)
        writer.child("factors", self.factors)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        factors = reader.child("factors", Factors)
        return cls(reader.catalog("items"), reader.strings("queries"), factors)


def _finite(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    if not np.isfinite(scores).all():
        raise InputError("`scores` must be finite numbers. Got others: find the scorer that makes them.")
    return scores


SCORES, RECORD = "scores.partial", "progress.json"
CALLS_PER_CHECKPOINT = 4096
"""Calls that are made before they are written down."""
MAX_DRAWS = 5
"""How often pairs are drawn to find some that a cache does not know."""
SCORE_TOLERANCE = 1e-3
"""Models may round a pair by its company, so that a score is not the same to its last digit."""


@dataclass(frozen=True)
class AnchorCost:
    """Estimated cost of scoring the anchors.

    Parameters
    ----------
    calls : int
        Pairs that are left to be scored: what a cache holds, or a stopped run has scored, is not among them.
    hours : float
        Estimated time at the sample's pace.
    sampled : int
        Calls that were made to find out.

    Examples
    --------
    >>> print(AnchorCost(calls=1_000_000, hours=2.5, sampled=32))
    1,000,000 calls, about 2.5 hours at the pace of 32 calls that were timed
    """

    calls: int
    hours: float
    sampled: int

    def shard(self, seconds: float = 30.0) -> int:
        """Return how many calls take about so long, from 16 to 4,096: what a stopped run loses at most.

        Examples
        --------
        >>> AnchorCost(calls=3600, hours=1.0, sampled=64).shard(), AnchorCost(calls=10, hours=0.0, sampled=9).shard()
        (30, 4096)
        """
        return int(np.clip(seconds / 3600 * max(1, self.calls) / max(self.hours, 1e-12), 16, CALLS_PER_CHECKPOINT))

    def __str__(self) -> str:
        if not self.calls:
            return "no calls, since all scores are there already"
        if not self.sampled:
            return f"{self.calls:,} calls at most; all of a sample were known already, so that none could be timed"
        pace = f"at the pace of {self.sampled} calls that were timed"
        took = f"{self.hours:.1f} hours" if self.hours >= 0.1 else f"{self.hours * 3600:.1f} seconds"
        return f"{self.calls:,} calls, about {took} {pace}"


@validate_args
def anchor_cost(
    scorer: Scorer, queries: Sequence[str], path: str | Path | None = None, *, sample: int = 64, seed: int = 0
) -> AnchorCost:
    """Say what `score_anchors` will cost, by timing a few calls, which are made and paid for.

    Parameters
    ----------
    scorer : Scorer
        The expensive one. Behind a ScoreCache the sample is not paid for twice; what it knows already is not timed, and
        other pairs are drawn instead.
    queries : sequence of str
        The anchor queries.
    path : path, optional
        That of `score_anchors`: what it had scored there before it was stopped takes no call any more.
    sample : int
        About how many random pairs are timed.
    seed : int
        Fixes which.

    Examples
    --------
    >>> from vizsla import FunctionScorer
    >>> scorer = FunctionScorer(lambda q, ts: [len(t) for t in ts], {"a": "fig", "b": "pear"})
    >>> anchor_cost(scorer, ["fig", "plum"]).calls
    4
    """
    queries = _distinct(scorer, queries)
    done = 0 if path is None else _recorded(_working(path), _rules(scorer, queries))
    left, seconds, made = _left(scorer, queries, done), 0.0, 0
    for attempt in range(MAX_DRAWS if left else 0):
        places = _sampled(scorer, queries, sample, seed + attempt, done)
        if not attempt and len(places) > 1:
            _asked(scorer, queries, places[:1])  # the first call may load a model
            places = places[1:]
        start = perf_counter()
        stats = _asked(scorer, queries, places).stats
        seconds += perf_counter() - start
        made += len(places) if _cache_of(scorer) is None else stats.model_calls + stats.scored
        if 2 * made >= len(places):
            break
    return AnchorCost(left, seconds / max(1, made) * left / 3600, made)


def still_right(anchors: AnchorScores, scorer: Scorer, queries: Sequence[str], *, sample: int = 64) -> bool:
    """Whether anchors are of these items and queries, and what the scorer says of a few pairs is what they hold.

    Parameters
    ----------
    anchors : AnchorScores
        Scores of an earlier run, as float32.
    scorer : Scorer
        Asked for the sample: these calls are made and paid for.
    queries : sequence of str
        The anchor queries.
    sample : int
        How many random pairs are compared.

    Examples
    --------
    >>> from vizsla import FunctionScorer
    >>> one, other = (FunctionScorer(lambda q, ts, n=n: [n] * len(ts), {"a": "fig"}) for n in (1, 2))
    >>> anchors = score_anchors(one, ["fig"])
    >>> still_right(anchors, one, ["fig"]), still_right(anchors, other, ["fig"]), still_right(anchors, one, ["plum"])
    (True, False, False)
    """
    distinct = _distinct(scorer, queries)
    if list(anchors.queries) != distinct or anchors.items != scorer.items:
        return False
    places = _sampled(scorer, distinct, sample, 0)
    rows, items = np.divmod(places, len(scorer.items))
    known, now = anchors.factors.columns(items)[np.arange(len(rows)), rows], _asked(scorer, distinct, places).scores
    return bool(np.allclose(now, known, rtol=SCORE_TOLERANCE, atol=SCORE_TOLERANCE * float(np.abs(known).max())))


@validate_args
def score_anchors(
    scorer: Scorer,
    queries: Sequence[str],
    path: str | Path | None = None,
    *,
    storage: str = "float16",
    shard: int = CALLS_PER_CHECKPOINT,
    overwrite: bool = False,
    on: Placement | None = None,
) -> AnchorScores:
    """Score every item for every anchor query; with a path, killed or stopped, the same call continues.

    Scores gather in the folder `path` + ".scoring", which is removed when the artifact stands.

    Parameters
    ----------
    scorer : Scorer
        The expensive one.
    queries : sequence of str
        The anchor queries; see `anchor_queries` for choosing them.
    path : path, optional
        The artifact's folder, which is memory-mapped. Without it nothing is kept on the disk.
    storage : {"float32", "float16", "int8"}
        How scores are kept.
    shard : int
        Calls that are made before they are written down; `AnchorCost.shard` says how many take half a minute.
    overwrite : bool
        Replace an artifact that is there already.
    on : Placement, optional
        Where shards are scored; the scorer goes to the workers, so that it must not count calls or keep a cache.

    Examples
    --------
    >>> from vizsla import FunctionScorer
    >>> scorer = FunctionScorer(lambda q, ts: [len(q) - len(t) for t in ts], {"a": "fig", "b": "pear"})
    >>> score_anchors(scorer, ["fig", "melon"]).scores().tolist()
    [[0.0, -1.0], [2.0, 1.0]]
    """
    check_positive("shard", shard)
    distinct = _distinct(scorer, queries)
    if on is not None and scorer.wrapped is not None:
        raise InputError(f"`scorer` must not be wrapped where `on` is given. Got {scorer}, whose counts stay here.")
    if path is None:
        pieces = []
        for _, scores in _scored(scorer, distinct, 0, shard, on):
            pieces.append(scores)
            _check_storable(scores, storage)
        return _anchors(scorer, distinct, np.concatenate(pieces), storage)
    if Path(path).exists() and not overwrite:
        raise InputError(f"`path` must be new. Got {path}, which is there: use overwrite=True to replace it.")
    working = _working(path)
    anchors = _anchors(scorer, distinct, _resumed(scorer, distinct, working, shard, storage, on), storage)
    anchors.save(path, overwrite=overwrite)
    shutil.rmtree(working, ignore_errors=True)
    return AnchorScores.load(path, verify=False)


def _anchors(scorer: Scorer, queries: list[str], scores: NDArray[np.float32], storage: str) -> AnchorScores:
    return AnchorScores.of(scorer.items, queries, scores.reshape(len(queries), len(scorer.items)), storage=storage)


def _distinct(scorer: Scorer, queries: Sequence[str]) -> list[str]:
    if not len(scorer.items):
        raise InputError("`scorer` must know some items. Got none.")
    check_uncut(scorer)
    distinct = list(dict.fromkeys(Queries.of(list(queries)).texts))
    if not distinct:
        raise InputError("`queries` must be some anchor queries. Got none.")
    return distinct


def _cache_of(scorer: Scorer | None) -> ScoreCache | None:
    return scorer if scorer is None or isinstance(scorer, ScoreCache) else _cache_of(scorer.wrapped)


def _left(scorer: Scorer, queries: list[str], done: int) -> int:
    """Return how many pairs from the place `done` on are not scored yet."""
    width, cache = len(scorer.items), _cache_of(scorer)
    if cache is None or not len(cache):
        return len(queries) * width - done
    left = 0
    for row in range(done // width, len(queries)):
        start = max(0, done - row * width)
        left += width - start - int((cache.known(queries[row : row + 1]).items >= start).sum())
    return left


def _sampled(scorer: Scorer, queries: list[str], sample: int, seed: int, done: int = 0) -> NDArray[np.int64]:
    """Return the places of a few random pairs from the place `done` on, ascending."""
    left = len(queries) * len(scorer.items) - done
    return done + np.sort(generator(seed).choice(left, min(check_positive("sample", sample), left), replace=False))


def _scored(
    scorer: Scorer, queries: list[str], done: int, shard: int, on: Placement | None
) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """Yield, shard by shard, up to which place of the matrix pairs are scored, and the new scores."""
    total, common = len(queries) * len(scorer.items), (scorer, queries)
    bounds = [(start, min(start + shard, total)) for start in range(done, total, shard)]
    what = f"scoring anchors, {shard} calls a step"
    if on is not None:
        return on.map(_scored_shard, bounds, common=common, what=what)
    return (_scored_shard(each, common) for each in progress(bounds, what=what))


def _scored_shard(bounds: tuple[int, int], common: tuple[Scorer, list[str]]) -> tuple[int, NDArray[np.float32]]:
    found = _asked(*common, np.arange(*bounds))
    return bounds[1], np.ascontiguousarray(found.scores, np.float32)


def _asked(scorer: Scorer, queries: list[str], places: NDArray[np.int64]) -> PairScores:
    """Score pairs by their places in the matrix, which ascend; what no anchors can be made of raises."""
    width = len(scorer.items)
    rows, offsets = np.unique(places // width, return_index=True)
    bounds = np.append(offsets, len(places)).astype(np.int64)
    pairs = Candidates.unchecked(bounds, (places % width).astype(np.int32), None, scorer.items, Stats())
    found = scorer._score(Queries([queries[row] for row in rows.tolist()]), pairs, None, 1)
    if found.stats.estimated:
        raise InputError(f"`scorer` must score every item. Got {scorer}, which estimates: give what is inside of it.")
    if not np.isfinite(found.scores).all():
        wrong = int(np.argmin(np.isfinite(found.scores)))
        query, item = queries[int(places[wrong] // width)], scorer.items[int(places[wrong] % width)]
        raise InputError(f"`scorer` must give finite scores. Got {found.scores[wrong]} for {query!r} and {item!r}.")
    return found


def _check_storable(scores: NDArray[np.float32], storage: str) -> None:
    """Raise for scores that cannot be stored, before the next ones are paid for."""
    Factors.of(scores[None], storage)


def _resumed(
    scorer: Scorer, queries: list[str], folder: Path, shard: int, storage: str, on: Placement | None = None
) -> NDArray[np.float32]:
    """Append to the file what is missing; the record counts what is on the disk for sure."""
    folder.mkdir(parents=True, exist_ok=True)
    rules = _rules(scorer, queries)
    with locked(folder), (folder / SCORES).open("ab") as out:
        done = _recorded(folder, rules)
        out.truncate(done * 4)
        for end, scores in _scored(scorer, queries, done, shard, on):
            out.write(scores.data)
            out.flush()
            os.fsync(out.fileno())
            with writing(folder / RECORD, overwrite=True) as record:
                record.write(json.dumps({**rules, "calls": end}).encode())
            _check_storable(scores, storage)  # now, not at the end; the same call with another storage goes on
    return np.memmap(folder / SCORES, np.float32, mode="r")


def _working(path: str | Path) -> Path:
    return Path(f"{path}.scoring")


def _rules(scorer: Scorer, queries: list[str]) -> dict[str, Any]:
    """Return what a record must agree with."""
    return {"scorer": _name(scorer), "items": chained(scorer.items, 0), "queries": chained(queries, 0)}


def _recorded(folder: Path, rules: dict[str, Any]) -> int:
    """Return how many pairs are scored for sure."""
    if not (folder / RECORD).exists():
        return 0
    try:
        record = json.loads((folder / RECORD).read_bytes())
        done = int(record.pop("calls"))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"{folder / RECORD} must be a record of scoring. Got another: remove {folder}.") from None
    size = (folder / SCORES).stat().st_size if (folder / SCORES).exists() else 0
    if record != rules or not 0 <= done * 4 <= size:
        raise InputError(f"{folder} must hold scores of this scorer, items and queries. Got others: remove it.")
    return done


def _name(scorer: Scorer) -> str:
    inner = unwrapped(scorer)
    return str(getattr(inner, "fingerprint", type(inner).__name__))
