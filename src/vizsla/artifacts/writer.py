"""Write an artifact's files and manifest; parts that are shared are written once per save."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from vizsla._internal.provenance import provenance
from vizsla.artifacts import npy, strict_json
from vizsla.artifacts.atomic_folder import sync
from vizsla.artifacts.kinds import check_saveable
from vizsla.artifacts.manifest import (
    MANIFEST,
    MAX_BYTES,
    MAX_NESTING,
    PROVENANCE,
    FileRecord,
    Manifest,
    ParentRecord,
    check_name,
    digest,
)
from vizsla.core.strings import Strings
from vizsla.errors import InputError

if TYPE_CHECKING:
    from vizsla.artifacts.artifact import Artifact


def write_provenance(folder: Path, content: str, items: Any) -> None:
    """Write beside the manifest how an artifact was made; its digest, and that of its items' ids, tie it to the data.

    Parameters
    ----------
    folder : Path
        The outermost folder.
    content : str
        The artifact's digest.
    items : Strings, optional
        The ids of the catalog, of an artifact that has one.
    """
    catalog = {}
    if isinstance(items, Strings):
        held = np.concatenate([np.asarray(items.data).view(np.uint8), np.asarray(items.offsets).view(np.uint8)])
        catalog = {"count": len(items), "xxh64": digest(held)}
    made = provenance(artifact=content, items=catalog)
    with (folder / PROVENANCE).open("xb") as out:
        out.write(strict_json.dump(made))
        out.flush()
        os.fsync(out.fileno())
    sync(folder)


class Stored(NamedTuple):
    """An artifact that this save has written: its record, and how many artifacts lie inside one another there."""

    record: ParentRecord
    height: int


@dataclass
class Saving:
    """One save of an artifact and of all that is inside.

    Parameters
    ----------
    root : Path
        The outermost folder, while it is being filled.
    bundle_models : bool, optional
        Whether models that the caller opened are stored inside; None: small ones that need no torch.
    models : tuple of str
        Folders or hub ids that the caller names in this call. A model that only an artifact names is copied from
        nowhere else: otherwise a prepared artifact could have any file of this machine copied.
    lasting : bool
        Whether the folder will stay: then it is flushed to the disk, and models outside are named by the way from it.
    """

    root: Path
    bundle_models: bool | None = None
    models: tuple[str, ...] = ()
    lasting: bool = True
    _by_object: dict[int, tuple[Any, Stored]] = field(default_factory=dict)
    _by_content: dict[tuple[str, str], Stored] = field(default_factory=dict)
    _stand_ins: dict[int, tuple[Any, Artifact]] = field(default_factory=dict)
    _copied: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, root: Path, bundle_models: Any) -> Self:
        """Return the save of `Artifact.save`, where `bundle_models` may also be one model or several."""
        if bundle_models is None or isinstance(bundle_models, bool):
            return cls(root, bundle_models)
        several = [bundle_models] if isinstance(bundle_models, str | os.PathLike) else list(bundle_models)
        if not several or not all(isinstance(name, str | os.PathLike) and str(name) for name in several):
            raise InputError("`bundle_models` must be True, False, or models' folders or hub ids. Got others.")
        return cls(root, None, tuple(map(str, several)))

    def may_copy(self, name: str) -> str | None:
        """Return a model that an artifact names as the caller names it too; None if the caller does not."""
        for given in self.models:
            if given == name or (os.path.exists(given) and os.path.realpath(given) == os.path.realpath(name)):  # noqa: PTH110
                self._copied.add(given)
                return given
        return None

    def check_copied(self) -> None:
        """Raise if the caller named a model that nothing in the artifact names."""
        if unused := [name for name in self.models if name not in self._copied]:
            raise InputError(f"`bundle_models` must name models of the artifact. Got {unused[0]!r}, which is none.")

    def known(self, thing: object) -> Stored | None:
        """Return where the very same object was written."""
        found = self._by_object.get(id(thing))
        return None if found is None else found[1]

    def equal(self, record: ParentRecord) -> Stored | None:
        """Return where the same content was written."""
        return self._by_content.get((record.kind, record.xxh64))

    def remember(self, thing: object, stored: Stored) -> None:
        """Note an object that lies at `stored`; it is kept alive, or its number could be given to another."""
        self._by_object[id(thing)] = thing, stored
        self._by_content.setdefault((stored.record.kind, stored.record.xxh64), stored)

    def stand_in(self, thing: object, make: Callable[[], Artifact]) -> Artifact:
        """Return the artifact that is saved in place of something that is none, the same one each time."""
        if id(thing) not in self._stand_ins:
            self._stand_ins[id(thing)] = thing, make()
        return self._stand_ins[id(thing)][1]


class ArtifactWriter:
    """Fills an empty folder with one artifact; every file is flushed to the disk as it is written.

    Parameters
    ----------
    folder : Path
        The empty folder.
    kind : str
        The artifact's kind.
    nesting : int
        How many artifacts lie around this one.
    saving : Saving, optional
        The save that this is part of; a new one unless given.
    """

    def __init__(self, folder: Path, kind: str, *, nesting: int = 0, saving: Saving | None = None):
        self._folder, self._kind, self._nesting = folder, kind, nesting
        self.saving = Saving(folder) if saving is None else saving
        self._files: dict[str, FileRecord] = {}
        self._parents: dict[str, ParentRecord] = {}
        self._parameters: dict[str, Any] = {}
        self._height = 0

    def write(self, artifact: Artifact) -> str:
        """Write the whole artifact and return its digest."""
        artifact._write(self)
        self.parameters(**artifact._noted())
        manifest = Manifest(self._kind, self._parameters, self._parents, self._files)
        try:
            data = manifest.dump()
            if len(data) > MAX_BYTES:
                raise ValueError(f"the manifest has more than {MAX_BYTES} bytes")
        except (TypeError, ValueError) as error:
            raise InputError(f"Parameters must be plain JSON values. Got one that is not: {error}.") from error
        self._write_file(MANIFEST, data)
        if self.saving.lasting:
            sync(self._folder)
        return manifest.digest

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

    def catalog(self, name: str, strings: Strings) -> None:
        """Store a string table that other parts of the whole may hold too, such as item ids: once for all."""
        from vizsla.artifacts.string_table import StringTable

        self.child(name, self.saving.stand_in(strings, lambda: StringTable(strings)))

    def json(self, name: str, value: Any) -> None:
        """Store a JSON document as `name.json`; what grows with the catalog belongs in arrays."""
        try:
            data = strict_json.dump(value)
        except (TypeError, ValueError) as error:
            raise InputError(f"`{name}` must be a plain JSON value. Got one that is not: {error}.") from error
        self._add_file(f"{name}.json", data)

    def raw(self, name: str, data: NDArray[np.uint8]) -> None:
        """Store bytes that mean nothing to Vizsla as `name.raw`."""
        self._add_file(f"{name}.raw", np.ascontiguousarray(data, np.uint8))

    def child(self, name: str, artifact: Artifact) -> None:
        """Store another artifact inside this one; one that this save has written already, by the way to it."""
        self._check_name(name)
        check_saveable(artifact)
        stored = self.saving.known(artifact) or self._stored(name, artifact)
        if self._nesting + 1 + stored.height > MAX_NESTING:
            raise InputError(f"Artifacts must be nested at most {MAX_NESTING} deep. Got one more.")
        self._height = max(self._height, 1 + stored.height)
        own = stored.record.place == self._place(name)
        self._parents[name] = ParentRecord(stored.record.kind, stored.record.xxh64) if own else stored.record

    def _stored(self, name: str, artifact: Artifact) -> Stored:
        """Write an artifact to a folder of its own, unless the same content is found elsewhere."""
        if self._nesting == MAX_NESTING:
            raise InputError(f"Artifacts must be nested at most {MAX_NESTING} deep. Got one more.")
        folder = self._folder / name
        folder.mkdir()
        writer = ArtifactWriter(folder, artifact.kind, nesting=self._nesting + 1, saving=self.saving)
        record = ParentRecord(artifact.kind, writer.write(artifact), at="/".join(self._place(name)))
        equal = self.saving.equal(record)
        if equal is not None:
            # All that is inside lies elsewhere too, so nothing that others point to goes with it.
            shutil.rmtree(folder)
        stored = equal or Stored(record, writer._height)
        self.saving.remember(artifact, stored)
        return stored

    def _place(self, name: str) -> tuple[str, ...]:
        return (*self._folder.relative_to(self.saving.root).parts, name)

    def _add_file(self, name: str, *parts: bytes | NDArray[np.uint8]) -> None:
        self._check_name(name)
        self._write_file(name, *parts)
        written = (
            b"" if not (self._folder / name).stat().st_size else np.memmap(self._folder / name, np.uint8, mode="r")
        )
        self._files[name] = FileRecord(len(written), digest(written))

    def _write_file(self, name: str, *parts: bytes | NDArray[np.uint8]) -> None:
        with (self._folder / name).open("xb") as out:
            for part in parts:
                out.write(part if isinstance(part, bytes) else part.data)
            out.flush()
            if self.saving.lasting:
                os.fsync(out.fileno())

    def _check_name(self, name: str) -> None:
        try:
            check_name(name)
        except ValueError as error:
            raise InputError(f"Every file must have a plain name. Got another: {error}.") from error
        if name in self._files or name in self._parents:
            raise InputError(f"Every name must be used once. Got {name!r} again.")
