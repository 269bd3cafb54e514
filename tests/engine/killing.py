"""Writers that are killed at any moment, what was acknowledged until then, and a reader beside them."""

import os
import random
import signal
import time

from tests.engine.history import after, check_answers, held, take
from vizsla.engine.engine import Engine


def write_until_killed(folder, first, record):
    """Take steps without end; the record says which were begun and which were acknowledged."""
    engine = Engine.open(folder, maintenance="manual")
    state, step = held(engine), first
    while True:
        os.write(record, b"?")
        take(engine, state, step)
        os.write(record, b"!")
        state, step = after(state, step), step + 1


class Killing:
    """An engine whose writers are killed one after another, and what it must hold.

    Parameters
    ----------
    folder : Path
        The engine.
    seed : int
        Of the moments.
    """

    def __init__(self, folder, seed):
        self.folder, self.chance = folder, random.Random(seed)
        self.state, self.step = {}, 0
        self.reader, self.last, self.looks = Engine.open(folder, maintenance="manual"), 0, 0

    def kill(self, *, answers):
        """Let a child write, read beside it, kill it, and compare what is left with what was acknowledged."""
        begun, acknowledged = self._killed(self.chance.randint(0, 12), self.chance.random() * 0.006)
        for _ in range(acknowledged):
            self.state, self.step = after(self.state, self.step), self.step + 1
        engine = Engine.open(self.folder, maintenance="manual")
        found = held(engine)
        if begun > acknowledged and list(found.items()) != list(self.state.items()):
            self.state = after(self.state, self.step)  # the last one was stored whole, and not yet acknowledged
        self.step += begun - acknowledged
        assert list(found.items()) == list(self.state.items())
        if answers:
            check_answers(engine, self.state)
        engine.close()
        assert list(self.reader.items) == list(self.state)

    def _killed(self, wanted, delay):
        """Return how many steps a child began, and how many were acknowledged, until it was killed."""
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            try:
                os.close(reading)
                write_until_killed(self.folder, self.step, writing)
            finally:
                os._exit(1)
        os.close(writing)
        os.set_blocking(reading, False)
        states, marks = [self.state], b""
        while (least := marks.count(b"!")) < wanted:
            time.sleep(0.003)
            if os.waitpid(child, os.WNOHANG)[0]:
                raise AssertionError(f"the writer ended by itself after {marks!r}")
            ids = self._look()
            marks += _read(reading)
            while len(states) <= marks.count(b"?"):
                states.append(after(states[-1], self.step + len(states) - 1))
            assert any(list(state) == ids for state in states[least:]), "half a transaction, or an old one"
        time.sleep(delay)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        while more := _read(reading):
            marks += more
        os.close(reading)
        assert os.WIFSIGNALED(status), f"the writer ended by itself after {marks!r}"
        return marks.count(b"?"), marks.count(b"!")

    def _look(self):
        """Return what the reader sees, which is never older than what it saw before."""
        generation = self.reader.generation()
        assert generation.state.generation >= self.last
        self.last, self.looks = generation.state.generation, self.looks + 1
        return list(generation.items)

    def close(self):
        """Maintain the engine, compare its answers and the folders that are left."""
        self.reader.close()
        engine = Engine.open(self.folder, maintenance="manual")
        engine.maintain()
        check_answers(engine, self.state)
        listed = {f"segments/{entry.name}" for entry in (self.folder / "segments").iterdir()}
        assert len(listed) == len(engine.stats()["segments"])
        engine.close()


def _read(handle):
    try:
        return os.read(handle, 100_000)
    except BlockingIOError:
        return b""
