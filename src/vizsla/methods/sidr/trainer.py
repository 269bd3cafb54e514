"""SiDR's training steps, and a whole run with evaluation and checkpoints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla._internal.terminal import progress
from vizsla.core.sparse import SparseRows
from vizsla.encoders.sidr import columns, sparsified, summed
from vizsla.errors import InputError
from vizsla.learning.checkpoints import TrainingProgress, TrainingState, Watch
from vizsla.learning.distillation import Teacher, distillation
from vizsla.learning.losses import TokenSide, VectorSide, beta, parametric
from vizsla.learning.optimizers import rate_factor
from vizsla.learning.torch_optimizers import TorchAdamW
from vizsla.learning.torch_vocabulary import TokenBatch, VocabularyModel
from vizsla.methods.sidr.settings import SidrSettings
from vizsla.methods.sidr.training_data import HeldOutQueries, SidrTrainingData
from vizsla.typing import Float32Array, Int64Array


class SidrQueries(NamedTuple):
    """A step's queries: their numbers, their states, and the weights of the tokens that the transformer keeps."""

    numbers: Int64Array
    encoding: TokenBatch
    rows: SparseRows


class SidrTraining:
    """A model on its way.

    Parameters
    ----------
    model : VocabularyModel
        What learns.
    lessons : Lessons
        What it learns from.
    settings : SidrSettings
        How.
    teacher : Teacher, optional
        Whose scores of the found items are imitated as well.
    """

    def __init__(
        self,
        model: VocabularyModel,
        lessons: SidrTrainingData,
        settings: SidrSettings,
        *,
        teacher: Teacher | None = None,
    ):
        self.model, self.lessons, self.settings, self.teacher = model, lessons, settings, teacher
        rates = {"body": settings.rate, "head": settings.head_rate, "rest": settings.bias_rate}
        self.optimizer = TorchAdamW(model.groups(), rates)
        self.steps_done = 0

    @property
    def steps_an_epoch(self) -> int:
        """How many steps go once through the clicks."""
        return -(-len(self.lessons.pairs[0]) // self.settings.batch)

    @property
    def steps(self) -> int:
        """How many steps there will be."""
        most, all_steps = self.settings.most_steps, self.settings.epochs * self.steps_an_epoch
        return all_steps if most is None else min(most, all_steps)

    @property
    def steps_left(self) -> int:
        """How many steps are left of the epoch that comes or is under way."""
        return min(self.steps_an_epoch - self.steps_done % self.steps_an_epoch, self.steps - self.steps_done)

    def epoch(self) -> Iterator[float]:
        """Go on to the end of an epoch; yield each step's loss. Where it stands is told by `steps_done` alone."""
        number, first = divmod(self.steps_done, self.steps_an_epoch)
        order = np.random.default_rng([self.settings.seed, number]).permutation(len(self.lessons.pairs[0]))
        for start in range(first * self.settings.batch, len(order), self.settings.batch):
            if self.steps_done == self.steps:
                return
            yield self.step(order[start : start + self.settings.batch])

    def step(self, clicks: Int64Array) -> float:
        """Learn from these clicks; return their loss before the step."""
        rng = np.random.default_rng([self.settings.seed, 1, self.steps_done])
        self.model.begin_step(self.settings.seed + self.steps_done)
        queries, items = (side[clicks] for side in self.lessons.pairs)
        asked = self.asked(queries)
        found = self._found(asked)
        loss, moves = self._plain_items(asked, items, found) if self.settings.semi_parametric else (0.0, [])
        more, others = self._learned_items(asked, items, found, rng)
        factor = rate_factor(self.steps_done, self.steps, warm_up=self.settings.warm_up)
        self.optimizer.step([*moves, *others], factor=factor)
        self.steps_done += 1
        return loss + more

    def asked(self, queries: Int64Array) -> SidrQueries:
        """Encode queries, and keep each one's strongest tokens."""
        lessons, scale = self.lessons, self.model.query_scale
        encoding = self.model.encode([lessons.queries[number] for number in queries.tolist()])
        values = self.model.fixed_values(encoding, lessons.held, scale=scale)
        own = sparsified(values, lessons.held, self.settings.tokens, lessons.asked.width)
        return SidrQueries(queries, encoding, own)

    def weighted(self, asked: SidrQueries) -> SparseRows:
        """Return what is searched with: the table's weights and the transformer's."""
        return summed(self.lessons.tables.take(asked.numbers), asked.rows)

    def _found(self, asked: SidrQueries) -> list[Int64Array]:
        """Return the items that beta search finds now for each query."""
        if not self.settings.retrieved:
            return [np.zeros(0, np.int64)] * len(asked.numbers)
        found = self.lessons.index.search(self.weighted(asked), self.settings.retrieved)
        return [part.astype(np.int64) for part in np.split(found.items, found.offsets[1:-1])]

    def _plain_items(self, asked: SidrQueries, items: Int64Array, found: list[Int64Array]) -> tuple[float, list[Any]]:
        """Return half the loss of beta search, and how the queries' values are to move."""
        lessons = self.lessons
        passages = np.concatenate([items, np.setdiff1d(np.concatenate(found), items)])
        sets = lessons.item_tokens[passages]
        tokens = np.unique(sets.indices).astype(np.int64)
        values, vectors, kept = self._vectors(asked, tokens)
        side = TokenSide(vectors, columns(sets, tokens), lessons.index.norms[passages], self._excluded(asked, passages))
        scores = side.scores()
        loss, by_score = beta(side, scores)
        if self.teacher is not None:
            more, taught = self._taught(self.teacher, asked.numbers, passages, found, scores)
            loss, by_score = loss + more, (by_score + taught).astype(np.float32)
        return loss / 2, [(values, kept * side.by_query(by_score) / 2)]

    def _learned_items(
        self, asked: SidrQueries, items: Int64Array, found: list[Int64Array], rng: np.random.Generator
    ) -> tuple[float, list[Any]]:
        """Return the losses in which items go through the transformer too, and how all values are to move."""
        lessons, count = self.lessons, min(self.settings.vectors, len(items))
        some = _first(asked, count)
        passages = np.concatenate([items[:count], self._drawn(some.numbers, found[:count], rng)])
        rows = lessons.asked.take(some.numbers)
        tokens = self._scored(np.append(lessons.item_tokens[passages].indices, rows.columns))
        values, vectors, kept = self._vectors(some, tokens)
        said, strongest = self._said(passages, tokens)
        learned = self.model.item_scale * said
        whole = self._begun(passages, tokens) + strongest * learned.detach().numpy()
        excluded = self._excluded(some, passages)
        loss, by_query, by_passage = parametric(VectorSide(vectors, whole, excluded))
        moves = [(values, kept * by_query), (learned, strongest * by_passage)]
        if not self.settings.semi_parametric:
            return loss, moves
        plain = (columns(rows.to_scipy(), tokens).toarray() > 0).astype(np.float32)
        more, _, by_said = parametric(VectorSide(plain, strongest * said.detach().numpy(), excluded))
        return loss + more / 2, [*moves, (said, strongest * by_said / 2)]

    def _scored(self, held_by_texts: NDArray[Any]) -> Int64Array:
        """Return the tokens that learned items are scored by."""
        if self.settings.whole_head:
            return self.lessons.held
        return np.intersect1d(held_by_texts, self.lessons.held)

    def _said(self, passages: Int64Array, tokens: Int64Array) -> tuple[Any, Float32Array]:
        """Return what the transformer says of items, and which of it they keep; of a part of the tokens, all."""
        encoding = self.model.encode([self.lessons.items[number] for number in passages.tolist()])
        said = self.model.values(encoding, tokens)
        kept = np.ones(said.shape, np.float32)
        if self.settings.whole_head and self.settings.tokens < len(tokens):
            order = np.argpartition(-said.detach().numpy(), self.settings.tokens, axis=1)
            np.put_along_axis(kept, order[:, self.settings.tokens :], 0, axis=1)
        return said, kept

    def _vectors(self, asked: SidrQueries, tokens: Int64Array) -> tuple[Any, Float32Array, Float32Array]:
        """Return the queries' values of some tokens, their whole vectors, and which values are kept."""
        values = self.model.values(asked.encoding, tokens, scale=self.model.query_scale)
        kept = (columns(asked.rows.to_scipy(), tokens).toarray() > 0).astype(np.float32)
        table = columns(self.lessons.tables.take(asked.numbers).to_scipy(), tokens).toarray()
        return values, table + kept * values.detach().numpy(), kept

    def _begun(self, passages: Int64Array, tokens: Int64Array) -> Float32Array:
        """Return where items' vectors begin, before the transformer adds to them: tokens, weighed as by beta search."""
        if not self.settings.item_tokens:
            return np.zeros((len(passages), len(tokens)), np.float32)
        sets: Float32Array = columns(self.lessons.item_tokens[passages], tokens).toarray()
        return sets * self.lessons.index.norms[passages][:, None]

    def _excluded(self, asked: SidrQueries, passages: Int64Array) -> NDArray[np.bool_]:
        excluded = self.lessons.are_right(asked.numbers, passages)
        own = np.arange(len(asked.numbers))
        excluded[own, own] = False
        return excluded

    def _drawn(self, queries: Int64Array, found: list[Int64Array], rng: np.random.Generator) -> Int64Array:
        """Return some found items for each query that are wrong."""
        drawn = []
        for row, items in enumerate(found):
            wrong = items[~self.lessons.are_right(queries[row : row + 1], items)[0]] if len(items) else items
            drawn.append(rng.permutation(wrong)[: self.settings.wrong])
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


SAVE_EVERY = 50
"""Steps between two checkpoints."""
State = Mapping[str, NDArray[np.float32]]


class SidrRun:
    """Trains epoch by epoch, and stops when held-out queries gain no more.

    Parameters
    ----------
    training : SidrTraining
        What is trained.
    held : HeldOutQueries, optional
        What is measured after each epoch; without it all epochs are taken.
    key : str
        Says what is trained on what: a checkpoint of another key is refused.
    checkpoint : path, optional
        A folder for the state, every 50 steps, and for the best epoch's.
    watch : callable, optional
        Called after every step.
    """

    def __init__(
        self,
        training: SidrTraining,
        held: HeldOutQueries | None,
        *,
        key: str,
        checkpoint: Path | None = None,
        watch: Watch | None = None,
    ):
        self.training, self.held, self.key = training, held, key
        self.checkpoint, self.watch = checkpoint, watch
        self.measured: list[NDArray[np.float64]] = []
        self.best: State | None = None

    @property
    def qualities(self) -> list[float]:
        """What held-out queries had in the beginning and after each epoch."""
        return [] if self.held is None else [self.held.quality(values) for values in self.measured]

    def run(self) -> None:
        """Train; the model then is what the best epoch left."""
        self._resume()
        if not self.measured:
            self._measure()
        while self.training.steps_done < self.training.steps and not self._has_stopped():
            for loss in progress(self.training.epoch(), total=self.training.steps_left, what=self._what()):
                self._after_step(loss)
            self._measure()
            self._save("now")
        if self.best is not None:
            self.training.optimizer.resume(self.best)

    def _what(self) -> str:
        last = f", MRR@10 {self.qualities[-1]:.4f}" if self.qualities else ""
        return f"epoch {self.training.steps_done // self.training.steps_an_epoch + 1}{last}"

    def _has_stopped(self) -> bool:
        """Whether the last epoch was worse than one before."""
        return len(self.qualities) > 1 and self.qualities[-1] < max(self.qualities)

    def _after_step(self, loss: float) -> None:
        training = self.training
        if self.watch is not None:
            self.watch(TrainingProgress(training.steps_done, training.steps, loss, self.qualities))
        if training.steps_done % SAVE_EVERY == 0 and training.steps_done % training.steps_an_epoch:
            self._save("now")

    def _measure(self) -> None:
        if self.held is None:
            return
        training = self.training
        found = self.held.measured(
            training.model, training.lessons.index, training.lessons.held, training.settings.tokens
        )
        self.measured.append(found)
        if self.qualities[-1] >= max(self.qualities):
            self.best = {name: array.copy() for name, array in training.optimizer.state().items()}
            self._save("best")

    def _save(self, name: str) -> None:
        if self.checkpoint is None:
            return
        width = 0 if not self.measured else len(self.measured[0])
        measured = np.reshape(np.array(self.measured, np.float64), (len(self.measured), width))
        state = TrainingState(self.key, self.training.steps_done, self.training.optimizer.state(), measured)
        state.save(self.checkpoint / name, overwrite=True)

    def _resume(self) -> None:
        if self.checkpoint is None:
            return
        best, now = self._loaded("best"), self._loaded("now")
        if best is not None:
            self.best = best.arrays
        if (state := now or best) is not None:
            self.training.optimizer.resume(state.arrays)
            self.training.steps_done, self.measured = state.steps, list(state.measured)

    def _loaded(self, name: str) -> TrainingState | None:
        if self.checkpoint is None or not (self.checkpoint / name).exists():
            return None
        state = TrainingState.load(self.checkpoint / name, mmap=False)
        if state.key != self.key:
            raise InputError(
                f"`checkpoint` must be of the same settings and data. Got {self.checkpoint}, which is of others: "
                "give another folder, or remove it."
            )
        return state
