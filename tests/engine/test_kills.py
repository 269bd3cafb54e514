"""SIGKILL at any moment: nothing acknowledged is lost, nothing is there in half, and the engine opens again."""

import os
import random
import signal
import tempfile
import time
from pathlib import Path

import pytest

from tests.engine.history import OPTIONS, after, check_answers, held, take
from vizsla.engine.engine import Engine

MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
KILLS = 100


def write_until_killed(folder, first, record):
    """Take steps without end; the record says which were begun and which were acknowledged."""
    engine = Engine.open(folder, maintenance="manual")
    state, step = held(engine), first
    while True:
        os.write(record, b"?")
        take(engine, state, step)
        os.write(record, b"!")
        state, step = after(state, step), step + 1


def killed(folder, first, moment):
    """Let a child write, kill it, and return how many steps it began and how many were acknowledged."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(reading)
            write_until_killed(folder, first, writing)
        finally:
            os._exit(1)
    os.close(writing)
    acknowledged, delay = moment
    marks = b""
    while marks.count(b"!") < acknowledged and (more := os.read(reading, 1)):
        marks += more
    time.sleep(delay)
    os.kill(child, signal.SIGKILL)
    while more := os.read(reading, 1000):
        marks += more
    os.close(reading)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), f"the writer ended by itself after {marks!r}"
    return marks.count(b"?"), marks.count(b"!")


@pytest.mark.parametrize("seed", range(4))
def test_a_killed_writer_loses_nothing(seed):
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory(dir=MEMORY) as base:
        folder = Path(base) / "engine"
        Engine.create(folder, maintenance="manual", **OPTIONS).close()
        state, step = {}, 0
        for number in range(KILLS // 4):
            begun, acknowledged = killed(folder, step, (chance.randint(0, 12), chance.random() * 0.006))
            for _ in range(acknowledged):
                state, step = after(state, step), step + 1
            engine = Engine.open(folder, maintenance="manual")
            found = held(engine)
            if begun > acknowledged and list(found.items()) != list(state.items()):
                state = after(state, step)  # the last one was stored whole, and not yet acknowledged
            step += begun - acknowledged
            assert list(found.items()) == list(state.items()), f"seed {seed}, kill {number}"
            if number % 5 == 0:
                check_answers(engine, state)
            engine.close()
        engine = Engine.open(folder, maintenance="manual")
        engine.maintain()
        check_answers(engine, state)
        listed = {f"segments/{entry.name}" for entry in (folder / "segments").iterdir()}
        assert len(listed) == len(engine.stats()["segments"])
        engine.close()


def test_a_reader_beside_a_writer_that_is_killed_sees_whole_transactions_in_order():
    with tempfile.TemporaryDirectory(dir=MEMORY) as base:
        folder = Path(base) / "engine"
        Engine.create(folder, maintenance="manual", **OPTIONS).close()
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            try:
                write_until_killed(folder, 0, writing)
            finally:
                os._exit(1)
        os.close(writing)
        os.set_blocking(reading, False)
        states, marks, last = [{}], b"", 0
        reader = Engine.open(folder, maintenance="manual")
        try:
            while marks.count(b"!") < 60:
                marks += _read(reading)
                least = marks.count(b"!")
                generation = reader.generation()
                ids = list(generation.items)
                marks += _read(reading)
                while len(states) <= marks.count(b"?"):
                    states.append(after(states[-1], len(states) - 1))
                assert generation.state.generation >= last
                last = generation.state.generation
                assert any(list(state) == ids for state in states[least : marks.count(b"?") + 1])
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.close(reading)
        assert reader.count() == len(list(reader.items))
        reader.close()


def _read(handle):
    try:
        return os.read(handle, 100_000)
    except BlockingIOError:
        return b""
