"""Confidence: the probability that a hit is clicked, learned from held-out clicks and comparable across queries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from vizsla._internal.lazy import cached_property
from vizsla.base.queries import Queries
from vizsla.base.retriever import Retriever
from vizsla.base.scorer import Scorer, unwrapped
from vizsla.compose.composition import Composition, bracketed
from vizsla.compose.id_alignment import ReindexedPart
from vizsla.core.candidates import Candidates, PairScores
from vizsla.core.explanation import Explanation
from vizsla.core.validation import check_seed
from vizsla.data.filter import Filter
from vizsla.errors import CompositionError, InputError, check_positive
from vizsla.learning.splits import Holdout, draw_holdout
from vizsla.typing import BoolArray, Float32Array, Float64Array, Int32Array

if TYPE_CHECKING:
    from vizsla.data.dataset import Dataset

HITS_COMPARED = 20
"""Hits of a list that margins and agreement are computed from; a longer answer does not change them."""
RIDGE = 1.0
"""How strongly weights of standardized features are held at 0, in squared units per weight."""
MAX_NEWTON_ROUNDS = 50
MIN_CLICKED_HITS = 50
"""With fewer clicked hits the logistic curve is not corrected by an isotonic one."""
FEATURES = ("score", "best score", "below best", "margin", "rank", "words", "agreement")


@dataclass(frozen=True)
class ConfidenceReport:
    """Calibration on held-out clicks.

    Attributes
    ----------
    queries, hits, clicked : int
        How many held-out queries, their hits, and those that were clicked.
    error : float
        The mean distance between confidence and share of clicks, over ten groups of hits by confidence, of models that
        had not seen the queries.
    weights : dict
        The weight of each feature, standardized.
    """

    queries: int
    hits: int
    clicked: int
    error: float
    weights: dict[str, float]

    @property
    def summary(self) -> str:
        """What was learned, in a sentence."""
        return (
            f"confidence from {self.hits:,} hits of {self.queries:,} held-out queries, {self.clicked:,} of them "
            f"clicked; calibration error {self.error:.3f}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON has them."""
        return asdict(self)


@dataclass(frozen=True)
class ConfidenceModel:
    """A logistic curve over features of a hit, corrected by an ascending one where there were enough clicks.

    Attributes
    ----------
    means, spreads, weights : tuple of float
        Mean, spread and weight of each feature.
    intercept : float
        The logit of a hit with mean features.
    logits, shares : tuple of float
        Points of the ascending curve from logits to probabilities; empty for the logistic one.
    """

    means: tuple[float, ...]
    spreads: tuple[float, ...]
    weights: tuple[float, ...]
    intercept: float
    logits: tuple[float, ...] = ()
    shares: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        sizes = {len(self.means), len(self.spreads), len(self.weights)}
        numbers = [*self.means, *self.spreads, *self.weights, self.intercept, *self.logits, *self.shares]
        sound = sizes == {len(FEATURES)} and len(self.logits) == len(self.shares) and min(self.spreads, default=0) > 0
        if not sound or not np.isfinite(numbers).all() or list(self.logits) != sorted(self.logits):
            raise InputError("A model of confidence must have finite numbers for each feature. Got another.")

    def logit(self, features: Float64Array) -> Float64Array:
        """Return the logits of hits."""
        standard = (features - np.array(self.means)) / np.array(self.spreads)
        return np.asarray(np.clip(standard, -10, 10) @ np.array(self.weights) + self.intercept)

    def confidences(self, features: Float64Array) -> Float32Array:
        """Return the probability that each hit is clicked."""
        logits = self.logit(features)
        if self.logits:
            return np.interp(logits, self.logits, self.shares).astype(np.float32)
        return (1 / (1 + np.exp(-np.clip(logits, -60, 60)))).astype(np.float32)


class Confident(Composition):
    """A retriever whose hits have click probabilities; scores and order are those of its part.

    Use `with_confidence`, which learns it.

    Parameters
    ----------
    part : Retriever
        The retriever.
    model : ConfidenceModel
        The fitted model.
    min_confidence : float, optional
        Leave out hits that are less likely to be clicked; an answer may then be empty.
    """

    operation = "confident"

    def __init__(self, part: Retriever, model: ConfidenceModel, *, min_confidence: float | None = None):
        super().__init__([part])
        if part.scale == "none":
            raise CompositionError("A match set has no scores to be sure of. Score it first: (a | b) >> scorer.")
        if min_confidence is not None and not 0 <= _number(min_confidence) <= 1:
            raise InputError(f"`min_confidence` must be between 0 and 1. Got {min_confidence!r:.40}.")
        self.model, self.min_confidence, self.scale = model, min_confidence, part.scale

    def __str__(self) -> str:
        least = "" if self.min_confidence is None else f"min_confidence={self.min_confidence:g}"
        return f"{bracketed(self.parts[0])}.with_confidence({least})"

    def with_min_confidence(self, min_confidence: float | None) -> Self:
        """Return it with another least confidence; nothing is learned again."""
        return self._kept(type(self)(self.parts[0], self.model, min_confidence=min_confidence))

    @cached_property
    def _leaves(self) -> list[ReindexedPart[Retriever]]:
        return leaves(self.parts[0])

    def _search(self, queries: Queries, k: int, filter: Filter | None, threads: int) -> Candidates:
        found = self._aligned[0].search(queries, max(k, HITS_COMPARED), filter, threads)
        confidences = self.model.confidences(features_of(found, queries, self._leaves, filter, threads))
        sure = found.with_confidences(confidences)
        if self.min_confidence is not None:
            kept = np.flatnonzero(confidences >= self.min_confidence)
            sure = sure._taken(np.searchsorted(kept, sure.offsets), kept)
        return sure.top(k)

    def _score(self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int) -> PairScores:
        return self._aligned[0].score(queries, candidates, filter, threads)

    def _explain(self, queries: Queries, item: int, filter: Filter | None) -> Explanation:
        return self.parts[0]._explain(queries, item, filter)

    def _matches(self, queries: Queries, threads: int) -> Int32Array | None:
        return super()._matches(queries, threads) if self.min_confidence is None else None

    def _unscored_best(self, queries: Queries, depth: int, filter: Filter | None, threads: int) -> Int32Array | None:
        if self.min_confidence is not None:
            return None
        return self.parts[0]._unscored_best(queries, depth, filter, threads)

    def _options(self) -> dict[str, Any]:
        model = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self.model).items()}
        return {**model, "min_confidence": self.min_confidence}

    @classmethod
    def _rebuild(cls, parts: list[Any], options: dict[str, Any]) -> Self:
        lists = {name: tuple(options[name]) for name in ("means", "spreads", "weights", "logits", "shares")}
        model = ConfidenceModel(**lists, intercept=options["intercept"])
        return cls(parts[0], model, min_confidence=options["min_confidence"])


def learn_confidence(
    part: Retriever, dataset: Dataset, *, min_confidence: float | None = None, seed: int = 0, threads: int = 1
) -> Confident:
    """Learn how likely hits are to be clicked; see `Retriever.with_confidence`."""
    check_seed(seed)
    fold = draw_holdout(dataset, seed=seed)
    twin = part.refit_on(fold.train, threads=check_positive("threads", threads))
    queries = Queries(fold.texts)
    found = twin._search_checked(queries, min(HITS_COMPARED, max(1, len(twin.items))), None, threads)
    features = features_of(found, queries, leaves(twin), None, threads)
    clicked = _clicked(found, fold, dataset)
    if not 0 < clicked.sum() < len(clicked):
        raise InputError(
            "`dataset` must have held-out clicks on hits, and hits without any, to learn confidence. Got "
            f"{int(clicked.sum())} clicks on {len(clicked)} hits."
        )
    model, error = fit(features, clicked, found.row_numbers(), seed)
    made = Confident(part, model, min_confidence=min_confidence)
    weights = dict(zip(FEATURES, model.weights, strict=True))
    made.report = ConfidenceReport(len(fold.texts), len(clicked), int(clicked.sum()), error, weights)
    return made


def fit(features: Float64Array, clicked: BoolArray, rows: Any, seed: int) -> tuple[ConfidenceModel, float]:
    """Fit the model, and return its calibration error on queries that models like it had not seen."""
    half = np.random.default_rng(seed).permutation(int(rows.max()) + 1)[rows] % 2 == 0
    unseen = np.zeros(len(rows))
    for side in (half, ~half):
        other = _logistic(features[~side], clicked[~side]) if clicked[~side].any() else _logistic(features, clicked)
        unseen[side] = other.logit(features[side])
    model = _logistic(features, clicked)
    if clicked.sum() < MIN_CLICKED_HITS:
        return model, calibration_error(1 / (1 + np.exp(-unseen)), clicked)
    logits, shares = ascending(unseen, clicked)
    error = 0.0
    for side in (half, ~half):
        own = np.interp(unseen[side], *ascending(unseen[~side], clicked[~side]))
        error += calibration_error(own, clicked[side]) * float(side.mean())
    known = {name: getattr(model, name) for name in ("means", "spreads", "weights", "intercept")}
    return ConfidenceModel(**known, logits=tuple(logits.tolist()), shares=tuple(shares.tolist())), error


def _logistic(features: Float64Array, clicked: BoolArray) -> ConfidenceModel:
    """Fit a logistic curve by Newton's method."""
    means, spreads = features.mean(0), features.std(0)
    spreads = np.where(spreads > 1e-9, spreads, 1.0)
    rows = np.column_stack([np.clip((features - means) / spreads, -10, 10), np.ones(len(features))])
    ridge, weights = np.diag([RIDGE] * features.shape[1] + [1e-6]), np.zeros(rows.shape[1])
    for _ in range(MAX_NEWTON_ROUNDS):
        shares = 1 / (1 + np.exp(-np.clip(rows @ weights, -30, 30)))
        slope = rows.T @ (shares - clicked) + ridge @ weights
        bend = (rows * (shares * (1 - shares))[:, None]).T @ rows + ridge
        step = np.linalg.solve(bend, slope)
        weights = weights - step
        if np.abs(step).max() < 1e-9:
            break
    of_features = tuple(means.tolist()), tuple(spreads.tolist()), tuple(weights[:-1].tolist())
    return ConfidenceModel(*of_features, float(weights[-1]))


def ascending(values: Float64Array, clicked: BoolArray) -> tuple[Float64Array, Float64Array]:
    """Return the points of the ascending curve from values to shares of clicks that fits best (isotonic regression).

    Examples
    --------
    >>> ascending(np.array([1.0, 2.0, 3.0, 4.0]), np.array([False, True, False, True]))[1].tolist()
    [0.0, 0.5, 1.0]
    """
    order = np.argsort(values, kind="stable")
    blocks: list[list[float]] = []  # sum of clicks, hits, sum of values
    for value, share in zip(values[order].tolist(), clicked[order].tolist(), strict=True):
        blocks.append([float(share), 1.0, value])
        while len(blocks) > 1 and blocks[-2][0] * blocks[-1][1] >= blocks[-1][0] * blocks[-2][1]:
            last = blocks.pop()
            blocks[-1] = [mine + its for mine, its in zip(blocks[-1], last, strict=True)]
    sums = np.array(blocks)
    return sums[:, 2] / sums[:, 1], sums[:, 0] / sums[:, 1]


def calibration_error(confidences: Any, clicked: BoolArray) -> float:
    """Return the mean distance between confidence and share of clicks, over ten groups of hits by confidence."""
    groups = np.array_split(np.argsort(confidences, kind="stable"), 10)
    full = [group for group in groups if len(group)]
    gaps = [len(group) * abs(float(confidences[group].mean() - clicked[group].mean())) for group in full]
    return sum(gaps) / max(1, len(clicked))


def features_of(
    found: Candidates,
    queries: Queries,
    parts: list[ReindexedPart[Retriever]],
    filter: Filter | None,
    threads: int,
) -> Float64Array:
    """Return a row of `FEATURES` per hit."""
    scores, offsets = found._required_scores().astype(np.float64), found.offsets
    rows, lengths = found.row_numbers(), np.diff(offsets)
    if not len(scores):
        return np.zeros((0, len(FEATURES)))
    ranks = np.arange(len(rows)) - offsets[:-1][rows]
    first = scores[offsets[:-1][rows]]
    last = scores[(offsets[:-1] + np.maximum(np.minimum(lengths, HITS_COMPARED) - 1, 0))[rows]]
    spread = np.maximum(np.abs(first - last), 1e-9 * np.maximum(np.abs(first), 1e-30))
    after = np.append(scores[1:], scores[-1])
    after = np.where(ranks + 1 < lengths[rows], after, np.minimum(scores, last))
    words = np.array([len(text.split()) for text in queries.texts], np.float64)[rows]
    columns = [scores, first, (scores - first) / spread, (scores - after) / spread, np.log1p(ranks), np.log1p(words)]
    return np.column_stack([*columns, _agreement(found, queries, parts, filter, threads)])


def _agreement(
    found: Candidates, queries: Queries, parts: list[ReindexedPart[Retriever]], filter: Filter | None, threads: int
) -> Float64Array:
    """Return the mean over the parts of the reciprocal rank that each gives a hit."""
    total, width = np.zeros(len(found.items)), max(1, int(found.items.max(initial=0)) + 1)
    keys = found.row_numbers() * width + found.items
    for part in parts:
        own = part.search(queries, HITS_COMPARED, filter, threads)
        known = own.items < width
        rows = own.row_numbers()
        ranks = np.arange(len(rows)) - own.offsets[:-1][rows]
        places = rows[known] * width + own.items[known]
        order = np.argsort(places)
        if len(order):
            at = np.minimum(np.searchsorted(places[order], keys), len(order) - 1)
            hit = places[order][at] == keys
            total += np.where(hit, 1 / (1 + ranks[known][order][at]), 0.0)
    return total / max(1, len(parts))


def leaves(part: Retriever) -> list[ReindexedPart[Retriever]]:
    """Return the retrievers that a composition is made of, in its numbers; none where there are fewer than two."""
    found = {id(leaf): leaf for leaf in _leaves(part) if leaf.generates_candidates and not leaf.model_calls}
    return [ReindexedPart(leaf, part.items) for leaf in found.values()] if len(found) > 1 else []


def _leaves(scorer: Scorer) -> Iterator[Retriever]:
    inner = unwrapped(scorer)
    if isinstance(inner, Composition):
        for child in inner.children():
            yield from _leaves(child)
    elif isinstance(inner, Retriever) and not inner.is_composite:
        yield inner


def _clicked(found: Candidates, fold: Holdout, dataset: Dataset) -> BoolArray:
    """Return which hits were clicked."""
    matrix = fold.wanted.tocoo()
    wanted = set(zip(matrix.row.tolist(), dataset.item_ids.take(matrix.col.astype(np.int32)), strict=True))
    return np.array([(row, id) in wanted for row, ids in enumerate(found.ids) for id in ids], np.bool_)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"`min_confidence` must be between 0 and 1. Got {value!r:.40}.")
    return float(value)
