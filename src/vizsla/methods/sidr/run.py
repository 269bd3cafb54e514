"""SidrRun: a whole training, from its beginning or from a checkpoint, to the best epoch on held-out queries."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vizsla.errors import InputError
from vizsla.methods.sidr.held_out import HeldOutQueries
from vizsla.methods.sidr.training import SidrTraining
from vizsla.progress import progress
from vizsla.training.state import TrainingState
from vizsla.training.watched import Watch, Watched

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
            self.training.optimiser.resume(self.best)

    def _what(self) -> str:
        last = f", MRR@10 {self.qualities[-1]:.4f}" if self.qualities else ""
        return f"epoch {self.training.steps_done // self.training.steps_an_epoch + 1}{last}"

    def _has_stopped(self) -> bool:
        """Whether the last epoch was worse than one before."""
        return len(self.qualities) > 1 and self.qualities[-1] < max(self.qualities)

    def _after_step(self, loss: float) -> None:
        training = self.training
        if self.watch is not None:
            self.watch(Watched(training.steps_done, training.steps, loss, self.qualities))
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
            self.best = {name: array.copy() for name, array in training.optimiser.state().items()}
            self._save("best")

    def _save(self, name: str) -> None:
        if self.checkpoint is None:
            return
        width = 0 if not self.measured else len(self.measured[0])
        measured = np.reshape(np.array(self.measured, np.float64), (len(self.measured), width))
        state = TrainingState(self.key, self.training.steps_done, self.training.optimiser.state(), measured)
        state.save(self.checkpoint / name, overwrite=True)

    def _resume(self) -> None:
        if self.checkpoint is None:
            return
        best, now = self._loaded("best"), self._loaded("now")
        if best is not None:
            self.best = best.arrays
        if (state := now or best) is not None:
            self.training.optimiser.resume(state.arrays)
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
