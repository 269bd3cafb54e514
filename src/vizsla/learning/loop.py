"""The training loop: steps, evaluation, patience, checkpoints, best weights, progress, and Ctrl-C."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from vizsla._internal.terminal import progress
from vizsla.artifacts.artifact import Artifact
from vizsla.errors import FormatError, InputError
from vizsla.typing import Float32Array, Float64Array, Int64Array

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter


class TrainingState(Artifact):
    """A checkpoint: named arrays, how many steps were taken, and what was measured so far.

    Parameters
    ----------
    key : str
        Says what is trained on what: a state is only good for a run with the same key.
    steps : int
        How many steps were taken.
    arrays : mapping of float32 arrays
        Parameters and moments by name, each laid out flat.
    measured : float64 array, evaluations × held-out queries
        The measured qualities.
    """

    kind = "training-state"

    def __init__(self, key: str, steps: int, arrays: Mapping[str, Float32Array], measured: Float64Array):
        self.key, self.steps, self.arrays, self.measured = key, steps, dict(arrays), measured

    def __repr__(self) -> str:
        return f"TrainingState({self.steps:,} steps, {len(self.arrays)} arrays)"

    def array(self, name: str, shape: Sequence[int]) -> Float32Array:
        """Return a copy of an array in its shape, or raise where the state holds none of that size."""
        values = self.arrays.get(name)
        if values is None or values.size != prod(shape) or not np.isfinite(values).all():
            raise FormatError(f"A checkpoint must hold {name!r}, finite and of shape {tuple(shape)}. It does not.")
        return np.array(values, np.float32).reshape(tuple(shape))

    def _write(self, writer: ArtifactWriter) -> None:
        writer.parameters(key=self.key, steps=self.steps, names=sorted(self.arrays))
        for name in sorted(self.arrays):
            writer.array(f"state_{name}", self.arrays[name])
        writer.array("measured", self.measured)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        names: list[Any] = reader.parameter("names", list)
        if not all(isinstance(name, str) and name.isidentifier() for name in names):
            raise FormatError(f"{reader.path}: the names of a training's arrays must be identifiers.")
        arrays = {name: reader.array(f"state_{name}", np.float32, finite=False) for name in names}
        measured = reader.array("measured", np.float64, ndim=2, finite=False)
        steps = reader.parameter("steps", int)
        if steps < 0:
            raise FormatError(f"{reader.path}: the steps of a training must be at least 0. Got {steps}.")
        return cls(reader.parameter("key", str), steps, arrays, measured)


class TrainingProgress(NamedTuple):
    """Progress and quality of a training, reported after every step.

    Attributes
    ----------
    step, steps : int
        Number of steps taken, and planned.
    loss : float
        Loss of the last step.
    held_out : list of float
        The quality of every evaluation on held-out queries so far; the first may be before training.
    phase : str
        The current phase, such as "trial, share 0.5" or "all clicks"; empty if there is only one.
    kinds : dict
        The last evaluation by kind of query, "all", "warm" and "cold", where a training tells them apart.
    """

    step: int
    steps: int
    loss: float
    held_out: list[float]
    phase: str = ""
    kinds: Mapping[str, float] = MappingProxyType({})


Watch = Callable[[TrainingProgress], None]


class Training(ABC):
    """Base class of trainings. A step depends only on settings, data and its number, so that it can be repeated.

    Parameters
    ----------
    settings : object
        With `seed`, `epochs`, `batch` and perhaps `max_steps`.
    examples : int
        How many examples an epoch goes through.
    """

    steps_done = 0

    def __init__(self, settings: Any, examples: int):
        self.settings, self.examples = settings, examples

    @property
    def steps_per_epoch(self) -> int:
        """How many batches the examples make."""
        return -(-self.examples // int(self.settings.batch))

    @property
    def steps(self) -> int:
        """How many steps the schedule plans for."""
        planned = int(self.settings.epochs * self.steps_per_epoch)
        return min(planned, getattr(self.settings, "max_steps", None) or planned)

    def epoch(self) -> Iterator[float]:
        """Take the steps that are left of the epoch under way, or those of the next; yield each one's loss."""
        number, first = divmod(self.steps_done, self.steps_per_epoch)
        if not first:
            self._begin_epoch(number)
        batch = self.settings.batch
        order = np.random.default_rng([self.settings.seed, number]).permutation(self.examples)
        for start in range(first * batch, len(order), batch):
            if self.steps_done == self.steps:
                return
            yield self.step(order[start : start + batch])

    def _begin_epoch(self, number: int) -> None:  # noqa: B027
        """Prepare an epoch: nothing to do unless overridden."""

    @abstractmethod
    def step(self, numbers: Int64Array) -> float:
        """Learn from these examples, add 1 to `steps_done`, and return their loss before the step."""

    @abstractmethod
    def state(self) -> dict[str, Float32Array]:
        """Return copies of parameters and moments, each laid out flat, by name."""

    @abstractmethod
    def resume(self, state: TrainingState) -> None:
        """Go on from what `state` returned after `state.steps` steps."""

    def weights(self) -> dict[str, Float32Array]:
        """Return copies of the parameters that the best evaluation is kept by, each laid out flat."""
        raise NotImplementedError

    def set_weights(self, weights: Mapping[str, Float32Array]) -> None:
        """Take back what `weights` returned."""
        raise NotImplementedError


Evaluation = list[Float64Array]
"""What was measured at one time: an array with a value per held-out query, or several for several settings."""
BEST_PREFIX = "best_"


class TrainingLoop:
    """Takes steps, evaluates, stops early, keeps the best weights and saves checkpoints.

    Parameters
    ----------
    training : Training
        The training.
    key : str
        Says what is trained on what: a checkpoint with another key is refused.
    measure : callable, optional
        Returns an evaluation of the weights as they are. Without it, all steps are taken and the last weights stay.
    quality : callable, optional
        Returns the quality of an evaluation; the mean of its first array unless given.
    rows : int
        How many arrays an evaluation has.
    last_step : int, optional
        Where to end; where the schedule does unless given.
    every : int, optional
        Steps between two evaluations; an epoch unless given.
    patience : int, optional
        Stop after this number of evaluations without a new best; unless given, after the first below the best.
    measure_first : bool
        Evaluate before the first step, too.
    keep_best : bool
        Return to the weights of the best evaluation in the end; the last of equals.
    checkpoint : path, optional
        Where the state is saved after every evaluation, and from where a loop with the same key goes on.
    save_every : int, optional
        Steps between two more checkpoints.
    watch : callable, optional
        Gets a `TrainingProgress` after every step, when evaluation and checkpoint of the step are done.
    evaluated : callable, optional
        Called with the number of evaluations so far and the last one, at the end of every epoch, or every `every`
        steps. For evaluations of a checkpoint it is called again, with `current=False` for all but the last.
    phase : str
        For `TrainingProgress`.
    show : str, optional
        The measure's name: show a bar on a terminal, an epoch at a time.
    """

    def __init__(
        self,
        training: Training,
        *,
        key: str,
        measure: Callable[[], Evaluation] | None = None,
        quality: Callable[[Evaluation], float] | None = None,
        rows: int = 1,
        last_step: int | None = None,
        every: int | None = None,
        patience: int | None = None,
        measure_first: bool = True,
        keep_best: bool = True,
        checkpoint: Path | None = None,
        save_every: int | None = None,
        watch: Watch | None = None,
        evaluated: Callable[..., None] | None = None,
        phase: str = "",
        show: str | None = None,
    ):
        self.training, self.key, self.measure, self.rows = training, key, measure, rows
        self.quality = quality or (lambda evaluation: float(evaluation[0].mean()))
        self.last_step = training.steps if last_step is None else last_step
        self.every, self.patience = every, patience
        self.measure_first, self.keep_best = measure_first, keep_best
        self.checkpoint, self.save_every, self.watch = checkpoint, save_every, watch
        self.evaluated, self.phase, self.show = evaluated, phase, show
        self.evaluations: list[Evaluation] = []
        self.qualities: list[float] = []
        self.kinds: Mapping[str, float] = {}
        self.best: dict[str, Float32Array] | None = None
        self.interrupted = False

    def run(self) -> None:
        """Train to the end, or until held-out queries gain no more; the best weights are then in the model.

        Ctrl-C ends it early if there is a best evaluation beside that of the beginning, and is raised otherwise.
        """
        self._resume()
        if self.measure_first and not self.evaluations:
            self._evaluate()
        try:
            for loss in self._steps():
                self._after_step(loss)
        except KeyboardInterrupt:
            if self.best is None or len(self.evaluations) < 2:  # nothing is known to be any good
                raise
            self.interrupted = True
        if self.best is not None:
            self.training.set_weights(self.best)

    def _steps(self) -> Iterator[float]:
        training = self.training
        while training.steps_done < self.last_step and not self._has_stopped():
            losses = training.epoch()
            if self.show is not None:
                left = training.steps_per_epoch - training.steps_done % training.steps_per_epoch
                losses = progress(losses, total=min(left, self.last_step - training.steps_done), what=self._title())
            for loss in losses:
                yield loss
                if training.steps_done == self.last_step or self._has_stopped():
                    break

    def _title(self) -> str:
        last = f", {self.show} {self.qualities[-1]:.4f}" if self.qualities else ""
        return f"epoch {self.training.steps_done // self.training.steps_per_epoch + 1}{last}"

    def _after_step(self, loss: float) -> None:
        training = self.training
        if training.steps_done % (self.every or training.steps_per_epoch) == 0 or training.steps_done == training.steps:
            self._evaluate()
            self._save()
        elif self.save_every and training.steps_done % self.save_every == 0:
            self._save()
        if self.watch is not None:
            seen = training.steps_done, training.steps, loss, list(self.qualities)
            self.watch(TrainingProgress(*seen, self.phase, self.kinds))

    def _evaluate(self) -> None:
        """Measure held-out queries, and keep the weights if nothing before was better."""
        if self.measure is not None:
            self._note(self.measure())
            if self.keep_best and self.qualities[-1] >= max(self.qualities):
                self.best = self.training.weights()
        if self.evaluated is not None:
            self.evaluated(len(self.evaluations), self.evaluations[-1] if self.evaluations else None, current=True)

    def _note(self, evaluation: Evaluation) -> None:
        self.evaluations.append(evaluation)
        self.qualities.append(self.quality(evaluation))

    def _has_stopped(self) -> bool:
        if not self.qualities:
            return False
        if self.patience is None:
            return self.qualities[-1] < max(self.qualities)
        return len(self.qualities) - 1 - int(np.argmax(self.qualities)) >= self.patience

    def _save(self) -> None:
        if self.checkpoint is None:
            return
        best = {f"{BEST_PREFIX}{name}": values for name, values in (self.best or {}).items()}
        rows = [values for evaluation in self.evaluations for values in evaluation]
        measured = np.array(rows, np.float64) if rows else np.zeros((0, 0))
        state = TrainingState(self.key, self.training.steps_done, self.training.state() | best, measured)
        state.save(self.checkpoint, overwrite=True)

    def _resume(self) -> None:
        if self.checkpoint is None or not self.checkpoint.exists():
            return
        state = TrainingState.load(self.checkpoint, mmap=False)
        if state.key != self.key:
            wanted = "`checkpoint` must be of a training with the same settings and data"
            raise InputError(f"{wanted}. Got another's in {self.checkpoint}: remove it, or give another folder.")
        names = [name for name in state.arrays if name.startswith(BEST_PREFIX)]
        self.best = {name.removeprefix(BEST_PREFIX): state.arrays.pop(name) for name in names} or None
        self.training.resume(state)
        count = len(state.measured) // self.rows
        for number in range(count):
            self._note(list(state.measured[number * self.rows : (number + 1) * self.rows]))
            if self.evaluated is not None:
                self.evaluated(number + 1, self.evaluations[-1], current=number == count - 1)
