"""Training steps of JPQ: adapter, centroids, codes, and a transformer on the query side."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla._internal.lazy import cached_property
from vizsla.errors import FormatError, InputError
from vizsla.indexes.pq.click_flag import mark_length, marked_centroids
from vizsla.indexes.pq.pq_index import PqIndex
from vizsla.learning.code_scores import CodeScores, QueryTables, VectorScores
from vizsla.learning.data import Positives, union
from vizsla.learning.distillation import Teacher, distillation, log_shares
from vizsla.learning.loop import Training, TrainingState
from vizsla.learning.losses import LOSSES, in_pieces, lambdarank_all
from vizsla.learning.negatives import SyntheticQueries, mine_hard_negatives
from vizsla.learning.optimizers import AdamW, clipped, rate_factor
from vizsla.learning.recoding import CodeGradients, recoded
from vizsla.learning.torch_encoder import TorchQueryEncoder
from vizsla.methods.jpq.settings import JpqSettings
from vizsla.typing import Float32Array, Int32Array, Int64Array

QUERIES_PER_PIECE = 256
"""Queries that are looked at together."""

MAX_RECODING_QUERIES = 50_000
"""Queries that say how items are coded again, at most."""


def clicked_gradients(training: JpqTraining) -> CodeGradients:
    """Return the loss's derivatives by the scores of clicked items, over the queries of a training as it is now."""
    asked, clicked = np.arange(len(training.rows)), _clicked(training.relevant, training.scores.items)
    if len(asked) > MAX_RECODING_QUERIES:
        rng = np.random.default_rng(training.settings.seed)
        asked = np.sort(rng.choice(asked, MAX_RECODING_QUERIES, replace=False))
    return CodeGradients.joined(
        [
            _seen_by(training, asked[at : at + QUERIES_PER_PIECE], clicked)
            for at in range(0, len(asked), QUERIES_PER_PIECE)
        ]
    )


def _seen_by(training: JpqTraining, numbers: Int64Array, clicked: NDArray[np.bool_]) -> CodeGradients:
    """Return the same by some queries, and by as many synthetic ones as a step has beside them."""
    pick = np.random.default_rng([training.settings.seed, 2, training.steps_done, int(numbers[0])])
    asked, parts = training.losses(numbers, training.looked_at(numbers), pick)
    pairs = [_pairs(training, asked, part, clicked) for part in parts]
    queries, items, slopes, curvatures = (np.concatenate(arrays) for arrays in zip(*pairs, strict=True))
    return CodeGradients(asked.rotated, queries, items, *(len(asked.rows) * np.stack([slopes, curvatures])))


def _pairs(
    training: JpqTraining, asked: QueryTables, part: LossPart, clicked: NDArray[np.bool_]
) -> tuple[NDArray[Any], ...]:
    """Return queries, clicked items of their lists, and the loss's derivatives by their scores.

    The curvature is that of a softmax, p (1 - p) where an item has the share p of its list, whatever the loss.
    """
    listed = part.by_score != 0
    at = np.nonzero(clicked[part.items] & listed)
    shares = np.exp(log_shares(training.scale * training.learned.of(asked, part.items), listed)[at])
    curvatures = part.weight * training.scale**2 / part.queries * shares * (1 - shares)
    return at[0], part.items[at], part.by_score[at].astype(np.float32), curvatures.astype(np.float32)


def _clicked(relevant: Positives, items: int) -> NDArray[np.bool_]:
    found = np.zeros(items, np.bool_)
    found[relevant.items[relevant.weights > 0]] = True
    return found


SPREAD_SAMPLE_QUERIES = 256
"""Queries whose answers say how far scores lie apart."""


class LossPart(NamedTuple):
    """A part of the loss, its derivatives by the scores of listed items, and how many queries it is the mean of."""

    loss: float
    items: Int32Array
    by_score: NDArray[np.float64]
    weight: float
    queries: int


class JpqTraining(Training):
    """Trains an adapter on query vectors together with the centroids of coded items.

    Codes are fixed, unless `JpqSettings.reassignments` lets those of clicked items follow.

    Parameters
    ----------
    index : PqIndex
        The coded items.
    rows : float32 array, queries × dimensions
        What the base encoder makes of the queries. An index of marked items has one dimension more, which no query of
        a step uses: what clicked items must be better by is not learned, but chosen afterwards.
    settings : JpqSettings
        How to train.
    relevant : Positives, optional
        Relevant items per query; without it, only the teacher is followed.
    teacher : Teacher, optional
        The teacher to imitate on the same queries.
    vectors : float32 array, items × dimensions, optional
        Uncompressed items, for synthetic queries, which are less true without them, and for the stage "negatives".
    """

    def __init__(
        self,
        index: PqIndex,
        rows: Float32Array,
        settings: JpqSettings,
        *,
        relevant: Positives | None = None,
        teacher: Teacher | None = None,
        vectors: Float32Array | None = None,
    ):
        super().__init__(settings, len(rows))
        self.index = self.start = index
        self.dim, self.marked = rows.shape[1], index.dim > rows.shape[1]
        self.rows, self.teacher = widened(rows, self.marked), teacher
        self.relevant = _without_clicks(len(rows)) if relevant is None else relevant
        self._check(index, relevant, vectors)
        self.scores = CodeScores.of_index(index)
        self.original = None if vectors is None else VectorScores(widened(vectors, self.marked), self.scores)
        self.synthetic_queries = self._synthetic(index, vectors)
        decay: dict[str, Any] = {"decay": settings.decay, "to_zero": settings.paper}
        self.adapter = AdamW(self.scores.adapter, rate=settings.adapter_rate, **decay)
        self.centroids = AdamW(self.scores.centroids, rate=settings.centroid_rate, **decay)
        self.spread = self._spread()
        self.scale = 1.0 if settings.paper else settings.sharpness / self.spread
        self._longest = np.inf if settings.paper else settings.clip
        self._mark_length = mark_length(index) if self.marked else 1.0

    def _begin_epoch(self, number: int) -> None:
        if 0 < number <= self.settings.reassignments:
            self.recode()

    def step(self, numbers: Int64Array) -> float:
        """Learn from these queries; return their loss before the step."""
        numbers = np.sort(numbers)
        pick = np.random.default_rng([self.settings.seed, 1, self.steps_done])
        asked, parts = self.losses(numbers, self._encoded(numbers), pick)
        items = np.concatenate([part.items for part in parts], axis=1)
        by_score = np.concatenate([part.by_score for part in parts], axis=1)
        schedule = rate_factor(self.steps_done, self.steps, warm_up=self.settings.warm_up)
        factor = 1.0 if self.settings.paper else schedule
        by_centroid = self._taught(asked, items, by_score, len(numbers), factor)
        if self.settings.trains_centroids:
            self.centroids.step(by_centroid, factor=factor)
        self.steps_done += 1
        return sum(part.loss for part in parts)

    def recode(self) -> None:
        """Let the codes of clicked items follow what was learned; those of others stay, as a new item's would."""
        allowed = marked_centroids(self.index) if self.marked else None
        self._take_codes(recoded(self.scores.centroids, self.scores.codes.T, clicked_gradients(self), allowed=allowed))

    def _take_codes(self, codes: NDArray[np.uint8]) -> None:
        self.index = self.index.with_codes(codes)
        self.scores.take_codes(self.index)

    def looked_at(self, numbers: Int64Array) -> Float32Array:
        """Return the vectors of these queries as they are now, where nothing is learned from them."""
        return self.rows[numbers, : self.dim]

    def _taught(
        self, asked: QueryTables, items: Int32Array, by_score: NDArray[np.float64], real: int, factor: float
    ) -> Float32Array:
        """Let the query side take a step, and return the derivatives by the centroids; `real` queries come first."""
        by_centroid, by_adapter = self.learned.gradients(asked, items, by_score)
        by_adapter[self.dim :] = 0  # a query's own say about marks would only repeat what was clicked
        clipped([by_centroid, by_adapter], self._longest)
        self.adapter.step(by_adapter, factor=factor)
        return by_centroid

    def losses(
        self, numbers: Int64Array, rows: Float32Array, pick: np.random.Generator
    ) -> tuple[QueryTables, list[LossPart]]:
        """Return queries as they are asked, the given ones first, and what makes up their loss."""
        rows, relevant = self._batch(numbers, rows, pick)
        asked = self.scores.asked(rows)
        most = max(1, min(self.settings.negatives, self.scores.items - relevant.items.shape[1]))
        negatives = mine_hard_negatives(self.scores, asked, most, but=relevant.items)
        click_loss_weight = self.settings.stage_click_loss_weight
        parts: list[LossPart] = []
        if click_loss_weight > 0:
            parts.append(self._clicks(asked, relevant, negatives, click_loss_weight))
        if click_loss_weight < 1:
            parts.append(self._distilled(numbers, asked, relevant, negatives, 1 - click_loss_weight))
        return asked, parts

    def best(self, rows: Float32Array, k: int, *, clicked_margin: float = 0.0) -> Int32Array:
        """Return the best items of queries with the adapter and the centroids as they are, marked ones held back."""
        nothing, asked = np.full((len(rows), 1), -1, np.int32), widened(rows[:, : self.dim], self.marked)
        if clicked_margin:
            asked[:, self.dim :] = self.mark_weight(clicked_margin)
        return mine_hard_negatives(self.scores, self.scores.asked(asked), min(k, self.scores.items), but=nothing)

    def mark_weight(self, clicked_margin: float) -> float:
        """Return the query's value in the click-flag dimension, which clicked items must be better by."""
        return -clicked_margin * self.spread / self._mark_length

    def asked_rows(self, rows: Float32Array, texts: Sequence[str]) -> Float32Array:
        """Return the vectors of queries that are not trained on, before the adapter: as the base encoder gave them."""
        return rows

    def query_side(self) -> Any:
        """Return a copy of what the query side has learned."""
        return self.scores.adapter[: self.dim, : self.dim].copy()

    def state(self) -> dict[str, Float32Array]:
        """Return what a checkpoint holds."""
        arrays = {}
        for name, moved in self._moved().items():
            arrays[name] = moved.parameters
            arrays |= {f"{name}_{moment}": values for moment, values in moved.state().items()}
        if self.settings.reassignments:
            arrays["codes"] = self.scores.codes.astype(np.float32)
        return {name: values.reshape(-1).copy() for name, values in arrays.items()}

    def resume(self, state: TrainingState) -> None:
        """Go on from a checkpoint of this very training: its next steps are, bit for bit, those it would have taken."""
        for name, moved in self._moved().items():
            shape = moved.parameters.shape
            moved.parameters[...] = state.array(name, shape)
            moments = [state.array(f"{name}_{moment}", shape) for moment in moved.state()]
            moved.resume(state.steps, *moments)
        self.steps_done = state.steps
        if self.settings.reassignments:
            self._take_codes(self._kept_codes(state))

    def _kept_codes(self, state: TrainingState) -> NDArray[np.uint8]:
        """Return a checkpoint's codes, items × parts, which are to be whole numbers of centroids."""
        kept = state.array("codes", self.scores.codes.shape)
        codes = np.clip(kept, 0, self.scores.centroids.shape[1] - 1).astype(np.uint8)
        if not np.array_equal(codes, kept):
            raise FormatError("A checkpoint must hold 'codes' that stand for centroids. It does not.")
        return codes.T

    @cached_property
    def key(self) -> str:
        """Says what is trained on what: settings, codes, queries, clicks and teacher."""
        arrays = (self.start.codes.T, self.rows, self.relevant.items, self.relevant.weights, self.centroids.start)
        sums = [_native.checksum(np.ascontiguousarray(each).reshape(-1).view(np.uint8)) for each in arrays]
        sums += [] if self.teacher is None else [self.teacher.checksum]
        return f"{json.dumps(self.settings.to_dict(), sort_keys=True)} {' '.join(f'{each:016x}' for each in sums)}"

    def _moved(self) -> dict[str, AdamW]:
        return {"adapter": self.adapter, "centroids": self.centroids}

    @property
    def learned(self) -> CodeScores | VectorScores:
        """Whose scores the loss is of."""
        return self.original if self.original is not None and self.settings.stage == "negatives" else self.scores

    def _encoded(self, numbers: Int64Array) -> Float32Array:
        """Return the vectors of these queries as they are now."""
        return self.rows[numbers, : self.dim]

    def _batch(
        self, numbers: Int64Array, rows: Float32Array, pick: np.random.Generator
    ) -> tuple[Float32Array, Positives]:
        """Return these queries and their clicks: real ones first, synthetic ones after them."""
        relevant = self.relevant.take(numbers).narrowed()
        if self.synthetic_queries is None:
            return widened(rows, self.marked), relevant
        drawn, about = self.synthetic_queries.draw(round(self.settings.synthetic_queries * len(numbers)), pick)
        items = np.full((len(drawn), relevant.items.shape[1]), -1, np.int32)
        weights = np.zeros(items.shape, np.float32)
        items[:, 0], weights[:, 0] = about, 1
        both = Positives(np.concatenate([relevant.items, items]), np.concatenate([relevant.weights, weights]))
        return widened(np.concatenate([rows, drawn]), self.marked), both

    def _clicks(self, asked: QueryTables, relevant: Positives, negatives: Int32Array, weight: float) -> LossPart:
        items = np.concatenate([np.maximum(relevant.items, 0), negatives], axis=1)
        scores, width = self.scale * self.learned.of(asked, items).astype(np.float64), relevant.items.shape[1]
        found = in_pieces(*self._loss_and_weights(relevant.weights, negatives.shape[1], scores, width))
        by_score = np.concatenate([found.relevant, found.others], axis=1)
        return LossPart(
            weight * found.loss,
            items,
            weight * self.scale * by_score,
            weight,
            len(items),
        )

    def _loss_and_weights(
        self, weights: Float32Array, others: int, scores: NDArray[np.float64], width: int
    ) -> tuple[Any, NDArray[np.float64], NDArray[np.float64], Any]:
        """Return a loss and its arguments; the paper sums pairs, each of which counts alike."""
        name, counted = self.settings.loss, weights
        if self.settings.paper:
            # RankNet and hinge are means over the others.
            counted = (weights > 0) * np.float32(others if name in ("ranknet", "hinge") else 1)
        loss = lambdarank_all if self.settings.paper and name == "lambdarank" else LOSSES[name]
        return loss, scores[:, :width], scores[:, width:], counted

    def _distilled(
        self,
        numbers: Int64Array,
        asked: QueryTables,
        relevant: Positives,
        negatives: Int32Array,
        weight: float,
    ) -> LossPart:
        if self.teacher is None:
            raise InputError("`teacher` must be given where distillation has a share. Got None.")
        real = len(numbers)  # the teacher does not score synthetic queries
        mine = negatives[:real, : self.settings.depth]
        items, listed = union(relevant.items[:real], mine, self.teacher.best[numbers])
        wanted = self.teacher.scores(numbers, items, listed) * (self.settings.sharpness / self.teacher.spread)
        items = np.where(listed, items, 0)
        given = self.scale * self.scores.of(asked.head(real), items)
        loss, by_score = distillation(given, wanted, listed)
        padding = ((0, len(negatives) - real), (0, 0))
        by_score = np.pad(weight * self.scale * by_score, padding)
        return LossPart(weight * loss, np.pad(items, padding), by_score, weight, real)

    def _synthetic(self, index: PqIndex, vectors: Float32Array | None) -> SyntheticQueries | None:
        if not self.settings.synthetic_queries or not self.relevant.weights.any():
            return None
        known = index.take(slice(None))[:, : self.dim] if vectors is None else vectors
        return SyntheticQueries(np.asarray(known, np.float32), self.rows[:, : self.dim], self.relevant)

    def _spread(self) -> float:
        """Return how far the scores of a query's best items lie apart before training."""
        rows = self.rows[:SPREAD_SAMPLE_QUERIES]
        asked = self.scores.asked(rows)
        found = self.scores.of(asked, self.best(rows, self.settings.depth)).astype(np.float64)
        spread = float(np.median(found.std(axis=1))) if found.size else 0.0
        return spread if spread > 0 else 1.0

    def _check(self, index: PqIndex, relevant: Positives | None, vectors: Float32Array | None) -> None:
        click_loss_weight = self.settings.stage_click_loss_weight
        if not 0 <= index.dim - self.dim <= 1:
            raise InputError(f"`rows` must have {index.dim} columns, or one less for marks. Got {self.dim}.")
        if not len(self.rows):
            raise InputError("`queries` must be there to train on. Got none.")
        if click_loss_weight > 0 and relevant is None:
            raise InputError(f"`click_loss_weight` must be 0 without clicks. Got {click_loss_weight!r}.")
        if self.settings.reassignments and relevant is None:
            raise InputError(f"`reassignments` must be 0 without clicks. Got {self.settings.reassignments}.")
        if click_loss_weight < 1 and self.teacher is None:
            raise InputError(
                f"`click_loss_weight` must be 1 without a teacher. Got {click_loss_weight!r}: give `teacher`."
            )
        if self.settings.stage == "negatives" and vectors is None:
            raise InputError('`vectors` must be given for the stage "negatives". Got None.')


def widened(rows: Float32Array, wider: bool) -> Float32Array:
    """Return a copy of rows, with a dimension more, of zeros, for an index of marked items."""
    return np.pad(np.asarray(rows, np.float32), ((0, 0), (0, int(wider))))


def _without_clicks(count: int) -> Positives:
    return Positives(np.full((count, 1), -1, np.int32), np.zeros((count, 1), np.float32))


class ModelTraining(JpqTraining):
    """Trains a query model together with the centroids; the adapter stays the identity.

    Parameters
    ----------
    model : TorchQueryEncoder
        The transformer to train.
    texts : list of str
        The queries.
    **parts
        Arguments of `JpqTraining`.
    """

    def __init__(self, *given: Any, model: TorchQueryEncoder, texts: list[str], **parts: Any):
        self.model, self.texts = model, texts
        super().__init__(*given, **parts)

    def asked_rows(self, rows: Float32Array, texts: Sequence[str]) -> Float32Array:
        """Return the vectors of queries that are not trained on, by the model as it is."""
        return self.model.encoded(texts)

    def query_side(self) -> list[Float32Array]:
        """Return a copy of the model's weights."""
        return self.model.weights()

    def state(self) -> dict[str, Float32Array]:
        """Return what a checkpoint holds."""
        return super().state() | self.model.state()

    def resume(self, state: TrainingState) -> None:
        """Go on from a checkpoint of this very training."""
        super().resume(state)
        self.model.resume(state)

    @cached_property
    def key(self) -> str:
        """Says what is trained on what: the model and its rate, too."""
        return f"{super().key} {self.model.encoder.fingerprint} {self.model.rate!r}"

    def _taught(
        self, asked: QueryTables, items: Int32Array, by_score: NDArray[np.float64], real: int, factor: float
    ) -> Float32Array:
        by_centroid, by_row = self.learned.row_gradients(asked, items, by_score)
        clipped([by_centroid], self._longest)
        self.model.step(by_row[:real, : self.dim], factor=factor)  # synthetic queries have no text
        return by_centroid

    def _moved(self) -> dict[str, AdamW]:
        return {"centroids": self.centroids}

    def looked_at(self, numbers: Int64Array) -> Float32Array:
        """Return the vectors of these queries as the model gives them now, where nothing is learned from them."""
        return self.model.encoded([self.texts[number] for number in numbers.tolist()])

    def _encoded(self, numbers: Int64Array) -> Float32Array:
        return self.model.rows([self.texts[number] for number in numbers.tolist()])
