"""Target "bombs": a few bytes that ask for much memory or time; a typed error or an answer, below 512 MB.

A case's number and the seed decide everything: what kind of bomb, how large, and where it is put.
"""

from __future__ import annotations

import ctypes
import gc
import gzip
import json
import os
import resource
import shutil
import sys
import traceback
import warnings
import zlib
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import vizsla
from tests.artifacts.signing import read_manifest, replace, sign_file, write_manifest
from tests.fuzz.resigning import resign
from tests.fuzz.uses import UseError, attempt
from vizsla.artifacts.inspect import check, inspect

ITEMS = {f"item-{number}": f"a fig tree number {number} in the garden" for number in range(40)}
MEMORY = 512 << 20
VALUES = ["[],", "{},", '{"":0},', "0,", '"a",', '"\\u00e9",', "1e5,", "null,", "[[[]]],", '{"a":{"b":[]}},']
RECORDS = ["\0", "a", "[],", "a,b\n", '"a""', "\n", " ", '{"id": 1}', "é", "\t", "\r", '{"text": "a"},']
HEADS = {"jsonl": ['{"id": "1", "text": "', '{"id": "1", "text": [', '{"id": "1", "x": {', "", "["]}
HEADS |= {"csv": ["id,text\n", 'id,text\n1,"', '"', ""], "tsv": ["id\ttext\n", "", 'id\ttext\n1\t"'], "txt": [""]}


class BombTarget:
    """Runs cases in a folder of its own.

    Parameters
    ----------
    scratch : Path
        An empty folder.
    seed : int
        What the numbers of cases are drawn with.
    only : str
        A part of the names of the kinds to try; empty for all.
    """

    memory = MEMORY

    def __init__(self, scratch: Path, seed: int, only: str = ""):
        warnings.simplefilter("ignore")
        np.seterr(all="ignore")
        self.scratch, self.seed = scratch, seed
        self.kinds = {name: make for name, make in KINDS.items() if only in name}
        self._warm_up()

    def run(self, case: int, kept: list[int] | None = None) -> tuple[str, list[str]]:
        """Run a case; return the outcome and what was made."""
        name = list(self.kinds)[case % len(self.kinds)]
        random = np.random.default_rng([self.seed, case])
        place = self.scratch / "bomb"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        self._saved()
        said = _made_aside(lambda: self.kinds[name](self, place, random))
        _forget_peak()
        try:
            return self._outcome(place, random), [f"{name}: {said}"]
        except UseError as failure:
            return f"failure: {failure}", [f"{name}: {said}"]

    def _warm_up(self) -> None:
        """Read a small Parquet file: what libraries reserve once, and do not fill, is there before the limit is set."""
        import pyarrow
        from pyarrow.parquet import write_table

        file = self.scratch / "warm.parquet"
        write_table(pyarrow.table({"id": ["1"], "text": ["fig"]}), file)
        self._read(file)

    def _outcome(self, place: Path, random: np.random.Generator) -> str:
        target = next(place.iterdir())
        if (target / "manifest.json").exists():
            verify, mmap = (bool(flag) for flag in random.integers(0, 2, 2))
            loaded = attempt("load", lambda: vizsla.load(target, verify=verify, mmap=mmap))
            attempt("inspect", lambda: str(inspect(target)))
            attempt("check", lambda: check(target))
            if loaded is not None:
                attempt("search", lambda: loaded("fig tree", k=3))
            return "refused" if loaded is None else "answered"
        found = attempt("open", lambda: self._read(target))
        return "refused" if found is None else "answered"

    @staticmethod
    def _read(target: Path) -> int:
        count = 0
        for item in vizsla.Dataset.open(target).items:
            count += len(item.text)
            if count > 50_000_000:
                break
        return count

    @cache  # noqa: B019 - one target a process
    def _saved(self) -> Path:
        part = vizsla.bm25(vizsla.Dataset.of(ITEMS))
        return ((part | vizsla.bm25(ITEMS, b=0.3)) >> part).save(self.scratch / "sound")

    def _copy(self, place: Path, random: np.random.Generator) -> tuple[Path, Path]:
        """Return a copy of an artifact and one of the folders in it."""
        root = Path(shutil.copytree(self._saved(), place / "artifact", copy_function=os.link))
        folders = sorted(file.parent for file in root.rglob("manifest.json"))
        return root, folders[int(random.integers(len(folders)))]

    def manifest(self, place: Path, random: np.random.Generator) -> str:
        """Fill a manifest's parameters, files or parents with many values, and seal it."""
        root, folder = self._copy(place, random)
        value = _one(VALUES, random)
        size = int(2 ** random.uniform(10, 23))
        text = json.dumps(read_manifest(folder), indent=1)
        part = str(random.choice(["parameters", "files", "parents", "kind", "more"]))
        many = (value * (size // len(value.encode()))).removesuffix(",")
        bomb = f'"{part}": [{many}]' if random.random() < 0.5 else f'"{part}": {{"bomb": [{many}]}}'
        old, new = (f'"{part}":', f'{bomb},\n "old":') if random.random() < 0.8 else ("{", f"{{{bomb},")
        text = text.replace(old, new, 1)
        write_manifest(folder, text)
        self._signed(root)
        return f"{size} bytes of {value} as {part}"

    def records(self, place: Path, random: np.random.Generator) -> str:
        """Let many records point to one artifact elsewhere, or to many places that are not there."""
        root, folder = self._copy(place, random)
        manifest = read_manifest(folder)
        record = {"kind": "bm25", "xxh64": "0" * 16}
        known = [each for each in manifest["parents"].values() if isinstance(each, dict)]
        if known and random.random() < 0.7:
            record = dict(known[int(random.integers(len(known)))])
        if random.random() < 0.7:
            record["at"] = str(random.choice(["part0", "part0/part0", "part1", "part0/items", "/".join(["a"] * 32)]))
        count = int(2 ** random.uniform(3, 15))
        manifest["parents"] |= {f"more{number}": record for number in range(count)}
        write_manifest(folder, manifest)
        self._signed(root)
        return f"{count} records {record}"

    def deep(self, place: Path, random: np.random.Generator) -> str:
        """Nest lists or dicts."""
        root, folder = self._copy(place, random)
        depth, begin, end = int(2 ** random.uniform(4, 19)), "[", "]"
        if random.random() < 0.5:
            begin, end = '{"a":', "}"
            depth //= 5
        inner = begin * depth + ("0" if begin != "[" else "") + end * (depth if random.random() < 0.8 else 0)
        file = folder / "manifest.json"
        documents = sorted(root.rglob("*.json"))
        documents = [each for each in documents if each.name != "manifest.json"]
        if documents and random.random() < 0.5:
            file = documents[int(random.integers(len(documents)))]
            replace(file, inner.encode())
            sign_file(file)
            self._signed(root)
        else:
            text = json.dumps({**read_manifest(folder), "parameters": {"bomb": "HERE"}}, indent=1)
            write_manifest(folder, text.replace('"HERE"', inner))
            self._signed(root)
        return f"{depth} deep in {file.name}"

    def holes(self, place: Path, random: np.random.Generator) -> str:
        """Make a file long without writing it, with or without the size in the manifest."""
        root, _ = self._copy(place, random)
        files = sorted(file for file in root.rglob("*") if file.is_file())
        file = files[int(random.integers(len(files)))]
        size, data = int(2 ** random.uniform(20, 43)), file.read_bytes()
        replace(file, data)  # not through the hard link
        with file.open("r+b") as stream:
            try:
                stream.truncate(size)
            except OSError:  # larger than the file system takes
                return "nothing"
            for at in random.integers(0, size, int(random.integers(0, 4))).tolist():
                stream.seek(at)
                stream.write(b"x")
        if file.name != "manifest.json" and random.random() < 0.8:
            manifest = read_manifest(file.parent)
            manifest["files"].setdefault(file.name, {})["bytes"] = file.stat().st_size  # provenance.json is not listed
            write_manifest(file.parent, manifest)
            self._signed(root)
        return f"{file.relative_to(root)} of {size} bytes"

    def texts(self, place: Path, random: np.random.Generator) -> str:
        """Pack the stored texts as blocks that unpack to far more."""
        root, _ = self._copy(place, random)
        found = sorted(root.rglob("texts.npy"))
        if not found:
            return "nothing"
        file = found[int(random.integers(len(found)))]
        size = int(2 ** random.uniform(16, 25))
        packed = zlib.compress(b"\0" * size, 9)
        self._array(file, np.frombuffer(packed, np.uint8), root)
        ends = np.load(file.with_name("text_ends.npy"))
        firsts = np.array([0, len(ends) - 1], np.int64)
        ends[1:] = size if random.random() < 0.7 else int(2 ** random.uniform(10, 50))
        blocks = np.array([0, len(packed)])
        for name, values in {"text_ends": ends, "text_firsts": firsts, "text_blocks": blocks}.items():
            if file.with_name(f"{name}.npy").exists():
                self._array(file.with_name(f"{name}.npy"), values.astype(np.int64), root)
        return f"{len(packed)} bytes for {size}"

    def packed(self, place: Path, random: np.random.Generator) -> str:
        """Write a data file whose record does not end, packed or plain."""
        kind = _one(list(HEADS), random)
        head, record = _one(HEADS[kind], random), _one(RECORDS, random)
        megabytes = int(2 ** random.uniform(0, 7.5))
        if "\n" in record:  # rows that end are ordinary data: reading them is work, however they are packed
            megabytes = min(megabytes, 16)
        block = (record.encode() * ((1 << 20) // len(record.encode()) + 1))[: 1 << 20]
        packing = random.random() < 0.7
        file = place / f"data.{kind}{'.gz' if packing else ''}"
        with gzip.open(file, "wb", compresslevel=1) if packing else file.open("wb") as out:
            out.write(head.encode())
            for _ in range(megabytes if packing else min(megabytes, 24)):
                out.write(block)
        return f"{file.name}: {head!r} and {megabytes} MB of {record!r}"

    def sparse_data(self, place: Path, random: np.random.Generator) -> str:
        """Write a data file of holes."""
        kind = str(random.choice([*HEADS, "md", "html"]))
        size = int(2 ** random.uniform(20, 42))
        with (place / f"data.{kind}").open("wb") as out:
            out.write(b"id,text\n")
            out.truncate(size)
        return f"{kind} of {size} bytes"

    def matrices(self, place: Path, random: np.random.Generator) -> str:
        """Write a PECOS folder whose matrices unpack to much, or say to have many rows."""
        from scipy.sparse import coo_array, csr_array, save_npz

        folder = place / "pecos"
        folder.mkdir()
        if random.random() < 0.5:
            shape = tuple(int(2 ** random.uniform(1, 55)) for _ in range(2))
            save_npz(folder / "Y.npz", coo_array(([1.0], ([0], [0])), shape=shape))
            return f"shape {shape}"
        count = int(2 ** random.uniform(10, 23.5))
        matrix = csr_array(np.ones((2, 2), np.float32))
        matrix.data, matrix.indices = np.ones(count, np.float32), np.zeros(count, np.int32)
        matrix.indptr = np.array([0, 1, count], np.int32)
        save_npz(folder / "Y.npz", matrix)
        return f"{count} entries"

    def parquet(self, place: Path, random: np.random.Generator) -> str:
        """Write a Parquet file in which one value stands for many."""
        import pyarrow
        from pyarrow.parquet import write_table

        rows, length = int(2 ** random.uniform(0, 16)), int(2 ** random.uniform(4, 23))
        values = pyarrow.array([random.bytes(length // 2).hex()])
        texts: Any = pyarrow.DictionaryArray.from_arrays(pyarrow.array(np.zeros(rows, np.int32)), values)
        shape = _one(["texts", "lists", "numbers", "plain"], random)
        if shape == "plain":
            texts = pyarrow.array(["a" * min(length * 4, 100_000_000)])
        elif shape != "texts":
            inner = texts if shape == "lists" else pyarrow.array(np.zeros(rows * 100, np.int64))
            texts = pyarrow.ListArray.from_arrays(pyarrow.array([0, len(inner)], "int32"), inner)
        ids = pyarrow.array(np.arange(len(texts)).astype(str))
        packing = _one(["zstd", "snappy", "none"], random)
        columns = {"id": ids, "text": ids, "n": texts} if shape == "numbers" else {"id": ids, "text": texts}
        table = pyarrow.table(columns)
        write_table(table, place / "items.parquet", compression=packing)
        return f"{rows} rows of {length} bytes as {shape}, {packing}"

    @staticmethod
    def _signed(root: Path) -> None:
        resign(root, files=False)

    def _array(self, file: Path, values: Any, root: Path) -> None:
        from vizsla.artifacts import npy

        replace(file, npy.header(values) + values.tobytes())
        sign_file(file)
        self._signed(root)


def _made_aside(make: Callable[[], str]) -> str:
    """Make a bomb in a process of its own, without the limit: only the memory that the library takes counts."""
    answer, reply = os.pipe()
    child = os.fork()
    if not child:
        code = 1
        try:
            hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
            resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))
            os.write(reply, make().encode()[:4096])
            code = 0
        except BaseException:
            traceback.print_exc()
            raise
        finally:
            os._exit(code)
    os.close(reply)
    with os.fdopen(answer, "rb") as made:
        said = made.read().decode(errors="replace")
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        raise RuntimeError("a bomb could not be made")
    return said


def _forget_peak() -> None:
    """Let the kernel's mark of the most memory begin anew."""
    gc.collect()
    if "pyarrow" in sys.modules:
        sys.modules["pyarrow"].default_memory_pool().release_unused()
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _one(values: list[str], random: np.random.Generator) -> str:
    return values[int(random.integers(len(values)))]


Made = Callable[[BombTarget, Path, np.random.Generator], str]
KINDS: dict[str, Made] = {
    "manifest": BombTarget.manifest,
    "records": BombTarget.records,
    "deep": BombTarget.deep,
    "holes": BombTarget.holes,
    "texts": BombTarget.texts,
    "packed": BombTarget.packed,
    "sparse data": BombTarget.sparse_data,
    "matrices": BombTarget.matrices,
    "parquet": BombTarget.parquet,
}
