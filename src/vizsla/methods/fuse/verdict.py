"""Says in a sentence what a fusion came to, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence

from vizsla.clicks.judge import FEWEST, Gain, Judge
from vizsla.clicks.measures import PerQuery
from vizsla.clicks.mix import Mix
from vizsla.methods.fuse.pool import MEASURE
from vizsla.methods.fuse.selection import Selection
from vizsla.methods.fuse.trial import NONE, Trial


def said_of(
    names: Sequence[str], trials: Sequence[Trial], measured: Sequence[PerQuery], selected: Selection, *, mix: Mix
) -> str:
    """Return what was chosen, its quality, what it gains over the best part or the best sum over it, and its losses.

    Examples
    --------
    >>> import numpy as np
    >>> from vizsla.clicks.judge import Judge
    >>> from vizsla.methods.fuse.selection import select
    >>> from vizsla.methods.fuse.trial import alone
    >>> ranks, trials = [np.array([0.5, 0.5]), np.array([0.25, 0.0])], [alone(0, 2), alone(1, 2)]
    >>> selected = select(Judge.of_cold(np.array([True, False]), 0.5), trials, ranks)
    >>> said_of(["words", "noise"], trials, ranks, selected, mix=Mix(0.0, 0.5, 0.5))
    'words alone: nDCG@10 0.500 on 2 held-out queries (0.500 warm, 0.500 cold; expected are 50 % warm, 50 % cold). ...
    """
    best, judge = selected.best, selected.standing.judge
    values = measured[best]
    said = [f"{_named(names, trials[best])}: {_quality(judge, values, mix)}."]
    sums = [at for at, trial in enumerate(trials) if len(trial.used) > 1]
    if best in sums:
        part = f"{_named(names, trials[selected.part])}, on queries that it was not chosen by"
        said.append(f"That is {_gain(judge.gain(selected.honest, measured[selected.part]))} over {part}.")
    elif sums:
        rival = max(sums, key=lambda at: judge.quality(measured[at]))
        more = _gain(judge.gain(measured[rival], values))
        cost = "not surely more, or at the cost of a kind of query"
        said.append(f"The best sum, {_named(names, trials[rival])}, has {more}: {cost}.")
    if selected.level != best:
        gain = judge.gain(measured[selected.level], values)
        said.append(f"Without the lift, {_named(names, trials[selected.level])} would stand, with {_gain(gain)}.")
    for kind, gain in selected.standing.losses(values).items():
        said.append(f"On {kind} queries it has {_gain(gain)} against the part that is best there.")
    return " ".join(said if len(values) >= FEWEST else [*said, f"Below {FEWEST} queries nothing is sure."])


def _quality(judge: Judge, values: PerQuery, mix: Mix) -> str:
    held = {kind: count for kind, count in judge.counts.items() if count or kind != "repeated"}
    kinds = ", ".join(
        f"{judge.quality(values, kind):.3f} {kind}" if count else f"none {kind}" for kind, count in held.items()
    )
    expected = ", ".join(f"{100 * share:.0f} % {kind}" for kind, share in mix.shares.items() if share)
    said = f"{MEASURE} {judge.quality(values):.3f} on {len(values):,} held-out queries"
    return f"{said} ({kinds}; expected are {expected})"


def _named(names: Sequence[str], trial: Trial) -> str:
    if len(trial.used) == 1:
        return f"{names[trial.used[0]]} alone"
    how = "" if trial.how == NONE else f" by {trial.how}"
    lift = f" + {trial.lift:g} for items without clicks" if trial.lift else ""
    return " + ".join(f"{trial.weights[at]:g} {names[at]}" for at in trial.used) + how + lift


def _gain(gain: Gain) -> str:
    return f"{gain.mean:+.3f} ± {gain.error:.3f} (p {gain.p:.2g})"
