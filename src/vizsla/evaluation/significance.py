"""Paired significance tests with Holm's correction, confidence intervals and effect sizes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla.core.validation import generator
from vizsla.errors import InputError, check_choice, check_positive, check_range
from vizsla.typing import Float64Array


def holm(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return p-values corrected for their number, after Holm (1979).

    The smallest of m is multiplied by m, the next by m − 1, and so on; none gets smaller than one before it.

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, 0.03])).round(4).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p, kind="stable")
    factors = np.arange(len(p), 0, -1)
    corrected = np.empty(len(p), dtype=np.float64)
    corrected[order] = np.minimum(np.maximum.accumulate(p[order] * factors), 1.0) if len(p) else p
    return corrected


TESTS = ("randomization", "t")
_CHUNK_CELLS = 1 << 22  # sign cells at a time: 32 MB of float64, whatever the number of queries


def p_values(
    differences: Float64Array, *, test: str = "randomization", samples: int = 10_000, seed: int = 0
) -> Float64Array:
    """Return the two-sided p-value of each column of per-query differences.

    Parameters
    ----------
    differences : array of shape (queries, comparisons)
        One system's value minus the other's. NaN where the measure is not defined: such a query is left out.
    test : {"randomization", "t"}
        The paired randomization test (sign flips), or Student's paired t-test.
    samples : int
        Sign flips to draw. When all of them are no more than this, all are looked at and the p-value is exact.
    seed : int
        Draws the flips.

    Examples
    --------
    >>> p_values(np.array([[0.1], [0.2], [0.3]])).tolist()
    [0.25]
    """
    check_choice("test", test, TESTS)
    if differences.ndim != 2:
        raise InputError(f"`differences` must be queries × comparisons. Got shape {differences.shape}.")
    if test == "t":
        return np.array([paired_t(column) for column in differences.T])
    return randomization(differences, samples=samples, seed=seed)


def randomization(differences: Float64Array, *, samples: int = 10_000, seed: int = 0) -> Float64Array:
    """Paired randomization test: flip each query's sign at random, and see how often the sum gets as far from 0.

    All columns share the flips, which costs one matrix product and leaves each column's p-value as it is.
    """
    check_positive("samples", samples)
    filled = np.nan_to_num(differences, nan=0.0)  # a difference of 0 stays 0 under any flip: the query drops out
    filled = filled[filled.any(axis=1)]
    # Whole numbers: 2.0 ** n overflows from 1024 queries on.
    exact = 1 << len(filled) <= samples
    flips = 1 << len(filled) if exact else samples
    observed = np.abs(filled.sum(axis=0))
    # Sums that are equal on paper differ by rounding: a flip as extreme as the observation must count.
    bar = observed - 1e-10 * np.maximum(np.abs(filled).sum(axis=0), 1e-300)
    rng, extreme = generator(seed), np.zeros(differences.shape[1], dtype=np.int64)
    rows = max(1, _CHUNK_CELLS // max(len(filled), 1))
    for start in range(0, flips, rows):
        count = min(rows, flips - start)
        signs = _all_signs(start, count, len(filled)) if exact else _random_signs(rng, count, len(filled))
        extreme += (np.abs(signs @ filled) >= bar).sum(axis=0)
    # A drawn p-value counts the observation itself, and so is never 0 (Phipson & Smyth 2010).
    return extreme / flips if exact else (extreme + 1) / (flips + 1)


def paired_t(differences: Float64Array) -> float:
    """Student's paired t-test, two-sided; 1 where fewer than two queries or no difference leave nothing to test.

    Examples
    --------
    >>> round(paired_t(np.array([0.1, 0.2, 0.4])), 4)
    0.1181
    """
    from scipy.special import stdtr

    kept = differences[~np.isnan(differences)]
    if len(kept) < 2 or not kept.any():
        return 1.0
    error = kept.std(ddof=1) / np.sqrt(len(kept))
    if error == 0.0:
        return 0.0
    return float(2.0 * stdtr(len(kept) - 1, -abs(kept.mean() / error)))


class Interval(NamedTuple):
    """A confidence interval.

    Parameters
    ----------
    low, high : float
        Its ends; NaN where fewer than two values leave nothing to estimate.
    """

    low: float
    high: float


def mean_interval(
    values: Float64Array, *, level: float = 0.95, bounds: tuple[float, float] = (-np.inf, np.inf)
) -> Interval:
    """Return the confidence interval of a mean by Student's t distribution; NaN values are left out.

    Parameters
    ----------
    values : float array
        One per query.
    level : float
        The share of such intervals that hold the true mean.
    bounds : pair of float
        What no value can be below and above: the interval is cut there.

    Examples
    --------
    >>> low, high = mean_interval(np.array([0.1, 0.2, 0.4]))
    >>> round(low, 4), round(high, 4)
    (-0.1461, 0.6128)
    >>> mean_interval(np.array([0.1, 0.2, 0.4]), bounds=(0, 1)).low
    0.0
    """
    from scipy.special import stdtrit

    check_range("level", level, 0, 1)
    kept = values[~np.isnan(values)]
    if len(kept) < 2:
        return Interval(np.nan, np.nan)
    reach = float(stdtrit(len(kept) - 1, 0.5 + level / 2) * kept.std(ddof=1) / np.sqrt(len(kept)))
    mean = float(kept.mean())
    return Interval(max(mean - reach, float(bounds[0])), min(mean + reach, float(bounds[1])))


def share_bounds(values: Float64Array) -> tuple[float, float]:
    """Return 0 and 1 for the values of a measure that are all between them, and no bounds for others.

    Examples
    --------
    >>> share_bounds(np.array([0.0, np.nan, 0.5])), share_bounds(np.array([0.0, 3.0]))
    ((0.0, 1.0), (-inf, inf))
    """
    kept = values[~np.isnan(values)]
    return (0.0, 1.0) if ((kept >= 0) & (kept <= 1)).all() else (-np.inf, np.inf)


def effect_size(differences: Float64Array) -> float:
    """Return Cohen's d of paired differences: their mean over their standard deviation; 0 where all are 0.

    Examples
    --------
    >>> round(effect_size(np.array([0.1, 0.2, 0.3])), 4)
    2.0
    """
    kept = differences[~np.isnan(differences)]
    if len(kept) < 2 or not kept.any():
        return 0.0
    deviation = float(kept.std(ddof=1))
    return float(kept.mean()) / deviation if deviation > 0 else float(np.copysign(np.inf, kept.mean()))


def _random_signs(rng: np.random.Generator, rows: int, columns: int) -> Float64Array:
    packed = rng.integers(0, 256, size=(rows, -(-columns // 8)), dtype=np.uint8)
    return np.unpackbits(packed, axis=1, count=columns).astype(np.float64) * 2.0 - 1.0


def _all_signs(start: int, rows: int, columns: int) -> Float64Array:
    numbers = np.arange(start, start + rows, dtype=np.int64)[:, None]
    return ((numbers >> np.arange(columns)) & 1).astype(np.float64) * 2.0 - 1.0
