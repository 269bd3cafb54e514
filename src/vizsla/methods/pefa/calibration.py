"""Calibration: bring the kNN component to the base's mean and spread, so that items without clicks compete fairly."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla.clicks.log import Floats
from vizsla.clicks.matrices import Rows, is_sparse

SAMPLE = 20_000
FEW = 2000
Moments = tuple[NDArray[np.float64], NDArray[np.float64]]


class Calibration(NamedTuple):
    """A click score s becomes ``scale · s + shift``; `spread` is the base's own, the unit of other shifts."""

    scale: float
    shift: float
    spread: float


def calibrate(base: Rows, clicks: Rows, queries: Rows) -> Calibration:
    """Match mean and spread of ``queries · clicks`` to those of ``queries · base``, over all pairs of rows.

    The moments of all pairs follow from the rows' means and second moments, so no pair is ever scored:
    E[(q·v)²] is the inner product of E[qqᵀ] and E[vvᵀ].

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> base, queries = rng.normal(size=(50, 4)).astype("f"), rng.normal(size=(30, 4)).astype("f")
    >>> found = calibrate(base, base / 2, queries)
    >>> round(found.scale, 4), abs(round(found.shift, 4))
    (2.0, 0.0)
    """
    if is_sparse(base):
        return _sparse(base, clicks, queries)
    by_query = _moments(queries)
    base_mean, base_spread = _pairs(by_query, _moments(base))
    click_mean, click_spread = _pairs(by_query, _moments(clicks))
    scale = base_spread / click_spread if click_spread > 0 else 1.0
    # Rounded, so that the last bits of a threaded matrix product cannot change a score.
    return Calibration(_short(scale), _short(base_mean - scale * click_mean), _short(base_spread))


def _sparse(base: Rows, clicks: Rows, queries: Rows) -> Calibration:
    """Match the spread only: an inverted list cannot hold a shift, which would put every item into every answer."""
    few = queries[:: -(-queries.shape[0] // FEW) or 1]
    step = -(-base.shape[0] // FEW) or 1
    spreads = [_spread(few @ rows[::step].T) for rows in (base, clicks)]
    return Calibration(_short(spreads[0] / spreads[1] if spreads[1] > 0 else 1.0), 0.0, _short(spreads[0]))


def _spread(scores: Rows) -> float:
    pairs, values = max(1, scores.shape[0] * scores.shape[1]), scores.data.astype(np.float64)
    return float(np.sqrt(max(0.0, float(np.square(values).sum()) / pairs - (float(values.sum()) / pairs) ** 2)))


def _moments(rows: Floats) -> Moments:
    step = -(-len(rows) // SAMPLE) or 1
    sample: NDArray[np.float64] = rows[::step].astype(np.float64)
    count = max(1, len(sample))
    return sample.sum(axis=0) / count, sample.T @ sample / count


def _pairs(left: Moments, right: Moments) -> tuple[float, float]:
    mean = float(left[0] @ right[0])
    return mean, float(np.sqrt(max(0.0, float((left[1] * right[1]).sum()) - mean * mean)))


def _short(value: float) -> float:
    return float(f"{value:.6g}")
