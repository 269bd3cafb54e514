"""When a trial on held-out clicks says enough to leave what stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

SURE = 3.0
"""So many standard errors must something be better than what stands.

Two were not enough: on tldr's queries alone a gain of .010 on the trial was a loss of .004 on other held-out clicks.
"""


def surely_best(measured: NDArray[np.float64]) -> int:
    """Return the row with the highest mean among those surely better than row 0, or 0.

    Parameters
    ----------
    measured : float array
        Settings × held-out queries; row 0 is the setting that stands.

    Examples
    --------
    >>> surely_best(np.array([[0, 0, 0, 1], [1, 1, 1, 1.0], [0, 0, 1, 1]]))
    1
    """
    gains = measured - measured[0]
    errors = gains.std(axis=1) / np.sqrt(max(gains.shape[1], 1))
    means = gains.mean(axis=1)
    return int(np.argmax(np.where(means > SURE * errors, means, 0.0)))


def best_balanced(trials: Sequence[Mapping[str, Any]], against: Mapping[str, Any]) -> int:
    """Return the trial whose worse side, warm or cold queries, comes off best against something else.

    Parameters
    ----------
    trials : sequence of dict
        Each with its quality: "warm" and "cold"; of equals, the first is taken.
    against : dict
        The quality of what they are compared with, of the sides that there are.

    Examples
    --------
    >>> best_balanced([{"warm": 0.9, "cold": 0.1}, {"warm": 0.6, "cold": 0.5}], {"warm": 0.5, "cold": 0.5})
    1
    """
    return max(range(len(trials)), key=lambda at: min(trials[at][kind] - against[kind] for kind in against))


def best_harmless(trials: Sequence[Mapping[str, Any]], *, base: int | None = None) -> int:
    """Return the best trial over all, among those that lose to the base neither on warm nor on cold queries.

    A gain for one kind of query may hide a loss for the other, and nobody knows how many of each will come.

    Parameters
    ----------
    trials : sequence of dict
        Each with its quality: "all", "warm" and "cold".
    base : int, optional
        Which of them is what stands; without one the best over all is taken. Of equals, the first.

    Examples
    --------
    >>> base = {"all": 0.3, "warm": 0.3, "cold": 0.3}
    >>> best_harmless([base, {"all": 0.4, "warm": 0.6, "cold": 0.2}], base=0)
    0
    """

    def loses(trial: Mapping[str, Any]) -> bool:
        return base is not None and any(trial[kind] < trials[base][kind] for kind in ("warm", "cold"))

    return max(range(len(trials)), key=lambda at: (not loses(trials[at]), trials[at]["all"]))
