"""Arrays come from the file, not from a copy, are read-only, and outlive the folder's replacement."""

from __future__ import annotations

import mmap
import shutil
from pathlib import Path

import numpy as np
import pytest
import xxhash

from tests.artifacts.tiny import Tiny
from vizsla.artifacts import npy
from vizsla.artifacts.artifact import load
from vizsla.artifacts.manifest import digest
from vizsla.artifacts.reader import ArtifactReader
from vizsla.core.strings import Strings
from vizsla.errors import FormatError

# 64 MB: the allocator keeps freed blocks of up to 32 MB, so that a copy could land in memory that is resident already.
ROWS = 8_000_000


def _origin(array):
    while isinstance(array, np.ndarray) and array.base is not None:
        array = array.base
    return array.obj if isinstance(array, memoryview) else array


@pytest.mark.parametrize("mapped", [True, False])
def test_arrays_are_mapped_when_asked_and_never_writable(saved, mapped):
    loaded = load(saved, mmap=mapped)
    for array in [loaded.scores, loaded.flags, loaded.ids.data, loaded.ids.offsets, loaded.ids.slots]:
        assert isinstance(_origin(array), mmap.mmap) == mapped
        assert not array.flags.writeable and array.flags.aligned and array.flags.c_contiguous
        with pytest.raises(ValueError, match="read-only"):
            array.flat[0] = 0


def test_mapping_takes_no_memory_until_it_is_read(tmp_path):
    big = Tiny("big", Strings.of([]), np.zeros((0, 3), np.float32), np.zeros(0, bool), {})
    big._write = lambda writer: (Tiny._write(big, writer), writer.array("extra", np.ones(ROWS, np.float64)))
    path = big.save(tmp_path / "big")
    before = _resident()
    kept = _with_extra(path, mmap=True)
    assert _resident() - before < 8 * ROWS // 4
    copied = _with_extra(path, mmap=False)
    assert _resident() - before > 8 * ROWS * 3 // 4
    assert kept[-1] == copied[-1] == 1.0


def _resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE


def _with_extra(path, *, mmap):
    return ArtifactReader(path, mmap=mmap, verify=False).array("extra", np.float64)


def test_a_loaded_artifact_outlives_its_replacement_and_removal(saved, tiny):
    readers = [load(saved), load(saved), load(saved, verify=False)]
    Tiny.make(8).save(saved, overwrite=True)
    assert load(saved).name == "tiny 8"
    assert all(reader.answer() == tiny.answer() for reader in readers)
    shutil.rmtree(saved)
    assert all(reader.answer() == tiny.answer() for reader in readers)


def test_files_that_nobody_asked_for_are_verified_too(saved, tiny, monkeypatch):
    monkeypatch.setattr(Tiny, "_read", classmethod(lambda cls, reader: cls.make()))
    load(saved)
    for name in ["scores.npy", "inner/scores.npy"]:
        file = saved / name
        data = bytearray(file.read_bytes())
        data[-1] ^= 1
        file.write_bytes(data)
        with pytest.raises(FormatError, match="checksum"):
            load(saved)
        data[-1] ^= 1
        file.write_bytes(data)


def test_sizes_are_checked_even_of_files_that_nobody_asked_for_and_without_verification(saved, monkeypatch):
    monkeypatch.setattr(Tiny, "_read", classmethod(lambda cls, reader: cls.make()))
    for name in ["inner/scores.npy", "scores.npy"]:
        data = (saved / name).read_bytes()
        (saved / name).write_bytes(data[:-1])
        with pytest.raises(FormatError, match=rf"{name}: expected {len(data)} bytes"):
            load(saved, verify=False)
        (saved / name).write_bytes(data)


ARRAYS = [np.zeros((), "f4"), np.arange(6, dtype="i2").reshape(2, 3), np.zeros((0, 3), "u8"), np.array([True, False])]
ARRAYS += [np.arange(3, dtype=kind) for kind in ["i1", "i4", "i8", "u1", "u2", "u4", "f2", "f8"]]


@pytest.mark.parametrize("values", ARRAYS, ids=lambda values: f"{values.dtype}{values.shape}")
def test_npy_files_are_numpys_own(values, tmp_path):
    np.save(tmp_path / "theirs.npy", values)
    theirs = np.fromfile(tmp_path / "theirs.npy", np.uint8)
    (tmp_path / "ours.npy").write_bytes(npy.header(values) + values.tobytes())
    for back in [npy.parse(theirs), np.load(tmp_path / "ours.npy")]:
        assert back.dtype == values.dtype and back.shape == values.shape and np.array_equal(back, values)


def test_checksums_are_those_of_the_xxhash_package():
    data = np.random.default_rng(0).integers(0, 256, 3000, dtype=np.uint8)
    for length in [*range(100), 1023, 1024, 3000]:
        assert digest(data[:length].tobytes()) == xxhash.xxh64_hexdigest(data[:length].tobytes())
