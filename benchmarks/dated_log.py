"""A click log with dates, repeats, drift, new items and noise, drawn from data sets whose queries have known answers.

What is real: texts of items and of queries, and which item a query is about. What is drawn, with the parameters of
`LogShape`: when each search happened, how often a text is asked, what is popular when, which items are new, and which
clicks are wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from benchmarks.corpus import data_folder
from vizsla.data.dataset import SECONDS_PER_DAY, Dataset

START = 1_735_689_600.0
"""2025-01-01, in seconds since 1970."""
SETS = {"tldr": ("train", "test-seen", "test-unseen"), "debian-deps": ("train", "test"), "wordnet-senses": ("train",)}


@dataclass(frozen=True)
class LogShape:
    """How a log is drawn.

    Parameters
    ----------
    items, clicks : int
        How many there are.
    days : int
        From the first click to the last.
    held_days : int
        The last days, which are held out.
    head : float
        The exponent of popularity: the r-th text is asked r^-head as often as the first.
    drift : float
        The share of texts that are asked within a season of `season_days` only.
    season_days : int
        How long a season is.
    new_items : float
        The share of items that appear on a random day; nobody asks for them before.
    noise : float
        The share of clicks on an item drawn at random from the same set.
    seed : int
        Draws everything.
    """

    items: int = 30_000
    clicks: int = 50_000
    days: int = 150
    held_days: int = 30
    head: float = 0.4
    drift: float = 0.5
    season_days: int = 45
    new_items: float = 0.15
    noise: float = 0.08
    seed: int = 0

    def __str__(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in asdict(self).items())


class DatedLog(NamedTuple):
    """A dataset with all of the past, and the searches of the last days.

    Attributes
    ----------
    past : Dataset
        All items, and the clicks before the last days.
    texts : list of str
        The held-out searches, as they came.
    items : list of str
        The item that was clicked for each.
    """

    past: Dataset
    texts: list[str]
    items: list[str]


class _Pool(NamedTuple):
    """Items and questions of one set."""

    ids: list[str]
    records: list[dict[str, str]]
    texts: list[str]
    answers: list[int]


def dated_log(shape: LogShape, sets: Sequence[str] = tuple(SETS)) -> DatedLog:
    """Draw a log from some sets: equal shares of the clicks, and of the items as far as a set has them."""
    rng = np.random.default_rng(shape.seed)
    records: list[dict[str, str]] = []
    events: list[tuple[str, str, float]] = []
    for at, name in enumerate(sets):
        pool = _pool(name, (shape.items - len(records)) // (len(sets) - at), rng)
        records += pool.records
        events += _events(pool, shape, shape.clicks // len(sets), rng)
    events.sort(key=lambda event: event[2])
    moment = START + (shape.days - shape.held_days) * SECONDS_PER_DAY
    past = [(text, item, 1.0, time) for text, item, time in events if time < moment]
    held = [(text, item) for text, item, time in events if time >= moment]
    return DatedLog(Dataset.of(records, clicks=past), [text for text, _ in held], [item for _, item in held])


def _pool(name: str, count: int, rng: np.random.Generator) -> _Pool:
    """Draw items of a set, those that questions are about first, and the questions about them."""
    data = Dataset.open(data_folder() / name)
    pairs = [pair for split in SETS[name] if split in data.splits for pair in _pairs(data, split)]
    asked = np.unique([item for _, item in pairs])
    others = np.setdiff1d(np.arange(len(data.items)), asked)
    chosen = np.concatenate([rng.permutation(asked)[: round(0.8 * count)], rng.permutation(others)])[:count]
    place = {int(item): at for at, item in enumerate(np.sort(chosen).tolist())}
    records = [
        {"id": f"{name}:{item.id}", "title": item.title or "", "text": item.text}
        for at, item in enumerate(data.items)
        if at in place
    ]
    _, texts = data.query_texts()
    kept = [(query, place[item]) for query, item in pairs if item in place]
    kept = [kept[at] for at in np.sort(rng.permutation(len(kept))[: 3 * count]).tolist()]
    return _Pool(
        [record["id"] for record in records],
        records,
        [" ".join(texts[query].split()[:24]) for query, _ in kept],
        [item for _, item in kept],
    )


def _pairs(data: Dataset, split: str) -> Iterator[tuple[int, int]]:
    matrix: Any = data.qrels(split).tocoo()
    yield from zip(matrix.row.tolist(), matrix.col.tolist(), strict=True)


def _events(pool: _Pool, shape: LogShape, count: int, rng: np.random.Generator) -> list[tuple[str, str, float]]:
    """Draw searches day by day: by popularity, season and the items that there are by then."""
    number = len(pool.texts)
    popularity = rng.permutation((np.arange(number) + 1.0) ** -shape.head)
    season = rng.uniform(-shape.season_days, shape.days, number)
    season[rng.random(number) >= shape.drift] = -np.inf
    born = np.where(rng.random(len(pool.ids)) < shape.new_items, rng.uniform(0, shape.days, len(pool.ids)), 0.0)
    answers = np.array(pool.answers)
    events = []
    for day, searches in enumerate(rng.multinomial(count, np.full(shape.days, 1 / shape.days)).tolist()):
        in_season = np.isinf(season) | ((season <= day) & (day < season + shape.season_days))
        chances = popularity * in_season * (born[answers] <= day)
        drawn = rng.choice(number, searches, p=chances / chances.sum())
        items = answers[drawn]
        wrong = rng.random(searches) < shape.noise
        items[wrong] = rng.integers(0, len(pool.ids), int(wrong.sum()))
        times = START + (day + rng.random(searches)) * SECONDS_PER_DAY
        rows = zip(drawn.tolist(), items.tolist(), times.tolist(), strict=True)
        events += [(pool.texts[query], pool.ids[item], time) for query, item, time in rows]
    return events
