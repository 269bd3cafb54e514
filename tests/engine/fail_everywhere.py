"""Let every call that changes a file fail, one after another, and tell what became of the engine.

Run as `LD_PRELOAD=faults.so python -m tests.engine.fail_everywhere FOLDER once|forever ERRNO FIRST STEP`. Prints one
line per call: its number and "ok", or what was wrong.
"""

import ctypes
import os
import shutil
import sys
import traceback
from pathlib import Path

from tests.engine.history import OPTIONS, after, check_answers, held, take
from vizsla.engine.engine import Engine
from vizsla.errors import VizslaError

STEPS = range(100, 113)
SHIM = ctypes.CDLL(None)


def prepared(folder):
    """Make an engine with segments, deletions and rows in memory."""
    engine, state = Engine.create(folder, maintenance="manual", **OPTIONS), {}
    for step in range(100 - 24, 100):
        take(engine, state, step)
        state = after(state, step)
    engine.close()
    return state


def fail(folder, state, at, number, forever):
    """Take the steps while a call fails; return which states are allowed, and whether the call came at all."""
    engine = Engine.open(folder, maintenance="manual")
    engine.search("fig")
    SHIM.faults_arm(str(folder).encode(), at, number, forever)
    doubtful = []
    for step in STEPS:
        try:
            take(engine, state, step)
        except VizslaError:
            doubtful.append(after(state, step))
        else:
            state, doubtful = after(state, step), []
        assert list(held(engine).items()) == list(state.items()), f"step {step}"
    failed = SHIM.faults_failed()
    SHIM.faults_arm(b"", -1, 0, 0)
    engine.add([{"id": "last", "text": "the last fig", "price": 1}])  # it goes on
    assert engine.search("last").ids[0][0] == "last"
    engine.delete("last")
    if not doubtful:
        check_answers(engine, state)
    return state, failed


def tried(template, state, folder, at, number, forever):
    """Try one call in a child; return whether it came, or what went wrong."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(template, folder)
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            found, failed = fail(folder, state, at, number, forever)
            os.write(
                writing,
                (f"{failed}\n" + "\n".join(f"{id}\t{text}\t{price}" for id, (text, price) in found.items())).encode(),
            )
        except BaseException:
            os.write(writing, f"wrong\n{traceback.format_exc()[-3000:]}".encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        first, _, rest = answer.read().partition("\n")
    os.waitpid(child, 0)
    if first not in ("0", "1"):
        return rest or "died"
    rows = [line.split("\t") for line in rest.splitlines()]
    wanted = {id: (text, int(price)) for id, text, price in rows}
    engine = Engine.open(folder, maintenance="manual")
    if list(held(engine).items()) != list(wanted.items()):
        return "another state after opening"
    check_answers(engine, wanted)
    engine.close()
    return first == "1"


def main(base, how, number, first, stride):
    base = Path(base)
    state = prepared(base / "template")
    at = int(first)
    while True:
        answer = tried(base / "template", state, base / "engine", at, int(number), int(how == "forever"))
        if answer is False:
            break
        print(at, "ok" if answer is True else answer, flush=True)
        at += int(stride)


if __name__ == "__main__":
    main(*sys.argv[1:])
