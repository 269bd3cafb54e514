"""JpqRun: a whole training: settings are selected on held-out clicks, then all clicks are learned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from vizsla.indexes.pq.pq_index import PqIndex
from vizsla.learning.loop import Evaluation, TrainingLoop, Watch
from vizsla.learning.selection import Choice, balanced, choose, harmless
from vizsla.methods.jpq.query_adapter import Adapter, QuerySide
from vizsla.methods.jpq.settings import JpqSettings
from vizsla.methods.jpq.trainer import JpqTraining
from vizsla.methods.jpq.training_data import MEASURE, HeldOutClicks, JpqTrainingData, JpqTrial
from vizsla.typing import Float32Array, Float64Array


class Trained(NamedTuple):
    """The result of a training.

    Attributes
    ----------
    coded : PqIndex
        The items' codes.
    centroids : float32 array
        The current centroids.
    query_side : object
        The learned query side.
    mark_weight : float
        The query's value in the click-flag dimension.
    settings : JpqSettings
        The settings that they were trained with.
    """

    coded: PqIndex
    centroids: Float32Array
    query_side: Any
    mark_weight: float
    settings: JpqSettings


class JpqRun:
    """A run of `train_jpq`, with the best result so far.

    Parameters
    ----------
    index : PqIndex
        The coded items.
    marked : PqIndex, optional
        The same with click flags: trained in its place if the clicked margin is above 0.
    training_data : JpqTrainingData
        Queries, clicks and teacher's items.
    settings : JpqSettings
        Settings of everything that is not selected.
    click_loss_weights : sequence of float
        Weights of the click loss to select from.
    clicked_margins : sequence of float
        Margins to select from; any but 0 needs `marked`.
    trial : Trial, optional
        Held-out clicks; without them nothing is selected and every epoch is taken.
    vectors : float32 array, optional
        Uncompressed items, for the stage "negatives".
    checkpoint : path, optional
        A folder for the state after every epoch, from which an interrupted run continues.
    watch : callable, optional
        Called after every step.
    side : QuerySide, optional
        The query side that is trained beside the centroids; an adapter unless given.
    """

    def __init__(
        self,
        index: PqIndex,
        training_data: JpqTrainingData,
        settings: JpqSettings,
        *,
        marked: PqIndex | None = None,
        click_loss_weights: Sequence[float] = (),
        clicked_margins: Sequence[float] = (),
        trial: JpqTrial | None = None,
        vectors: Float32Array | None = None,
        checkpoint: Path | None = None,
        watch: Watch | None = None,
        side: QuerySide | None = None,
    ):
        self.index, self.marked, self.training_data = index, marked, training_data
        self.settings, self.vectors = settings, vectors
        self.trial, self.checkpoint, self.watch = trial, checkpoint, watch
        self.side: QuerySide = Adapter() if side is None else side
        self.click_loss_weights, self.clicked_margins = (
            list(click_loss_weights) or [settings.click_loss_weight],
            list(clicked_margins) or [settings.clicked_margin],
        )
        self.best: Trained | None = None
        self.trials: list[dict[str, Any]] = []
        self.measured: list[Float64Array] = []
        self._last_held_out: dict[str, float] = {}

    def run(self) -> Trained:
        """Select settings, then train on all clicks."""
        chosen = self.settings if self.trial is None else self._chosen(self.trial)
        index = self.marked if self.marked is not None and chosen.clicked_margin > 0 else self.index
        training = self._training(index, self.training_data, chosen)
        self._train(training, "all clicks", chosen.epochs if chosen.stop is None else chosen.stop)
        self.best = _trained(training)
        return self.best

    @property
    def choice(self) -> Choice | None:
        """The trials so far."""
        if self.trial is None or len(self.trials) < 2:
            return None
        return self._choice_from(0, self.trial)

    def _choice_from(self, first: int, trial: JpqTrial) -> Choice:
        """Select among the trials from `first` on; the very first one is the default."""
        cold, against = trial.held.cold, trial.against
        rule = harmless(None if first else 0)
        if against is not None and len(cold):
            sides = {"warm": ~cold, "cold": cold}
            rule = balanced({kind: float(against[own].mean()) for kind, own in sides.items() if own.any()})
        return choose(self.trials[first:], self.measured[first:], cold, measure=MEASURE, rule=rule)

    def _chosen(self, trial: JpqTrial) -> JpqSettings:
        """Train with each weight on the remaining clicks, and measure the held-out queries after every epoch."""
        for click_loss_weight in self.click_loss_weights:
            settings = replace(self.settings, click_loss_weight=click_loss_weight)
            training = self._training(trial.coded, trial.training_data, settings)
            if not self.trials:
                self._note(0, trial.held.measured(training, self.clicked_margins), training)
            self._train(training, f"trial, share {click_loss_weight:g}", settings.epochs, held=trial.held)
        choice = self.choice
        best = self.trials[0] if choice is None else choice.chosen
        return replace(
            self.settings,
            click_loss_weight=best["click_loss_weight"],
            stop=best["epochs"],
            clicked_margin=best["clicked_margin"],
        )

    def _training(self, index: PqIndex, training_data: JpqTrainingData, settings: JpqSettings) -> JpqTraining:
        return self.side.training(index, training_data, settings, self.vectors)

    def _train(self, training: JpqTraining, phase: str, epochs: int, *, held: HeldOutClicks | None = None) -> None:
        """Train from the checkpoint if there is one; with `held`, measure after each epoch and stop early."""

        def evaluated(number: int, values: Evaluation | None, *, current: bool) -> None:
            if values is not None:
                self._note(number, values, training, current=current)
                loop.kinds = self._last_held_out
            elif self.trial is None:
                self.best = _trained(training)  # nothing to compare by: the last whole epoch is the best so far

        self._last_held_out = {}
        loop = TrainingLoop(
            training, key=training.key if self.checkpoint else "", phase=phase, rows=len(self.clicked_margins),
            keep_best=False, measure_first=False,
            measure=None if held is None else lambda: held.measured(training, self.clicked_margins),
            quality=lambda values: max(float(one.mean()) for one in values),
            last_step=epochs * training.steps_per_epoch, evaluated=evaluated, watch=self.watch,
            checkpoint=None if self.checkpoint is None else self.checkpoint / phase.replace(", ", "-"),
        )  # fmt: skip
        loop.run()

    def _note(self, epochs: int, values: Evaluation, training: JpqTraining, *, current: bool = True) -> None:
        """Record a trial per clicked margin, and keep the trained state if it is the best so far."""
        click_loss_weight, before = training.settings.click_loss_weight, len(self.trials)
        self.trials += [
            {"click_loss_weight": click_loss_weight, "epochs": epochs, "clicked_margin": clicked_margin}
            for clicked_margin in self.clicked_margins
        ]
        self.measured += values
        choice = self.choice
        best = before if choice is None else choice.best
        if choice is not None and self.trial is not None:
            chosen = self._choice_from(before, self.trial).chosen
            self._last_held_out = {name: chosen[name] for name in ("all", "warm", "cold") if name in chosen}
        if current and best >= before:  # of earlier epochs of a checkpoint only what was measured is left
            self.best = _trained(training, self.trials[best]["clicked_margin"])


def _trained(training: JpqTraining, clicked_margin: float | None = None) -> Trained:
    settings = (
        training.settings if clicked_margin is None else replace(training.settings, clicked_margin=clicked_margin)
    )
    weight = training.mark_weight(settings.clicked_margin)
    return Trained(training.index, training.scores.centroids.copy(), training.query_side(), weight, settings)
