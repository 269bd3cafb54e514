"""SiDR as a candidate where a model is given: how much training the time allows, and the recipe."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from vizsla.autopilot.proposals import Candidate
from vizsla.autopilot.searches import newest_clicks
from vizsla.base.recipe import Recipe
from vizsla.core.validation import as_path
from vizsla.data.dataset import Dataset
from vizsla.errors import InputError
from vizsla.learning.loop import TrainingProgress, Watch
from vizsla.methods.sidr.settings import SidrSettings
from vizsla.methods.tokens.model import tokens
from vizsla.text.wordpiece import WordPiece

SIDR = "sidr"
TIME_SHARE = 0.12
"""The share of the time for the steps of one training. Three are made: to choose, to report, and to be used."""
MIN_STEPS = 20
"""Fewer steps teach a transformer nothing that is seen."""
PROBE_STEPS, PROBE_CLICKS = 6, 600
"""A training of so few steps on so few clicks is timed before."""


class SidrPlan(NamedTuple):
    """SiDR as a candidate, or why it is none.

    Attributes
    ----------
    candidate : Candidate, optional
        How it is trained.
    said : str
        Why it is left out; "" where it is not.
    """

    candidate: Candidate | None
    said: str = ""


def model_bindings(model: str | Path) -> dict[str, Any]:
    """Return what the recipe of a SiDR names: the folder of a BERT-like checkpoint, and its tokenizer."""
    folder = as_path(model)
    if not (folder / "config.json").is_file():
        raise InputError(f"`model` must be the folder of a BERT-like checkpoint with its tokenizer. Got {folder}.")
    return {"model": folder, "analyzer": WordPiece.open(folder)}


def sidr_plan(dataset: Dataset, bindings: dict[str, Any], seconds: float, *, seed: int = 0) -> SidrPlan:
    """Return SiDR with as many steps of training as the time allows, timed on this machine.

    Parameters
    ----------
    dataset : Dataset
        What it learns from.
    bindings : dict
        From `model_bindings`.
    seconds : float
        The time of the whole search.
    seed : int
        As for `learn`.
    """
    few, moments = newest_clicks(dataset, PROBE_CLICKS), list[float]()

    def watch(_: TrainingProgress) -> None:
        moments.append(perf_counter())

    _train(few, bindings, watch, seed)
    gaps = [later - before for before, later in pairwise(moments)]
    each = sorted(gaps)[len(gaps) // 2] if gaps else 0.0
    known = SidrSettings()
    whole = known.epochs * -(-int(dataset.clicks.nnz) // known.batch)
    steps = min(whole, int(TIME_SHARE * seconds / max(each, 1e-9)))
    if steps < min(MIN_STEPS, whole):
        return SidrPlan(None, f"a step of its training takes {each:.1f} s, so that the time allows {steps} of {whole}")
    return SidrPlan(Candidate(SIDR, SIDR, _recipe(bindings, steps, seed), True))


def _recipe(bindings: dict[str, Any], steps: int, seed: int) -> Recipe:
    base = Recipe.of("tokens", analyzer=bindings["analyzer"], epochs=0)
    settings = {"max_steps": steps, "max_tokens": _max_tokens(bindings["model"]), "seed": seed}
    return Recipe.of("train_sidr", base=base, model=bindings["model"], **settings)


def _max_tokens(model: Path) -> int:
    known = json.loads((model / "config.json").read_text("utf-8"))
    return min(SidrSettings().max_tokens, int(known.get("max_position_embeddings", 512)))


def _train(dataset: Dataset, bindings: dict[str, Any], watch: Watch, seed: int) -> None:
    """Train for a few steps, to see how long one takes."""
    from vizsla.methods.sidr.train_sidr import train_sidr

    model, base = bindings["model"], tokens(dataset, analyzer=bindings["analyzer"], epochs=0)
    train_sidr(base, dataset, model, watch=watch, max_steps=PROBE_STEPS, max_tokens=_max_tokens(model), seed=seed)
