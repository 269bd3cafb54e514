"""What a posterior variance could add to residual CUR: acquisition (UCB, Thompson), and rules that end a search early.

    python -m benchmarks.adacur_trials acquisition
    python -m benchmarks.adacur_trials stopping

Late interaction over 2,000 items of squad-sent, 500 anchor queries, MiniLM and BM25 as the cheap retrievers. Everything
is chosen on the 150 tuning queries; the 150 test queries are asked once for what was chosen.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from scipy.special import ndtr

from benchmarks.paper_tables import PaperTable, late_world, shown, tested
from vizsla.methods.cur import residual_cur
from vizsla.methods.cur.estimates import RidgeEstimates
from vizsla.methods.cur.factors import Best
from vizsla.methods.cur.plan import best_places
from vizsla.methods.cur.residual_model import ResidualFit
from vizsla.typing import Float32Array, Float64Array, Int64Array

TOP = 10
BUDGET = 100
BUDGETS = (50,)
ROUNDS = (10,)
NEAR = 300
"""Items with the best estimates, whose spread is computed."""
LOSS = 0.005
"""Of top-10 recall, that a rule may cost."""


class Posterior(RidgeEstimates):
    """Ridge estimates with the variance that Bayes' rule gives them.

    `noise` is the variance of a score around its estimate where all weights are known. `beta` standard deviations are
    added to the estimates ("ucb"), or the weights are drawn from their posterior ("thompson").
    """

    noise, beta, how, fading, rounds = 1.0, 0.0, "ucb", False, 1

    def begin(self) -> Posterior:
        """Forget what was recorded."""
        self.bought: list[list[Int64Array]] = [[] for _ in self._own]
        self.exact: list[list[Float32Array]] = [[] for _ in self._own]
        self.errors: list[list[Float64Array]] = [[] for _ in self._own]
        self.entrants: list[list[float]] = [[] for _ in self._own]
        self.inverses: dict[int, Float64Array] = {}
        self.random, self.round = np.random.default_rng(0), 0
        return self

    def inverse(self, row: int) -> Float64Array:
        """Return the covariance of a query's weights, in units of the noise."""
        return np.asarray(np.linalg.inv(self._gram[row]))

    def features_of(self, row: int, items: Int64Array) -> Float64Array:
        """Return the features of some items: their factors, 1 and the retrievers' scores."""
        columns = self._factors.columns(items)
        return np.concatenate([columns, np.ones((len(items), 1)), self._own[row][:, items].T], axis=1).astype(float)

    def spread(self, row: int, items: Int64Array, inverse: Float64Array) -> Float64Array:
        """Return the standard deviations of the estimates of some items."""
        features = self.features_of(row, items)
        return np.sqrt(self.noise * np.maximum(np.einsum("nd,nd->n", features @ inverse, features), 0.0))

    def _share(self) -> float:
        return self.beta * (1 - self.round / max(1, self.rounds - 1) if self.fading else 1.0)

    def best(self, free: Any, count: int) -> Best:
        """Choose by the mean and the spread."""
        self.round += 1
        share = self._share()
        if share <= 0:
            return super().best(free, count)
        found = []
        for row, mean in enumerate(super().scores()):
            near = best_places(np.where(free[row], mean, -np.inf).astype(np.float32), NEAR)
            near = near[free[row][near]]
            inverse = self.inverse(row)
            if self.how == "ucb":
                keys = mean[near] + share * self.spread(row, near, inverse)
            else:
                moved = np.linalg.cholesky(inverse) @ self.random.standard_normal(len(inverse))
                keys = mean[near] + share * np.sqrt(self.noise) * (self.features_of(row, near) @ moved)
            places = near[np.argsort(-keys, kind="stable")[:count]]
            found.append((places, mean[places]))
        return found


class Recorded(Posterior):
    """What a rule could know after every round: the expected number of items that would still enter the best."""

    def learn(self, chosen: Sequence[Int64Array], scores: Sequence[Float32Array]) -> None:
        """Learn, and write down what is believed now."""
        before = super().scores()
        super().learn(chosen, scores)
        after = super().scores()
        for row, (items, known) in enumerate(zip(chosen, scores, strict=True)):
            if not len(items):
                continue
            if self.bought[row]:
                wide = np.sqrt(self.spread(row, items, self.inverses[row]) ** 2 + self.noise)
                self.errors[row].append((known - before[row, items]) / wide)
            self.inverses[row] = self.inverse(row)
            self.bought[row].append(items)
            self.exact[row].append(known)
            self.entrants[row].append(self._entrants(row, after[row]))

    def _entrants(self, row: int, mean: Float32Array) -> float:
        """Return how many unscored items are expected above the score of rank `TOP`; the best `NEAR` are looked at.

        Standard deviations are multiplied by how wrong the query's earlier estimates were.
        """
        exact = np.concatenate(self.exact[row])
        if len(exact) < TOP or not self.errors[row]:
            return float("inf")
        left = mean.copy()
        left[np.concatenate(self.bought[row])] = -np.inf
        near = best_places(left, NEAR)
        gaps = np.concatenate(self.errors[row])
        wide = np.sqrt(self.spread(row, near, self.inverses[row]) ** 2 + self.noise) * np.sqrt(np.mean(np.square(gaps)))
        least = np.partition(exact, len(exact) - TOP)[len(exact) - TOP]
        return float(ndtr((left[near] - least) / wide).sum())


def fit_with(fit: ResidualFit, kind: type[Posterior], **settings: Any) -> ResidualFit:
    """Return a fit whose estimates are of a kind, with settings; the estimates that it made last are its `made`."""

    class Fit(ResidualFit):
        def estimates(self, own: Float32Array, threads: int = 1) -> RidgeEstimates:
            start = None if self.weight_prior is None else self.weight_prior.weights(self.factors, own)
            given = kind(self.factors, own, self.mean, self.penalty(), start, threads).begin()
            given.noise = max(self.ridge * self.noise, 1e-12)
            for name, value in settings.items():
                setattr(given, name, value)
            object.__setattr__(self, "made", given)
            return given

    return Fit(**{each.name: getattr(fit, each.name) for each in fields(fit)})


def found_shares(world: Any, search: Any, part: Sequence[int], depths: Sequence[int] = (1, TOP, 100)) -> Float64Array:
    """Return which share of each query's best was bought."""
    answers = search([world.asked.texts[row] for row in part], k=search.budget)
    return np.array([
        [np.isin(best_places(world.scores[row], depth), answers.row(at)[0]).mean() for depth in depths]
        for at, row in enumerate(part)
    ])  # fmt: skip


def acquisition() -> PaperTable:
    """UCB and Thompson sampling against the mean, on tuning queries."""
    from vizsla.methods.bm25 import bm25

    world, scorer, anchors = late_world()
    tuning, cells, kept = list(world.asked.part("tuning")), [], {}
    known, priors = anchors(500), [world.minilm, bm25(world.items)]
    tried: list[dict[str, Any]] = [{}]
    tried += [{"how": "ucb", "beta": beta} for beta in (0.5, 1.0, 2.0)]
    tried += [{"how": "ucb", "beta": 1.0, "fading": True}, {"how": "thompson", "beta": 0.5}]
    for budget in BUDGETS:
        search = residual_cur(scorer, known, priors, budget=budget)
        plain = search.fit
        for settings in tried:
            search.fit = fit_with(plain, Posterior, rounds=search.plan.rounds, **settings)
            shares = found_shares(world, search, tuning)
            how = f"{settings.get('how', 'mean')}{', fading' if settings.get('fading') else ''}"
            label = [str(budget), how, f"{settings.get('beta', 0):g}"]
            kept[" ".join(label)] = shares
            cells.append([*label, *shown(shares.mean(axis=0))])
    notes = []
    for budget in BUDGETS:
        others = [name for name in kept if name.startswith(f"{budget} ") and "mean" not in name]
        for at, depth in ((1, TOP), (2, 100)):
            best = max(others, key=lambda name: kept[name][:, at].mean())
            notes.append(
                tested(
                    f"best at top {depth}: {best} against the mean", kept[best][:, at], kept[f"{budget} mean 0"][:, at]
                )
            )
    return PaperTable(["calls", "chosen by", "β", "top 1", "top 10", "top 100"], cells, notes)


def paths(world: Any, search: Any, part: Sequence[int]) -> list[tuple[list[int], list[float], list[float], list[bool]]]:
    """Return per query, round by round: calls, top-10 recall, expected entrants, and whether the best stayed."""
    search.fit = fit_with(search.fit, Recorded)
    search([world.asked.texts[row] for row in part], k=TOP)
    made, found = search.fit.made, []
    for at, row in enumerate(part):
        wanted, calls, recalls, stayed, last = best_places(world.scores[row], TOP), [], [], [], None
        for round in range(len(made.bought[at])):
            items = np.concatenate(made.bought[at][: round + 1])
            exact = np.concatenate(made.exact[at][: round + 1])
            best = set(items[np.argsort(-exact, kind="stable")[:TOP]].tolist())
            calls.append(len(items))
            recalls.append(float(np.isin(wanted, items).mean()))
            stayed.append(best == last)
            last = best
        found.append((calls, recalls, made.entrants[at], stayed))
    return found


def stopped(path: list[Any], most: float, stable: int) -> tuple[Float64Array, Float64Array]:
    """Return each query's calls and recall if it ends at `most` expected entrants; `stable` rounds found none."""
    ends = []
    for calls, recalls, entrants, stayed in path:
        runs, end = 0, len(calls) - 1
        for round, (expected, same) in enumerate(zip(entrants, stayed, strict=True)):
            runs = runs + 1 if same else 0
            if expected <= most and runs >= stable:
                end = round
                break
        ends.append((calls[end], recalls[end]))
    return np.array(ends, float).T


def _known(path: Any) -> tuple[int, float]:
    """Return calls and recall where nothing later adds to the recall."""
    calls, recalls, _, _ = path
    end = recalls.index(recalls[-1])
    return calls[end], recalls[end]


def stopping() -> PaperTable:
    """Expected entrants and stability against a smaller budget and a rule that knows the answer."""
    from vizsla.methods.bm25 import bm25

    world, scorer, anchors = late_world()
    parts = {name: list(world.asked.part(name)) for name in ("tuning", "testing")}
    known, priors, cells, notes = anchors(500), [world.minilm, bm25(world.items)], [], []
    for rounds in ROUNDS:
        search = residual_cur(scorer, known, priors, budget=BUDGET, rounds=rounds)
        path = {name: paths(world, search, part) for name, part in parts.items()}
        full = {name: np.array([recalls[-1] for _, recalls, _, _ in path[name]]) for name in parts}

        def add(label: str, ends: dict[str, tuple[Float64Array, Float64Array]], rounds: int = rounds) -> None:
            cells.append([
                str(rounds), label, *(c for e in ends.values() for c in (f"{e[0].mean():.1f}", f"{e[1].mean():.4f}"))
            ])  # fmt: skip

        add("whole budget", {name: (np.full(len(full[name]), float(BUDGET)), full[name]) for name in parts})
        for budget in (60, 70, 75, 80, 90):
            fixed = {}
            for name in parts:
                at = [max(r for r, calls in enumerate(one[0]) if calls <= budget) for one in path[name]]
                fixed[name] = np.array([(one[0][r], one[1][r]) for one, r in zip(path[name], at, strict=True)], float).T
            add(f"the rounds of {budget} calls", fixed)
        knowing = {name: np.array([_known(one) for one in path[name]], float).T for name in parts}
        add("ends when all that it will find is found (an oracle)", knowing)
        chosen = None
        for stable in (0, 1, 2, 3, 4):
            for most in (3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001):
                calls, recall = stopped(path["tuning"], most, stable)
                if full["tuning"].mean() - recall.mean() <= LOSS and (chosen is None or calls.mean() < chosen[0]):
                    chosen = (float(calls.mean()), most, stable)
        if chosen is not None:
            _, most, stable = chosen
            ends = {name: stopped(path[name], most, stable) for name in parts}
            add(f"at most {most:g} expected, {stable} rounds the same (chosen)", ends)
            notes.append(
                tested(
                    f"{rounds} rounds, test: chosen rule against the whole budget", ends["testing"][1], full["testing"]
                )
            )
    return PaperTable(["rounds", "ends", "tuning: calls", "top 10", "test: calls", "top 10"], cells, notes)


def main() -> None:
    """Measure one of the two."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.adacur_trials", description=__doc__)
    parser.add_argument("name", choices=["acquisition", "stopping"])
    print({"acquisition": acquisition, "stopping": stopping}[parser.parse_args().name]().to_markdown())


if __name__ == "__main__":
    main()
