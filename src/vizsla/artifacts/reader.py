"""Reads an artefact's folder and trusts nothing in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray

from vizsla.arguments import all_finite
from vizsla.artifacts import npy, strict_json
from vizsla.artifacts.folder import Folder
from vizsla.artifacts.loading import Loading, Place
from vizsla.artifacts.manifest import MANIFEST, MAX_NESTING, ParentRecord, digest
from vizsla.errors import FormatError
from vizsla.strings import Strings

if TYPE_CHECKING:
    from vizsla.artifact import Artifact

T = TypeVar("T")


class ArtifactReader:
    """An opened artefact: its manifest, and its files checked as they are asked for.

    Parameters
    ----------
    folder : path or Folder
        Where the artefact lies.
    mmap : bool
        Map arrays from their files instead of copying them into memory.
    verify : bool
        Check every file's checksum. Manifests, sizes and headers are checked in any case.
    """

    def __init__(self, folder: str | Path | Folder, *, mmap: bool = True, verify: bool = True):
        opened = folder if isinstance(folder, Folder) else Folder(folder)
        self._open(opened, Loading(opened, mmap, verify), ())

    def _open(self, folder: Folder, loading: Loading, place: Place, expected: ParentRecord | None = None) -> None:
        self.folder, self.path, self.loading, self.place = folder, folder.path, loading, place
        self.manifest = loading.manifest(place, expected, folder)
        self._unread = {*self.manifest.files, *self.manifest.parents}

    @property
    def kind(self) -> str:
        """What the artefact is; `vizsla.artifacts.kinds` knows which class reads it."""
        return self.manifest.kind

    def parameter(self, name: str, expected: type | tuple[type, ...]) -> Any:
        """Return a parameter of the expected type; a whole number serves as a float, a bool as neither."""
        kinds = expected if isinstance(expected, tuple) else (expected,)
        value = self.manifest.parameters.get(name)
        known = name in self.manifest.parameters
        if known and float in kinds and int not in kinds and type(value) is int:
            return float(value)
        if not known or not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise FormatError(f"{self.path / MANIFEST}: parameter {name!r} is missing or of the wrong type.")
        return value

    def array(self, name: str, dtype: DTypeLike, *, ndim: int = 1, finite: bool = True) -> NDArray[Any]:
        """Return the array stored as `name.npy`, read-only, which must have this type and rank.

        With `verify`, which reads the file anyway, NaN and infinity are refused unless `finite` is False: they would
        give answers that are no numbers.
        """
        values = self._parse_array(f"{name}.npy")
        if values.dtype != np.dtype(dtype) or values.ndim != ndim:
            raise FormatError(
                f"{self.path / name}.npy: expected {ndim}-dimensional {np.dtype(dtype)}. "
                f"Got {values.ndim}-dimensional {values.dtype}."
            )
        if finite and self.loading.verify and not all_finite(values):
            raise FormatError(f"{self.path / name}.npy: expected finite numbers. Got NaN or infinity.")
        return values

    def strings(self, name: str, *, findable: bool = True) -> Strings:
        """Return a string table; one without slots only where nothing will be looked up in it."""
        file = self.path / f"{name}.bytes.npy"
        data = self.array(f"{name}.bytes", np.uint8)
        offsets = self.array(f"{name}.offsets", np.int64)
        slots = self.array(f"{name}.slots", np.uint32)
        if findable and not len(slots):
            raise FormatError(f"{self.path / name}.slots.npy: the string table has no slots.")
        try:
            strings = Strings(data, offsets, slots, source=str(file))
        except ValueError as error:
            raise FormatError(f"{file}: {error}.") from error
        if self.loading.verify:
            strings.check_text()
        return strings

    def catalogue(self, name: str) -> Strings:
        """Return a string table that parts of the whole share: one object for all of them."""
        from vizsla.artifacts.string_table import StringTable

        strings = self.child(name, StringTable).strings
        if not len(strings.slots):
            raise FormatError(f"{self.path / name}: the string table has no slots.")
        return strings

    def json(self, name: str) -> Any:
        """Return the JSON document stored as `name.json`."""
        record = self.manifest.files.get(f"{name}.json")
        if record is not None and record.bytes > strict_json.MAX_BYTES:
            raise FormatError(f"{self.path / name}.json: more than {strict_json.MAX_BYTES} bytes.")
        try:
            return strict_json.parse(self._read(f"{name}.json", mmap=True).tobytes())
        except ValueError as error:
            raise FormatError(f"{self.path / name}.json: {error}.") from error

    def raw(self, name: str) -> NDArray[np.uint8]:
        """Return the bytes stored as `name.raw`."""
        return self._read(f"{name}.raw", mmap=self.loading.mmap)

    @overload
    def child(self, name: str) -> Artifact: ...
    @overload
    def child(self, name: str, expected: Callable[..., T]) -> T: ...
    def child(self, name: str, expected: Any = None) -> Any:
        """Return the artefact stored inside this one under `name`, which must be of the expected class.

        An artefact that several parts of the whole hold is one object.
        """
        from vizsla.artifact import Artifact

        record = self._record(name)
        place = record.place or (*self.place, name)
        self._unread.discard(name)
        made = self.loading.once(place, record, lambda: Artifact._from_reader(self.open_child(name)))
        if expected is not None and not isinstance(made, expected):
            raise FormatError(f"{self.path / name}: expected a {expected.__name__}. Got kind {made.kind!r}.")
        return made

    def open_child(self, name: str) -> ArtifactReader:
        """Return the reader of the artefact stored inside this one under `name`, or elsewhere in the whole."""
        record = self._record(name)
        if len(self.place) == MAX_NESTING:
            raise FormatError(f"{self.path / name}: nested more than {MAX_NESTING} deep.")
        self._unread.discard(name)
        reader = ArtifactReader.__new__(ArtifactReader)
        if record.place is None:
            reader._open(self.folder.inner(name), self.loading, (*self.place, name), record)
        else:
            self.loading.shared(record)
            reader._open(self.loading.open(record.place), self.loading, record.place, record)
        return reader

    def is_shared(self, name: str) -> bool:
        """Whether the artefact of this name lies elsewhere in the whole; what is there must be what was recorded."""
        record = self._record(name)
        if record.at is not None:
            self.loading.shared(record)
        return record.at is not None

    def check_sizes(self) -> None:
        """Raise unless every file is there in its full length."""
        for name, record in self.manifest.files.items():
            self._check_size(name, self.folder.size(name), record.bytes)

    def verify_file(self, name: str) -> None:
        """Check a file's checksum, and that it is an array or a JSON document if its name says so."""
        if name.endswith(".json"):
            self.json(name.removesuffix(".json"))
        elif name.endswith(".npy"):
            self._parse_array(name)
        else:
            self._read(name, mmap=True)

    def verify_rest(self) -> None:
        """Check what nobody asked for, so that a loaded artefact is sound as a whole."""
        for name in sorted(self._unread):
            if name in self.manifest.parents:
                if not self.is_shared(name):  # otherwise its own folder's turn will come
                    child = self.open_child(name)
                    child.check_sizes()
                    child.verify_rest()
            elif self.loading.verify:
                self.verify_file(name)

    def _record(self, name: str) -> ParentRecord:
        record = self.manifest.parents.get(name)
        if record is None:
            raise FormatError(f"{self.path / name}: the artefact is missing.")
        return record

    def _read(self, name: str, *, mmap: bool) -> NDArray[np.uint8]:
        record = self.manifest.files.get(name)
        if record is None:
            raise FormatError(f"{self.path / name}: the file is missing.")
        self._check_size(name, self.folder.size(name), record.bytes)
        data = self.folder.read(name, mmap=mmap)
        self._check_size(name, len(data), record.bytes)
        if self.loading.verify and digest(data) != record.xxh64:
            raise FormatError(f"{self.path / name}: the checksum does not match; the file is damaged.")
        self._unread.discard(name)
        return data

    def _check_size(self, name: str, size: int, expected: int) -> None:
        if size != expected:
            raise FormatError(f"{self.path / name}: expected {expected} bytes. Got {size}.")

    def _parse_array(self, name: str) -> NDArray[Any]:
        try:
            return npy.parse(self._read(name, mmap=self.loading.mmap))
        except ValueError as error:
            raise FormatError(f"{self.path / name}: {error}.") from error
