"""Rules that decide whether a fusion is better than its parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla.learning.query_mix import Mix
from vizsla.learning.selection import FUSION_ERRORS, KIND_LOSS_ERRORS, MIN_QUERIES, ROUNDING_ERROR, Gain, Judge
from vizsla.learning.splits import stratified_folds
from vizsla.methods.fusion.candidate_pool import MEASURE
from vizsla.methods.fusion.scaling import UNSCALED, FusionTrial
from vizsla.typing import Float64Array

Rank = tuple[float, float]


@dataclass(frozen=True)
class SignificanceRule:
    """Ranks trials by their quality, those that lose to the best part of a kind behind all others.

    The best part is another one on warm and on cold queries, as it happens: a sum that loses to either is worse than
    what its user had.

    Parameters
    ----------
    judge : Judge
        How quality is weighed.
    best : dict of str to array
        For each kind of query that counts, the single part that is best on it.
    """

    judge: Judge
    best: dict[str, Float64Array]

    @classmethod
    def of(
        cls, judge: Judge, singles: Sequence[Float64Array], *, kinds: Sequence[str] = ("warm", "cold")
    ) -> SignificanceRule:
        """Find the best part on each of these kinds of query."""
        return cls(judge, {kind: max(singles, key=lambda values: judge.quality(values, kind)) for kind in kinds})

    def rank(self, values: Float64Array) -> Rank:
        """Return on how many kinds of query it loses to the best part, below 0, and its quality; more is better."""
        return -len(self.losses(values)), self.judge.quality(values)

    def ranks(self, measured: NDArray[np.float64]) -> list[Rank]:
        """Return the rank of each row."""
        lost = np.zeros(len(measured), np.int64)
        for kind, best in self.best.items():
            lost += self._losing(measured, best, kind)
        return list(zip((-lost).tolist(), self.judge.qualities(measured).tolist(), strict=True))

    def _losing(self, measured: NDArray[np.float64], best: Float64Array, kind: str) -> NDArray[np.bool_]:
        """Return which rows lose on a kind of query, as `is_loss` says of one."""
        if 0 < self.judge.counts[kind] < MIN_QUERIES:
            return np.asarray(self.judge.qualities(measured - best, kind) < -ROUNDING_ERROR)
        return np.asarray(self.judge.errors(measured, best, kind) <= -KIND_LOSS_ERRORS)

    def losses(self, values: Float64Array) -> dict[str, Gain]:
        """Return by how much it loses to the best part, for the kinds of query on which it does."""
        gains = {kind: self.judge.gain(values, best, kind) for kind, best in self.best.items()}
        return {kind: gain for kind, gain in gains.items() if is_loss(gain)}

    def chosen(self, trials: Sequence[FusionTrial], measured: Sequence[Float64Array]) -> int:
        """Return which trial without a lift stands: from one part on, more of them only on clear evidence."""
        stands: int | None = None
        ranks = self.ranks(np.asarray(measured))
        for same in of_each_count(trials, lifted=False):
            best = max(same, key=lambda at: ranks[at])
            if stands is None or self.replaces(measured[best], measured[stands]):
                stands = best
        return stands or 0

    def replaces(self, other: Float64Array, stands: Float64Array) -> bool:
        """Whether the other is surely better than what stands, or is behind on fewer kinds and on average no worse."""
        gain, fewer = self.judge.gain(other, stands), len(self.losses(stands)) - len(self.losses(other))
        return gain.errors > FUSION_ERRORS if not fewer else fewer > 0 and gain.mean >= 0


def is_sound(judge: Judge, values: Float64Array, part: Float64Array) -> bool:
    """Whether a sum may take the place of the best part.

    The lower confidence bound of its gain must be above 0 over all queries to come, and on each kind that makes up a
    tenth of them or more it may be behind by less than a standard error; where fewer than `MIN_QUERIES` queries of such
    a kind were held out it must not be behind at all, and where none was, nothing is known and the part stays.

    Examples
    --------
    >>> judge = Judge.of_cold(np.arange(80) < 40, 0.5)
    >>> part = np.full(80, 0.5)
    >>> is_sound(judge, part + np.tile([0.0, 0.1], 40), part), is_sound(judge, part, part)
    (True, False)
    """
    if judge.gain(values, part).errors <= FUSION_ERRORS or not_held_out(judge):
        return False
    return not any(is_loss(judge.gain(values, part, kind)) for kind in judge.common)


def is_loss(gain: Gain) -> bool:
    """Whether a kind of query loses: by a standard error, or at all where too few queries tell how sure that is.

    Examples
    --------
    >>> [is_loss(Gain(mean, 0.05, queries)) for mean, queries in [(-0.02, 40), (-0.06, 40), (-0.02, 20), (0.0, 20)]]
    [False, True, True, False]
    """
    return gain.mean < -ROUNDING_ERROR if 0 < gain.queries < MIN_QUERIES else gain.errors <= -KIND_LOSS_ERRORS


def not_held_out(judge: Judge) -> tuple[str, ...]:
    """Return the kinds that make up a tenth of the queries to come and of which none was held out.

    Examples
    --------
    >>> not_held_out(Judge(np.array(["warm"]), {"warm": 0.4, "cold": 0.6}))
    ('cold',)
    """
    return tuple(kind for kind in judge.common if not judge.counts[kind])


def of_each_count(trials: Sequence[FusionTrial], *, lifted: bool) -> list[list[int]]:
    """Return where the trials of one part are, of two, and so on: those with a lift, or those without.

    Examples
    --------
    >>> tried = [FusionTrial("none", (1.0, 0.0)), FusionTrial("exp", (0.5, 0.5)), FusionTrial("exp", (0.4, 0.6), 1.0)]
    >>> of_each_count(tried, lifted=False), of_each_count(tried, lifted=True)
    ([[0], [1]], [[2]])
    """
    counts = {at: len(trial.used) for at, trial in enumerate(trials) if bool(trial.lift) == lifted}
    return [[at for at in counts if counts[at] == count] for count in sorted(set(counts.values()))]


ITEM_GROUPS = ("warm", "cold")


@dataclass(frozen=True)
class ColdBoostRule:
    """Ranks sums that lift items without clicks, against what stands without.

    By quality alone these items would be lifted until warm queries have lost all that the sum had gained for them.

    Parameters
    ----------
    significance : SignificanceRule
        Which is the best part on either kind of query.
    level : array
        Quality of the sum or part that stands without a boost.
    part : array
        Quality of the best part.
    """

    significance: SignificanceRule
    level: Float64Array
    part: Float64Array

    @classmethod
    def of(cls, judge: Judge, singles: Sequence[Float64Array], level: Float64Array) -> ColdBoostRule:
        """Return the rule for warm and cold queries, however rare: a lift is between these two."""
        return cls(SignificanceRule.of(judge, singles, kinds=ITEM_GROUPS), level, max(singles, key=judge.quality))

    def rank(self, values: Float64Array) -> Rank:
        """Return the harm done, below 0, and what the worse kind of query has more than its best part; more is better.

        Harm is what a kind of query has less than its best part, and less than without a lift.
        """
        return self.ranks(values[None])[0]

    def ranks(self, measured: NDArray[np.float64]) -> list[Rank]:
        """Return the rank of each row."""
        judge = self.significance.judge
        harm, worse = np.zeros(len(measured)), np.full(len(measured), np.inf)
        for kind, best in self.significance.best.items():
            gains = judge.qualities(measured - best, kind)
            harm = np.minimum(harm, gains - min(0.0, judge.gain(self.level, best, kind).mean))
            worse = np.minimum(worse, gains)
        return list(zip(harm.tolist(), worse.tolist(), strict=True))

    def chosen(self, trials: Sequence[FusionTrial], measured: Sequence[Float64Array], stands: int) -> int:
        """Return what stands in the end: a lift must do no harm, and be surely better, or end a loss.

        One that ends a loss on a kind of query may be behind what stands on average, as long as it is soundly better
        than the best part: otherwise items without clicks would be given up wherever few of them were asked for.
        """
        for same in of_each_count(trials, lifted=True):
            ranks = self.ranks(np.asarray(measured)[same])
            best = max(range(len(same)), key=lambda at: ranks[at])
            lifted, level = measured[same[best]], measured[stands]
            better = self.significance.replaces(lifted, level)
            if not better and len(self.significance.losses(lifted)) < len(self.significance.losses(level)):
                better = is_sound(self.significance.judge, lifted, self.part)
            if ranks[best][0] == 0 and better:
                stands = same[best]
        return stands


CROSS_VALIDATION_ROUNDS = 5
"""Rounds of cross-validation: a trial is selected without a share of the held-out queries, and judged by those."""


class Selection(NamedTuple):
    """The selected trial.

    Attributes
    ----------
    best : int
        The trial that stands in the end.
    level : int
        The trial that stands without a boost.
    part : int
        The single part with the best quality.
    significance : SignificanceRule
        By which kinds of query it was ranked.
    honest : array
        The quality of each held-out query under the trial that was selected without it.
    """

    best: int
    level: int
    part: int
    significance: SignificanceRule
    honest: Float64Array


def select(judge: Judge, trials: Sequence[FusionTrial], measured: Sequence[Float64Array]) -> Selection:
    """Return the best sum if it is soundly better than the best part, and else the part.

    First a sum is looked for that loses to no part on any kind of query, however rare; where none is sound, one that
    loses to none on the kinds that make up a tenth of the queries to come. A sum that is the best of very many on some
    queries looks better on these than it is, so it is tested by selecting it without them; see `is_sound`.

    Parameters
    ----------
    judge : Judge
        How the kinds of queries are weighed.
    trials : sequence of Trial
        All trials, single parts among them.
    measured : sequence of arrays
        For each trial, the quality of every held-out query.
    """
    values = np.asarray(measured, np.float64)
    singles = [at for at, trial in enumerate(trials) if len(trial.used) == 1]
    part = max(singles, key=lambda at: judge.quality(values[at]))
    for kinds in dict.fromkeys([protected(judge), judge.common]):
        best, level, significance = _candidate(judge, trials, values, kinds)
        if len(trials[best].used) == 1 or not is_sound(judge, values[best], values[part]):
            continue
        honest = cross_fitted(judge, trials, values, kinds)
        if is_sound(judge, honest, values[part]):
            return Selection(best, level, part, significance, honest)
    singled = SignificanceRule.of(judge, list(values[singles]), kinds=protected(judge))
    return Selection(part, part, part, singled, values[part])


def protected(judge: Judge) -> tuple[str, ...]:
    """Return the kinds of query on which a sum should lose to no part: warm and cold ones, however rare.

    Examples
    --------
    >>> protected(Judge(np.array(["warm"]), {"repeated": 0.2, "warm": 0.8}))
    ('repeated', 'warm', 'cold')
    """
    return tuple(kind for kind in ("repeated", "warm", "cold") if kind != "repeated" or kind in judge.common)


def cross_fitted(
    judge: Judge, trials: Sequence[FusionTrial], measured: NDArray[np.float64], kinds: Sequence[str]
) -> Float64Array:
    """Return for each query the quality of the trial that is selected by the queries of the other rounds."""
    rounds = stratified_folds(judge.kinds, CROSS_VALIDATION_ROUNDS)
    honest = np.zeros(measured.shape[1])
    for number in range(CROSS_VALIDATION_ROUNDS):
        out = rounds == number
        if out.any() and not out.all():
            best, _, _ = _candidate(judge.only(~out), trials, measured[:, ~out], kinds)
            honest[out] = measured[best, out]
    return honest


def _candidate(
    judge: Judge, trials: Sequence[FusionTrial], measured: NDArray[np.float64], kinds: Sequence[str]
) -> tuple[int, int, SignificanceRule]:
    """Return which trial stands, lifted or not, and which would without a lift."""
    singles = [values for values, trial in zip(measured, trials, strict=True) if len(trial.used) == 1]
    significance = SignificanceRule.of(judge, singles, kinds=kinds)
    rows = list(measured)
    level = significance.chosen(trials, rows)
    return ColdBoostRule.of(judge, singles, rows[level]).chosen(trials, rows, level), level, significance


def describe_rules(
    names: Sequence[str],
    trials: Sequence[FusionTrial],
    measured: Sequence[Float64Array],
    selected: Selection,
    *,
    mix: Mix,
) -> str:
    """Return what was chosen, its quality, what it gains over the best part or the best sum over it, and its losses.

    Examples
    --------
    >>> import numpy as np
    >>> from vizsla.learning.selection import Judge
    >>> from vizsla.methods.fusion.scaling import alone
    >>> ranks, trials = [np.array([0.5, 0.5]), np.array([0.25, 0.0])], [alone(0, 2), alone(1, 2)]
    >>> selected = select(Judge.of_cold(np.array([True, False]), 0.5), trials, ranks)
    >>> describe_rules(["words", "noise"], trials, ranks, selected, mix=Mix(0.0, 0.5, 0.5))
    'words alone: nDCG@10 0.500 on 2 held-out queries (0.500 warm, 0.500 cold; expected are 50 % warm, 50 % cold). ...
    """
    best, judge = selected.best, selected.significance.judge
    values = measured[best]
    sentences = [f"{_named(names, trials[best])}: {_quality(judge, values, mix)}."]
    sums = [at for at, trial in enumerate(trials) if len(trial.used) > 1]
    if best in sums:
        part = f"{_named(names, trials[selected.part])}, on queries that it was not chosen by"
        sentences.append(f"That is {_gain(judge.gain(selected.honest, measured[selected.part]))} over {part}.")
    elif sums:
        rival = max(sums, key=lambda at: judge.quality(measured[at]))
        more = _gain(judge.gain(measured[rival], values))
        cost = "not surely more, or at the cost of a kind of query"
        if unheard := not_held_out(judge):
            cost = f"but no {' or '.join(unheard)} queries could be held out to test it by, and many are expected"
        sentences.append(f"The best sum, {_named(names, trials[rival])}, has {more}: {cost}.")
    if selected.level != best:
        gain = judge.gain(measured[selected.level], values)
        sentences.append(f"Without the lift, {_named(names, trials[selected.level])} would stand, with {_gain(gain)}.")
    for kind, gain in selected.significance.losses(values).items():
        sentences.append(f"On {kind} queries it has {_gain(gain)} against the part that is best there.")
    if len(values) < MIN_QUERIES:
        sentences.append(f"Below {MIN_QUERIES} queries nothing is sure.")
    return " ".join(sentences)


def _quality(judge: Judge, values: Float64Array, mix: Mix) -> str:
    held = {kind: count for kind, count in judge.counts.items() if count or kind != "repeated"}
    kinds = ", ".join(
        f"{judge.quality(values, kind):.3f} {kind}" if count else f"none {kind}" for kind, count in held.items()
    )
    expected = ", ".join(f"{100 * share:.0f} % {kind}" for kind, share in mix.shares.items() if share)
    text = f"{MEASURE} {judge.quality(values):.3f} on {len(values):,} held-out queries"
    return f"{text} ({kinds}; expected are {expected})"


def _named(names: Sequence[str], trial: FusionTrial) -> str:
    if len(trial.used) == 1:
        return f"{names[trial.used[0]]} alone"
    how = "" if trial.how == UNSCALED else f" by {trial.how}"
    lift = f" + {trial.lift:g} for items without clicks" if trial.lift else ""
    return " + ".join(f"{trial.weights[at]:g} {names[at]}" for at in trial.used) + how + lift


def _gain(gain: Gain) -> str:
    return f"{gain.mean:+.3f} ± {gain.error:.3f} (p {gain.p:.2g})"
