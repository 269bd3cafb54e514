"""Bombs: a few bytes that would take much memory or time are a FormatError before either is spent."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest

from tests.artifacts.box import Box
from tests.artifacts.signing import read_manifest, sign_above, write_manifest
from tests.artifacts.tiny import Tiny
from vizsla.artifacts import folder as folder_module
from vizsla.artifacts import reader as loading_module
from vizsla.artifacts import strict_json
from vizsla.artifacts.artifact import load
from vizsla.artifacts.inspect import check, inspect
from vizsla.artifacts.manifest import MAX_BYTES, Manifest
from vizsla.errors import FormatError, InputError

FEW = 128 << 20
"""Bytes of Python's own objects that a refusal may take."""


def refused(path, match):
    """Every way in refuses, and none takes much memory."""
    tracemalloc.start()
    try:
        for act in (load, inspect, lambda folder: load(folder, verify=False)):
            with pytest.raises(FormatError, match=match):
                act(path)
        assert check(path)
        assert tracemalloc.get_traced_memory()[1] < FEW
    finally:
        tracemalloc.stop()


def test_a_manifest_is_parsed_once_however_many_records_point_to_it(tmp_path, monkeypatch):
    shared = Tiny.make(inner=False)
    saved = Box(Box(shared), Box(shared, Tiny.make(7, inner=False))).save(tmp_path / "saved")
    manifest = read_manifest(saved / "part1")
    record = manifest["parents"]["part0"]
    assert record["at"] == "part0/part0"
    manifest["parents"] |= {f"more{number}": record for number in range(2000)}
    write_manifest(saved / "part1", manifest)
    sign_above(saved / "part1", saved)
    parsed, real = [], Manifest.parse.__func__
    monkeypatch.setattr(Manifest, "parse", classmethod(lambda cls, data: parsed.append(data) or real(cls, data)))
    for act in (load, lambda folder: load(folder, verify=False), inspect):
        parsed.clear()
        act(saved)
        assert len(parsed) == 5 == len(set(parsed)), "the outermost, two boxes, what they share, and one more"
    assert check(saved) == []


def test_what_is_damaged_is_not_parsed(saved, monkeypatch):
    file = saved / "manifest.json"
    file.write_bytes(file.read_bytes().replace(b"tiny", b"tony", 1))
    monkeypatch.setattr(strict_json, "parse", None)
    with pytest.raises(FormatError, match="checksum does not match"):
        load(saved)
    file.write_bytes(b"{}")
    with pytest.raises(FormatError, match="does not end as the manifest"):
        load(saved)


def test_a_long_manifest_is_not_read(saved):
    with (saved / "manifest.json").open("r+b") as file:
        file.truncate(1 << 40)  # nothing but a hole
    refused(saved, f"more than {MAX_BYTES} bytes")


@pytest.mark.parametrize("value", ["[],", "{},", '{"":0},', "0,"])
def test_a_manifest_of_many_values_is_refused(saved, value):
    text = json.dumps({**read_manifest(saved), "parameters": {"bomb": "HERE"}}, indent=1)
    many = value * ((MAX_BYTES - len(text) - 1000) // len(value.encode()))
    write_manifest(saved, text.replace('"HERE"', f"[{many.removesuffix(',')}]"))
    assert (saved / "manifest.json").stat().st_size <= MAX_BYTES
    refused(saved, "more than .* values|missing or of the wrong type")


def test_deep_nesting_is_refused_before_it_is_parsed(saved, monkeypatch):
    text = json.dumps({**read_manifest(saved), "parameters": {"bomb": "HERE"}}, indent=1)
    write_manifest(saved, text.replace('"HERE"', "[" * 100_000 + "]" * 100_000))
    monkeypatch.setattr(strict_json.json, "loads", None)
    refused(saved, "nested more than 64 deep")


def test_brackets_in_texts_are_no_nesting():
    value = {"a": "[" * 1000, 'b"\\': ['\\"[[{', "\\\\", "\\", {'"': ",,,:::"}]}
    assert strict_json.parse(json.dumps(value).encode()) == value
    assert strict_json.measure(json.dumps(value).encode()) == 11


def test_all_manifests_of_a_whole_have_a_limit(tmp_path, monkeypatch):
    saved = Box(*(Tiny.make(seed, inner=False) for seed in range(5))).save(tmp_path / "saved")
    assert load(saved)
    whole = sum(file.stat().st_size for file in saved.rglob("manifest.json"))
    monkeypatch.setattr(loading_module, "MAX_WHOLE_BYTES", whole)
    assert load(saved) and inspect(saved)
    monkeypatch.setattr(loading_module, "MAX_WHOLE_BYTES", whole - 1)
    refused(saved, "manifests of the whole")
    monkeypatch.undo()
    values = sum(strict_json.measure(file.read_bytes()) for file in saved.rglob("manifest.json"))
    monkeypatch.setattr(loading_module, "MAX_WHOLE_VALUES", values - 1)
    refused(saved, "manifests of the whole")


def test_a_manifest_that_could_not_be_read_is_not_written(tiny, tmp_path):
    tiny.notes = {"x": 1}
    tiny.name = "x" * (MAX_BYTES + 1)
    with pytest.raises(InputError, match="more than"):
        tiny.save(tmp_path / "saved")
    assert not (tmp_path / "saved").exists()


def test_a_long_document_is_not_read(saved):
    manifest = read_manifest(saved)
    manifest["files"]["notes.json"]["bytes"] = 1 << 40
    write_manifest(saved, manifest)
    with (saved / "notes.json").open("r+b") as file:
        file.truncate(1 << 40)
    for act in (load, lambda folder: load(folder, verify=False)):
        with pytest.raises(FormatError, match="more than"):
            act(saved)


@pytest.mark.parametrize("mmap", [True, False])
def test_files_of_holes_are_refused(saved, mmap, monkeypatch):
    """The recorded size is the real one; it is the disk that holds nothing of it."""
    file = saved / "scores.npy"
    manifest = read_manifest(saved)
    manifest["files"]["scores.npy"]["bytes"] = 1 << 40
    write_manifest(saved, manifest)
    with file.open("r+b") as stream:
        stream.truncate(1 << 40)
        stream.seek(1 << 39)
        stream.write(b"a little in the middle")
    for verify in (True, False):
        with pytest.raises(FormatError, match="holes"):
            load(saved, mmap=mmap, verify=verify)
    assert any("holes" in problem for problem in check(saved))


def test_sizes_are_compared_before_anything_is_read(saved, monkeypatch):
    manifest = read_manifest(saved)
    manifest["files"]["scores.npy"]["bytes"] += 1
    write_manifest(saved, manifest)
    real = folder_module.Folder.read
    monkeypatch.setattr(
        folder_module.Folder,
        "read",
        lambda self, name, *, mmap: real(self, name, mmap=mmap) if "json" in name else 1 / 0,
    )
    with pytest.raises(FormatError, match=r"scores\.npy: expected"):
        load(saved)


def test_holes_of_a_sound_file_are_no_harm(tmp_path):
    file = tmp_path / "zeros"
    with file.open("wb") as stream:
        stream.truncate(100 << 20)
        stream.write(os.urandom(1 << 20) * 40)
    assert len(folder_module.Folder(tmp_path).read("zeros", mmap=True)) == 100 << 20


BOMB = """
import gzip, resource, sys
from pathlib import Path
resource.setrlimit(resource.RLIMIT_DATA, (512 << 20, 512 << 20))
import vizsla
from vizsla.errors import VizslaError
try:
    dataset = vizsla.Dataset.open(sys.argv[1])
    texts = sum(len(item.text) for item in dataset.items)
except VizslaError as error:
    print(type(error).__name__, error)
peak = next(int(line.split()[1]) for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line)
assert peak < 512 << 10, peak
"""


def packed(file):
    if file.suffix == ".zst":
        zstd = pytest.importorskip("backports.zstd" if sys.version_info < (3, 14) else "compression.zstd")
        return zstd.open(file, "wb")
    return gzip.open(file, "wb", compresslevel=1)


def unpacked_to(file, line, head="", times=400):
    with packed(file) as out:
        out.write(head.encode())
        block = line.encode() * ((1 << 20) // len(line))
        for _ in range(times):
            out.write(block)


@pytest.mark.parametrize(
    ("name", "line", "head"),
    [
        ("zeros.jsonl.gz", "\0", ""),
        ("text.jsonl.gz", "a", '{"id": "1", "text": "'),
        ("lists.jsonl.gz", "[],", '{"id": "1", "text": ['),
        ("quoted.csv.gz", "a,b\n", 'id,text\n1,"'),
        ("line.csv.gz", "a,", "id,text\n"),
        ("line.tsv.gz", "a\t", "id\ttext\n"),
        ("text.jsonl.zst", "a", '{"id": "1", "text": "'),
        ("line.csv.zst", "a,", "id,text\n"),
    ],
)
def test_packed_data_whose_record_never_ends(tmp_path, name, line, head):
    unpacked_to(tmp_path / name, line, head)
    assert (tmp_path / name).stat().st_size < 8 << 20
    done = subprocess.run([sys.executable, "-c", BOMB, str(tmp_path / name)], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("DataError"), done


def test_long_lines_are_allowed_by_a_variable(tmp_path, monkeypatch):
    from vizsla.data.dataset import Dataset

    file = tmp_path / "items.jsonl"
    file.write_text(json.dumps({"id": "1", "text": "fig " * 300_000}) + "\n" + json.dumps({"id": "2", "text": "b"}))
    monkeypatch.setenv("VIZSLA_MAX_RECORD_MB", "1")
    assert [len(item.text) for item in Dataset.open(file).items] == [1_200_000, 1], "a little more is no harm"
    file.write_text(json.dumps({"id": "1", "text": "fig " * 600_000}))
    with pytest.raises(ValueError, match=r"VIZSLA_MAX_RECORD_MB"):
        Dataset.open(file)
    monkeypatch.setenv("VIZSLA_MAX_RECORD_MB", "3")
    assert len(next(iter(Dataset.open(file).items)).text) == 2_400_000
    for odd in ("x", "0", "-1", "1e3", "9" * 30):
        monkeypatch.setenv("VIZSLA_MAX_RECORD_MB", odd)
        with pytest.raises(InputError, match="VIZSLA_MAX_RECORD_MB"):
            Dataset.open(file)


def test_matrices_that_unpack_to_more_than_they_can_hold(tmp_path):
    import numpy as np
    from scipy.sparse import coo_array, csr_array, save_npz

    from vizsla.data.dataset import Dataset

    folder = tmp_path / "pecos"
    folder.mkdir()
    many = csr_array(np.ones((3, 2), np.float32))
    many.indices = np.zeros(30 << 20, np.int32)
    many.data, many.indptr = np.zeros(30 << 20, np.float32), np.array([0, 1, 2, 30 << 20], np.int32)
    save_npz(folder / "Y.npz", many)
    with pytest.raises(ValueError, match="unpack to"):
        Dataset.open(folder)
    save_npz(folder / "Y.npz", coo_array(([1.0], ([0], [0])), shape=(3, 1 << 40)))
    with pytest.raises(ValueError, match="so few bytes"):
        Dataset.open(folder)
    shutil.rmtree(folder)


@pytest.mark.parametrize("mmap", [True, False])
def test_holes_are_counted_over_all_files(tmp_path, mmap, monkeypatch):
    """Files that are small by themselves: together they would fill the memory."""
    monkeypatch.setattr(folder_module, "MAX_HOLES", 64 << 10)
    monkeypatch.setattr(folder_module, "MAX_FEW_HOLES", 384 << 10)
    saved = Box(*(Tiny.make(seed, inner=False) for seed in range(8))).save(tmp_path / "saved")
    assert load(saved, mmap=mmap)
    for place in saved.iterdir():
        if not (place / "notes.json").exists():
            continue
        manifest = read_manifest(place)
        with (place / "notes.json").open("r+b") as stream:
            manifest["files"]["notes.json"]["bytes"] = stream.truncate(32 << 10)
        write_manifest(place, manifest)
        sign_above(place, saved)
    for verify in (True, False):
        with pytest.raises(FormatError, match="holes"):
            load(saved, mmap=mmap, verify=verify)


def dictionary(rows, length):
    """One long text that every row points to."""
    values = pa.array([os.urandom(length // 2).hex()])
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), values)


def one_list(values):
    return pa.ListArray.from_arrays(pa.array([0, len(values)], "int32"), values)


@pytest.mark.parametrize(
    ("make", "packing"),
    [
        (lambda: {"text": dictionary(2000, 16 << 20)}, "none"),
        (lambda: {"text": pa.array(["a" * (100 << 20)])}, "zstd"),
        (lambda: {"text": pa.array(["a"]), "tags": one_list(dictionary(2000, 1 << 20))}, "snappy"),
        (lambda: {"text": pa.array(["a"]), "n": one_list(pa.array(np.zeros(20_000_000, np.int64)))}, "zstd"),
    ],
    ids=["dictionary", "page", "list of texts", "list of numbers"],
)
def test_parquet_that_unpacks_to_far_more(tmp_path, make, packing):
    from pyarrow.parquet import write_table

    columns = make()
    ids = pa.array(np.arange(len(columns["text"])).astype(str))
    write_table(pa.table({"id": ids, **columns}), tmp_path / "items.parquet", compression=packing)
    del columns
    command = [sys.executable, "-c", BOMB, str(tmp_path / "items.parquet")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("DataError"), done


def test_parquet_dictionaries_are_written_out_in_pieces(tmp_path):
    from pyarrow.parquet import write_table

    from vizsla.data.dataset import Dataset

    texts = dictionary(64, 1 << 20)
    table = pa.table({"id": pa.array(np.arange(64).astype(str)), "text": texts, "tags": [["x", None], None] * 32})
    write_table(table, tmp_path / "items.parquet", use_dictionary=True)
    items = list(Dataset.open(tmp_path / "items.parquet").items)
    assert {item.text for item in items} == {texts[0].as_py()} and [item.id for item in items[:2]] == ["0", "1"]
    assert Dataset.open(tmp_path / "items.parquet").items[63] == items[63]
