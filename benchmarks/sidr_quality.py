"""Bags of tokens on click logs: BM25, the idf rung and the learned table, on items with and without clicks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from time import process_time

from benchmarks.rows import Row
from vizsla import Dataset, bm25, tokens
from vizsla.base.retriever import Retriever
from vizsla.evaluation.evaluate import evaluate
from vizsla.learning import train_tokens
from vizsla.learning.clicks import ClickLog
from vizsla.learning.selection import Choice
from vizsla.methods.tokens.learner import LearningSettings
from vizsla.methods.tokens.tuning import chosen_epochs
from vizsla.text import WordPiece

MEASURES = ["R@10", "R@100", "RR@10"]
TARGETS = {
    ("tldr", "test-seen"): {"R@10": 0.50},
    ("tldr", "test-unseen"): {"R@10": 0.47},
    ("squad-sent", "test-seen"): {"R@10": 0.84, "RR@10": 0.71},
    ("squad-sent", "test-unseen"): {"R@10": 0.825, "RR@10": 0.68},
}
SECONDS_AN_EPOCH, CLICKS_AN_EPOCH = 15.0, 22_000


def quality(data: Path, vocabulary: str | None, *, epochs: int | str) -> Iterator[Row]:
    """Yield a row for every method, split and measure; a limit is a peer."""
    pieces = None if vocabulary is None else WordPiece.open(vocabulary)
    for name in sorted({name for name, _ in TARGETS}):
        dataset = Dataset.open(data / name)
        base = tokens(dataset, analyzer=pieces, epochs=0)
        count = epochs
        if isinstance(count, str):
            asked = ClickLog.of(dataset, base.items)
            choice = chosen_epochs(base.with_words(asked.texts), asked, LearningSettings(), seed=0)
            yield from _tried(name, choice)
            count = int(choice.chosen["epochs"])
        start = process_time()
        learned = train_tokens(base, dataset, epochs=count) if count else base
        seconds = (process_time() - start) / max(count, 1)
        limit = SECONDS_AN_EPOCH * dataset.clicks.nnz / CLICKS_AN_EPOCH
        yield Row(f"{name}: an epoch over {dataset.clicks.nnz:,} clicks", seconds, "limit", limit, "CPU s", ">= 1.0")
        systems = {"bm25": bm25(dataset), "tokens": base, "learned": learned}
        for split in ("test-seen", "test-unseen"):
            yield from _measured(name, dataset, split, systems)


def _tried(name: str, choice: Choice) -> Iterator[Row]:
    """Yield what held-out clicks say of each number of epochs."""
    for place, trial in enumerate(choice.trials):
        mark = " (chosen)" if place == choice.best else ""
        for kind in ("cold", "warm"):
            work = f"{name}: {trial['epochs']} epochs{mark}, {kind} clicks held out"
            yield Row(work, float(trial[kind]), "none", None, choice.measure, "", False)


def _measured(name: str, dataset: Dataset, split: str, systems: dict[str, Retriever]) -> Iterator[Row]:
    for system, retriever in systems.items():
        found = evaluate(retriever, dataset, split, MEASURES).measures
        for measure in MEASURES:
            goal = TARGETS[name, split].get(measure) if system == "learned" else None
            target = "" if goal is None else ">= 1.0"
            yield Row(f"{name} {split}: {system}", found[measure], "goal", goal, measure, target, False)
