"""Writes an artefact's folder: flat files, a manifest, one atomic rename."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla import __version__, _native
from vizsla.errors import InputError
from vizsla.strings import Strings

if TYPE_CHECKING:
    from vizsla.artifact import Artifact

MANIFEST = "manifest.json"
FORMAT = 1


class ArtifactWriter:
    """Collects an artefact's files under a temporary name; leaving the `with` block puts them in place."""

    def __init__(self, path: str | Path, kind: str, *, overwrite: bool = False):
        self.path, self.kind, self._overwrite = Path(path), kind, overwrite
        self._folder = self.path.with_name(f".{self.path.name}.{os.getpid()}.partial")
        self._files: dict[str, dict[str, Any]] = {}
        self._parents: dict[str, dict[str, str]] = {}
        self._parameters: dict[str, Any] = {}

    def __enter__(self) -> Self:
        self._check_target()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            return
        self._write_manifest()
        _sync(self._folder)
        self._put_in_place()

    def parameters(self, **parameters: Any) -> None:
        """Record parameters: numbers, texts, booleans, None, lists and dicts of them."""
        self._parameters.update(parameters)

    def array(self, name: str, values: NDArray[Any]) -> None:
        """Store an array as `name.npy`."""
        file = self._folder / f"{name}.npy"
        with file.open("wb") as out:
            np.save(out, np.ascontiguousarray(values), allow_pickle=False)
            _flush(out)
        self._record(file)

    def strings(self, name: str, strings: Strings) -> None:
        """Store a string table as three arrays."""
        self.array(f"{name}.bytes", strings.data)
        self.array(f"{name}.offsets", strings.offsets)
        self.array(f"{name}.slots", strings.slots)

    def json(self, name: str, value: Any) -> None:
        """Store a JSON document as `name.json`."""
        self._write_json(self._folder / f"{name}.json", value)
        self._record(self._folder / f"{name}.json")

    def child(self, name: str, artifact: Artifact) -> None:
        """Store another artefact inside this one."""
        artifact.save(self._folder / name)
        manifest = self._folder / name / MANIFEST
        self._parents[name] = {"kind": artifact.kind, "xxh64": file_checksum(manifest)}

    def _record(self, file: Path) -> None:
        self._files[file.name] = {"bytes": file.stat().st_size, "xxh64": file_checksum(file)}

    def _write_manifest(self) -> None:
        manifest = {
            "kind": self.kind,
            "format": FORMAT,
            "vizsla": __version__,
            "parameters": self._parameters,
            "parents": self._parents,
            "files": dict(sorted(self._files.items())),
        }
        self._write_json(self._folder / MANIFEST, manifest)

    @staticmethod
    def _write_json(file: Path, value: Any) -> None:
        with file.open("wb") as out:
            out.write(json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False).encode())
            _flush(out)

    def _check_target(self) -> None:
        if not self.path.exists():
            return
        if not (self.path / MANIFEST).is_file():
            raise InputError(f"`path` must be new or an artefact. Got {self.path}, which is something else: choose another path.")
        if not self._overwrite:
            raise InputError(f"`path` must be new. Got {self.path}, which exists: choose another, or pass overwrite=True.")

    def _put_in_place(self) -> None:
        old = self.path.with_name(f".{self.path.name}.{os.getpid()}.old")
        if self.path.exists():
            self.path.rename(old)
        self._folder.rename(self.path)
        _sync(self.path.parent)
        shutil.rmtree(old, ignore_errors=True)


def file_checksum(file: Path) -> str:
    """Return the XXH64 of a file's bytes in hexadecimal."""
    if file.stat().st_size == 0:
        return f"{_native.checksum(np.zeros(0, np.uint8)):016x}"
    return f"{_native.checksum(np.memmap(file, dtype=np.uint8, mode='r')):016x}"


def _flush(out: Any) -> None:
    out.flush()
    os.fsync(out.fileno())


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
