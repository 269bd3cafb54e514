"""What the linear algebra of a budgeted search costs: against a pseudo-inverse each round, and as catalogs grow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import process_time

import numpy as np
from numpy.typing import NDArray

from benchmarks.rows import Row, median
from vizsla.methods.cur.adacur import DEFAULT_RIDGE
from vizsla.methods.cur.estimates import CurEstimates, Estimates, PooledEstimates
from vizsla.methods.cur.factors import Factors, noise_ridge
from vizsla.methods.cur.plan import Plan, best_places, first_rounds, spend
from vizsla.methods.cur.residual_model import ResidualFit, decomposed

ANCHORS, RANK, BATCH, POOL = 500, 100, 16, 10_000
PLAN = Plan(budget=500, rounds=10)
Matrix = NDArray[np.float32]


def cost_rows(*, quick: bool) -> list[Row]:
    """Return CPU milliseconds a query, in a batch of 16, at a budget of 500 calls in 10 rounds."""
    small, large = (10_000, 20_000) if quick else (100_000, 1_000_000)
    repeats = 1 if quick else 3
    anchored = _anchored(small)
    pinv = median([_pinv_rounds(anchored) for _ in range(repeats)])
    held = noise_ridge(anchored, DEFAULT_RIDGE)  # once a search, not once a query
    forms = {"float32": (anchored, held), "float16": (Factors.of(anchored.values, "float16"), held)}
    forms["float32, no ridge"] = (anchored, 0.0)
    cur = {form: median([_timed(_cur(*given), small) for _ in range(repeats)]) for form, given in forms.items()}
    residual, pools = {}, {}
    for count in (small, large):
        fit, own = _residual(count)
        residual[count] = median(
            [_timed(lambda fit=fit, own=own: fit.estimates(own), count, 1) for _ in range(repeats)]
        )
        for storage in ("float32", "float16"):
            pools[count, storage] = _pooled(fit.over(Factors.of(fit.factors.values, storage)))
    pooled = _by_turns(pools, 2 * repeats + 1)
    what = f"{PLAN.budget} calls, {PLAN.rounds} rounds"
    return [
        Row(f"{what}, {small:,} items: residual CUR", residual[small], "pinv each round", pinv, "CPU ms", ">= 10"),
        *(
            Row(f"{what}, {small:,} items: ADACUR, {form}", value, "pinv each round", pinv, "CPU ms", ">= 10")
            for form, value in cur.items()
        ),
        Row(
            f"{what}: {large:,} items",
            residual[large],
            f"11 × {small:,} items",
            11 * (residual[small] or 0),
            "CPU ms",
            ">= 1",
        ),
        *(
            Row(
                f"{what}: pool of {POOL:,} of {large:,}, {storage}",
                pooled[large, storage],
                f"of {small:,}",
                pooled[small, storage],
                "CPU ms",
                ">= 0.9",
            )
            for storage in ("float32", "float16")
        ),
    ]


def _anchored(count: int) -> Factors:
    pick = np.random.default_rng(0)
    values = pick.standard_normal((ANCHORS, 60), np.float32) @ pick.standard_normal((60, count), np.float32)
    return Factors.of(values + 0.3 * pick.standard_normal(values.shape, np.float32))


def _cur(factors: Factors, ridge: float) -> Callable[[], Estimates]:
    return lambda: CurEstimates(factors, BATCH, ridge=ridge)


def _residual(count: int) -> tuple[ResidualFit, Matrix]:
    pick = np.random.default_rng(1)
    own = pick.standard_normal((BATCH, 1, count), np.float32)
    few = pick.standard_normal((2 * RANK, 1, 500), np.float32)
    fit = decomposed(few[:, 0] + pick.standard_normal(few[:, 0].shape, np.float32), few, RANK).fit(RANK, 0.1)
    return replace(fit, factors=Factors.of(pick.standard_normal((RANK, count), np.float32))), own


def _pooled(fit: ResidualFit) -> Callable[[], Estimates]:
    """Return what makes estimates of queries that consider 10,000 items each, gathered from all; pools are drawn."""
    pick, size = np.random.default_rng(5), min(POOL, fit.factors.count)
    numbers = [np.sort(pick.choice(fit.factors.count, size, replace=False)) for _ in range(BATCH)]
    own = pick.standard_normal((BATCH, 1, 1, size), np.float32)

    def make() -> Estimates:
        near = [fit.over(part) for part in fit.factors.pools(numbers, by_item=True)]
        return PooledEstimates([each.estimates(row) for each, row in zip(near, own, strict=True)])

    return make


def _by_turns(pools: dict[tuple[int, str], Callable[[], Estimates]], repeats: int) -> dict[tuple[int, str], float]:
    """Return the median times of each, measured by turns: a machine that slows down then changes no ratio."""
    times: dict[tuple[int, str], list[float]] = {key: [] for key in pools}
    for _ in range(repeats):
        for key, make in pools.items():
            times[key].append(_timed(make, POOL, 1))
    return {key: median(values) for key, values in times.items()}


def _timed(make: Callable[[], Estimates], count: int, retrievers: int = 0) -> float:
    """Return CPU milliseconds a query of all rounds, scoring left out; without retrievers the first one is drawn."""
    exact = np.random.default_rng(2).standard_normal((BATCH, count), np.float32)
    randoms = [np.random.default_rng(row) for row in range(BATCH)]
    drawn = [random.permutation(count)[:50] for random in randoms]
    start = process_time()
    estimates, allowed = make(), np.ones((BATCH, count), np.bool_)
    firsts = first_rounds(estimates, np.ones(retrievers), allowed, PLAN.first_size()) or drawn
    score = lambda chosen: [exact[row, items] for row, items in enumerate(chosen)]  # noqa: E731
    spend(estimates, allowed, firsts, PLAN, score, randoms)
    return (process_time() - start) * 1e3 / BATCH


def _pinv_rounds(factors: Factors) -> float:
    """Return CPU milliseconds of one query whose pseudo-inverse is made anew each round."""
    scores = np.random.default_rng(3).standard_normal(factors.count, np.float32)
    chosen = np.random.default_rng(4).permutation(factors.count)[:50]
    start = process_time()
    for _ in range(PLAN.rounds - 1):
        inverse = np.linalg.pinv(factors.columns(chosen).T)
        estimates = (scores[chosen] @ inverse).astype(np.float32) @ factors.values
        estimates[chosen] = -np.inf
        chosen = np.concatenate([chosen, best_places(estimates, 50)])
    return (process_time() - start) * 1e3
