"""What XR-Linear costs: training, memory, bytes on disk, and time by the query, against PECOS in both guises."""

from __future__ import annotations

from typing import Any, NamedTuple

from benchmarks.rows import Row, median
from benchmarks.xrlinear_pair import Pair

QUERIES = 1000
GUISES = {
    "word unigrams both": ({"words": True}, {"given": False}),
    "same features": ({"fitted": True}, {"given": True}),
}
"""What is compared, and how ours and PECOS are to be trained for it."""


class Task(NamedTuple):
    """What is measured: a data set's exchange, and how often."""

    name: str
    folder: str
    split: str
    rounds: int
    trainings: int


def cost_rows(task: Task, single: dict[str, float]) -> list[Row]:
    """Measure one data set; remember our time for a single query under its name in `single`."""
    rows = _default_rows(task, single)
    for guise, (ours, theirs) in GUISES.items():
        rows += _guise_rows(guise, task, ours, theirs)
    return rows


def _default_rows(task: Task, single: dict[str, float]) -> list[Row]:
    """Both as they come, from text to ids."""
    name, folder, split, rounds, _ = task
    with Pair() as pair:
        seconds, _ = _train(pair, folder, {}, {}, 1)
        pair.ask("save")
        asked = {"folder": folder, "split": split}
        query = _medians(pair, "query", rounds, count=QUERIES, **asked)
        pair.ask("fit_all_kinds", folder=folder, instances="with-items")
        rows_per_s = _medians(pair, "transform", rounds, repeats=5, **asked)
        pair.ask_ours("write_features", folder=folder, names=["with-items", split])
        single[name] = query["ours"] or 0.0
        work = f"{name}: query from Python, text to ids, beam 10, top 100"
        return [
            # Ours tries and uses more kinds of features: at equal features the rows below say who is faster.
            _row(f"{name}: training, both as they come", seconds, "CPU s", "", pair),
            _row(work, query, "us CPU", ">= 5.0", pair),
            _row(f"{name}: unigrams, bigrams and trigrams", rows_per_s, "queries/s", ">= 1.0", pair, less=False),
        ]


def _guise_rows(guise: str, task: Task, ours: dict[str, Any], theirs: dict[str, Any]) -> list[Row]:
    name, folder, split, rounds, trainings = task
    name = f"{name}, {guise}"
    with Pair() as pair:
        seconds, peak = _train(pair, folder, ours, theirs, trainings)
        size = _numbers(pair.ask("save"))
        found = pair.ask("recall", folder=folder, split=split, beam=10)
        kernel = _medians(pair, "kernel", rounds, folder=folder, split=split)
        recalls = {side: answer and answer[0] for side, answer in found.items()}
        return [
            _row(f"{name}: R@10 of what is compared", recalls, "recall", ">= 1.0", pair, less=False),
            _row(f"{name}: training", seconds, "CPU s", ">= 2.0", pair),
            _row(f"{name}: peak memory of training", peak, "MB", ">= 1.0", pair, scale=1e-6),
            _row(f"{name}: model on disk, memory-mapped", size, "MB", ">= 1.43", pair, scale=1e-6),
            _row(f"{name}: search in a batch, beam 10, top 100", kernel, "us CPU a query", ">= 3.0", pair),
        ]


def _train(
    pair: Pair, folder: str, ours: dict[str, Any], theirs: dict[str, Any], rounds: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Train both `rounds` times; return the median CPU seconds, and the memory that the first time took."""
    task = {"folder": folder, "instances": "with-items", "ours": {"cold_start": False, **ours}, "theirs": theirs}
    answers = [pair.ask("train", **task) for _ in range(rounds)]
    sides = ("ours", "theirs")
    seconds = {side: median([a[side]["seconds"] for a in answers if a[side]]) for side in sides}
    return seconds, {side: answers[0][side] and answers[0][side]["peak"] for side in sides}


def _medians(pair: Pair, what: str, rounds: int, **task: Any) -> dict[str, float | None]:
    answers = [pair.ask(what, **task) for _ in range(rounds)]
    return {side: median([a[side] for a in answers if a[side] is not None]) for side in ("ours", "theirs")}


def _numbers(answer: dict[str, Any]) -> dict[str, float | None]:
    return {side: None if value is None else float(value) for side, value in answer.items()}


def _row(
    work: str, sides: dict[str, Any], unit: str, target: str, pair: Pair, *, less: bool = True, scale: float = 1.0
) -> Row:
    ours, theirs = (None if sides[side] is None else sides[side] * scale for side in ("ours", "theirs"))
    return Row(work, ours, "PECOS", theirs, unit, target, less, pair.problem)
