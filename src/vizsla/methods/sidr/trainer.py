"""SiDR's training steps, and the loop that takes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla.core.sparse import SparseRows
from vizsla.encoders.sidr import columns, sparsified, summed
from vizsla.learning.distillation import Teacher, distillation
from vizsla.learning.loop import TrainingLoop, Watch
from vizsla.learning.losses import TokenSide, VectorSide, beta, parametric
from vizsla.learning.optimizers import rate_factor
from vizsla.learning.torch_optimizers import TorchAdamW, TorchTraining
from vizsla.learning.torch_vocabulary import TokenBatch, VocabularyModel
from vizsla.methods.sidr.settings import SidrSettings
from vizsla.methods.sidr.training_data import HeldOutQueries, SidrTrainingData
from vizsla.typing import Float32Array, Float64Array, Int64Array


class SidrQueries(NamedTuple):
    """A step's queries: their numbers, their states, and the weights of the tokens that the transformer keeps."""

    numbers: Int64Array
    encoding: TokenBatch
    rows: SparseRows


class SidrTraining(TorchTraining):
    """A model on its way.

    Parameters
    ----------
    model : VocabularyModel
        The model and its optimizer.
    training_data : SidrTrainingData
        The training data.
    settings : SidrSettings
        How.
    teacher : Teacher, optional
        Whose scores of the found items are imitated as well.
    """

    def __init__(
        self,
        model: VocabularyModel,
        training_data: SidrTrainingData,
        settings: SidrSettings,
        *,
        teacher: Teacher | None = None,
    ):
        rates = {"body": settings.rate, "head": settings.head_rate, "rest": settings.bias_rate}
        super().__init__(settings, len(training_data.pairs[0]), TorchAdamW(model.groups(), rates))
        self.model, self.training_data, self.teacher = model, training_data, teacher

    def step(self, numbers: Int64Array) -> float:
        """Learn from these clicks; return their loss before the step."""
        rng = np.random.default_rng([self.settings.seed, 1, self.steps_done])
        self.model.begin_step(self.settings.seed + self.steps_done)
        queries, items = (side[numbers] for side in self.training_data.pairs)
        asked = self.asked(queries)
        found = self._found(asked)
        count = min(self.settings.vectors, len(items))
        drawn = self._drawn(asked.numbers[:count], found[:count], rng)
        beside = drawn if self.settings.paper else np.setdiff1d(np.concatenate(found), items)
        loss, moves = self._plain_items(asked, items, beside, found) if self.settings.semi_parametric else (0.0, [])
        more, others = self._learned_items(asked, items, drawn)
        factor = rate_factor(self.steps_done, self.steps, warm_up=self.settings.warm_up)
        self.optimizer.step([*moves, *others], factor=factor)
        self.steps_done += 1
        return loss + more

    def asked(self, queries: Int64Array) -> SidrQueries:
        """Encode queries, and keep each one's strongest tokens."""
        training_data, scale = self.training_data, self.model.query_scale
        encoding = self.model.encode([training_data.queries[number] for number in queries.tolist()])
        values = self.model.fixed_values(encoding, training_data.held, scale=scale)
        own = sparsified(values, training_data.held, self.settings.tokens, training_data.asked.width)
        return SidrQueries(queries, encoding, own)

    def weighted(self, asked: SidrQueries) -> SparseRows:
        """Return what is searched with: the table's weights and the transformer's."""
        return summed(self.training_data.tables.take(asked.numbers), asked.rows)

    def _found(self, asked: SidrQueries) -> list[Int64Array]:
        """Return the items that beta search finds now for each query."""
        if not self.settings.retrieved:
            return [np.zeros(0, np.int64)] * len(asked.numbers)
        if self.training_data.static is not None:
            return [self.training_data.static[number] for number in asked.numbers.tolist()]
        found = self.training_data.index.search(self.weighted(asked), self.settings.retrieved)
        return [part.astype(np.int64) for part in np.split(found.items, found.offsets[1:-1])]

    def _plain_items(
        self, asked: SidrQueries, items: Int64Array, beside: Int64Array, found: list[Int64Array]
    ) -> tuple[float, list[Any]]:
        """Return half the loss of beta search, and how the queries' values are to move."""
        training_data = self.training_data
        passages = np.concatenate([items, beside])
        sets = training_data.item_tokens[passages]
        tokens = np.unique(sets.indices).astype(np.int64)
        values, vectors, kept = self._vectors(asked, tokens)
        side = TokenSide(
            vectors, columns(sets, tokens), training_data.index.norms[passages], self._excluded(asked, passages)
        )
        scores = side.scores()
        loss, by_score = beta(side, scores)
        if self.teacher is not None:
            more, taught = self._taught(self.teacher, asked.numbers, passages, found, scores)
            loss, by_score = loss + more, (by_score + taught).astype(np.float32)
        return loss / 2, [(values, kept * side.by_query(by_score) / 2)]

    def _learned_items(self, asked: SidrQueries, items: Int64Array, drawn: Int64Array) -> tuple[float, list[Any]]:
        """Return the losses in which items go through the transformer too, and how all values are to move."""
        training_data, count = self.training_data, min(self.settings.vectors, len(items))
        some = _first(asked, count)
        passages = np.concatenate([items[:count], drawn])
        rows = training_data.asked.take(some.numbers)
        tokens = self._scored(np.append(training_data.item_tokens[passages].indices, rows.columns))
        values, vectors, kept = self._vectors(some, tokens)
        outputs, strongest = self._outputs(passages, tokens)
        learned = self.model.item_scale * outputs
        whole = self._begun(passages, tokens) + strongest * learned.detach().numpy()
        excluded = self._excluded(some, passages)
        loss, by_query, by_passage = parametric(VectorSide(vectors, whole, excluded))
        moves = [(values, kept * by_query), (learned, strongest * by_passage)]
        if not self.settings.semi_parametric:
            return loss, moves
        plain = (columns(rows.to_scipy(), tokens).toarray() > 0).astype(np.float32)
        more, _, by_outputs = parametric(VectorSide(plain, strongest * outputs.detach().numpy(), excluded))
        return loss + more / 2, [*moves, (outputs, strongest * by_outputs / 2)]

    def _scored(self, held_by_texts: NDArray[Any]) -> Int64Array:
        """Return the tokens that learned items are scored by."""
        if self.settings.whole_head:
            return self.training_data.held
        return np.intersect1d(held_by_texts, self.training_data.held)

    def _outputs(self, passages: Int64Array, tokens: Int64Array) -> tuple[Any, Float32Array]:
        """Return what the transformer says of items, and which of it they keep; of a part of the tokens, all."""
        encoding = self.model.encode([self.training_data.items[number] for number in passages.tolist()])
        outputs = self.model.values(encoding, tokens)
        kept = np.ones(outputs.shape, np.float32)
        if self.settings.whole_head and self.settings.tokens < len(tokens):
            order = np.argpartition(-outputs.detach().numpy(), self.settings.tokens, axis=1)
            np.put_along_axis(kept, order[:, self.settings.tokens :], 0, axis=1)
        if not self.settings.expand_items:
            kept *= columns(self.training_data.item_tokens[passages], tokens).toarray() > 0
        return outputs, kept

    def _vectors(self, asked: SidrQueries, tokens: Int64Array) -> tuple[Any, Float32Array, Float32Array]:
        """Return the queries' values of some tokens, their whole vectors, and which values are kept."""
        values = self.model.values(asked.encoding, tokens, scale=self.model.query_scale)
        kept = (columns(asked.rows.to_scipy(), tokens).toarray() > 0).astype(np.float32)
        table = columns(self.training_data.tables.take(asked.numbers).to_scipy(), tokens).toarray()
        return values, table + kept * values.detach().numpy(), kept

    def _begun(self, passages: Int64Array, tokens: Int64Array) -> Float32Array:
        """Return where items' vectors begin, before the transformer adds to them: tokens, weighed as by beta search."""
        if not self.settings.item_tokens:
            return np.zeros((len(passages), len(tokens)), np.float32)
        sets: Float32Array = columns(self.training_data.item_tokens[passages], tokens).toarray()
        return sets * self.training_data.index.norms[passages][:, None]

    def _excluded(self, asked: SidrQueries, passages: Int64Array) -> NDArray[np.bool_]:
        excluded = self.training_data.are_right(asked.numbers, passages)
        own = np.arange(len(asked.numbers))
        excluded[own, own] = False
        return excluded

    def _drawn(self, queries: Int64Array, found: list[Int64Array], rng: np.random.Generator) -> Int64Array:
        """Return some found items for each query that are wrong."""
        drawn = []
        for row, items in enumerate(found):
            wrong = items[~self.training_data.are_right(queries[row : row + 1], items)[0]] if len(items) else items
            drawn.append(rng.permutation(wrong)[: self.settings.negatives])
        return np.concatenate(drawn)

    def _taught(
        self, teacher: Teacher, queries: Int64Array, passages: Int64Array, found: list[Int64Array], scores: Float32Array
    ) -> tuple[float, Float32Array]:
        """Return the loss of the found items' shares against the teacher's, and its derivative by all scores."""
        listed = np.zeros(scores.shape, np.bool_)
        for row, items in enumerate(found):
            listed[row] = np.isin(passages, items)
        listed[np.arange(len(queries)), np.arange(len(queries))] = True
        wanted = np.broadcast_to(passages.astype(np.int32), scores.shape)
        given = teacher.scores(queries, wanted, listed) / teacher.spread
        loss, by_score = distillation(scores, given, listed)
        share = self.settings.teacher_share
        return share * loss, (share * by_score).astype(np.float32)


def _first(asked: SidrQueries, count: int) -> SidrQueries:
    states, lengths = asked.encoding
    part = TokenBatch(states[: int(lengths[:count].sum())], lengths[:count])
    return SidrQueries(asked.numbers[:count], part, asked.rows.take(np.arange(count)))


MEASURE = "MRR@10"
SAVE_EVERY = 50
"""Steps between two checkpoints."""


def sidr_loop(
    training: SidrTraining,
    held: HeldOutQueries | None,
    *,
    key: str,
    checkpoint: Path | None = None,
    watch: Watch | None = None,
) -> TrainingLoop:
    """Return the loop that trains epoch by epoch, and ends at the first that serves held-out queries worse.

    Parameters
    ----------
    training : SidrTraining
        The training.
    held : HeldOutQueries, optional
        The measure after each epoch; without it all epochs are taken.
    key : str
        Says what is trained on what.
    checkpoint : path, optional
        A folder for the state, every 50 steps.
    watch : callable, optional
        Called after every step.
    """
    path = None if checkpoint is None else checkpoint / "state"
    options: dict[str, Any] = {
        "key": key,
        "checkpoint": path,
        "save_every": SAVE_EVERY,
        "watch": watch,
        "show": MEASURE,
    }
    if held is None:
        return TrainingLoop(training, **options)
    training_data, most = training.training_data, training.settings.tokens

    def measure() -> list[Float64Array]:
        return [held.measured(training.model, training_data.index, training_data.held, most)]

    return TrainingLoop(training, measure=measure, quality=lambda found: held.quality(found[0]), **options)
