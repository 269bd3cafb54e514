"""A child that is forked while other threads are at work finds nothing locked for good."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from threading import Event, Thread

import numpy as np
import pytest

import vizsla
from tests.support.stuck import forked_status
from vizsla._internal.forking import ForkGate, ForkLock
from vizsla._internal.lazy import cached_property
from vizsla.scorers.cache import ScoreStore
from vizsla.scorers.lazy_vectors import VectorStore

SOURCE = Path(vizsla.__file__).parent
pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
    pytest.mark.skipif(bool(os.environ.get("LD_PRELOAD")), reason="a sanitizer cannot fork a process with threads"),
]


def in_a_child(work) -> int:
    """Return how a forked child ended that did this work: 0 if it came to its end."""
    child = os.fork()
    if not child:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return forked_status(child)


class Held:
    """Another thread that is inside something, while this block lasts."""

    def __init__(self, enter):
        self.inside, self.leave = Event(), Event()
        self.thread = Thread(target=lambda: enter(self))

    def __enter__(self):
        self.thread.start()
        self.inside.wait()
        return self

    def __exit__(self, *error):
        self.leave.set()
        self.thread.join()

    def stay(self):
        self.inside.set()
        self.leave.wait()


def entering(lock):
    def enter(held):
        with lock:
            held.stay()

    return enter


def enter(lock) -> None:
    with lock:
        pass


def test_a_lock_that_another_thread_holds_is_free_in_a_child():
    lock = ForkLock()
    with Held(entering(lock)):
        assert in_a_child(lambda: enter(lock)) == 0
    enter(lock)


def test_a_lock_keeps_others_out():
    lock, order = ForkLock(), []

    def wait():
        with lock:
            order.append("second")

    with lock:
        other = Thread(target=wait)
        other.start()
        order.append("first")
    other.join()
    assert order == ["first", "second"]


class Slow:
    """Computes when it is told to."""

    def __init__(self, held=None):
        self.held = held

    @cached_property
    def value(self) -> int:
        """What takes long."""
        if self.held is not None:
            self.held.stay()
        return 7


def test_a_property_that_another_thread_computes_can_be_computed_in_a_child():
    def compute(held):
        assert Slow(held).value == 7

    with Held(compute):
        assert in_a_child(lambda: Slow().value) == 0


def test_a_property_is_computed_once_and_named():
    slow = Slow()
    assert slow.value == 7 and vars(slow)["value"] == 7 and Slow.value.__doc__ == "What takes long."


def test_no_lock_of_a_class_is_left():
    """Python 3.11's own cached_property holds one while it computes, and plain locks stay held in children."""
    files = [file for file in SOURCE.rglob("*.py") if file.name not in ("forking.py", "lazy.py")]
    texts = {file: file.read_text(encoding="utf-8") for file in files}
    for wrong in ("from functools import cached_property", "functools.cached_property", "threading import Lock"):
        assert not [file for file, text in texts.items() if wrong in text], wrong


def test_a_fork_waits_for_those_inside():
    gate, order = ForkGate(), []

    def enter(held):
        with gate:
            held.stay()
            order.append("left")

    with Held(enter) as held:
        threading.Timer(0.05, held.leave.set).start()
        assert in_a_child(lambda: None) == 0
        order.append("forked")
    assert order == ["left", "forked"]


def test_who_is_inside_may_fork_and_so_may_the_child():
    gate = ForkGate()

    def again():
        assert in_a_child(lambda: enter(gate)) == 0

    with gate:
        assert in_a_child(again) == 0
    assert in_a_child(again) == 0


@pytest.fixture
def vectors(tmp_path):
    return VectorStore(tmp_path / "vectors.db", "mine", 3, sparse=False)


@pytest.mark.parametrize("kind", ["vectors", "scores"])
def test_children_of_a_process_whose_threads_use_sqlite(kind, tmp_path, vectors):
    """Every second child hung: SQLite locks its memory for moments, and nobody frees it in a child."""
    texts = [f"text {n}" for n in range(300)]
    scores = ScoreStore(tmp_path / "scores.db")
    vectors.put(texts, np.ones((300, 3), np.float32))
    scores.put("f", [("q", text) for text in texts], np.ones(300, np.float32))

    def use():
        if kind == "vectors":
            assert len(vectors.get(texts)) == 300
        else:
            assert scores.get("f", [("q", text) for text in texts]).sum() == 300

    over = Event()

    def use_on():
        while not over.is_set():
            use()

    threads = [Thread(target=use_on) for _ in range(6)]
    for thread in threads:
        thread.start()
    try:
        assert [in_a_child(use) for _ in range(12)] == [0] * 12
    finally:
        over.set()
        for thread in threads:
            thread.join()
