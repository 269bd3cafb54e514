"""JpqRun: a whole training: what to choose is tried on held-out clicks, and learned again from all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from vizsla.indexes.pq.pq_index import PqIndex
from vizsla.learning.checkpoints import TrainingState
from vizsla.learning.selection import Choice
from vizsla.methods.jpq.query_adapter import Adapter, QuerySide
from vizsla.methods.jpq.settings import JpqSettings
from vizsla.methods.jpq.trainer import JpqTraining
from vizsla.methods.jpq.training_data import MEASURE, HeldOutClicks, JpqTrainingData, JpqTrial
from vizsla.typing import Float32Array, Float64Array


class JpqProgress(NamedTuple):
    """What a training reports after every step, and again when held-out clicks were looked at.

    Attributes
    ----------
    phase : str
        What is being trained: "trial, share 0.5", or "all clicks".
    step, steps : int
        How far it is.
    loss : float
        Of the last step.
    held_out : dict
        The measure of the last evaluation of the phase, with its best handicap: "all", "warm", "cold"; empty before it.
    """

    phase: str
    step: int
    steps: int
    loss: float
    held_out: dict[str, float]


Watch = Callable[[JpqProgress], None]


class Trained(NamedTuple):
    """What came of a training.

    Attributes
    ----------
    coded : PqIndex
        The items' codes.
    centroids : float32 array
        What they stand for now.
    query_side : object
        What the query side learned.
    mark_weight : float
        What it holds in the dimension of marked items.
    settings : JpqSettings
        What made them.
    """

    coded: PqIndex
    centroids: Float32Array
    query_side: Any
    mark_weight: float
    settings: JpqSettings


class JpqRun:
    """Everything that `train_jpq` does, and the best that it has so far.

    Parameters
    ----------
    index : PqIndex
        The coded items.
    marked : PqIndex, optional
        The same with clicked items marked: trained in its place where the handicap is above 0.
    lessons : Lessons
        What is learned from.
    settings : JpqSettings
        How, where nothing is chosen.
    shares : sequence of float
        The click loss's shares to choose from.
    handicaps : sequence of float
        To choose from, too; anything but 0 needs an index of marked items.
    trial : Trial, optional
        Clicks that are held out; without them nothing is chosen and every epoch is taken.
    vectors : float32 array, optional
        Uncompressed items, for the stage "negatives".
    checkpoint : path, optional
        A folder: the state after every epoch is kept there, and a run that was killed goes on from it.
    watch : callable, optional
        Called after every step.
    side : QuerySide, optional
        What learns beside the centroids; an adapter unless given.
    """

    def __init__(
        self,
        index: PqIndex,
        lessons: JpqTrainingData,
        settings: JpqSettings,
        *,
        marked: PqIndex | None = None,
        shares: Sequence[float] = (),
        handicaps: Sequence[float] = (),
        trial: JpqTrial | None = None,
        vectors: Float32Array | None = None,
        checkpoint: Path | None = None,
        watch: Watch | None = None,
        side: QuerySide | None = None,
    ):
        self.index, self.marked, self.lessons = index, marked, lessons
        self.settings, self.vectors = settings, vectors
        self.trial, self.checkpoint, self.watch = trial, checkpoint, watch
        self.side: QuerySide = Adapter() if side is None else side
        self.shares, self.handicaps = list(shares) or [settings.share], list(handicaps) or [settings.handicap]
        self.best: Trained | None = None
        self.trials: list[dict[str, Any]] = []
        self.measured: list[Float64Array] = []
        self._last_held_out: dict[str, float] = {}

    def run(self) -> Trained:
        """Choose, and train on everything."""
        chosen = self.settings if self.trial is None else self._chosen(self.trial)
        index = self.marked if self.marked is not None and chosen.handicap > 0 else self.index
        training = self._training(index, self.lessons, chosen)
        self._train(training, "all clicks", chosen.epochs if chosen.stop is None else chosen.stop)
        self.best = _trained(training)
        return self.best

    @property
    def choice(self) -> Choice | None:
        """What was tried so far."""
        if self.trial is None or len(self.trials) < 2:
            return None
        return self._choice_from(0, self.trial)

    def _choice_from(self, first: int, trial: JpqTrial) -> Choice:
        """Choose among the trials from one on; the first of all is what stands."""
        how: Any = {"measure": MEASURE, "base": None if first else 0, "against": trial.against}
        return Choice.among(self.trials[first:], self.measured[first:], trial.held.cold, **how)

    def _chosen(self, trial: JpqTrial) -> JpqSettings:
        """Train with each share on what is left, and look at the held-out queries after every epoch."""
        for share in self.shares:
            settings = replace(self.settings, share=share)
            training = self._training(trial.coded, trial.lessons, settings)
            if not self.trials:
                self._note(0, trial.held.measured(training, self.handicaps), training)
            self._train(training, f"trial, share {share:g}", settings.epochs, held=trial.held)
        choice = self.choice
        best = self.trials[0] if choice is None else choice.chosen
        return replace(self.settings, share=best["share"], stop=best["epochs"], handicap=best["handicap"])

    def _training(self, index: PqIndex, lessons: JpqTrainingData, settings: JpqSettings) -> JpqTraining:
        return self.side.training(index, lessons, settings, self.vectors)

    def _train(self, training: JpqTraining, phase: str, epochs: int, *, held: HeldOutClicks | None = None) -> None:
        """Train so many epochs, from a checkpoint if there is one; with `held`, measure after each and stop early."""
        self._last_held_out = {}
        measured = self._resumed(training, phase, held)
        while training.steps_done < epochs * training.steps_an_epoch and not self._falls(measured):
            for loss in training.epoch():
                self._watched(training, phase, loss)
            if held is not None:
                found = held.measured(training, self.handicaps)
                measured += found
                self._note(training.steps_done // training.steps_an_epoch, found, training)
                self._watched(training, phase, loss)
            elif self.trial is None:
                self.best = _trained(training)  # nothing to compare by: the last whole epoch is the best so far
            if self.checkpoint is not None:
                training.state(measured).save(self.checkpoint / phase.replace(", ", "-"), overwrite=True)

    def _resumed(self, training: JpqTraining, phase: str, held: HeldOutClicks | None) -> list[Float64Array]:
        """Go on from the phase's checkpoint, and note again what was measured before it."""
        path = None if self.checkpoint is None else self.checkpoint / phase.replace(", ", "-")
        if path is None or not path.exists():
            return []
        state = TrainingState.load(path, mmap=False)
        training.resume(state)
        measured = list(state.measured)
        if held is not None:
            epochs = list(batched(measured, len(self.handicaps)))
            for epoch, values in enumerate(epochs, 1):
                # Of earlier epochs only what was measured is left.
                self._note(epoch, values, training, kept=epoch == len(epochs))
        return measured

    def _note(self, epochs: int, values: Sequence[Float64Array], training: JpqTraining, *, kept: bool = True) -> None:
        """Remember a trial of every handicap, and what was trained if nothing before was better."""
        share, before = training.settings.share, len(self.trials)
        self.trials += [{"share": share, "epochs": epochs, "handicap": handicap} for handicap in self.handicaps]
        self.measured += values
        choice = self.choice
        best = before if choice is None else choice.best
        if choice is not None and self.trial is not None:
            chosen = self._choice_from(before, self.trial).chosen
            self._last_held_out = {name: chosen[name] for name in ("all", "warm", "cold") if name in chosen}
        if kept and best >= before:
            self.best = _trained(training, self.trials[best]["handicap"])

    def _falls(self, measured: Sequence[Float64Array]) -> bool:
        """Say whether the last epoch's held-out queries did worse than those of the epoch before."""
        best = [max(float(values.mean()) for values in epoch) for epoch in batched(measured, len(self.handicaps))]
        return len(best) > 1 and best[-1] < best[-2]

    def _watched(self, training: JpqTraining, phase: str, loss: float) -> None:
        if self.watch is not None:
            self.watch(JpqProgress(phase, training.steps_done, training.steps, loss, self._last_held_out))


def _trained(training: JpqTraining, handicap: float | None = None) -> Trained:
    settings = training.settings if handicap is None else replace(training.settings, handicap=handicap)
    weight = training.mark_weight(settings.handicap)
    return Trained(training.index, training.scores.centroids.copy(), training.query_side(), weight, settings)


def batched(measured: Sequence[Float64Array], size: int) -> Iterator[Sequence[Float64Array]]:
    """Yield what was measured an epoch at a time."""
    for first in range(0, len(measured), size):
        yield measured[first : first + size]
