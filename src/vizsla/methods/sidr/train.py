"""Trains SiDR's encoder on clicks: a transformer learns to weigh tokens for the bags that are there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vizsla.checked import checked
from vizsla.dataset import Dataset
from vizsla.encoders.sidr import SidrEncoder
from vizsla.encoders.token_table import TokenTable
from vizsla.errors import InputError
from vizsla.export.vocabulary_export import vocabulary_onnx
from vizsla.methods.bag.clicked import Clicked
from vizsla.methods.bag.model import Bag
from vizsla.methods.sidr.begin import begun_model, training_key
from vizsla.methods.sidr.item_scale import chosen_item_scale
from vizsla.methods.sidr.prepare import Prepared, prepared
from vizsla.methods.sidr.run import SidrRun
from vizsla.methods.sidr.settings import SidrSettings
from vizsla.methods.sidr.tables import learned_table
from vizsla.methods.sidr.training import SidrTraining
from vizsla.queries import Queries
from vizsla.recipe import builds
from vizsla.retriever import Retriever
from vizsla.training.teacher import Teacher
from vizsla.training.vocabulary_model import VocabularyModel
from vizsla.training.watched import Watch


@builds("train_sidr", data="dataset")
@checked
def train_sidr(
    bag: Bag,
    dataset: Dataset,
    model: str | Path,
    *,
    answers: Mapping[str, Sequence[str]] | None = None,
    teacher: Retriever | None = None,
    checkpoint: str | Path | None = None,
    watch: Watch | None = None,
    **settings: Any,
) -> Bag:
    """Return the bag with SiDR's encoder in the place of its table: beta search. Its lists are shared.

    A transformer's weights are added to those of a table of tokens. They learn to tell clicked items from those that
    beta search finds at that moment, by their bags and, for some, by vectors of their own (section 3.3 of the paper).
    A tenth of the queries is held out; the epoch that serves them best is kept. Training needs the extra `neural`,
    what it returns only `onnx`.

    Parameters
    ----------
    bag : Bag
        Built with `analyser=WordPiece.open(model)`.
    dataset : Dataset
        The bag's items with their texts, and clicks.
    model : path
        The folder of a BERT-like checkpoint; the head of one that has none begins as its word embeddings.
    answers : mapping of query text to texts, optional
        Items that hold one of a query's answers are not taken for wrong.
    teacher : Retriever, optional
        Whose scores of the found items are imitated too; it must be over the bag's items.
    checkpoint : path, optional
        A folder where the state is kept; a run that was stopped goes on from it, to the same result.
    watch : callable, optional
        Called with a `Watched` after every step.
    **settings
        Of `SidrSettings`, such as `epochs` and `seed`.
    """
    chosen = SidrSettings(**settings)
    clicked = Clicked.of(dataset, bag.items)
    _check(bag, clicked)
    path = _folder(checkpoint)
    ready = prepared(bag, clicked, _texts(bag, dataset), chosen, answers)
    learner = begun_model(bag, ready.lessons, model, chosen)
    taught = taught_by(bag, teacher, clicked, chosen)
    training = SidrTraining(learner, ready.lessons, chosen, teacher=taught)
    held = ready.held if chosen.semi_parametric else None  # beta search judges only what is trained for it
    guides = type(teacher).__name__, None if answers is None else len(answers)
    key = repr((training_key(bag, clicked, learner, chosen), *guides))
    SidrRun(training, held, key=key, checkpoint=path, watch=watch).run()
    return bag.with_table(_encoder(bag, clicked, learner, ready, chosen))


def _check(bag: Bag, clicked: Clicked) -> None:
    if not len(clicked):
        raise InputError("`dataset` must hold at least one click. Got none.")
    if bag.learned:
        raise InputError(f"`bag` must not be learned: SiDR learns a table of its own. Got {bag!r}.")
    if not bag.frequencies.any():
        raise InputError("`bag` must hold at least one token of the model. Got items without any.")


def _folder(checkpoint: str | Path | None) -> Path | None:
    path = None if checkpoint is None else Path(checkpoint)
    if path is not None and path.exists() and not path.is_dir():
        raise InputError(f"`checkpoint` must be a folder, or new. Got {path}, which is a file.")
    return path


def _texts(bag: Bag, dataset: Dataset) -> list[str]:
    """Return the texts of the bag's items, in their order."""
    texts = {item.id: item.default_text() for item in dataset.items}
    lacking = [item for item in bag.items if item not in texts]
    if lacking:
        raise InputError(f"`dataset` must hold the bag's items. Got none with the id {lacking[0]!r}.")
    return [texts[item] for item in bag.items]


def taught_by(bag: Bag, teacher: Retriever | None, clicked: Clicked, settings: SidrSettings) -> Teacher | None:
    """Return the teacher of the queries' found items, where there is one."""
    if teacher is None:
        return None
    if teacher.items != bag.items:
        raise InputError(f"`teacher` must be over the bag's items, in their order. Got {teacher!r}.")
    return Teacher(teacher, Queries(clicked.texts), depth=max(1, settings.retrieved))


def _encoder(
    bag: Bag, clicked: Clicked, model: VocabularyModel, ready: Prepared, settings: SidrSettings
) -> SidrEncoder:
    """Return the encoder that serves: the model as ONNX, and a table of all clicks."""
    if settings.table_epochs:
        options = {"epochs": settings.served_epochs, "seed": settings.seed}
        table = learned_table(bag, clicked, clicked.clicks, **options)
    else:
        table = TokenTable(bag.encoder.bag, np.zeros(bag.index.dim, np.float32))
    tokens = ready.lessons.held
    return SidrEncoder(
        table, vocabulary_onnx(model, tokens), tokens, query_scale=float(model.query_scale.detach()),
        most=settings.tokens, max_tokens=settings.max_tokens, **_items(bag, model, ready, settings),
    )  # fmt: skip


def _items(bag: Bag, model: VocabularyModel, ready: Prepared, settings: SidrSettings) -> dict[str, Any]:
    """Return what the items' vectors are made of: their bags as they are weighed, and how much the model adds."""
    scale = float(model.item_scale.detach())
    if not settings.item_bags:
        return {"item_scale": scale}
    if ready.held is not None:
        choice = chosen_item_scale(model, ready.lessons, ready.held, tokens=settings.tokens, seed=settings.seed)
        scale = float(choice.chosen["item_scale"])
    return {"item_scale": scale, "b": bag.b, "mean_length": float(bag.lengths.mean())}
