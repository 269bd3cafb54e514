"""Loading: what one load has read and made so far: a manifest is parsed once, a part that others share made once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vizsla.artifacts import strict_json
from vizsla.artifacts.folder import Folder
from vizsla.artifacts.manifest import (
    MANIFEST,
    MAX_NESTING,
    MAX_WHOLE_BYTES,
    MAX_WHOLE_VALUES,
    MAX_WRITTEN_OUT,
    Manifest,
    ParentRecord,
)
from vizsla.errors import FormatError

if TYPE_CHECKING:
    from vizsla.artifact import Artifact

Place = tuple[str, ...]
"""The names of the folders on the way from the outermost one."""


@dataclass
class Loading:
    """One load of an artefact and of all that is inside.

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
            raise FormatError(f"{file}: not the manifest that the artefact around it was saved with.")
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
                raise FormatError(f"{where}: not the artefact that another part of the whole shares.")
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
            raise FormatError(f"{where}: more than {MAX_WRITTEN_OUT:,} artefacts, each counted as often as it is used.")
        self._sizes[around] = size

    def shared(self, record: ParentRecord) -> Manifest:
        """Return the manifest of a shared artefact, which must be what was recorded, on a way that is listed."""
        place = record.place or ()
        if place not in self._ways:
            self._ways[place] = self._way(place)
        if not record.agrees(self._ways[place]):
            where = self.root.path.joinpath(*place)
            raise FormatError(f"{where}: not the artefact that another part of the whole shares.")
        return self.manifest(place)

    def _way(self, place: Place) -> ParentRecord:
        """Return the record of the artefact at a place; every folder on the way there must be listed."""
        manifest, found = self.manifest(()), ParentRecord("", "", "")
        for end, name in enumerate(place, 1):
            listed = manifest.parents.get(name)
            if listed is None or listed.at is not None:
                raise FormatError(
                    f"{self.root.path.joinpath(*place[:end])}: an artefact that parts share must be here. Got none: "
                    "load the outermost artefact, not a part of it."
                )
            manifest, found = self.manifest(place[:end], listed), listed
        return found

    @contextmanager
    def _entered(self, place: Place) -> Iterator[None]:
        where = self.root.path.joinpath(*place)
        if place in self._making:
            raise FormatError(f"{where}: the artefact is said to be inside itself.")
        if len(self._making) == MAX_NESTING:
            raise FormatError(f"{where}: nested more than {MAX_NESTING} deep.")
        self._making.append(place)
        try:
            yield
        finally:
            self._making.pop()
