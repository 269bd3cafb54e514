"""`train_jpq` and `jpq`: a coded index trained on clicks, on a teacher's scores, or on both."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from vizsla.base.encoder import Encoder
from vizsla.base.recipe import builds
from vizsla.base.retriever import Retriever
from vizsla.core.validation import validate_args
from vizsla.data.dataset import Dataset
from vizsla.encoders.adapted import AdaptedEncoder
from vizsla.encoders.batching import encode_items
from vizsla.errors import InputError, check_positive, check_range
from vizsla.indexes.dense_index import StoredIndex
from vizsla.indexes.flat import FlatIndex
from vizsla.indexes.pq.click_flag import marked_index
from vizsla.indexes.pq.pq_index import DEFAULT_ROUNDS, PqIndex
from vizsla.learning.clicks import ClickLog
from vizsla.learning.data import pseudo_queries
from vizsla.learning.loop import Watch
from vizsla.learning.selection import ChoiceWarning
from vizsla.learning.splits import COLD_SHARE, LogSplit, log_splits, too_few, too_few_message
from vizsla.methods.dense import Dense
from vizsla.methods.jpq.model import Jpq
from vizsla.methods.jpq.query_adapter import DEFAULT_MODEL_RATE, QueryModel, holding_back
from vizsla.methods.jpq.run import JpqRun, Trained
from vizsla.methods.jpq.settings import PAPER_RATE, STAGES, JpqSettings, paper_numbers
from vizsla.methods.jpq.training_data import (
    HeldOutClicks,
    JpqTrainingData,
    JpqTrial,
    log_and_queries,
    lost_clicks,
    training_data_of,
    unspoilt,
)

AUTO = "auto"
MODEL_BATCH = 64
"""Queries a step where a transformer learns, unless told otherwise."""
CLICK_LOSS_WEIGHTS = (0.3, 0.7)
"""Of the click loss, to choose from on held-out clicks."""
CLICKED_MARGINS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25)
"""Of items with clicks, to choose from."""
DEFAULT_REASSIGNMENTS = 1
"""What "auto" takes where codes are short."""
MAX_SHORT_CODE_BYTES = 8
"""Most bytes an item where codes that follow gain: with 16 they do not, on held-out clicks."""


@builds("train_jpq", data="clicks")
@validate_args
def train_jpq(
    base: Dense,
    clicks: Any = None,
    *,
    queries: Iterable[str] | None = None,
    teacher: Retriever | None = None,
    model: QueryModel | str | Path | None = None,
    click_loss_weight: float | str = AUTO,
    clicked_margin: float | str = 0.0,
    reassignments: int | str = 0,
    cold: float = COLD_SHARE,
    paper: bool = False,
    checkpoint: str | Path | None = None,
    watch: Watch | None = None,
    threads: int = 1,
    **settings: Any,
) -> Jpq:
    """Train the centroids of a coded index together with an adapter on the query vector.

    Codes are fixed, as in the paper, unless `reassignments` is above 0 or "auto".

    The loss is a mixture: clicks should rank first (on the scores that the codes give, against the best irrelevant
    items that a search finds at that very step), and the shares of a teacher's best items should be kept, so that items
    without clicks do not suffer. How much of each, and for how long, is chosen on held-out clicks.

    Parameters
    ----------
    base : Dense
        A dense retriever over a `PqIndex`; it is not changed.
    clicks : Dataset or iterable, optional
        A Dataset, or (query text, item id) pairs with or without a weight. Without clicks only the teacher is followed.
    queries : iterable of str, optional
        More queries, such as a log without clicks. With neither, pieces of the items' texts serve.
    teacher : Retriever, optional
        Any retriever over the same items, such as the uncompressed one or PEFA over it. Unless given, the texts of a
        Dataset in `clicks` are encoded; where there is none, only clicks are learned from.
    model : path or QueryModel, optional
        Train the transformer behind the base's encoder in place of a matrix, and write it to this new folder (extra
        `neural`). A QueryModel says its learning rate and device, too.
    click_loss_weight : float or "auto"
        The click loss's share, from 0 to 1.
    clicked_margin : float or "auto"
        What items with clicks must be better by, in spreads of a query's best scores, so that training does not favor
        them: above 0, one sub-space is coded again, and a bit in it marks items with clicks. "auto" takes what lets the
        worse of warm and cold held-out queries lose least against uncompressed items. The teacher must hold these.
    reassignments : int or "auto"
        After how many epochs the codes of clicked items are reassigned; see `JpqSettings`. "auto" is 1 where items
        have at most 8 bytes, there are clicks, `stage` is the last one and no transformer learns; elsewhere, and with
        `paper`, it is 0: codes are fixed.
    cold : float in [0, 1]
        The share of queries to come whose items have no clicks yet.
    paper : bool
        Begin with the paper's numbers for the index's sub-spaces instead of ours: LambdaRank, 200 negatives, batches of
        32, rates of 5e-6 to 1e-4, no synthetic queries or clicked_margin; and with its arithmetic: see
        `JpqSettings.paper`. The numbers are for half a million queries.
    checkpoint : path, optional
        A folder for the state after every epoch; the same call goes on from it.
    watch : callable, optional
        Called with a `TrainingProgress` after every step.
    threads : int
        How many queries the teacher answers at a time.
    **settings
        Other fields of `JpqSettings`, such as `epochs`, `loss`, `stage`, `negatives` or `seed`.
    """
    run = prepared_run(
        base, clicks, queries=queries, teacher=teacher, model=model, click_loss_weight=click_loss_weight,
        clicked_margin=clicked_margin, reassignments=reassignments, cold=cold, paper=paper, checkpoint=checkpoint,
        watch=watch, threads=threads, **settings,
    )  # fmt: skip
    return trained_retriever(base, run, run.run())


DEFAULT_CODE_BYTES, DEFAULT_CODE_BITS = 32, 8
"""Of the codes that `jpq` makes of vectors, unless told otherwise."""


@builds("jpq", data="clicks")
@validate_args
def jpq(
    base: Dense,
    clicks: Any = None,
    *,
    bytes: int = DEFAULT_CODE_BYTES,
    bits: int = DEFAULT_CODE_BITS,
    rounds: int = DEFAULT_ROUNDS,
    teacher: Retriever | None = None,
    clicked_margin: float | str | None = None,
    reassignments: int | str | None = None,
    seed: int = 0,
    threads: int = 1,
    **options: Any,
) -> Jpq:
    """Compress a dense retriever by OPQ and train the codes on clicks; existing codes are only trained.

    Parameters
    ----------
    base : Dense
        A dense retriever that holds its vectors, which are compressed, or one over a `PqIndex`.
    clicks : Dataset or iterable, optional
        As in `vizsla.learning.train_jpq`.
    bytes, bits : int
        Bytes per item, and bits per code: 8 or 4; see `PqIndex.build`. A coded base has its own.
    rounds : int
        Rounds of OPQ before the training.
    teacher : Retriever, optional
        Which retriever to imitate instead of a base with vectors: PEFA over it, for example.
    clicked_margin : float or "auto", optional
        As in `train_jpq`; "auto" for a base with vectors unless given, and 0 for codes.
    reassignments : int or "auto", optional
        As in `train_jpq`; "auto" for a base with vectors unless given, and 0 for codes.
    seed : int
        Fixes the codebook and the order of training.
    threads : int
        For coding, and for the teacher's searches.
    **options
        Options of `train_jpq`, such as `queries`, `click_loss_weight` or `epochs`.

    Examples
    --------
    >>> from vizsla.encoders.lsa import LsaEncoder
    >>> from vizsla.methods.dense import dense
    >>> texts = [f"{size} {color} {thing}" for size in ("big", "small") for color in ("red", "blue", "green")
    ...          for thing in ("fig", "pear", "plum", "apple")]
    >>> lsa = dense(texts, LsaEncoder.fit(texts, dim=8))
    >>> small = jpq(lsa, [("crimson apple", "3")], bytes=2, bits=4, click_loss_weight=0.5, epochs=1, stop=1)
    >>> small.index.compression, small("big red apple", k=1).ids
    (16.0, [['3']])
    """
    if isinstance(base.index, PqIndex):
        if (bytes, bits, rounds) != (DEFAULT_CODE_BYTES, DEFAULT_CODE_BITS, DEFAULT_ROUNDS):
            raise InputError("`bytes`, `bits` and `rounds` must be left alone: the base holds codes. Got others.")
        how: dict[str, Any] = {"clicked_margin": clicked_margin or 0.0, "reassignments": reassignments or 0}
        return train_jpq(base, clicks, teacher=teacher, seed=seed, threads=threads, **how, **options)
    rows = base.item_rows()
    index = PqIndex.build(rows, bytes=bytes, bits=bits, rounds=rounds, seed=seed, threads=threads)
    coded = Dense(base.items, base.encoder, index)
    how = {
        "clicked_margin": AUTO if clicked_margin is None else clicked_margin,
        "reassignments": AUTO if reassignments is None else reassignments,
    }
    taught = base if teacher is None else teacher
    return train_jpq(coded, clicks, teacher=taught, seed=seed, threads=threads, **how, **options)


def prepared_run(
    base: Dense,
    clicks: Any = None,
    *,
    queries: Iterable[str] | None = None,
    teacher: Retriever | None = None,
    model: QueryModel | str | Path | None = None,
    click_loss_weight: float | str = AUTO,
    clicked_margin: float | str = 0.0,
    reassignments: int | str = 0,
    cold: float = COLD_SHARE,
    paper: bool = False,
    checkpoint: str | Path | None = None,
    watch: Watch | None = None,
    threads: int = 1,
    **settings: Any,
) -> JpqRun:
    """Read what `train_jpq` is given, and return the training that it runs."""
    index = _coded(base)
    check_range("cold", cold, 0, 1)
    side = (
        None if model is None else QueryModel.of(model, base.encoder, rate=PAPER_RATE if paper else DEFAULT_MODEL_RATE)
    )
    teacher = _teacher(base, clicks, teacher)
    log, asked = log_and_queries(clicks, queries, base.items, base.encoder)
    if not len(asked):
        _, asked = log_and_queries(None, _item_pieces(clicks, base), base.items, base.encoder)
    first = paper_numbers(index.codebook.subspaces) if paper else {} if side is None else {"batch": MODEL_BATCH}
    given = {**first, **settings}
    given["reassignments"] = 0 if reassignments == AUTO and (paper or side is not None) else reassignments
    how = _settings(click_loss_weight, log, teacher, _with_reassignments(given, index, log))
    vectors = _vectors(base, teacher, how)
    split = _split(log, cold, how)
    clicked_margin = 0.0 if paper and clicked_margin == AUTO else clicked_margin
    how, clicked_margins = _with_clicked_margin(how, clicked_margin, log, vectors, chosen=split is not None)
    training_data = training_data_of(
        log,
        asked,
        base.encoder,
        teacher,
        depth=how.depth,
        threads=check_positive("threads", threads),
        unit=not how.paper,
    )  # fmt: skip
    click_loss_weights = CLICK_LOSS_WEIGHTS if click_loss_weight == AUTO and 0 < how.stage_click_loss_weight < 1 else ()
    marked = trial = None
    if log is not None and clicked_margins:
        marked = marked_index(index, vectors, log.clicked, seed=how.seed)
    if log is not None and split is not None:
        left = unspoilt(training_data.without(log, split), teacher, lost_clicks(log, split, base.items), how.depth)
        trial = _trial(index, left, HeldOutClicks.of(log, split), split, vectors if clicked_margins else None, how)
    return JpqRun(
        index, training_data, how, marked=marked,
        click_loss_weights=click_loss_weights, clicked_margins=clicked_margins, trial=trial, vectors=vectors,
        checkpoint=None if checkpoint is None else _folder(Path(checkpoint)), watch=watch, side=side,
    )  # fmt: skip


def trained_retriever(base: Dense, run: JpqRun, trained: Trained) -> Jpq:
    """Return the base with what a run trained."""
    index = trained.coded
    if trained.settings.trains_centroids:
        index = index.with_centroids(trained.centroids)
    encoder = run.side.trained(base.encoder, trained.query_side)
    if index.dim > encoder.dim:
        encoder = holding_back(encoder, trained.mark_weight)
    return Jpq(base.items, encoder, index, trained.settings, choice=run.choice)


def _folder(path: Path) -> Path:
    """Create the checkpoint folder before the training starts."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"`checkpoint` must be a folder that can be made. Got {path}: {error.strerror}.") from error
    return path


def _coded(base: Any) -> PqIndex:
    index = base.index if isinstance(base, Dense) else None
    if not isinstance(base, Dense) or not isinstance(index, PqIndex):
        raise InputError(f"`base` must be dense, over a PqIndex. Got {base!r}: `jpq` compresses and trains at once.")
    if index.dim > _own(base.encoder).dim:
        advice = "call `jpq` on the uncompressed retriever again"
        raise InputError(f"`base` must have codes without marks of items with clicks. Got {base!r}: {advice}.")
    return index


def _own(encoder: Encoder) -> Encoder:
    """Return the encoder that made the items' vectors."""
    while isinstance(encoder, AdaptedEncoder):
        encoder = encoder.base
    return encoder


def _teacher(base: Dense, clicks: Any, teacher: Retriever | None) -> Retriever | None:
    """Return the given teacher, or exact search over what the encoder makes of a dataset's items."""
    if teacher is not None:
        if teacher.items != base.items:
            raise InputError("`teacher` must be over the base's items, in their order. Got another catalog.")
        return teacher
    if not isinstance(clicks, Dataset) or clicks.item_ids != base.items:
        return None
    vectors = encode_items(base.encoder, (item.default_text() for item in clicks.items))
    return Dense(base.items, base.encoder, FlatIndex.build(vectors))


def _item_pieces(clicks: Any, base: Dense) -> Iterable[str]:
    if isinstance(clicks, Dataset) and len(clicks.items):
        return pseudo_queries(item.default_text() for item in clicks.items)
    wanted = "clicks, queries, or a Dataset whose items have texts (on the command line --clicks or --query-log)"
    raise InputError(f"`clicks` or `queries` must be there to train on: {wanted}. Got none.")


def _settings(
    click_loss_weight: float | str, log: ClickLog | None, teacher: Retriever | None, given: dict[str, Any]
) -> JpqSettings:
    """Check that the share fits what there is to learn from, and make settings of it."""
    if log is None or teacher is None:
        if log is None and teacher is None:
            raise InputError("`teacher` must be given where there are no clicks. Got None.")
        possible = 0.0 if log is None else 1.0
        if click_loss_weight not in (AUTO, possible):
            missing = "clicks" if log is None else "a teacher"
            advice = "give `clicks`" if log is None else "give `teacher`, such as the uncompressed retriever"
            raise InputError(
                f"`click_loss_weight` must be {possible:g} without {missing}. Got {click_loss_weight!r}: {advice}."
            )
        click_loss_weight = possible
    if isinstance(click_loss_weight, str) and click_loss_weight != AUTO:
        raise InputError(f'`click_loss_weight` must be a number or "auto". Got {click_loss_weight!r}.')
    return JpqSettings(click_loss_weight=0.5 if isinstance(click_loss_weight, str) else click_loss_weight, **given)


def _with_reassignments(given: dict[str, Any], index: PqIndex, log: ClickLog | None) -> dict[str, Any]:
    """Return settings with a number of reassignments: "auto" is for short codes, clicks, and the whole method."""
    if given["reassignments"] != AUTO:
        return given
    follow = index.bytes <= MAX_SHORT_CODE_BYTES and log is not None and given.get("stage", STAGES[-1]) == STAGES[-1]
    return given | {"reassignments": DEFAULT_REASSIGNMENTS if follow else 0}


def _with_clicked_margin(
    settings: JpqSettings, clicked_margin: float | str, log: ClickLog | None, vectors: Any, *, chosen: bool
) -> tuple[JpqSettings, tuple[float, ...]]:
    """Return the settings with a clicked margin, and those to choose from; none where it is not needed."""
    clicked = None if log is None or vectors is None else log.clicked
    if clicked_margin == AUTO:
        return settings, CLICKED_MARGINS if chosen and clicked is not None and not clicked.all() else ()
    number: Any = clicked_margin  # what is no number, the settings refuse
    settings = replace(settings, clicked_margin=number)
    if clicked is None and settings.clicked_margin > 0:
        raise InputError(
            f"`clicked_margin` must be 0 without clicks and a teacher with vectors. Got {clicked_margin!r}."
        )
    return settings, (settings.clicked_margin,) if settings.clicked_margin > 0 else ()


def _trial(
    index: PqIndex, left: JpqTrainingData, held: HeldOutClicks, split: LogSplit, vectors: Any, settings: JpqSettings
) -> JpqTrial:
    """Return the trial on held-out clicks; with vectors, against these, and with the items that keep a click marked."""
    if vectors is None:
        return JpqTrial(left, held, index)
    marked = marked_index(index, vectors, split.train.clicked, seed=settings.seed)
    return JpqTrial(left, held, marked, held.uncompressed(vectors))


def _split(log: ClickLog | None, cold: float, settings: JpqSettings) -> LogSplit | None:
    """Hold clicks out for the selection; warn if there are too few."""
    if log is None or settings.stop is not None:
        return None
    if too_few(log):
        warnings.warn(f"{too_few_message(log)}. All epochs are taken.", ChoiceWarning, stacklevel=4)
        return None
    split = next(iter(log_splits(log, cold=cold, seed=settings.seed)))
    return split if len(split.train) else None


def _vectors(base: Dense, teacher: Retriever | None, settings: JpqSettings) -> Any:
    """Return uncompressed items where the teacher, or the base of it, holds them: by the encoder of the codes."""
    held: Any = teacher if isinstance(teacher, Dense) else getattr(teacher, "base", None)
    stored = isinstance(held, Dense) and isinstance(held.index, StoredIndex)
    if stored and _own(held.encoder).fingerprint == _own(base.encoder).fingerprint:
        return np.asarray(held.item_rows(), np.float32)
    if settings.stage == "negatives":
        raise InputError('`teacher` must hold the items\' vectors for the stage "negatives". Got another.')
    return None
