"""The chosen search over all data: in memory, as an artifact, or as an engine; and the lock to build it again."""

from __future__ import annotations

import json
import platform
import tempfile
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from vizsla import __version__
from vizsla.artifacts.manifest import MANIFEST, Manifest
from vizsla.autopilot.fusing import NEW_ITEMS, SearchPlan
from vizsla.autopilot.proposals import Candidate, Workshop
from vizsla.autopilot.refinements import SCORER, RememberedVectors
from vizsla.autopilot.trials import data_digest
from vizsla.base.recipe import Recipe
from vizsla.base.retriever import Retriever
from vizsla.core.validation import as_path
from vizsla.data.dataset import Dataset
from vizsla.engine.engine import Engine
from vizsla.errors import CompositionError, InputError
from vizsla.io.builder import stored_dataset
from vizsla.methods.cold_items import ColdItemBoost

DEFAULT_MEMBER = "learned"
"""What the winner is called in an engine, where it is more than one member."""
ROWS_PER_TRANSACTION = 5000
LOCK_KEYS = {"vizsla", "python", "numpy", "seed", "data", "expression", "parts", "recipes", "digest"}


class Winner(NamedTuple):
    """A plan and the candidates that it needs, bases before what is built on them.

    Attributes
    ----------
    plan : SearchPlan
        The search.
    candidates : dict of str to Candidate
        Its parts, and their bases.
    """

    plan: SearchPlan
    candidates: dict[str, Candidate]

    @classmethod
    def of(cls, plan: SearchPlan, candidates: Mapping[str, Candidate]) -> Winner:
        """Take what a plan needs of all candidates."""
        needed: dict[str, Candidate] = {}

        def need(name: str) -> None:
            for base in candidates[name].bases:
                need(base)
            needed[name] = candidates[name]

        for part in plan.parts:
            need(part)
        return cls(plan, needed)

    def composed(self, workshop: Workshop) -> Retriever:
        """Return the search over what a workshop has built."""
        built = {name: workshop.built(name) for name in self.plan.parts}
        if NEW_ITEMS in self.plan.expression:
            first = next(iter(built.values()))
            built[NEW_ITEMS] = ColdItemBoost.of(workshop.dataset, first.items)
        if f"({SCORER}," in self.plan.expression:
            if SCORER not in workshop.bindings:
                raise InputError(f"`scorer` must be given to build {self.plan.expression}. Got none.")
            built[SCORER] = workshop.bindings[SCORER]
        return self.plan.composed(built)


def as_engine(
    winner: Winner,
    dataset: Dataset,
    path: str | Path,
    *,
    others: Mapping[str, Candidate],
    vectors: RememberedVectors | None = None,
) -> Engine:
    """Make an engine of all items and clicks, whose default member is the winner.

    Parameters
    ----------
    winner : Winner
        The selected search.
    dataset : Dataset
        All items and clicks.
    path : path
        A new folder.
    others : mapping of str to Candidate
        Candidates that become members beside it.
    vectors : RememberedVectors, optional
        What has been encoded; the engine itself gets the encoder inside.
    """
    engine = Engine.create(path, bindings={} if vectors is None else {"cache": vectors}, maintenance="manual")
    engine.add(dataset.items, batch_size=ROWS_PER_TRANSACTION)
    clicks = _clicks(dataset)
    while batch := list(islice(clicks, ROWS_PER_TRANSACTION)):
        engine.clicks(batch)
    for name, candidate in {**others, **winner.candidates}.items():
        recipe = candidate.recipe
        if vectors is not None and "encoder" in recipe.settings:
            recipe = recipe.but(encoder=vectors.encoder)
        engine.add_member(name, recipe)
    if NEW_ITEMS in winner.plan.expression:
        engine.add_member(NEW_ITEMS, Recipe.of("cold_item_boost"))
    default = winner.plan.expression
    if not winner.plan.simple:
        engine.add_member(DEFAULT_MEMBER, winner.plan.expression)
        default = DEFAULT_MEMBER
    engine.set_default(default)
    return engine


def as_stored(dataset: Dataset) -> Dataset:
    """Return a dataset as an engine would read it back: the same draws of the same seed hold out the same clicks."""
    return stored_dataset(list(dataset.items), list(_clicks(dataset)))


def _clicks(dataset: Dataset) -> Iterator[tuple[Any, ...]]:
    """Yield the clicks by text and id, with their times where they have any."""
    _, texts = dataset.query_texts()
    ids = dataset.item_ids
    if dataset.events is not None:
        for query, item, weight, time in zip(*(each.tolist() for each in dataset.events), strict=True):
            yield texts[query], ids[item], weight, time
        return
    matrix: Any = dataset.clicks.tocoo()
    for query, item, weight in zip(matrix.row.tolist(), matrix.col.tolist(), matrix.data.tolist(), strict=True):
        yield texts[query], ids[item], float(weight)


def artifact_digest(retriever: Retriever) -> str:
    """Return the checksum of a retriever as an artifact: equal content, equal digest; "" with a scorer that is code."""
    with tempfile.TemporaryDirectory(prefix="vizsla-") as folder:
        try:
            path = retriever.save(Path(folder) / "winner")
        except CompositionError:
            return ""
        return Manifest.parse((path / MANIFEST).read_bytes()).digest


def lock_of(winner: Winner, dataset: Dataset, retriever: Retriever, *, seed: int) -> dict[str, Any]:
    """Return what the winner is built from again, as JSON."""
    return {
        "vizsla": __version__, "python": platform.python_version(), "numpy": np.__version__, "seed": seed,
        "data": data_digest(dataset), "expression": winner.plan.expression, "parts": list(winner.plan.parts),
        "recipes": {name: each.recipe.to_dict() for name, each in winner.candidates.items()},
        "digest": artifact_digest(retriever),
    }  # fmt: skip


def read_lock(path: str | Path) -> dict[str, Any]:
    """Read a lock file; anything else raises InputError."""
    try:
        known = json.loads(as_path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"`replay` must be a lock file that `learn` wrote. Got {path}: {error}.") from error
    if not isinstance(known, dict) or known.keys() != LOCK_KEYS or not isinstance(known["recipes"], dict):
        raise InputError(f"`replay` must be a lock file that `learn` wrote. Got another file: {path}.")
    return known


def locked_winner(lock: Mapping[str, Any], dataset: Dataset) -> Winner:
    """Return the winner that a lock names; other data raise.

    Parameters
    ----------
    lock : mapping
        The result of `read_lock`.
    dataset : Dataset
        The same items and clicks.
    """
    found = data_digest(dataset)
    if found != lock["data"]:
        raise InputError(f"`dataset` must be that of the lock ({lock['data']}). Got {found}: learn anew.")
    recipes = {name: Recipe.from_dict(each) for name, each in lock["recipes"].items()}
    candidates = {name: Candidate(name, "locked", recipe) for name, recipe in recipes.items()}
    return Winner.of(SearchPlan(lock["expression"], tuple(lock["parts"])), candidates)
