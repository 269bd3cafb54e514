"""Recency: discount clicks by a half-life, and select the half-life."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vizsla.data.dataset import SECONDS_PER_DAY, ClickEvents, Dataset
from vizsla.errors import InputError
from vizsla.learning.clicks import Row, click_rows, click_times, click_weights, timed_rows
from vizsla.learning.selection import HALF_LIFE_ERRORS, Choice, choose, surely_better
from vizsla.learning.splits import split_by_time, timed

if TYPE_CHECKING:
    from vizsla.base.retriever import Retriever

AUTO = "auto"
HALF_LIFE_SHARES = (1.0, 0.5, 0.25, 0.125, 0.0625)
"""What is tried: shares of the time that the log spans."""
HELD_OUT_SHARE, MAX_HELD_OUT_QUERIES = 0.1, 2000
MIN_DECAYED_WEIGHT = 1 / 1024
"""A weight that has decayed below this no longer counts: logs count in 1024ths."""

Build = Callable[[Any], "Retriever"]


def recent_clicks(clicks: Any, half_life: float | str | None, build: Build) -> tuple[Any, float | None]:
    """Return clicks whose weights halve every `half_life` days before the last one, and the days, if any.

    Parameters
    ----------
    clicks : Dataset or iterable
        A Dataset whose log has times, or (query text, item id, weight, time) with times in seconds since 1970.
    half_life : float, "auto" or None
        Days; None leaves the clicks as they are; "auto" chooses on the latest clicks, held out.
    build : function of clicks
        Builds what is to learn from the clicks: called for every half-life that is tried.
    """
    if half_life == AUTO:
        clicks = clicks if isinstance(clicks, Dataset) else timed_rows(clicks)  # it is read several times
        half_life = choose_half_life(clicks, build).chosen["half_life"]
    if half_life is None:
        return _untimed(clicks), None
    if isinstance(half_life, str | bool):
        raise InputError(f'`half_life` must be days, "auto" or None. Got {half_life!r}.')
    return decayed(clicks, half_life), float(half_life)


def decayed(clicks: Any, half_life: float) -> Any:
    """Return the clicks with weights discounted by the half-life.

    Examples
    --------
    >>> decayed([("fig", "f", 1.0, 0.0), ("fig", "f", 1.0, 86400.0)], 1.0)
    [('fig', 'f', 0.5), ('fig', 'f', 1.0)]
    """
    if isinstance(clicks, Dataset):
        events = timed(clicks).decayed(half_life)
        events = events.only(events.weights >= MIN_DECAYED_WEIGHT)
        matrix = events.matrix(clicks.clicks.shape)
        return Dataset(clicks.items, clicks.queries, clicks=matrix, query_features=clicks.query_features)
    rows = timed_rows(clicks)
    weights = _events(rows).decayed(half_life).weights.tolist()
    return [
        (query, item, weight)
        for (query, item, *_), weight in zip(rows, weights, strict=True)
        if weight >= MIN_DECAYED_WEIGHT
    ]


def choose_half_life(clicks: Any, build: Build) -> Choice:
    """Select a half-life on the latest tenth of the clicks; none unless one is clearly better.

    Returns
    -------
    Choice
        The first trial is no half-life; `chosen["half_life"]` is days, or None.
    """
    train, texts, wanted, cold, span = _parted(clicks)
    trials: list[dict[str, Any]] = [
        {"half_life": None},
        *({"half_life": _round(span * share)} for share in HALF_LIFE_SHARES),
    ]
    measured = [_ranks(build(_aged(train, trial["half_life"])), texts, wanted) for trial in trials]
    return choose(trials, measured, cold, measure="MRR@10", rule=surely_better(HALF_LIFE_ERRORS, top_only=True))


def _parted(clicks: Any) -> tuple[Any, list[str], list[set[str]], NDArray[np.bool_], float]:
    """Return the earlier clicks; texts, items and kind of the later ones; and how many days the log spans."""
    if isinstance(clicks, Dataset):
        events = timed(clicks)
        train, held = split_by_time(clicks, held_out=HELD_OUT_SHARE)
        wanted = held.qrels_dict("test")
        named = dict(zip(*held.query_texts("test"), strict=True))
        cold = set(held.query_texts("cold")[0])
        ids = list(wanted)[-MAX_HELD_OUT_QUERIES:]
        answers, flags = [set(wanted[id]) for id in ids], np.array([id in cold for id in ids])
        return train, [named[id] for id in ids], answers, flags, float(np.ptp(events.times)) / SECONDS_PER_DAY
    rows = timed_rows(clicks)
    times = _events(rows).times
    cut = np.sort(times)[min(len(times) - 1, round((1 - HELD_OUT_SHARE) * len(times)))]
    early = [row for row in rows if row[3] < cut]
    later: dict[str, set[str]] = {}
    for query, item, _, time in rows:
        if time >= cut:
            later.setdefault(query, set()).add(item)
    if not early:
        raise InputError("To choose by, clicks must have different times. Got one for all of them.")
    known = {row[1] for row in early}
    texts = list(later)[-MAX_HELD_OUT_QUERIES:]
    flags = np.array([not later[text] & known for text in texts])
    return early, texts, [later[text] for text in texts], flags, float(np.ptp(times)) / SECONDS_PER_DAY


def _aged(clicks: Any, half_life: float | None) -> Any:
    return _untimed(clicks) if half_life is None else decayed(clicks, half_life)


def _untimed(clicks: Any) -> Any:
    return clicks if isinstance(clicks, Dataset) else [row[:3] for row in click_rows(clicks)]


def _events(rows: Sequence[Row]) -> ClickEvents:
    nothing = np.zeros(len(rows), np.int32)
    weights, times = click_weights([row[2] for row in rows]), click_times([row[3] for row in rows])
    return ClickEvents(nothing, nothing, weights, times)


def _ranks(model: Retriever, texts: list[str], wanted: list[set[str]]) -> NDArray[np.float64]:
    rows = model(texts, k=10).ids
    places = (
        next((1 / rank for rank, id in enumerate(row, 1) if id in want), 0.0)
        for row, want in zip(rows, wanted, strict=True)
    )
    return np.fromiter(places, np.float64, len(texts))


def _round(days: float) -> float:
    return float(f"{max(days, 1e-3):.3g}")
