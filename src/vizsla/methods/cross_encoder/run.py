"""CrossEncoderRun: steps over the lessons, with a look at held-out queries now and then."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vizsla.cached_property import cached_property
from vizsla.errors import InputError
from vizsla.methods.cross_encoder.held_out import HeldOutPairs
from vizsla.methods.cross_encoder.lessons import PairLessons
from vizsla.methods.cross_encoder.settings import CrossEncoderSettings
from vizsla.pairs.pair_model import checksum_of
from vizsla.training.distillation import distillation
from vizsla.training.losses import LOSSES
from vizsla.training.pair_learner import Floats, PairLearner
from vizsla.training.schedule import rate_factor
from vizsla.training.state import TrainingState
from vizsla.training.watched import Watch, Watched


class CrossEncoderRun:
    """A training that can stop and go on: order, negatives and dropout depend on seed and step alone.

    Parameters
    ----------
    learner : PairLearner
        What learns.
    lessons : PairLessons
        What it learns from.
    held : HeldOutPairs or None
        What decides which weights are kept; None: the last ones are.
    settings : CrossEncoderSettings
        How.
    checkpoint : path, optional
        Where the state is kept after every look, and from where a run with the same settings and data goes on.
    watch : callable, optional
        Gets a `Watched` after every step.
    """

    def __init__(
        self,
        learner: PairLearner,
        lessons: PairLessons,
        held: HeldOutPairs | None,
        settings: CrossEncoderSettings,
        *,
        checkpoint: Path | None = None,
        watch: Watch | None = None,
    ):
        self.learner, self.lessons, self.held, self.settings = learner, lessons, held, settings
        self.checkpoint, self.watch = checkpoint, watch
        self.steps_done = 0
        self.measured: list[NDArray[np.float64]] = []
        self.best: list[Floats] | None = None
        self._begun = self.key

    @cached_property
    def key(self) -> str:
        """Says what is trained on what."""
        told = (self.lessons.queries, self.lessons.relevant.items.tolist(), self.learner.model.fingerprint)
        return f"{json.dumps(self.settings.to_dict(), sort_keys=True)} {checksum_of(told):016x}"

    @property
    def steps(self) -> int:
        """How many steps the schedule plans for."""
        planned = self.settings.epochs * self._an_epoch
        return min(planned, self.settings.most_steps or planned)

    @property
    def _an_epoch(self) -> int:
        return -(-len(self.lessons) // self.settings.batch)

    def run(self) -> None:
        """Train to the end, or until held-out queries gain nothing more; the best weights are then in the model."""
        self._resume()
        if not self.measured:
            self._look()
        for loss in self._steps():
            looked = self.steps_done % self.settings.every == 0 or self.steps_done == self.steps
            if looked:
                self._look()
                self._save()
            if self.watch is not None:
                self.watch(Watched(self.steps_done, self.steps, loss, self.means))
            if looked and self._is_stuck():
                break
        self.keep_best()

    @property
    def means(self) -> list[float]:
        """What each look at the held-out queries has shown; the first one was before any step."""
        return [float(values.mean()) for values in self.measured]

    def keep_best(self) -> None:
        """Give the model the weights of the best look so far."""
        if self.best is not None:
            self.learner.set_weights(self.best)

    def _steps(self) -> Iterator[float]:
        while self.steps_done < self.steps and not self._is_stuck():
            epoch, at = divmod(self.steps_done, self._an_epoch)
            order = np.random.default_rng([self.settings.seed, epoch]).permutation(len(self.lessons))
            first = at * self.settings.batch
            loss = self._step(order[first : first + self.settings.batch])
            self.steps_done += 1
            yield loss

    def _step(self, numbers: NDArray[np.int64]) -> float:
        random = np.random.default_rng([self.settings.seed, 1, self.steps_done])
        items = self.lessons.drawn(numbers, self.settings.negatives, random)
        queries = [self.lessons.queries[number] for number in numbers.tolist() for _ in range(items.shape[1])]
        texts = [self.lessons.texts[item] for item in items.reshape(-1).tolist()]
        scores = self.learner.scores(queries, texts, seed=int(random.integers(2**31))).reshape(items.shape)
        loss, by_score = self._loss(numbers, items, scores)
        factor = rate_factor(self.steps_done, self.steps, warm_up=self.settings.warm_up)
        self.learner.step(by_score.reshape(-1), factor=factor)
        return loss

    def _loss(self, numbers: NDArray[np.int64], items: NDArray[np.int32], scores: Floats) -> tuple[float, Floats]:
        """Return the loss, and its derivative by each score."""
        share, loss, by_score = self.settings.share, 0.0, np.zeros(scores.shape)
        if share > 0:
            found = LOSSES[self.settings.loss](scores[:, :1], scores[:, 1:], np.ones((len(scores), 1)))
            loss += share * found.loss
            by_score += share * np.concatenate([found.relevant, found.others], axis=1)
        if self.lessons.teacher is not None and share < 1:
            listed = np.ones(items.shape, np.bool_)
            wanted = self.lessons.teacher.scores(numbers, items, listed) / self.lessons.teacher.spread
            taught, gradient = distillation(scores, wanted, listed)
            loss, by_score = loss + (1 - share) * taught, by_score + (1 - share) * gradient
        return loss, by_score.astype(np.float32)

    def _look(self) -> None:
        """Measure held-out queries, and remember the weights if nothing before was better."""
        if self.held is None:
            return
        self.measured.append(self.held.measured(self.learner))
        if self.means[-1] >= max(self.means):
            self.best = self.learner.copied()

    def _is_stuck(self) -> bool:
        means = self.means
        return bool(means) and len(means) - 1 - int(np.argmax(means)) >= self.settings.patience

    def _save(self) -> None:
        if self.checkpoint is None:
            return
        best = {} if self.best is None else {f"best{at}": values.reshape(-1) for at, values in enumerate(self.best)}
        measured = np.array(self.measured, np.float64) if self.measured else np.zeros((0, 0))
        state = TrainingState(self.key, self.steps_done, self.learner.state() | best, measured)
        state.save(self.checkpoint, overwrite=True)

    def _resume(self) -> None:
        if self.checkpoint is None or not self.checkpoint.exists():
            return
        state = TrainingState.load(self.checkpoint, mmap=False)
        if state.key != self.key:
            raise InputError("`checkpoint` must be of a training with these settings and data. Got another: remove it.")
        self.learner.resume(state.steps, state.arrays)
        self.steps_done, self.measured = state.steps, list(state.measured)
        shapes = [weight.shape for weight in self.learner.copied()]
        if "best0" in state.arrays:
            self.best = [np.array(state.arrays[f"best{at}"]).reshape(shape) for at, shape in enumerate(shapes)]
