"""Loading: what one load has made so far, so that a part that others share is made once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vizsla.artifacts.folder import Folder
from vizsla.artifacts.manifest import MAX_NESTING, MAX_WRITTEN_OUT, Manifest, ParentRecord
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
    manifest : Manifest
        Its manifest.
    mmap, verify : bool
        As for `Artifact.load`.
    """

    root: Folder
    manifest: Manifest
    mmap: bool
    verify: bool
    _made: dict[Place, Artifact] = field(default_factory=dict)
    _records: dict[Place, ParentRecord] = field(default_factory=dict)
    _making: list[Place] = field(default_factory=list)
    _sizes: dict[Place, int] = field(default_factory=dict)

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

    def find(self, record: ParentRecord) -> Folder:
        """Open a folder that is shared: every folder on the way must be listed, and it must be what was recorded."""
        folder, manifest, place = self.root, self.manifest, record.place or ()
        found: ParentRecord | None = None
        for name in place:
            found = manifest.parents.get(name)
            if found is None or found.at is not None:
                raise FormatError(
                    f"{folder.path / name}: an artefact that parts share must be here. Got none: load the outermost "
                    "artefact, not a part of it."
                )
            folder = folder.inner(name)
            manifest = folder.manifest(found)
        if found is None or not record.agrees(found):
            raise FormatError(f"{folder.path}: not the artefact that another part of the whole shares.")
        return folder

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
