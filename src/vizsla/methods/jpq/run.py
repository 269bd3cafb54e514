"""JpqRun: a whole training: what to choose is tried on held-out clicks, and learned again from all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from vizsla.clicks.choice import Choice
from vizsla.clicks.measures import PerQuery
from vizsla.indexes.pq import PqIndex
from vizsla.methods.jpq.held_out import MEASURE, HeldOutClicks
from vizsla.methods.jpq.lessons import Lessons
from vizsla.methods.jpq.query_side import Adapter, QuerySide
from vizsla.methods.jpq.settings import JpqSettings
from vizsla.methods.jpq.training import JpqTraining
from vizsla.training.code_scores import Floats
from vizsla.training.state import TrainingState


class Watched(NamedTuple):
    """What a training reports after every step.

    Attributes
    ----------
    phase : str
        What is being trained: "trial, share 0.5", or "all clicks".
    step, steps : int
        How far it is.
    loss : float
        Of the last step.
    held_out : dict
        The measure of the last evaluation: "all", "warm", "cold"; empty before the first.
    """

    phase: str
    step: int
    steps: int
    loss: float
    held_out: dict[str, float]


Watch = Callable[[Watched], None]


class Trained(NamedTuple):
    """What the query side learned, the centroids, and the settings that made them."""

    query_side: Any
    centroids: Floats
    settings: JpqSettings


class JpqRun:
    """Everything that `train_jpq` does, and the best that it has so far.

    Parameters
    ----------
    index : PqIndex
        The coded items.
    lessons : Lessons
        What is learned from.
    settings : JpqSettings
        How, where nothing is chosen.
    shares : sequence of float
        The click loss's shares to choose from.
    trial : pair of Lessons and HeldOutClicks, optional
        What is left when clicks are held out, and these; without it nothing is chosen and every epoch is taken.
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
        lessons: Lessons,
        settings: JpqSettings,
        *,
        shares: Sequence[float] = (),
        trial: tuple[Lessons, HeldOutClicks] | None = None,
        vectors: Floats | None = None,
        checkpoint: Path | None = None,
        watch: Watch | None = None,
        side: QuerySide | None = None,
    ):
        self.index, self.lessons, self.settings, self.vectors = index, lessons, settings, vectors
        self.trial, self.checkpoint, self.watch = trial, checkpoint, watch
        self.side: QuerySide = Adapter() if side is None else side
        self.shares = list(shares) or [settings.share]
        self.best: Trained | None = None
        self.trials: list[dict[str, Any]] = []
        self.measured: list[PerQuery] = []

    def run(self) -> Trained:
        """Choose, and train on everything."""
        chosen = self.settings if self.trial is None else self._chosen(*self.trial)
        training = self._training(self.lessons, chosen)
        self._train(training, "all clicks", chosen.epochs if chosen.stop is None else chosen.stop)
        self.best = _trained(training)
        return self.best

    @property
    def choice(self) -> Choice | None:
        """What was tried so far."""
        if self.trial is None or len(self.trials) < 2:
            return None
        return Choice.among(self.trials, self.measured, self.trial[1].cold, measure=MEASURE, base=0)

    def _chosen(self, lessons: Lessons, held: HeldOutClicks) -> JpqSettings:
        """Train with each share on what is left, and look at the held-out queries after every epoch."""
        for share in self.shares:
            settings = replace(self.settings, share=share)
            training = self._training(lessons, settings)
            if not self.trials:
                self._note({"share": share, "epochs": 0}, held.measured(training), training)
            self._train(training, f"trial, share {share:g}", settings.epochs, held=held)
        choice = self.choice
        best = self.trials[0] if choice is None else choice.chosen
        return replace(self.settings, share=best["share"], stop=best["epochs"])

    def _training(self, lessons: Lessons, settings: JpqSettings) -> JpqTraining:
        return self.side.training(self.index, lessons, settings, self.vectors)

    def _train(self, training: JpqTraining, phase: str, epochs: int, *, held: HeldOutClicks | None = None) -> None:
        """Train so many epochs, from a checkpoint if there is one; with `held`, measure after each and stop early."""
        measured = self._resumed(training, phase, held)
        while training.steps_done < epochs * training.steps_an_epoch and not _falls(measured):
            for loss in training.epoch():
                self._watched(training, phase, loss)
            if held is not None:
                measured.append(held.measured(training))
                done = training.steps_done // training.steps_an_epoch
                self._note({"share": training.settings.share, "epochs": done}, measured[-1], training)
            elif self.trial is None:
                self.best = _trained(training)  # nothing to compare by: the last whole epoch is the best so far
            if self.checkpoint is not None:
                training.state(measured).save(self.checkpoint / phase.replace(", ", "-"), overwrite=True)

    def _resumed(self, training: JpqTraining, phase: str, held: HeldOutClicks | None) -> list[PerQuery]:
        """Go on from the phase's checkpoint, and note again what was measured before it."""
        path = None if self.checkpoint is None else self.checkpoint / phase.replace(", ", "-")
        if path is None or not path.exists():
            return []
        state = TrainingState.load(path, mmap=False)
        training.resume(state)
        measured = list(state.measured)
        if held is not None:
            for epoch, values in enumerate(measured, 1):
                last = epoch == len(measured)  # of earlier epochs only what was measured is left
                self._note({"share": training.settings.share, "epochs": epoch}, values, training if last else None)
        return measured

    def _note(self, trial: dict[str, Any], values: PerQuery, training: JpqTraining | None) -> None:
        """Remember a trial, and what it trained if nothing before was better."""
        self.trials.append(trial)
        self.measured.append(values)
        choice = self.choice
        if training is not None and (choice is None or choice.best == len(self.trials) - 1):
            self.best = _trained(training)

    def _watched(self, training: JpqTraining, phase: str, loss: float) -> None:
        if self.watch is not None:
            last = self.choice.trials[-1] if self.measured[1:] and self.choice is not None else {}
            held: dict[str, float] = {name: last[name] for name in ("all", "warm", "cold") if name in last}
            self.watch(Watched(phase, training.steps_done, training.steps, loss, held))


def _trained(training: JpqTraining) -> Trained:
    return Trained(training.query_side(), training.scores.centroids.copy(), training.settings)


def _falls(measured: Sequence[PerQuery]) -> bool:
    """Say whether the last epoch's held-out queries did worse than those of the epoch before."""
    return len(measured) > 1 and float(measured[-1].mean()) < float(measured[-2].mean())
