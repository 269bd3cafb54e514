"""Writes an artefact's files and the manifest that describes them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vizsla.artifacts import npy, strict_json
from vizsla.artifacts.manifest import (
    MANIFEST,
    MAX_NESTING,
    FileRecord,
    Manifest,
    ParentRecord,
    check_name,
    digest,
)
from vizsla.artifacts.renames import sync
from vizsla.errors import InputError
from vizsla.strings import Strings

if TYPE_CHECKING:
    from vizsla.artifact import Artifact


class ArtifactWriter:
    """Fills an empty folder with one artefact; every file is flushed to the disk as it is written."""

    def __init__(self, folder: Path, kind: str, *, nesting: int = 0):
        self._folder, self._kind, self._nesting = folder, kind, nesting
        self._files: dict[str, FileRecord] = {}
        self._parents: dict[str, ParentRecord] = {}
        self._parameters: dict[str, Any] = {}

    def write(self, artifact: Artifact) -> str:
        """Write the whole artefact and return the checksum of its manifest."""
        artifact._write(self)
        manifest = Manifest(self._kind, self._parameters, self._parents, self._files)
        try:
            data = manifest.dump()
        except (TypeError, ValueError) as error:
            raise InputError(f"Parameters must be plain JSON values. Got one that is not: {error}.") from error
        self._write_file(MANIFEST, data)
        sync(self._folder)
        return digest(data)

    def parameters(self, **parameters: Any) -> None:
        """Record parameters: numbers, texts, booleans, None, lists and dicts of them."""
        self._parameters.update(parameters)

    def array(self, name: str, values: NDArray[Any]) -> None:
        """Store an array of numbers or flags as `name.npy`."""
        values = np.asarray(values, order="C")
        values = values.astype(values.dtype.newbyteorder("="), copy=False)
        try:
            header = npy.header(values)
        except ValueError as error:
            raise InputError(f"`{name}` must be an array of numbers. Got another: {error}.") from error
        self._add_file(f"{name}.npy", header, values.reshape(-1).view(np.uint8))

    def strings(self, name: str, strings: Strings) -> None:
        """Store a string table as three arrays."""
        self.array(f"{name}.bytes", strings.data)
        self.array(f"{name}.offsets", strings.offsets)
        self.array(f"{name}.slots", strings.slots)

    def json(self, name: str, value: Any) -> None:
        """Store a JSON document as `name.json`; what grows with the catalogue belongs in arrays."""
        try:
            data = strict_json.dump(value)
        except (TypeError, ValueError) as error:
            raise InputError(f"`{name}` must be a plain JSON value. Got one that is not: {error}.") from error
        self._add_file(f"{name}.json", data)

    def child(self, name: str, artifact: Artifact) -> None:
        """Store another artefact inside this one."""
        self._check_name(name)
        if self._nesting == MAX_NESTING:
            raise InputError(f"Artefacts must be nested at most {MAX_NESTING} deep. Got one more.")
        (self._folder / name).mkdir()
        writer = ArtifactWriter(self._folder / name, artifact.kind, nesting=self._nesting + 1)
        self._parents[name] = ParentRecord(artifact.kind, writer.write(artifact))

    def _add_file(self, name: str, *parts: bytes | NDArray[np.uint8]) -> None:
        self._check_name(name)
        self._write_file(name, *parts)
        written = np.memmap(self._folder / name, np.uint8, mode="r")
        self._files[name] = FileRecord(len(written), digest(written))

    def _write_file(self, name: str, *parts: bytes | NDArray[np.uint8]) -> None:
        with (self._folder / name).open("xb") as out:
            for part in parts:
                out.write(part if isinstance(part, bytes) else part.data)
            out.flush()
            os.fsync(out.fileno())

    def _check_name(self, name: str) -> None:
        try:
            check_name(name)
        except ValueError as error:
            raise InputError(f"Every file must have a plain name. Got another: {error}.") from error
        if name in self._files or name in self._parents:
            raise InputError(f"Every name must be used once. Got {name!r} again.")
