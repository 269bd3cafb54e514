"""Chooses the settings of PEFA-XS on held-out clicks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla.clicks.choice import Choice
from vizsla.clicks.log import ClickLog, Floats
from vizsla.clicks.matrices import Rows, products
from vizsla.clicks.trials import MEASURE, Split, best_trial, reciprocal_ranks, splits
from vizsla.methods.pefa.calibration import Calibration, calibrate
from vizsla.methods.pefa.click_vectors import click_vectors
from vizsla.methods.pefa.settings import LEAN, XsSettings

WEIGHTS = (1.0, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
BELOW = (0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0)
"""In spreads of the base's scores, so that one grid serves every encoder."""
LEANS = (0.0, 0.15, 0.3, 0.45, 0.6)
NEAR = 100
"""Candidates taken from each part: who is in none of them is not among the best ten of any blend."""
LARGEST = 1 << 24
LOWEST = np.float32(-1e30)
"""Stands for no score; unlike infinity it survives a weight of 0."""

Trial = dict[str, Any]


@dataclass(frozen=True)
class _Parts:
    """What every trial needs about a split: scores of a few hundred candidates a query, by each part."""

    base: Floats
    clicks: Floats
    best: Floats
    clicked: NDArray[np.bool_]
    relevant: NDArray[np.bool_]
    cold: int
    calibration: Calibration


def trials_xs(weights: Sequence[float], calibrated: Sequence[bool]) -> list[Trial]:
    """Return what to try with one vector an item."""
    return [{"variant": _named(c), "weight": w} for c in calibrated for w in weights]


def trials_max(weights: Sequence[float], below: Sequence[float], lean: float) -> list[Trial]:
    """Return what to try when the best past query may speak alone; `below` in spreads of the base."""
    return [{"variant": "max", "below": b, "lean": lean, "weight": w} for b in below for w in weights]


def choose_xs(
    base: Rows,
    log: ClickLog,
    trials: list[Trial],
    *,
    leans: Sequence[float],
    cold: float,
    seed: int,
    weights: Floats | None = None,
) -> Choice:
    """Try everything on the same splits, then other leans with the best; return the curve."""
    parts = [_parts(base, log, split, weights) for split in splits(log, cold=cold, seed=seed)]
    is_cold = np.concatenate([np.arange(len(one.relevant)) < one.cold for one in parts])

    def tried(trial: Trial) -> Trial:
        ranks = [reciprocal_ranks(_scores(one, trial), one.relevant) for one in parts]
        return trial | means(np.concatenate(ranks), is_cold)

    done = [tried(trial) for trial in trials]
    first = trials[best_trial(done)]
    if "lean" in first:
        # One number after the other: all of them with all others would take several times as long.
        done += [tried({**first, "lean": lean}) for lean in leans if lean != first["lean"]]
    return Choice(MEASURE, int(is_cold.sum()), int((~is_cold).sum()), done, best_trial(done))


def settings_of(trial: Trial, found: Calibration) -> XsSettings:
    """Return the settings that a trial stands for."""
    if trial["variant"] == "plain" or (trial["weight"] == 1 and "below" not in trial):
        return XsSettings(trial["weight"])
    below = float(f"{trial['below'] * found.spread:.6g}") if "below" in trial else None
    return XsSettings(trial["weight"], found.scale, found.shift, below, trial.get("lean", LEAN))


def calibration_of(base: Rows, log: ClickLog, weights: Floats | None = None) -> Calibration:
    """Calibrate the log's click vectors to the base vectors of the same items."""
    clicked = np.unique(log.items).astype(np.int64)
    if not len(clicked):
        return Calibration(1.0, 0.0, 0.0)
    vectors, _ = click_vectors(log, clicked, weights)
    return calibrate(base[clicked], vectors, log.vectors)


def _named(calibrated: bool) -> str:
    return "calibrated" if calibrated else "plain"


def means(ranks: NDArray[np.float64], cold: NDArray[np.bool_]) -> dict[str, float]:
    """Return the mean over all queries, over warm and over cold ones."""

    def mean(values: NDArray[np.float64]) -> float:
        return float(values.mean()) if len(values) else 0.0

    return {"all": mean(ranks), "warm": mean(ranks[~cold]), "cold": mean(ranks[cold])}


def _scores(parts: _Parts, trial: Trial) -> Floats:
    found, weight = parts.calibration, np.float32(trial["weight"])
    level = parts.clicks if trial["variant"] == "plain" else found.scale * parts.clicks + found.shift
    mixed = np.where(parts.clicked, weight * parts.base + (1 - weight) * level, parts.base)
    if "below" in trial:
        lean = trial["lean"]
        alone = lean * parts.base + (1 - lean) * parts.best - trial["below"] * found.spread
        mixed = np.where(parts.clicked, np.maximum(mixed, alone), mixed)
    return np.asarray(mixed, np.float32)


def _parts(base: Rows, log: ClickLog, split: Split, weights: Floats | None) -> _Parts:
    found = calibration_of(base, split.train, weights)
    clicks, clicked = click_vectors(split.train, np.arange(base.shape[0]), weights)
    by_item = split.train.matrix.tocsc()
    wanted = log.matrix[split.held]
    size = max(1, LARGEST // max(1, base.shape[0] + len(split.train.items)))
    blocks = [
        _block(log.vectors[split.held[at : at + size]], wanted[at : at + size], base, clicks, by_item, split.train)
        for at in range(0, len(split.held), size)
    ]
    width = max(block[0].shape[1] for block in blocks)
    joined = [np.concatenate([_padded(block[part], width) for block in blocks]) for part in range(5)]
    numbers = joined[4].astype(np.int64)
    return _Parts(
        joined[0], joined[1], joined[2], clicked[numbers] & (numbers >= 0), joined[3] > 0, split.cold, found
    )


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
