"""Says in a sentence what a fusion came to, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence

from vizsla.clicks.judge import FEWEST, Gain, Judge
from vizsla.clicks.measures import PerQuery
from vizsla.methods.fuse.pool import MEASURE
from vizsla.methods.fuse.standing import Standing
from vizsla.methods.fuse.trial import NONE, Trial


def said_of(
    names: Sequence[str],
    trials: Sequence[Trial],
    measured: Sequence[PerQuery],
    best: int,
    standing: Standing,
    *,
    level: int | None = None,
) -> str:
    """Return what was chosen, its quality, what it gains over the best part or the best sum over it, and its losses.

    `level` is what would stand without a lift.

    Examples
    --------
    >>> import numpy as np
    >>> from vizsla.methods.fuse.trial import alone
    >>> ranks = [np.array([0.5, 0.5]), np.array([0.25, 0.0])]
    >>> standing = Standing.of(Judge(np.array([True, False]), 0.5), ranks)
    >>> said_of(["words", "noise"], [alone(0, 2), alone(1, 2)], ranks, 0, standing)
    'words alone: nDCG@10 0.500 on 2 held-out queries (0.500 warm, 0.500 cold). Below 30 queries nothing is sure.'
    """
    judge, values = standing.judge, measured[best]
    said = [f"{_named(names, trials[best])}: {_quality(judge, values)}."]
    one = len(trials[best].used) == 1
    others = [at for at, trial in enumerate(trials) if (len(trial.used) == 1) != one]
    if others:
        rival = max(others, key=lambda at: judge.quality(measured[at]))
        said.append(_compared(_named(names, trials[rival]), judge.gain(values, measured[rival]), one=one))
    if level is not None and level != best:
        gain = judge.gain(values, measured[level])
        said.append(f"Without the lift, {_named(names, trials[level])} would stand, with {_gain(gain.reversed)}.")
    for kind, gain in standing.losses(values).items():
        said.append(f"On {kind} queries it has {_gain(gain)} against the part that is best there.")
    return " ".join(said if len(values) >= FEWEST else [*said, f"Below {FEWEST} queries nothing is sure."])


def _quality(judge: Judge, values: PerQuery) -> str:
    cold = int(judge.cold.sum())
    held = {"warm": len(values) - cold, "cold": cold}
    kinds = ", ".join(
        f"{judge.quality(values, kind):.3f} {kind}" if count else f"none {kind}" for kind, count in held.items()
    )
    return f"{MEASURE} {judge.quality(values):.3f} on {len(values):,} held-out queries ({kinds})"


def _compared(rival: str, gain: Gain, *, one: bool) -> str:
    """Say what the choice has more than the best sum, or than the best part."""
    if one:
        more = _gain(gain.reversed)
        return f"The best sum, {rival}, has {more}: no sure gain for both kinds."
    return f"That is {_gain(gain)} over {rival}."


def _named(names: Sequence[str], trial: Trial) -> str:
    if len(trial.used) == 1:
        return f"{names[trial.used[0]]} alone"
    how = "" if trial.how == NONE else f" by {trial.how}"
    lift = f" + {trial.lift:g} for items without clicks" if trial.lift else ""
    return " + ".join(f"{trial.weights[at]:g} {names[at]}" for at in trial.used) + how + lift


def _gain(gain: Gain) -> str:
    return f"{gain.mean:+.3f} ± {gain.error:.3f} (p {gain.p:.2g})"
