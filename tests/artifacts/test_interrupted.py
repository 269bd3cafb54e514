"""Saves that are killed or interrupted at every step: the path holds the old artifact or the new one, whole."""

from __future__ import annotations

import gc
import os
import signal
import sys

import pytest

from tests.artifacts.events import Events
from tests.artifacts.tiny import Tiny, names
from vizsla.artifacts.artifact import load
from vizsla.artifacts.folder import Folder
from vizsla.artifacts.inspect import check

OLD, NEW = Tiny.make(1, n=3), Tiny.make(2, n=4)


def _save_and_die(path, number, *, exchange):
    """Save NEW in a process that is killed before the step with this number; return whether it was."""
    process = os.fork()
    if process == 0:
        Events(setattr, number, lambda: os.kill(os.getpid(), signal.SIGKILL), exchange=exchange)
        NEW.save(path, overwrite=True)
        os._exit(0)
    return os.WIFSIGNALED(os.waitpid(process, 0)[1])


@pytest.mark.parametrize("exchange", [True, False])
def test_a_writer_killed_at_any_step_leaves_the_old_or_the_new_artifact(tmp_path, exchange):
    path, number, seen, died = tmp_path / "saved", 0, [], True
    while died:
        number += 1
        OLD.save(path, overwrite=True)
        assert names(tmp_path) == ["saved"], "what a killed writer leaves is swept up by the next save"
        died = _save_and_die(path, number, exchange=exchange)
        loaded = load(path)
        assert loaded.answer() in (OLD.answer(), NEW.answer())
        seen.append(loaded.name)
    assert number > 20
    assert set(seen) == {OLD.name, NEW.name}
    assert seen == sorted(seen), "once the new one is there it stays"


@pytest.mark.parametrize("exchange", [True, False])
def test_a_first_save_killed_at_any_step_leaves_nothing_or_all(tmp_path, exchange):
    number, died = 0, True
    while died:
        number += 1
        path = tmp_path / str(number) / "saved"
        died = _save_and_die(path, number, exchange=exchange)
        if path.exists():
            assert check(path) == [] or not died
    assert number > 20


@pytest.mark.parametrize("exchange", [True, False])
def test_ctrl_c_at_any_step_leaves_nothing_half_written(tmp_path, exchange):
    path, number, finished = tmp_path / "saved", 0, False
    OLD.save(path)
    while not finished:
        number += 1
        with pytest.MonkeyPatch.context() as patch:
            Events(patch.setattr, number, _interrupt, exchange=exchange)
            try:
                NEW.save(path, overwrite=True)
                finished = True
            except KeyboardInterrupt:
                pass
        assert names(tmp_path) == ["saved"], f"step {number}"
        assert load(path).answer() in (OLD.answer(), NEW.answer())
    assert number > 20


def _interrupt():
    raise KeyboardInterrupt


def test_an_error_inside_a_kind_leaves_nothing(tmp_path):
    broken = Tiny.make()
    broken.notes = {"not JSON": object()}
    with pytest.raises(ValueError, match="plain JSON"):
        broken.save(tmp_path / "deep" / "saved")
    assert names(tmp_path / "deep") == []


def test_leftovers_of_living_writers_and_of_other_paths_are_left_alone(tmp_path):
    reader, writer = os.pipe()
    process = os.fork()
    if process == 0:
        slow = Tiny.make(5)
        slow._write = lambda writer_: (os.write(writer, b"x"), signal.pause())
        slow.save(tmp_path / "saved")
        os._exit(0)
    try:
        os.read(reader, 1)
        other = tmp_path / ".saved.more.01234567.partial"
        other.mkdir()
        OLD.save(tmp_path / "saved")
        partial = [name for name in names(tmp_path) if name.endswith(".partial")]
        assert len(partial) == 2, "the living writer's folder and the other path's"
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
    NEW.save(tmp_path / "saved", overwrite=True)
    assert names(tmp_path) == [other.name, "saved"]


def test_a_folder_that_was_stopped_before_it_was_opened_ends_quietly():
    """Ctrl-C can come between the making of an object and the first line of its constructor."""
    stopped = Folder.__new__(Folder)
    with pytest.MonkeyPatch.context() as patch:
        told = []
        patch.setattr(sys, "unraisablehook", told.append)
        del stopped
        gc.collect()
    assert told == []
