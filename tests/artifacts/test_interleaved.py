"""Writers to one path without an atomic exchange, their steps in random orders: all succeed, and nothing is left."""

from __future__ import annotations

import os
import threading
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tests.artifacts.tiny import Tiny, names
from vizsla.artifacts import atomic_folder
from vizsla.artifacts.artifact import load

STEPS = [(atomic_folder, "check_replaceable"), (atomic_folder, "rename_new"), (atomic_folder, "discard")]
STEPS += [(atomic_folder, "clean"), (Path, "rename"), (Path, "exists")]


class Turns:
    """Lets one of several threads run at a time; before each step it draws which one goes on."""

    def __init__(self, seed: int):
        self._random, self._changed = np.random.default_rng(seed), threading.Condition()
        self._waiting: set[int] = set()
        self._running = 0
        self.errors: list[BaseException] = []

    def run(self, actions):
        """Run all actions to their ends."""
        threads = [threading.Thread(target=self._follow, args=(action,)) for action in actions]
        self._running = len(threads)
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def step(self):
        """Wait until it is this thread's turn; threads that take no part do not wait."""
        me = threading.get_ident()
        if not getattr(_local, "takes_part", False):
            return
        with self._changed:
            self._waiting.add(me)
            self._draw()
            self._changed.wait_for(lambda: me not in self._waiting)

    def _follow(self, action):
        _local.takes_part = True
        self.step()
        try:
            action()
        except BaseException as error:
            self.errors.append(error)
        with self._changed:
            self._running -= 1
            self._draw()

    def _draw(self):
        if self._waiting and len(self._waiting) == self._running:  # no other thread is between two steps
            self._waiting.remove(sorted(self._waiting)[self._random.integers(len(self._waiting))])
            self._changed.notify_all()


_local = threading.local()


def _watched(patch, owner, name, turns):
    step = getattr(owner, name)

    def wait_and_do(*arguments, **named):
        turns.step()
        return step(*arguments, **named)

    patch.setattr(owner, name, wait_and_do)


@pytest.mark.parametrize("writers", [2, 3, 4])
def test_every_order_of_steps_ends_with_one_whole_artifact(tmp_path, monkeypatch, writers):
    monkeypatch.setattr(os, "fsync", lambda handle: None)
    rivals = [Tiny.make(number, n=2, inner=False) for number in range(writers + 1)]
    answers = [rival.answer() for rival in rivals]
    for seed in range(60):
        path = tmp_path / str(seed) / "saved"
        rivals[-1].save(path)
        turns = Turns(seed)
        with monkeypatch.context() as patch:
            patch.setattr(atomic_folder, "exchange", lambda one, other: False)
            for owner, name in STEPS:
                _watched(patch, owner, name, turns)
            turns.run([partial(rival.save, path, overwrite=True) for rival in rivals[:writers]])
        assert turns.errors == [], f"seed {seed}"
        assert names(path.parent) == ["saved"], f"seed {seed}"
        assert load(path).answer() in answers[:writers], f"seed {seed}"
