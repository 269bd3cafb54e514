"""Reads an artefact's folder and trusts nothing in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from vizsla.artifact_writer import FORMAT, MANIFEST, file_checksum
from vizsla.errors import FormatError
from vizsla.strings import Strings

if TYPE_CHECKING:
    from vizsla.artifact import Artifact


class ArtifactReader:
    """An opened artefact: its manifest, and its files checked as they are asked for."""

    def __init__(self, path: str | Path, *, mmap: bool = True, verify: bool = True):
        self.path, self._mmap, self._verify = Path(path), mmap, verify
        manifest = self._read_manifest()
        self.kind: str = manifest["kind"]
        self.manifest: dict[str, Any] = manifest

    def parameter(self, name: str, expected: type | tuple[type, ...]) -> Any:
        """Return a parameter of the expected type."""
        parameters = self.manifest["parameters"]
        if name not in parameters or not isinstance(parameters[name], expected):
            raise FormatError(f"{self.path / MANIFEST}: parameter {name!r} is missing or of the wrong type.")
        return parameters[name]

    def array(self, name: str, dtype: DTypeLike, *, ndim: int = 1) -> NDArray[Any]:
        """Return the array stored as `name.npy`, which must have this type and rank."""
        file = self._checked_file(f"{name}.npy")
        try:
            values = np.load(file, mmap_mode="r" if self._mmap else None, allow_pickle=False)
        except (ValueError, OSError, EOFError) as error:
            raise FormatError(f"{file}: not a readable array ({error}).") from error
        if values.dtype != np.dtype(dtype) or values.ndim != ndim:
            raise FormatError(f"{file}: expected {ndim}-dimensional {np.dtype(dtype)}. Got {values.ndim}-dimensional {values.dtype}.")
        return np.asarray(values)

    def strings(self, name: str) -> Strings:
        """Return a string table."""
        try:
            return Strings(
                self.array(f"{name}.bytes", np.uint8),
                self.array(f"{name}.offsets", np.int64),
                self.array(f"{name}.slots", np.uint32),
            )
        except ValueError as error:
            raise FormatError(f"{self.path / name}: {error}.") from error

    def json(self, name: str) -> Any:
        """Return the JSON document stored as `name.json`."""
        return self._parse_json(self._checked_file(f"{name}.json"))

    def child(self, name: str) -> Artifact:
        """Return the artefact stored inside this one under `name`."""
        from vizsla.artifact import load

        return load(self.path / name, mmap=self._mmap, verify=self._verify)

    def _checked_file(self, name: str) -> Path:
        file = self.path / name
        record = self.manifest["files"].get(name)
        if record is None or not file.is_file():
            raise FormatError(f"{file}: the file is missing.")
        if file.stat().st_size != record["bytes"]:
            raise FormatError(f"{file}: expected {record['bytes']} bytes. Got {file.stat().st_size}.")
        if self._verify and file_checksum(file) != record["xxh64"]:
            raise FormatError(f"{file}: the checksum does not match; the file is damaged.")
        return file

    def _read_manifest(self) -> dict[str, Any]:
        file = self.path / MANIFEST
        if not file.is_file():
            raise FormatError(f"{self.path}: not an artefact (it has no {MANIFEST}).")
        manifest = self._parse_json(file)
        shape = {"kind": str, "format": int, "parameters": dict, "parents": dict, "files": dict}
        if not isinstance(manifest, dict) or any(not isinstance(manifest.get(k), t) for k, t in shape.items()):
            raise FormatError(f"{file}: not a manifest.")
        if manifest["format"] != FORMAT:
            raise FormatError(f"{file}: this version reads format {FORMAT}. Got {manifest['format']}.")
        return manifest

    @staticmethod
    def _parse_json(file: Path) -> Any:
        try:
            return json.loads(file.read_bytes())
        except (ValueError, RecursionError) as error:
            raise FormatError(f"{file}: not readable as JSON ({error}).") from error
