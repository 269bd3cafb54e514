"""Chooses the settings of PEFA-XS on held-out clicks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla.clicks.choice import Choice
from vizsla.clicks.log import ClickLog, Floats
from vizsla.clicks.log_split import LogSplit, log_splits
from vizsla.clicks.matrices import Rows, is_sparse, products
from vizsla.clicks.measures import PerQuery, reciprocal_ranks
from vizsla.indexes.inverted import InvertedIndex
from vizsla.methods.pefa.blend_squares import BlendSquares
from vizsla.methods.pefa.calibration import Calibration, calibrate
from vizsla.methods.pefa.click_vectors import click_vectors
from vizsla.methods.pefa.near_sparse import near_sparse
from vizsla.methods.pefa.settings import ITEM_WEIGHT, XsSettings

WEIGHTS = (1.0, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
MARGINS = (0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0)
"""In spreads of the base's scores, so that one grid serves every encoder."""
ITEM_WEIGHTS = (0.0, 0.15, 0.3, 0.45, 0.6)
NEAR = 100
"""Candidates taken from each part: who is in none of them is not among the best ten of any blend."""
LARGEST = 1 << 24
LOWEST = np.float32(-1e30)
"""Stands for no score; unlike infinity it survives a weight of 0."""
MEASURE = "MRR@10"

Trial = dict[str, Any]


@dataclass(frozen=True)
class _Parts:
    """What every trial needs about a split: scores of a few hundred candidates a query, by each part."""

    base: Floats
    clicks: Floats
    best: Floats
    numbers: NDArray[np.int64]
    clicked: NDArray[np.bool_]
    relevant: NDArray[np.bool_]
    calibration: Calibration
    squares: BlendSquares

    def measured(self, trial: Trial) -> PerQuery:
        """Return the reciprocal ranks of the held-out queries."""
        count, width = self.relevant.shape
        offsets = np.arange(count + 1, dtype=np.int64) * width
        return reciprocal_ranks(offsets, _scores(self, trial).reshape(-1), self.relevant.reshape(-1))


def trials_xs(weights: Sequence[float], calibrated: Sequence[bool]) -> list[Trial]:
    """Return what to try with one vector an item."""
    return [{"variant": _named(c), "weight": w} for c in calibrated for w in weights]


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
    weights: Floats | None = None,
) -> Choice:
    """Try everything on the same splits, then other item weights with the best; return the curve."""
    splits = list(log_splits(log, cold=cold, seed=seed))
    index = InvertedIndex.build(base) if is_sparse(base) else None
    parts = [_parts(base, log, split, weights, index) for split in splits]
    is_cold = np.concatenate([split.is_cold for split in splits])
    measured: list[PerQuery] = []

    def choice() -> Choice:
        for trial in trials[len(measured) :]:
            measured.append(np.concatenate([one.measured(trial) for one in parts]))
        return Choice.among(trials, measured, is_cold, measure=MEASURE, base=base_trial(trials))

    first = trials[choice().best]
    if "item_weight" in first:
        # One number after the other: all of them with all others would take several times as long.
        others = (weight for weight in item_weights if weight != first["item_weight"])
        trials = trials + [{**first, "item_weight": weight} for weight in others]
    return choice()


def settings_of(trial: Trial, found: Calibration) -> XsSettings:
    """Return the settings that a trial stands for."""
    if trial["variant"] == "plain" or (trial["weight"] == 1 and "margin" not in trial):
        return XsSettings(trial["weight"])
    if trial["variant"] == "unit":
        return XsSettings(trial["weight"], length=trial["length"])
    margin = float(f"{trial['margin'] * found.spread:.6g}") if "margin" in trial else None
    return XsSettings(trial["weight"], found.scale, found.shift, margin, trial.get("item_weight", ITEM_WEIGHT))


def calibration_of(base: Rows, log: ClickLog, weights: Floats | None = None) -> Calibration:
    """Calibrate the log's click vectors to the base vectors of the same items."""
    clicked = np.unique(log.items).astype(np.int64)
    if not len(clicked):
        return Calibration(1.0, 0.0, 0.0)
    vectors, _ = click_vectors(log, clicked, weights)
    return calibrate(base[clicked], vectors, log.vectors)


def _named(calibrated: bool) -> str:
    return "calibrated" if calibrated else "plain"


def _scores(parts: _Parts, trial: Trial) -> Floats:
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


def _parts(base: Rows, log: ClickLog, split: LogSplit, weights: Floats | None, index: InvertedIndex | None) -> _Parts:
    found = calibration_of(base, split.train, weights)
    clicks, clicked = click_vectors(split.train, np.arange(base.shape[0]), weights)
    squares, queries, wanted = BlendSquares.of(base, clicks), log.vectors[split.held], log.matrix[split.held]
    if index is not None:
        both = [index, InvertedIndex.build(clicks)]
        scores, relevant, numbers = near_sparse(queries, wanted, both, near=NEAR, lowest=LOWEST)
        # Past queries do not score alone over sparse rows, so nobody reads the third.
        is_clicked = clicked[numbers] & (numbers >= 0)
        return _Parts(scores[0], scores[1], scores[0], numbers, is_clicked, relevant, found, squares)
    by_item = split.train.matrix.tocsc()
    size = max(1, LARGEST // max(1, base.shape[0] + len(split.train.items)))
    blocks = [
        _block(queries[at : at + size], wanted[at : at + size], base, clicks, by_item, split.train)
        for at in range(0, len(split.held), size)
    ]
    width = max(block[0].shape[1] for block in blocks)
    joined = [np.concatenate([_padded(block[part], width) for block in blocks]) for part in range(5)]
    numbers = joined[4].astype(np.int64)
    is_clicked = clicked[numbers] & (numbers >= 0)
    return _Parts(joined[0], joined[1], joined[2], numbers, is_clicked, joined[3] > 0, found, squares)


def _block(queries: Rows, wanted: Any, base: Rows, clicks: Rows, by_item: Any, train: ClickLog) -> list[Floats]:
    """Return base, click and best-query scores of the candidates, whether they are relevant, and their numbers."""
    items = base.shape[0]
    parts = [products(queries, base), products(queries, clicks), _best_queries(queries, by_item, train, items)]
    near = min(NEAR, items)
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
    rows = [np.where(twice, LOWEST, np.take_along_axis(part, numbers, axis=1)) for part in parts]
    return [*rows, relevant & ~twice, np.where(twice, -1, numbers)]


def _best_queries(queries: Rows, by_item: Any, train: ClickLog, items: int) -> Floats:
    best = np.full((queries.shape[0], items), LOWEST, np.float32)
    owners = np.flatnonzero(np.diff(by_item.indptr))
    if len(owners):
        similar = products(queries, train.vectors)[:, by_item.indices]
        best[:, owners] = np.maximum.reduceat(similar, by_item.indptr[owners], axis=1)
    return best


def _padded(rows: Floats, width: int) -> Floats:
    fill = LOWEST if rows.dtype == np.float32 else -1
    padded = np.full((len(rows), width), 0 if rows.dtype == np.bool_ else fill, rows.dtype)
    padded[:, : rows.shape[1]] = rows
    return padded
