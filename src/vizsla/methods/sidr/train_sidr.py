"""train_sidr: train a transformer on clicks to weigh tokens over an existing token index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla._internal.terminal import progress
from vizsla.base.queries import Queries
from vizsla.base.recipe import builds
from vizsla.base.retriever import Retriever
from vizsla.core.sparse import SparseRows
from vizsla.core.validation import validate_args
from vizsla.data.dataset import Dataset
from vizsla.encoders.sidr import SidrEncoder, sparsified
from vizsla.encoders.token_table import TokenTable
from vizsla.errors import InputError
from vizsla.export.onnx import vocabulary_onnx
from vizsla.learning.clicks import ClickLog
from vizsla.learning.distillation import Teacher
from vizsla.learning.loop import TrainingLoop, Watch
from vizsla.learning.selection import Choice, Choices, Judge, choose, harmless
from vizsla.learning.torch_vocabulary import VocabularyModel, center, train_masked
from vizsla.methods.sidr.settings import SidrSettings
from vizsla.methods.sidr.trainer import MEASURE, SidrTraining, sidr_loop
from vizsla.methods.sidr.training_data import (
    QUERIES_PER_BATCH,
    HeldOutQueries,
    Prepared,
    SidrTrainingData,
    learned_table,
    prepared,
    wordpiece_of,
)
from vizsla.methods.tokens.model import TokenRetriever
from vizsla.typing import Int64Array

ITEM_SCALE_ALONE, ITEM_SCALE_BESIDE_TOKENS = 0.1, 0.025
"""Where the scale of items' values begins: a token that an item says weighs about as much as in a list with norms; and
what ranked held-out clicks best beside tokens, for values that had not learned to stand there."""
MAX_TEXTS_SAMPLED = 200
"""Queries and items from which the head's biases begin."""


def initialized_model(
    base: TokenRetriever, training_data: SidrTrainingData, folder: str | Path, settings: SidrSettings
) -> VocabularyModel:
    """Return the model that learns; a head that the checkpoint lacks is made of its word embeddings."""
    model = VocabularyModel(
        folder, seed=settings.seed, dropout=settings.dropout, frozen_layers=settings.frozen_layers,
        item_scale=_first_item_scale(settings), learns_scales=not settings.paper,
    )  # fmt: skip
    _check_model(model, base, settings)
    if model.has_head:
        return model
    if settings.masked_steps:
        mask = int(wordpiece_of(base).vocabulary.find("[MASK]"))
        train_masked(
            model, training_data.items, training_data.held, mask, steps=settings.masked_steps, seed=settings.seed
        )
    if settings.center_bias:
        rng = np.random.default_rng(settings.seed)
        center(model, *(_drawn(rng, texts) for texts in (training_data.queries, training_data.items)))
    return model


def _first_item_scale(settings: SidrSettings) -> float:
    if settings.paper:
        return 1.0
    return ITEM_SCALE_BESIDE_TOKENS if settings.item_tokens else ITEM_SCALE_ALONE


def training_key(base: TokenRetriever, clicked: ClickLog, model: VocabularyModel, settings: SidrSettings) -> str:
    """Return what a checkpoint must share with a run that goes on from it."""
    clicks = clicked.clicks
    told = repr((clicks.shape, clicks.indptr.tolist(), clicks.indices.tolist(), clicks.data.tolist(), clicked.texts))
    return repr((base.encoder.fingerprint, _text_checksum(told), model.name, settings))


def _text_checksum(text: str) -> int:
    return int(_native.checksum(np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8)))


def _check_model(model: VocabularyModel, base: TokenRetriever, settings: SidrSettings) -> None:
    if model.tokens != base.index.dim:
        raise InputError(
            f"`model` must have the base's {base.index.dim} tokens. Got {model.tokens}: build the base with "
            "`analyzer=vizsla.text.WordPiece.open(model)`."
        )
    if model.longest < settings.max_tokens:
        raise InputError(f"`max_tokens` must be at most the model's {model.longest}. Got {settings.max_tokens}.")


def _drawn(rng: np.random.Generator, texts: list[Any]) -> list[Any]:
    return [texts[number] for number in rng.permutation(len(texts))[:MAX_TEXTS_SAMPLED].tolist()]


ITEM_SCALE_FACTORS = (0.0, 0.125, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0)
"""What is tried, in units of the scale that was learned."""
RERANKED_DEPTH = 20
"""How many items of each query are re-ranked."""
MAX_HELD_OUT_QUERIES = 400
"""How many held-out queries are asked."""


def tune_item_scale(
    model: VocabularyModel, training_data: SidrTrainingData, held: HeldOutQueries, *, tokens: int, seed: int
) -> Choice:
    """Rank what beta search finds by the items' vectors, at several scales; a scale of 0 leaves it as it was.

    Parameters
    ----------
    model : VocabularyModel
        After its training.
    training_data : SidrTrainingData
        The items.
    held : HeldOutQueries
        Of which some are drawn, cold and warm alike.
    tokens : int
        How many tokens a text's vector keeps.
    seed : int
        Draws them.
    """
    asked = held.some(MAX_HELD_OUT_QUERIES, seed)
    rows = asked.weighted(model, training_data.held, tokens)
    found = training_data.index.search(rows, RERANKED_DEPTH)
    pairs = found.row_numbers(), found.items.astype(np.int64)
    learned = _learned_scores(model, training_data, rows, pairs, tokens)
    scale, scores = float(model.item_scale.detach()), found._required_scores()
    trials = [{"item_scale": factor * scale} for factor in ITEM_SCALE_FACTORS]
    measured = [
        asked.clicked.reciprocal_ranks(found, scores + np.float32(trial["item_scale"]) * learned) for trial in trials
    ]
    return choose(trials, measured, asked.cold, measure=MEASURE, rule=harmless(0))


def _learned_scores(
    model: VocabularyModel,
    training_data: SidrTrainingData,
    rows: SparseRows,
    pairs: tuple[Int64Array, Int64Array],
    tokens: int,
) -> NDArray[np.float32]:
    """Return the product of each pair's vectors, the items' as the transformer says them, at a scale of 1."""
    queries, items = pairs
    distinct, places = np.unique(items, return_inverse=True)
    vectors = _vectors(model, training_data, distinct, tokens).to_scipy()
    product = rows.to_scipy()[queries].multiply(vectors[places])
    return np.asarray(product.sum(axis=1), np.float32).reshape(-1)


def _vectors(model: VocabularyModel, training_data: SidrTrainingData, items: Int64Array, tokens: int) -> SparseRows:
    parts, width = [], training_data.asked.width
    for start in progress(range(0, len(items), QUERIES_PER_BATCH), what="choosing the items' scale"):
        with model.no_gradients():
            encoding = model.encode(
                [training_data.items[number] for number in items[start : start + QUERIES_PER_BATCH].tolist()]
            )
        parts.append(sparsified(model.fixed_values(encoding, training_data.held), training_data.held, tokens, width))
    return SparseRows.stacked(parts, width)


@builds("train_sidr", data="dataset")
@validate_args
def train_sidr(
    base: TokenRetriever,
    dataset: Dataset,
    model: str | Path,
    *,
    answers: Mapping[str, Sequence[str]] | None = None,
    teacher: Retriever | None = None,
    checkpoint: str | Path | None = None,
    watch: Watch | None = None,
    **settings: Any,
) -> TokenRetriever:
    """Return the base with SiDR's encoder in the place of its table: beta search. Its lists are shared.

    A transformer's weights are added to those of a table of tokens. They learn to tell clicked items from those that
    beta search finds at that moment, by their tokens and, for some, by vectors of their own (section 3.3 of the paper).
    A tenth of the queries is held out; the epoch that serves them best is kept, also after Ctrl-C. Training
    needs the extra `neural`, what it returns only `onnx`.

    Parameters
    ----------
    base : TokenRetriever
        Built with `analyzer=WordPiece.open(model)`.
    dataset : Dataset
        The base's items with their texts, and clicks.
    model : path
        The folder of a BERT-like checkpoint; the head of one that has none begins as its word embeddings.
    answers : mapping of query text to texts, optional
        Items that hold one of a query's answers are not taken for wrong.
    teacher : Retriever, optional
        Whose scores of the found items are imitated too; it must be over the base's items.
    checkpoint : path, optional
        A folder where the state is kept; a run that was stopped goes on from it, to the same result.
    watch : callable, optional
        Called with a `TrainingProgress` after every step.
    **settings
        Fields of `SidrSettings`, such as `epochs` and `seed`; with ``paper=True`` the others are the paper's.
    """
    chosen = SidrSettings.of(settings)
    clicked = ClickLog.of(dataset, base.items)
    _check(base, clicked)
    if chosen.paper:
        base = base._with(index=base.index.with_norms(np.ones(len(base.items), np.float32)))
    path = _folder(checkpoint)
    ready = prepared(base, clicked, _texts(base, dataset), chosen, answers)
    learner = initialized_model(base, ready.training_data, model, chosen)
    taught = taught_by(base, teacher, clicked, chosen)
    training = SidrTraining(learner, ready.training_data, chosen, teacher=taught)
    held = ready.held if chosen.semi_parametric else None  # beta search judges only what is trained for it
    told = repr((_texts(base, dataset), None if answers is None else sorted(answers.items())))
    guides = _text_checksum(told), None if taught is None else taught.checksum
    key = repr((training_key(base, clicked, learner, chosen), *guides))
    loop = sidr_loop(training, held, key=key, checkpoint=path, watch=watch)
    loop.run()
    scale = None
    if chosen.item_tokens and ready.held is not None:
        scale = tune_item_scale(learner, ready.training_data, ready.held, tokens=chosen.tokens, seed=chosen.seed)
    made = base.with_table(_encoder(base, clicked, learner, ready, chosen, scale))
    made.report = Choices.of(epochs=None if held is None else chosen_epochs(loop, held), item_scale=scale)
    return made


def chosen_epochs(loop: TrainingLoop, held: HeldOutQueries) -> Choice:
    """Return how many epochs the loop kept, and what held-out queries were found after each."""
    values = [measured[0] for measured in loop.evaluations]
    trials = [{"epochs": number} for number in range(len(values))]
    judge = Judge.of_cold(held.cold, 0.5)  # as `HeldOutQueries.quality` weighs them
    best = int(np.flatnonzero(np.array(loop.qualities) == max(loop.qualities))[-1])
    return choose(trials, values, judge, measure=MEASURE, rule=lambda *_: best)


def _check(base: TokenRetriever, clicked: ClickLog) -> None:
    if not len(clicked):
        raise InputError("`dataset` must hold at least one click. Got none.")
    if base.learned:
        raise InputError(f"`base` must not be learned: SiDR learns a table of its own. Got {base!r}.")
    if not base.frequencies.any():
        raise InputError("`base` must hold at least one token of the model. Got items without any.")


def _folder(checkpoint: str | Path | None) -> Path | None:
    path = None if checkpoint is None else Path(checkpoint)
    if path is not None and path.exists() and not path.is_dir():
        raise InputError(f"`checkpoint` must be a folder, or new. Got {path}, which is a file.")
    return path


def _texts(base: TokenRetriever, dataset: Dataset) -> list[str]:
    """Return the texts of the base's items, in their order."""
    texts = {item.id: item.default_text() for item in dataset.items}
    lacking = [item for item in base.items if item not in texts]
    if lacking:
        raise InputError(f"`dataset` must hold the base's items. Got none with the id {lacking[0]!r}.")
    return [texts[item] for item in base.items]


def taught_by(
    base: TokenRetriever, teacher: Retriever | None, clicked: ClickLog, settings: SidrSettings
) -> Teacher | None:
    """Return the teacher of the queries' found items, where there is one."""
    if teacher is None:
        return None
    if teacher.items != base.items:
        raise InputError(f"`teacher` must be over the base's items, in their order. Got {teacher!r}.")
    return Teacher(teacher, Queries(clicked.texts), depth=max(1, settings.retrieved))


def _encoder(
    base: TokenRetriever,
    clicked: ClickLog,
    model: VocabularyModel,
    ready: Prepared,
    settings: SidrSettings,
    scale: Choice | None,
) -> SidrEncoder:
    """Return the encoder that serves: the model as ONNX, and a table of all clicks."""
    if settings.table_epochs:
        options = {"epochs": settings.served_epochs, "seed": settings.seed}
        table = learned_table(base, clicked, clicked.clicks, **options)
    else:
        table = TokenTable(base.encoder.words, np.zeros(base.index.dim, np.float32))
    tokens = ready.training_data.held
    return SidrEncoder(
        table, vocabulary_onnx(model, tokens), tokens, query_scale=float(model.query_scale.detach()),
        most=settings.tokens, max_tokens=settings.max_tokens, **_items(base, model, scale, settings),
    )  # fmt: skip


def _items(
    base: TokenRetriever, model: VocabularyModel, chosen: Choice | None, settings: SidrSettings
) -> dict[str, Any]:
    """Return what the items' vectors are made of: their tokens as they are weighed, and how much the model adds."""
    scale = float(model.item_scale.detach())
    if not settings.item_tokens:
        return {"item_scale": scale, "item_form": "full" if settings.expand_items else "lexical"}
    if chosen is not None:
        scale = float(chosen.chosen["item_scale"])
    return {"item_scale": scale, "b": base.b, "mean_length": float(base.lengths.mean())}
