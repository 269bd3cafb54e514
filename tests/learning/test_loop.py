"""The training loop on a toy whose every step is known: when it evaluates, stops, keeps, saves and goes on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from vizsla.errors import InputError
from vizsla.learning.loop import Training, TrainingLoop


@dataclass(frozen=True)
class Settings:
    epochs: int = 3
    batch: int = 2
    seed: int = 7
    max_steps: int | None = None


class Sums(Training):
    """Adds up the numbers of the examples it was given, each times its step."""

    def __init__(self, settings=Settings(), examples=5):  # noqa: B008
        super().__init__(settings, examples)
        self.total = np.zeros(2, np.float32)
        self.seen = []

    def step(self, numbers):
        self.steps_done += 1
        self.seen.append(sorted(numbers.tolist()))
        self.total += [numbers.sum(), self.steps_done]
        return float(numbers.sum())

    def state(self):
        return {"total": self.total.copy()}

    def resume(self, state):
        self.total[...], self.steps_done = state.array("total", (2,)), state.steps

    def weights(self):
        return {"total": self.total.copy()}

    def set_weights(self, weights):
        self.total[...] = weights["total"]


def measured(values):
    """Return a measure that gives these values, one after the other."""
    left = iter(values)
    return lambda: [np.full(4, next(left))]


def order(epoch):
    return np.random.default_rng([7, epoch]).permutation(5)


def test_an_epoch_goes_once_through_all_examples_in_an_order_of_its_own():
    training = Sums()
    TrainingLoop(training, key="").run()
    assert training.steps == training.steps_done == 9 and training.steps_per_epoch == 3
    wanted = [sorted(order(epoch)[at : at + 2].tolist()) for epoch in range(3) for at in (0, 2, 4)]
    assert training.seen == wanted


@pytest.mark.parametrize("most", [1, 4, 9, 20])
def test_no_more_steps_than_planned(most):
    training, looks = Sums(Settings(max_steps=most)), []
    evaluated = lambda number, values, current: looks.append(training.steps_done)  # noqa: E731
    TrainingLoop(training, key="", evaluated=evaluated, measure_first=False).run()
    assert training.steps_done == min(most, 9)
    assert looks == sorted({*(at for at in (3, 6, 9) if at <= most), min(most, 9)})


@pytest.mark.parametrize(
    ("patience", "values", "taken", "kept"),
    [
        (None, [0.1, 0.2, 0.3, 0.4], 9, 9),
        (None, [0.1, 0.3, 0.2, 0.9], 6, 3),
        (None, [0.5, 0.5, 0.5, 0.4], 9, 6),  # equals go on, and the last of them is kept
        (1, [0.5, 0.5, 0.9, 0.9], 3, 3),  # equals are no gain
        (2, [0.5, 0.4, 0.3, 0.9], 6, 0),
        (2, [0.5, 0.4, 0.6, 0.1], 9, 6),
    ],
)
def test_stops_without_gain_and_keeps_the_best(patience, values, taken, kept):
    training = Sums()
    loop = TrainingLoop(training, key="", measure=measured(values), patience=patience)
    loop.run()
    assert training.steps_done == taken
    assert training.total[1] == sum(range(kept + 1))  # the weights after the best evaluation
    assert loop.qualities == values[: 1 + taken // 3]


def test_watchers_see_the_evaluation_of_their_step():
    seen = []
    TrainingLoop(Sums(), key="", measure=measured(range(1, 9)), every=4, watch=seen.append, phase="all").run()
    assert [each.step for each in seen] == list(range(1, 10)) and {each.steps for each in seen} == {9}
    assert [len(each.held_out) for each in seen] == [1, 1, 1, 2, 2, 2, 2, 3, 4]
    assert {each.phase for each in seen} == {"all"}


@pytest.mark.parametrize("at", range(1, 10))
@pytest.mark.parametrize("save_every", [None, 1, 2])
def test_a_stopped_loop_goes_on_to_the_same_bits(tmp_path, at, save_every):
    values = [0.1, 0.4, 0.5, 0.45]

    def loop(training, done=0, **options):
        path = tmp_path / "state"
        return TrainingLoop(training, key="k", measure=measured(values[done:]), checkpoint=path, **options)

    whole = Sums()
    TrainingLoop(whole, key="", measure=measured(values)).run()

    def stop(seen):
        if seen.step == at:
            raise RuntimeError

    with pytest.raises(RuntimeError):
        loop(Sums(), watch=stop, save_every=save_every).run()
    saved = at - at % 3 if save_every is None else max(at - at % 3, at - at % save_every)
    again = Sums()
    resumed = loop(again, done=1 + saved // 3 if saved else 0)
    resumed.run()
    assert (again.total == whole.total).all() and again.steps_done == 9
    assert again.seen == whole.seen[saved:]
    assert resumed.qualities == values


def test_evaluations_of_several_rows_survive_a_checkpoint(tmp_path):
    rows = [[np.array([0.1, 0.2]), np.array([0.3, 0.4])], [np.array([0.5, 0.6]), np.array([0.7, 0.8])]]
    noted = []

    def loop(left, steps):
        note = lambda number, values, current: noted.append((number, np.array(values).tolist(), current))  # noqa: E731
        return TrainingLoop(
            Sums(), key="k", rows=2, measure=lambda: left.pop(0), measure_first=False, keep_best=False, evaluated=note,
            checkpoint=tmp_path / "state", last_step=steps,
        )  # fmt: skip

    loop(rows[:], 6).run()
    before, noted[:] = noted[:], []
    loop([], 6).run()
    assert before == [(1, np.array(rows[0]).tolist(), True), (2, np.array(rows[1]).tolist(), True)]
    assert noted == [(1, before[0][1], False), (2, before[1][1], True)]


def test_a_checkpoint_of_another_key_is_refused(tmp_path):
    TrainingLoop(Sums(), key="one", checkpoint=tmp_path / "state").run()
    with pytest.raises(InputError, match="same settings and data"):
        TrainingLoop(Sums(), key="other", checkpoint=tmp_path / "state").run()


@pytest.mark.parametrize(("at", "kept"), [(2, None), (3, 3), (5, 3), (6, 3), (8, 3)])
def test_ctrl_c_keeps_the_best_where_there_is_one(at, kept):
    def interrupt(seen):
        if seen.step == at:
            raise KeyboardInterrupt

    training = Sums()
    loop = TrainingLoop(training, key="", measure=measured([0.1, 0.5, 0.4, 0.3]), patience=9, watch=interrupt)
    if kept is None:
        with pytest.raises(KeyboardInterrupt):
            loop.run()
    else:
        loop.run()
        assert loop.interrupted and training.total[1] == sum(range(kept + 1))
