"""Saving: what may be replaced, rivals for one path, the same bytes, and everything flushed."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.artifacts.tiny import Tiny, names
from vizsla.artifacts import atomic_folder
from vizsla.artifacts import writer as artifact_writer
from vizsla.artifacts.artifact import load
from vizsla.artifacts.atomic_folder import clean
from vizsla.artifacts.folder import Folder
from vizsla.artifacts.inspect import inspect
from vizsla.artifacts.kinds import BUILT_IN
from vizsla.artifacts.manifest import MAX_NESTING
from vizsla.errors import FormatError, InputError
from vizsla.methods.bm25 import bm25


def test_a_saved_artifact_loads_to_the_same(saved, tiny):
    for mmap in (True, False):
        for verify in (True, False):
            assert load(saved, mmap=mmap, verify=verify).answer() == tiny.answer()


def test_nothing_is_saved_inside_of_an_artifact(saved, tiny, tmp_path):
    before = names(saved)
    (tmp_path / "link").symlink_to(saved)
    for path in (saved / "inner", saved / "far" / "inner", tmp_path / "link" / "inner"):
        for overwrite in (False, True):
            with pytest.raises(InputError, match="outside of other artifacts"):
                tiny.save(path, overwrite=overwrite)
    assert names(saved) == before
    tiny.save(saved, overwrite=True)
    assert load(saved).answer() == tiny.answer()


def test_a_part_of_an_artifact_is_not_replaced_behind_its_back(tmp_path):
    inner = bm25(["a fig"])
    outer = (inner >> bm25(["a fig"], b=0.1)).save(tmp_path / "outer")
    with pytest.raises(InputError, match="outside of other artifacts"):
        inner.save(outer / "part0", overwrite=True)
    assert load(outer)("fig").ids == [["0"]]


def test_the_target_must_be_new_or_an_artifact(tiny, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("mine")
    (tmp_path / "extension").mkdir()
    (tmp_path / "extension" / "manifest.json").write_text('{"manifest_version": 3, "name": "a browser extension"}')
    for name in ["empty", "file", "extension"]:
        with pytest.raises(InputError, match="something else"):
            tiny.save(tmp_path / name, overwrite=True)
    assert (tmp_path / "file").read_text() == "mine"
    assert names(tmp_path) == ["empty", "extension", "file"]


def test_an_artifact_is_replaced_only_when_asked_and_only_when_nothing_else_lies_in_it(saved, tiny):
    with pytest.raises(InputError, match="overwrite=True"):
        tiny.save(saved)
    (saved / "thesis.tex").write_text("mine")
    with pytest.raises(InputError, match=r"thesis\.tex"):
        tiny.save(saved, overwrite=True)
    assert (saved / "thesis.tex").read_text() == "mine"


def test_a_damaged_artifact_can_be_replaced(saved, tiny):
    (saved / "scores.npy").unlink()
    tiny.save(saved, overwrite=True)
    assert load(saved).answer() == tiny.answer()


def test_a_link_is_written_through(tiny, saved, tmp_path):
    link = tmp_path / "current"
    link.symlink_to(saved)
    Tiny.make(9).save(link, overwrite=True)
    assert link.is_symlink() and load(link).name == load(saved).name == "tiny 9"


def test_an_artifact_saved_over_the_files_that_it_is_mapped_from(saved, tiny):
    loaded = load(saved)
    loaded.save(saved, overwrite=True)
    assert loaded.answer() == tiny.answer() == load(saved).answer()


@pytest.mark.parametrize("exchange", [True, False])
def test_rivals_for_one_path_never_mix_and_readers_always_find_one_whole(tmp_path, monkeypatch, exchange):
    if not exchange:
        monkeypatch.setattr(atomic_folder, "exchange", lambda one, other: False)
    path, rivals = tmp_path / "saved", [Tiny.make(seed) for seed in range(3)]
    answers = [rival.answer() for rival in rivals]
    rivals[0].save(path)
    processes = [_fork(lambda rival=rival: [rival.save(path, overwrite=True) for _ in range(30)]) for rival in rivals]
    seen = set()
    while processes:
        loaded = load(path, verify=len(seen) % 2 == 0).answer()
        seen.add(answers.index(loaded))
        ended, status = os.waitpid(-1, os.WNOHANG)
        if ended:
            assert status == 0
            processes.remove(ended)
    assert len(seen) > 1
    assert names(tmp_path) == ["saved"]


def test_nothing_is_emptied_under_a_name_that_is_given_back(saved, tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(atomic_folder, "exchange", lambda one, other: False)
    emptied, rmtree = [], shutil.rmtree
    monkeypatch.setattr(shutil, "rmtree", lambda path, **how: (emptied.append(path.name), rmtree(path, **how)))
    tiny.save(saved, overwrite=True)
    left = saved.with_name(f".{saved.name}.0123abcd.replaced")  # of a writer that was killed after its second rename
    shutil.copytree(saved, left)
    tiny.save(saved, overwrite=True)
    assert len(emptied) >= 3 and all(name.endswith(".partial") for name in emptied)
    assert names(saved.parent) == [saved.name]


def test_of_rivals_for_a_new_path_one_wins(tmp_path):
    rivals = [Tiny.make(seed) for seed in range(4)]
    processes = [_fork(lambda rival=rival: rival.save(tmp_path / "saved")) for rival in rivals]
    statuses = sorted(os.waitpid(process, 0)[1] for process in processes)
    assert [os.waitstatus_to_exitcode(status) for status in statuses] == [0, 1, 1, 1], "the others get an InputError"
    assert load(tmp_path / "saved").answer() in [rival.answer() for rival in rivals]
    assert names(tmp_path) == ["saved"]


@pytest.mark.parametrize("taken", ["empty folder", "full folder", "file"])
def test_a_rename_to_a_taken_name_is_refused(tmp_path, taken):
    source, target = tmp_path / "source", tmp_path / "target"
    source.mkdir()
    if taken == "file":
        target.touch()
    else:
        (target / "inside" if taken == "full folder" else target).mkdir(parents=True)
    with pytest.raises(FileExistsError):
        atomic_folder.rename_new(source, target)
    assert names(tmp_path) == ["source", "target"]


def _fork(action):
    process = os.fork()
    if process:
        return process
    try:
        action()
        os._exit(0)
    except InputError:
        os._exit(1)
    finally:
        os._exit(2)


SAVE = """
import sys
from tests.artifacts.tiny import Tiny, names
Tiny.make(4).save(sys.argv[1])
"""


def test_same_data_same_bytes_in_another_process(tmp_path):
    digests = []
    for seed in ("1", "2"):
        path = tmp_path / seed
        subprocess.run([sys.executable, "-c", SAVE, path], check=True, env={**os.environ, "PYTHONHASHSEED": seed})
        files = sorted(file for file in path.rglob("*") if file.is_file() and file.name != "provenance.json")
        content = [(str(file.relative_to(path)), file.read_bytes()) for file in files]
        digests.append(hashlib.sha256(repr(content).encode()).hexdigest())
    assert digests[0] == digests[1]


def test_everything_is_flushed_before_it_is_renamed_and_the_parents_after(tiny, tmp_path, monkeypatch):
    flushed, real = [], os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: (flushed.append(str(Path(f"/proc/self/fd/{fd}").readlink())), real(fd)))
    path = tiny.save(tmp_path / "new" / "deep" / "saved")
    staging = next(name for name in flushed if name.endswith(".partial"))
    inside = {str(entry.relative_to(path)) for entry in path.rglob("*")}
    assert inside | {"."} == {os.path.relpath(name, staging) for name in flushed if name.startswith(staging)}
    assert flushed[:2] == [str(tmp_path), str(tmp_path / "new")]
    assert flushed[-2:] == [staging, str(path.parent)]


@pytest.mark.parametrize("values", [np.array(["a"]), np.array([None]), np.zeros(2, "i4,f4"), np.zeros(2, complex)])
def test_arrays_of_anything_but_numbers_are_refused(tiny, tmp_path, values):
    tiny.scores = values
    with pytest.raises(InputError, match="array of numbers"):
        tiny.save(tmp_path / "saved")


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".x", "manifest.json"])
def test_names_are_plain_and_used_once(tiny, tmp_path, name):
    tiny._write = lambda writer: writer.child(name, Tiny.make())
    with pytest.raises(InputError, match="plain name"):
        tiny.save(tmp_path / "saved")
    tiny._write = lambda writer: (writer.json("x", 1), writer.json("x", 2))
    with pytest.raises(InputError, match="used once"):
        tiny.save(tmp_path / "saved")


def test_nesting_has_one_limit_for_writing_and_reading(tmp_path, monkeypatch):
    def nested(depth):
        outer = Tiny.make(0, n=1, inner=False)
        for _ in range(depth):
            outer = Tiny("x", outer.ids, outer.scores, outer.flags, {}, outer)
        return outer

    deep = nested(MAX_NESTING)
    monkeypatch.setattr(os, "fsync", lambda handle: None)  # Hundreds of files: what is flushed is tested above.
    assert load(deep.save(tmp_path / "deep")).answer() == deep.answer()
    with pytest.raises(InputError, match="nested at most"):
        nested(MAX_NESTING + 1).save(tmp_path / "deeper")
    monkeypatch.setattr(artifact_writer, "MAX_NESTING", 1000)
    deeper = nested(MAX_NESTING + 1).save(tmp_path / "deeper")
    for read in (load, inspect):
        with pytest.raises(FormatError, match="nested more than"):
            read(deeper)


@pytest.mark.parametrize("path", ["/", "//"])
def test_a_path_without_a_name_is_refused(tiny, path):
    with pytest.raises(InputError, match="`path`"):
        tiny.save(path)


def test_kinds_are_imported_when_one_is_loaded(saved):
    code = "import sys, vizsla.artifacts.artifact; print([k for k in sys.modules if k in sys.argv[1:]])"
    modules = [place.partition(":")[0] for place in BUILT_IN.values()]
    run = subprocess.run([sys.executable, "-c", code, *modules], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_loading_as_the_wrong_class_is_refused(saved):
    class Other(Tiny):
        pass

    with pytest.raises(FormatError, match="expected a Other"):
        Other.load(saved)
    assert isinstance(Tiny.load(saved), Tiny)


@pytest.mark.parametrize("moment", ["size", "read", "names"])
@pytest.mark.parametrize("exchange", [True, False])
def test_a_rival_that_comes_between_a_look_and_the_next_is_no_stranger(tmp_path, monkeypatch, moment, exchange):
    """A rival replaces the artifact while it is looked at, and removes what was looked at: the last writer wins."""
    if not exchange:
        monkeypatch.setattr(atomic_folder, "exchange", lambda one, other: False)
    path, own, rival, met = tmp_path / "saved", Tiny.make(1), Tiny.make(2, inner=False), []
    Tiny.make(0).save(path)

    class Watched(Folder):
        def _meet(self, now):
            if now == moment and self.path == path and len(met) < 4:  # twice before it is written, twice after
                met.append(now)
                monkeypatch.setattr(atomic_folder, "Folder", Folder)
                rival.save(path, overwrite=True)
                monkeypatch.setattr(atomic_folder, "Folder", Watched)

        def size(self, name):
            self._meet("size")
            return super().size(name)

        def read(self, name, *, mmap):
            self._meet("read")
            return super().read(name, mmap=mmap)

        def names(self):
            found = super().names()
            self._meet("names")
            return found

    monkeypatch.setattr(atomic_folder, "Folder", Watched)
    own.save(path, overwrite=True)
    assert met and load(path).answer() == own.answer() and names(tmp_path) == ["saved"]


def test_many_savers_to_one_path_all_succeed(tmp_path):
    path, rivals = tmp_path / "saved", [Tiny.make(seed, n=3, inner=bool(seed % 2)) for seed in range(5)]
    processes = [_fork(lambda rival=rival: [rival.save(path, overwrite=True) for _ in range(40)]) for rival in rivals]
    assert [os.waitpid(process, 0)[1] for process in processes] == [0] * len(rivals)
    assert load(path).answer() in [rival.answer() for rival in rivals]
    assert names(tmp_path) == ["saved"]


def test_a_stranger_is_never_replaced_however_often_it_changes(tiny, tmp_path):
    path = tmp_path / "mine"
    path.mkdir()
    (path / "manifest.json").write_text("{}")
    with pytest.raises(InputError, match="something else"):
        tiny.save(path, overwrite=True)
    assert names(tmp_path) == ["mine"]


@pytest.mark.parametrize("suffix", ["partial", "replaced"])
def test_a_sweep_takes_nothing_from_a_living_writer(saved, tiny, tmp_path, suffix):
    """Another process holds its folder: whatever it has made is left to it for as long as it lives."""
    partial = tmp_path / f".{saved.name}.0123abcd.partial"
    hold = "import sys, pathlib; from vizsla.artifacts.atomic_folder import hold; partial = pathlib.Path(sys.argv[1]); "
    hold += "partial.mkdir(); kept = hold(partial); (partial / 'work').write_text('mine'); print(kept, flush=True); "
    hold += "sys.stdin.read()"
    command = [sys.executable, "-c", hold, str(partial)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert int(writer.stdout.readline()) >= 0
        replaced = partial.with_suffix(".replaced")
        if suffix == "replaced":
            saved.rename(replaced)  # between its two renames
        clean(saved)
        assert (partial / "work").read_text() == "mine"
        if suffix == "replaced":
            assert replaced.is_dir() and not saved.exists()
        else:
            tiny.save(saved, overwrite=True)
            assert (partial / "work").read_text() == "mine"
        writer.stdin.close()
        writer.wait()
    clean(saved)
    assert names(tmp_path) == [saved.name] and load(saved).answer()
