"""Read an artifact's folder, checking everything; parts that are shared are loaded once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray

from vizsla.artifacts import npy, strict_json
from vizsla.artifacts.folder import Folder
from vizsla.artifacts.manifest import (
    MANIFEST,
    MAX_NESTING,
    MAX_WHOLE_BYTES,
    MAX_WHOLE_VALUES,
    MAX_WRITTEN_OUT,
    Manifest,
    ParentRecord,
    digest,
)
from vizsla.core.strings import Strings
from vizsla.core.validation import all_finite
from vizsla.errors import FormatError

if TYPE_CHECKING:
    from vizsla.artifacts.artifact import Artifact

Place = tuple[str, ...]
"""The names of the folders on the way from the outermost one."""


@dataclass
class Loading:
    """One load of an artifact and of all that is inside.

    Parameters
    ----------
    root : Folder
        The outermost folder.
    mmap, verify : bool
        As for `Artifact.load`.
    """

    root: Folder
    mmap: bool
    verify: bool
    _made: dict[Place, Artifact] = field(default_factory=dict)
    _records: dict[Place, ParentRecord] = field(default_factory=dict)
    _making: list[Place] = field(default_factory=list)
    _sizes: dict[Place, int] = field(default_factory=dict)
    _manifests: dict[Place, Manifest] = field(default_factory=dict)
    _ways: dict[Place, ParentRecord] = field(default_factory=dict)
    _bytes: int = 0
    _values: int = 0

    def manifest(self, place: Place, expected: ParentRecord | None = None, folder: Folder | None = None) -> Manifest:
        """Return the manifest at a place, parsed once; it must be the one that the folder around it recorded."""
        manifest = self._manifests.get(place)
        if manifest is None:
            opened = self.open(place) if folder is None else folder
            manifest = self._manifests[place] = opened.manifest(self._measure)
        file = self.root.path.joinpath(*place, MANIFEST)
        if expected is not None and manifest.digest != expected.xxh64:
            raise FormatError(f"{file}: not the manifest that the artifact around it was saved with.")
        if expected is not None and manifest.kind != expected.kind:
            raise FormatError(f"{file}: expected the kind {expected.kind!r}. Got {manifest.kind!r}.")
        return manifest

    def _measure(self, data: bytes) -> None:
        """Count what the manifests of the whole hold, before one more is parsed."""
        self._bytes, self._values = self._bytes + len(data), self._values + strict_json.measure(data)
        if self._bytes > MAX_WHOLE_BYTES or self._values > MAX_WHOLE_VALUES:
            limits = f"{MAX_WHOLE_BYTES} bytes or {MAX_WHOLE_VALUES:,} values"
            raise ValueError(f"the manifests of the whole have more than {limits}")

    def open(self, place: Place) -> Folder:
        """Open the folder at a place, name by name."""
        folder = self.root
        for name in place:
            folder = folder.inner(name)
        return folder

    def once(self, place: Place, record: ParentRecord, make: Callable[[], Artifact]) -> Artifact:
        """Return what lies at a place: made before, or now."""
        where = self.root.path.joinpath(*place)
        if place in self._made:
            if not record.agrees(self._records[place]):
                raise FormatError(f"{where}: not the artifact that another part of the whole shares.")
        else:
            with self._entered(place):
                artifact = make()
            self._made[place], self._records[place] = artifact, record
        self._count(place)
        return self._made[place]

    def _count(self, place: Place) -> None:
        """Add what lies at a place to what is around it: what is shared is little to store, and may be much to use."""
        around = self._making[-1] if self._making else ()
        size = self._sizes.get(around, 0) + 1 + self._sizes.get(place, 0)
        if size > MAX_WRITTEN_OUT:
            where = self.root.path.joinpath(*around)
            raise FormatError(f"{where}: more than {MAX_WRITTEN_OUT:,} artifacts, each counted as often as it is used.")
        self._sizes[around] = size

    def shared(self, record: ParentRecord) -> Manifest:
        """Return the manifest of a shared artifact, which must be what was recorded, on a way that is listed."""
        place = record.place or ()
        if place not in self._ways:
            self._ways[place] = self._way(place)
        if not record.agrees(self._ways[place]):
            where = self.root.path.joinpath(*place)
            raise FormatError(f"{where}: not the artifact that another part of the whole shares.")
        return self.manifest(place)

    def _way(self, place: Place) -> ParentRecord:
        """Return the record of the artifact at a place; every folder on the way there must be listed."""
        manifest, found = self.manifest(()), ParentRecord("", "", "")
        for end, name in enumerate(place, 1):
            listed = manifest.parents.get(name)
            if listed is None or listed.at is not None:
                raise FormatError(
                    f"{self.root.path.joinpath(*place[:end])}: an artifact that parts share must be here. Got none: "
                    "load the outermost artifact, not a part of it."
                )
            manifest, found = self.manifest(place[:end], listed), listed
        return found

    @contextmanager
    def _entered(self, place: Place) -> Iterator[None]:
        where = self.root.path.joinpath(*place)
        if place in self._making:
            raise FormatError(f"{where}: the artifact is said to be inside itself.")
        if len(self._making) == MAX_NESTING:
            raise FormatError(f"{where}: nested more than {MAX_NESTING} deep.")
        self._making.append(place)
        try:
            yield
        finally:
            self._making.pop()


T = TypeVar("T")


class ArtifactReader:
    """An opened artifact: its manifest, and its files checked as they are asked for.

    Parameters
    ----------
    folder : path or Folder
        Where the artifact lies.
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
        """What the artifact is; `vizsla.artifacts.kinds` knows which class reads it."""
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

    def optional(self, name: str, expected: type | tuple[type, ...], default: Any) -> Any:
        """Return a parameter that artifacts written before it existed do not have, or its default."""
        return self.parameter(name, expected) if name in self.manifest.parameters else default

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

    def catalog(self, name: str) -> Strings:
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
        """Return the artifact stored inside this one under `name`, which must be of the expected class.

        An artifact that several parts of the whole hold is one object.
        """
        from vizsla.artifacts.artifact import Artifact

        record = self._record(name)
        place = record.place or (*self.place, name)
        self._unread.discard(name)
        made = self.loading.once(place, record, lambda: Artifact._from_reader(self.open_child(name)))
        if expected is not None and not isinstance(made, expected):
            raise FormatError(f"{self.path / name}: expected a {expected.__name__}. Got kind {made.kind!r}.")
        return made

    def open_child(self, name: str) -> ArtifactReader:
        """Return the reader of the artifact stored inside this one under `name`, or elsewhere in the whole."""
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
        """Whether the artifact of this name lies elsewhere in the whole; what is there must be what was recorded."""
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
        """Check what was not read, so that a loaded artifact is sound as a whole."""
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
            raise FormatError(f"{self.path / name}: the artifact is missing.")
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
