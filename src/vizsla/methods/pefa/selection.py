"""Choose the settings of PEFA on held-out clicks."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla.base.queries import Queries
from vizsla.base.retriever import Retriever
from vizsla.core.candidates import Candidates
from vizsla.core.sparse import row_numbers
from vizsla.core.validation import user_stacklevel
from vizsla.errors import InputError
from vizsla.indexes.inverted import InvertedIndex
from vizsla.learning.clicks import ClickLog
from vizsla.learning.matrices import Rows, is_sparse, products
from vizsla.learning.measures import reciprocal_ranks
from vizsla.learning.selection import Choice, ChoiceWarning, Trial, choose, harmless
from vizsla.learning.splits import LogSplit, log_splits, too_few_message
from vizsla.methods.pefa.blending import BlendSquares, KnnCalibration, calibrate, click_vectors, sparse_candidates
from vizsla.methods.pefa.options import ITEM_WEIGHT, XlSettings, XsSettings
from vizsla.methods.pefa.xl import VoteCounter, Votes, joined_with_votes, query_index, with_votes
from vizsla.typing import Float32Array, Float64Array

AUTO = "auto"


def number_of(name: str, value: float | str) -> float:
    """Return a number that was given in place of "auto"."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f'`{name}` must be a number or "auto". Got {value!r}.')
    return float(value)


def warn_too_few(log: ClickLog) -> None:
    """Say that the base is returned as it is; the line that is blamed is the caller's."""
    remedy = "This is the base, weight 1: give `weight` to let the clicks count, or build anew when there are more."
    warnings.warn(f"{too_few_message(log)}. {remedy}", ChoiceWarning, stacklevel=user_stacklevel())


XS_WEIGHTS = (1.0, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
MARGINS = (0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0)
"""In spreads of the base's scores, so that one grid serves every encoder."""
ITEM_WEIGHTS = (0.0, 0.15, 0.3, 0.45, 0.6)
NEAR_ITEMS = 100
"""Candidates taken from each part: an item in none of them is not among the best ten of any blend."""
MAX_SCORES_PER_BATCH = 1 << 24
NO_SCORE = np.float32(-1e30)
"""Stands for no score; unlike infinity it survives a weight of 0."""
MEASURE = "MRR@10"


@dataclass(frozen=True)
class _Parts:
    """Data of a split shared by all trials: scores of a few hundred candidates per query, by each part."""

    base: Float32Array
    clicks: Float32Array
    best: Float32Array
    numbers: NDArray[np.int64]
    clicked: NDArray[np.bool_]
    relevant: NDArray[np.bool_]
    calibration: KnnCalibration
    squares: BlendSquares

    def measured(self, trial: Trial) -> Float64Array:
        """Return the reciprocal ranks of the held-out queries."""
        count, width = self.relevant.shape
        offsets = np.arange(count + 1, dtype=np.int64) * width
        return reciprocal_ranks(offsets, _scores(self, trial).reshape(-1), self.relevant.reshape(-1))


def trials_xs(weights: Sequence[float], calibrated: Sequence[bool]) -> list[Trial]:
    """Return what to try with one vector an item."""
    return [{"variant": _variant(c), "weight": w} for c in calibrated for w in weights]


def trials_unit(weights: Sequence[float], lengths: Sequence[float]) -> list[Trial]:
    """Return what to try where the rows of items with clicks get a length of their own."""
    return [{"variant": "unit", "length": length, "weight": w} for length in lengths for w in weights if w < 1]


def trials_max(weights: Sequence[float], margins: Sequence[float], item_weight: float) -> list[Trial]:
    """Return what to try when the best past query may score alone; margins in spreads of the base."""
    same = {"variant": "max", "item_weight": item_weight}
    return [{**same, "margin": margin, "weight": weight} for margin in margins for weight in weights]


def base_trial(trials: Sequence[Trial]) -> int | None:
    """Return which trial is the base."""
    return next((at for at, trial in enumerate(trials) if trial["weight"] == 1 and "margin" not in trial), None)


def choose_xs(
    base: Rows,
    log: ClickLog,
    trials: list[Trial],
    *,
    item_weights: Sequence[float],
    cold: float,
    seed: int,
    weights: Float32Array | None = None,
) -> Choice:
    """Measure all trials on the same splits, then other item weights with the best; return the curve."""
    splits = list(log_splits(log, cold=cold, seed=seed))
    index = InvertedIndex.build(base) if is_sparse(base) else None
    parts = [_parts(base, log, split, weights, index) for split in splits]
    is_cold = np.concatenate([split.is_cold for split in splits])
    measured: list[Float64Array] = []

    def choice() -> Choice:
        for trial in trials[len(measured) :]:
            measured.append(np.concatenate([one.measured(trial) for one in parts]))
        return choose(trials, measured, is_cold, measure=MEASURE, rule=harmless(base_trial(trials)))

    first = trials[choice().best]
    if "item_weight" in first:
        # One number after the other: all of them with all others would take several times as long.
        others = (weight for weight in item_weights if weight != first["item_weight"])
        trials = trials + [{**first, "item_weight": weight} for weight in others]
    return choice()


def settings_of(trial: Trial, found: KnnCalibration) -> XsSettings:
    """Return the settings that a trial stands for."""
    if trial["variant"] == "plain" or (trial["weight"] == 1 and "margin" not in trial):
        return XsSettings(trial["weight"])
    if trial["variant"] == "unit":
        return XsSettings(trial["weight"], length=trial["length"])
    margin = float(f"{trial['margin'] * found.spread:.6g}") if "margin" in trial else None
    return XsSettings(trial["weight"], found.scale, found.shift, margin, trial.get("item_weight", ITEM_WEIGHT))


def calibration_of(base: Rows, log: ClickLog, weights: Float32Array | None = None) -> KnnCalibration:
    """Calibrate the log's click vectors to the base vectors of the same items."""
    clicked = np.unique(log.items).astype(np.int64)
    if not len(clicked):
        return KnnCalibration(1.0, 0.0, 0.0)
    vectors, _ = click_vectors(log, clicked, weights)
    return calibrate(base[clicked], vectors, log.vectors)


def _variant(calibrated: bool) -> str:
    return "calibrated" if calibrated else "plain"


def _scores(parts: _Parts, trial: Trial) -> Float32Array:
    found, weight = parts.calibration, np.float32(trial["weight"])
    as_is = trial["variant"] in ("plain", "unit")
    clicks = parts.clicks if as_is else found.scale * parts.clicks + found.shift
    blend = weight * parts.base + (1 - weight) * clicks
    if trial["variant"] == "unit":
        blend *= np.float32(trial["length"]) / parts.squares.lengths(trial["weight"])[parts.numbers]
    mixed = np.where(parts.clicked, blend, parts.base)
    if "margin" in trial:
        share = trial["item_weight"]
        alone = share * parts.base + (1 - share) * parts.best - trial["margin"] * found.spread
        mixed = np.where(parts.clicked, np.maximum(mixed, alone), mixed)
    return np.asarray(mixed, np.float32)


def _parts(
    base: Rows, log: ClickLog, split: LogSplit, weights: Float32Array | None, index: InvertedIndex | None
) -> _Parts:
    found = calibration_of(base, split.train, weights)
    clicks, clicked = click_vectors(split.train, np.arange(base.shape[0]), weights)
    squares, queries, wanted = BlendSquares.of(base, clicks), log.vectors[split.held], log.matrix[split.held]
    if index is not None:
        both = [index, InvertedIndex.build(clicks)]
        scores, relevant, numbers = sparse_candidates(queries, wanted, both, near=NEAR_ITEMS, lowest=NO_SCORE)
        # Past queries do not score alone over sparse rows, so the third is not read.
        is_clicked = clicked[numbers] & (numbers >= 0)
        return _Parts(scores[0], scores[1], scores[0], numbers, is_clicked, relevant, found, squares)
    by_item = split.train.matrix.tocsc()
    size = max(1, MAX_SCORES_PER_BATCH // max(1, base.shape[0] + len(split.train.items)))
    blocks = [
        _block(queries[at : at + size], wanted[at : at + size], base, clicks, by_item, split.train)
        for at in range(0, len(split.held), size)
    ]
    width = max(block[0].shape[1] for block in blocks)
    joined = [np.concatenate([_padded(block[part], width) for block in blocks]) for part in range(5)]
    numbers = joined[4].astype(np.int64)
    is_clicked = clicked[numbers] & (numbers >= 0)
    return _Parts(joined[0], joined[1], joined[2], numbers, is_clicked, joined[3] > 0, found, squares)


def _block(queries: Rows, wanted: Any, base: Rows, clicks: Rows, by_item: Any, train: ClickLog) -> list[Float32Array]:
    """Return base, click and best-query scores of the candidates, whether they are relevant, and their numbers."""
    items = base.shape[0]
    parts = [products(queries, base), products(queries, clicks), _best_queries(queries, by_item, train, items)]
    near = min(NEAR_ITEMS, items)
    lists = [np.argpartition(-part, near - 1, axis=1)[:, :near] for part in parts]
    most = int(np.diff(wanted.indptr).max(initial=0))
    own = np.repeat(lists[0][:, :1], most, axis=1)
    for row in range(queries.shape[0]):
        judged = wanted.indices[wanted.indptr[row] : wanted.indptr[row + 1]]
        own[row, : len(judged)] = judged
    numbers = np.sort(np.concatenate([*lists, own], axis=1), axis=1)
    twice = np.zeros(numbers.shape, np.bool_)
    twice[:, 1:] = numbers[:, 1:] == numbers[:, :-1]
    relevant = np.take_along_axis(wanted.toarray(), numbers, axis=1) > 0
    rows = [np.where(twice, NO_SCORE, np.take_along_axis(part, numbers, axis=1)) for part in parts]
    return [*rows, relevant & ~twice, np.where(twice, -1, numbers)]


def _best_queries(queries: Rows, by_item: Any, train: ClickLog, items: int) -> Float32Array:
    best = np.full((queries.shape[0], items), NO_SCORE, np.float32)
    owners = np.flatnonzero(np.diff(by_item.indptr))
    if len(owners):
        similar = products(queries, train.vectors)[:, by_item.indices]
        best[:, owners] = np.maximum.reduceat(similar, by_item.indptr[owners], axis=1)
    return best


def _padded(rows: Float32Array, width: int) -> Float32Array:
    fill = NO_SCORE if rows.dtype == np.float32 else -1
    padded = np.full((len(rows), width), 0 if rows.dtype == np.bool_ else fill, rows.dtype)
    padded[:, : rows.shape[1]] = rows
    return padded


XL_WEIGHTS = (1.0, 0.9, 0.8, 0.7, 0.5, 0.3, 0.1)
NEIGHBORS = (8, 16, 32)
NEAR_POWERS = (0.0, 0.3, 0.5)
THRESHOLDS = (0.0, 0.03, 0.06, 0.12, 0.25)
BASE_DEPTH = 100


def choose_xl(
    base: Retriever, log: ClickLog, trials: list[XlSettings], *, cold: float, seed: int
) -> tuple[Choice, XlSettings]:
    """Measure all trials on the same splits; return the curve and the best."""
    splits = list(log_splits(log, cold=cold, seed=seed))
    by_split = [_tried(base, log, split, trials) for split in splits]
    measured = [np.concatenate(ranks) for ranks in zip(*by_split, strict=True)]
    is_cold = np.concatenate([split.is_cold for split in splits])
    tried = [_named(trial) for trial in trials]
    choice = choose(tried, measured, is_cold, measure=MEASURE, rule=harmless(base_trial(tried)))
    return choice, trials[choice.best]


def _named(trial: XlSettings) -> dict[str, Any]:
    return {name: value for name, value in vars(trial).items() if name != "scale"}


def _tried(base: Retriever, log: ClickLog, split: LogSplit, trials: list[XlSettings]) -> list[Float64Array]:
    """Return the reciprocal ranks of the held-out queries, for every trial."""
    near, counter = _neighbors(log, split, max(trial.neighbors for trial in trials)), VoteCounter(split.train)
    pool = _pool(base, log.take_queries(split.held), counter.count(near, _widest(trials)))
    relevant, clicked, scores = _relevant(log, split, pool), split.train.clicked, pool._required_scores()
    counted: dict[XlSettings, Votes] = {}
    found = []
    for trial in trials:
        same = replace(trial, weight=1.0, threshold=0.0)  # the votes depend on neither
        if same not in counted:
            counted[same] = counter.count(near, trial)
        totals = with_votes(pool, scores, counted[same], trial, clicked)
        found.append(reciprocal_ranks(pool.offsets, totals, relevant))
    return found


def _neighbors(log: ClickLog, split: LogSplit, most: int) -> Candidates:
    """Return the past queries nearest to the held-out ones, among those that are left."""
    index = query_index("flat", split.train)
    if index is None:
        offsets = np.zeros(len(split.held) + 1, np.int64)
        return Candidates(offsets, np.zeros(0, np.int32), np.zeros(0, np.float32))
    return index.search(log.vectors[split.held], most)


def _widest(trials: list[XlSettings]) -> XlSettings:
    """Return settings under which every item gets votes that gets some in any trial."""
    most, near = max(trial.neighbors for trial in trials), min(trial.near for trial in trials)
    return XlSettings(weight=0.5, neighbors=most, votes="max", near=near)


def _pool(base: Retriever, texts: list[str], votes: Votes) -> Candidates:
    """Return the base's best and all voted items, with the base's scores."""
    joined, stats = joined_with_votes(base, Queries(texts), BASE_DEPTH, votes, None, 1)
    width = len(base.items)
    arrays = joined.best(0.0, 0.0, np.zeros(width, np.bool_), max(1, width))
    offsets, items, scores = map(np.frombuffer, arrays, (np.int64, np.int32, np.float32))
    return Candidates.unchecked(offsets, items, scores, base.items, stats)


def _relevant(log: ClickLog, split: LogSplit, pool: Candidates) -> NDArray[np.bool_]:
    """Return which items of the pool were clicked for their held-out query."""
    wanted = log.matrix[split.held]
    rows = row_numbers(wanted.indptr)
    own = pool.row_numbers() * log.width + pool.items
    return np.isin(own, rows * log.width + wanted.indices)
