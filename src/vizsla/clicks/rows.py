"""Clicks given as rows, checked where they come in: (query text, item id), with or without a weight and a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla.arguments import array_of, is_several
from vizsla.errors import InputError
from vizsla.io.frames import frame_of, frame_rows

Row = tuple[Any, ...]
MOST_WEIGHT = 2**30


def click_rows(clicks: Any) -> list[Row]:
    """Return the clicks as tuples of two texts, and perhaps a weight and a time; anything else raises.

    Examples
    --------
    >>> click_rows([["fig", "f", 2.0]])
    [('fig', 'f', 2.0)]
    """
    frame = frame_of(clicks, "clicks")
    if frame is not None:
        return list(frame_rows(frame, "clicks"))
    if not is_several(clicks):
        raise InputError(f"`clicks` must be a Dataset or (query, item, weight) triples. Got {type(clicks).__name__}.")
    rows = [tuple(row) if isinstance(row, Iterable) else (row,) for row in clicks]
    for row in rows:
        if len(row) not in (2, 3, 4) or not all(isinstance(field, str) for field in row[:2]):
            wanted = "(query text, item id) or (query text, item id, weight)"
            raise InputError(f"Every click must be {wanted}. Got {row!r:.100}.")
    return rows


def timed_rows(clicks: Any) -> list[Row]:
    """Return the clicks as (query text, item id, weight, time); one without a time raises.

    Examples
    --------
    >>> timed_rows([["fig", "f", 2.0, 86400.0]])
    [('fig', 'f', 2.0, 86400.0)]
    """
    rows = click_rows(clicks)
    wrong = [repr(row) for row in rows if len(row) != 4] if rows else ["no click"]
    if wrong:
        wanted = "For a half-life every click must have a time: (query, item, weight, time)"
        raise InputError(f"{wanted}. Got {wrong[0]:.100}.")
    return rows


def click_weights(weights: Any) -> NDArray[np.float64]:
    """Return weights of clicks; what is no number above 0 raises.

    Examples
    --------
    >>> click_weights([1.0, float("nan")])
    Traceback (most recent call last):
    vizsla.errors.InputError: A click's weight must be above 0 and below 2^30. Got nan.
    """
    values: NDArray[np.float64] = array_of("weight", weights, np.float64).reshape(-1)
    wrong = ~((values > 0) & (values < MOST_WEIGHT))  # NaN is neither
    if wrong.any():
        raise InputError(f"A click's weight must be above 0 and below 2^30. Got {values[int(wrong.argmax())]:g}.")
    return values


def click_times(times: Sequence[Any]) -> NDArray[np.float64]:
    """Return times of clicks, in seconds since 1970; what is no finite number raises.

    Examples
    --------
    >>> click_times([0, 86400.5]).tolist()
    [0.0, 86400.5]
    """
    values: NDArray[np.float64] = array_of("time", times, np.float64).reshape(-1)
    wrong = ~np.isfinite(values)
    if wrong.any():
        raise InputError(f"A click's time must be seconds since 1970. Got {values[int(wrong.argmax())]:g}.")
    return values
