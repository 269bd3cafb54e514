"""SiDR's settings, judged by held-out train clicks alone: no test query is looked at.

Every trial is a whole training with the settings of `benchmarks.sidr_train`, and some others. Beta search, and what
its best twenty become when they are ranked anew by the items' vectors, are measured on queries that were held out;
cold ones are those whose items have no click left. Run it with `python -m benchmarks.sidr_trials [--quick] [--only NAME
...] [--set NAME] [--model FOLDER] [--max-steps N] [--checkpoint FOLDER] [--json FILE]`. A checkpoint's subfolder is
named after the trial; `benchmarks.sidr_train --checkpoint FOLDER/NAME` goes on from it where settings are the same.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from benchmarks.corpus import data_folder
from benchmarks.rows import Row
from benchmarks.sidr_command import run_command
from benchmarks.sidr_train import SETTINGS, minilm_vectors
from vizsla import Dataset, dense, tokens
from vizsla.learning.clicks import ClickLog
from vizsla.methods import TokenRetriever
from vizsla.methods.sidr.settings import SidrSettings
from vizsla.methods.sidr.train_sidr import initialized_model, taught_by, training_key, tune_item_scale
from vizsla.methods.sidr.trainer import SidrTraining, sidr_loop
from vizsla.methods.sidr.training_data import Prepared, prepared
from vizsla.text import WordPiece

Settings = dict[str, Any]


def rates(factor: float) -> Settings:
    """Return the first rates that SiDR was trained with, so many times as high."""
    return {"rate": 5e-5 * factor, "head_rate": 2e-4 * factor, "bias_rate": 2e-3 * factor}


TRIALS: dict[str, Settings] = {
    "x1": rates(1),
    "x2": rates(2),
    "x4": rates(4),
    "x8": rates(8),
    "x16": rates(16),
    "masked words first": {"masked_steps": 60},
    "minilm as teacher": {},
}


def main() -> None:
    run_command("sidr_trials", _rows, _own, steps=200, quick={"only": ["x1", "x8"]}, trials=TRIALS)


def _own(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--checkpoint", metavar="FOLDER", help="keep the states here, and go on from them")


def _rows(options: argparse.Namespace, model: str) -> Iterator[Row]:
    dataset = Dataset.open(data_folder() / options.set)
    base = tokens(dataset, analyzer=WordPiece.open(model), epochs=0)
    clicked = ClickLog.of(dataset, base.items)
    texts = [item.default_text() for item in dataset.items]
    ready = prepared(base, clicked, texts, SidrSettings(**SETTINGS))
    for name in options.only or TRIALS:
        settings = SidrSettings(**{**SETTINGS, "max_steps": options.max_steps, **TRIALS[name]})
        teacher = dense(dataset, minilm_vectors(options.set, dataset)["minilm"]) if "teacher" in name else None
        yield from _trial(options, name, (base, clicked, ready), model, settings, teacher)


def _trial(
    options: argparse.Namespace, name: str, data: tuple[TokenRetriever, ClickLog, Prepared], model: str,
    settings: SidrSettings, teacher: Any,
) -> Iterator[Row]:  # fmt: skip
    start = process_time()
    base, clicked, ready = data
    learner = initialized_model(base, ready.training_data, model, settings)
    taught = taught_by(base, teacher, clicked, settings)
    key = repr((training_key(base, clicked, learner, settings), type(teacher).__name__, None))
    path = Path(options.checkpoint) / name.replace(" ", "-") if options.checkpoint else None
    training = SidrTraining(learner, ready.training_data, settings, teacher=taught)
    run = sidr_loop(training, ready.held, key=key, checkpoint=path)
    run.run()
    yield Row(f"{name}: training", process_time() - start, "none", None, "CPU s")
    assert ready.held is not None
    for when, values in zip(("before", "after"), (run.evaluations[0][0], run.evaluations[-1][0]), strict=True):
        for kind, cold in (("cold", True), ("warm", False)):
            mean = float(np.mean(values[ready.held.cold == cold]))
            yield Row(f"{name}: beta, {kind}, {when}", mean, "none", None, "MRR@10", "", False)
    choice = tune_item_scale(learner, ready.training_data, ready.held, tokens=settings.tokens, seed=settings.seed)
    for place, trial in enumerate(choice.trials):
        mark = " (chosen)" if place == choice.best else ""
        for kind in ("cold", "warm"):
            work = f"{name}: anew by vectors, scale {trial['item_scale']:.4f}{mark}, {kind}"
            yield Row(work, float(trial[kind]), "none", None, "MRR@10", "", False)


if __name__ == "__main__":
    main()
