"""Says in a sentence what a fusion came to, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence

from vizsla.clicks.judge import Gain, Judge
from vizsla.clicks.measures import PerQuery
from vizsla.methods.fuse.pool import MEASURE
from vizsla.methods.fuse.trial import NONE, Trial


def said_of(
    names: Sequence[str], trials: Sequence[Trial], measured: Sequence[PerQuery], best: int, judge: Judge
) -> str:
    """Return what was chosen, its quality, and what it gains over the best part or the best sum over it.

    Examples
    --------
    >>> import numpy as np
    >>> from vizsla.methods.fuse.trial import alone
    >>> ranks = [np.array([0.5, 0.5]), np.array([0.25, 0.0])]
    >>> said_of(["words", "noise"], [alone(0, 2), alone(1, 2)], ranks, 0, Judge(np.array([True, False]), 0.5))
    'words alone: nDCG@10 0.500 on 2 held-out queries (0.500 warm, 0.500 cold).'
    """
    one = len(trials[best].used) == 1
    values = measured[best]
    kinds = ", ".join(f"{judge.quality(values, kind):.3f} {kind}" for kind in ("warm", "cold"))
    quality = f"{MEASURE} {judge.quality(values):.3f} on {len(values):,} held-out queries ({kinds})"
    others = [at for at, trial in enumerate(trials) if (len(trial.used) == 1) != one]
    if not others:
        return f"{_named(names, trials[best])}: {quality}."
    rival = max(others, key=lambda at: judge.quality(measured[at]))
    if one:
        gain = judge.gain(measured[rival], values)
        than = f"The best sum, {_named(names, trials[rival])}, has {_gain(gain)}: no sure gain for both kinds"
    else:
        than = f"That is {_gain(judge.gain(values, measured[rival]))} over {_named(names, trials[rival])}"
    return f"{_named(names, trials[best])}: {quality}. {than}."


def _named(names: Sequence[str], trial: Trial) -> str:
    if len(trial.used) == 1:
        return f"{names[trial.used[0]]} alone"
    how = "" if trial.how == NONE else f" by {trial.how}"
    return " + ".join(f"{trial.weights[at]:g} {names[at]}" for at in trial.used) + how


def _gain(gain: Gain) -> str:
    return f"{gain.mean:+.3f} ± {gain.error:.3f} (p {gain.p:.2g})"
