"""Inspect: what an artefact is, from its manifests alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vizsla.artifacts.folder import Folder, read_folder
from vizsla.artifacts.loading import Loading, Place
from vizsla.artifacts.manifest import MANIFEST, MAX_NESTING, ParentRecord
from vizsla.artifacts.parameter_lines import parameter_lines
from vizsla.errors import FormatError


@dataclass(frozen=True)
class Pedigree:
    """An artefact's description and those of the artefacts inside it; printing it gives a tree.

    Parameters
    ----------
    path : Path
        The folder.
    kind, format, vizsla
        What it is, its format version, and the version of Vizsla that wrote it.
    parameters : dict
        What it was built with.
    files : dict
        Each file's bytes; the manifest counts too.
    parents : dict
        The pedigrees of the artefacts that it was made from and holds.
    at : str, optional
        For an artefact that lies elsewhere in the whole, where another part holds it too: the way there from the
        outermost folder. Its parameters, its files and what is inside are told there, once.
    """

    path: Path
    kind: str
    format: int
    vizsla: str
    parameters: dict[str, Any]
    files: dict[str, int]
    parents: dict[str, Pedigree]
    at: str | None = None

    @property
    def bytes(self) -> int:
        """Bytes of all files, those of nested artefacts included; what parts share counts once."""
        return sum(self.files.values()) + sum(parent.bytes for parent in self.parents.values())

    def to_dict(self) -> dict[str, Any]:
        """Return the pedigree as a dict that JSON can hold."""
        return {
            "path": str(self.path),
            "kind": self.kind,
            "format": self.format,
            "vizsla": self.vizsla,
            "bytes": self.bytes,
            "parameters": self.parameters,
            "files": self.files,
            "parents": {name: parent.to_dict() for name, parent in self.parents.items()},
            **({} if self.at is None else {"at": self.at}),
        }

    def kinds(self) -> Iterator[str]:
        """Yield the kinds of the artefact and of all inside."""
        yield self.kind
        for parent in self.parents.values():
            yield from parent.kinds()

    def __str__(self) -> str:
        return "\n".join(self._lines(str(self.path)))

    def _lines(self, name: str) -> list[str]:
        if self.at is not None:
            return [f"{name}: {self.kind}, the one at {self.at}"]
        lines = [f"{name}: {self.kind}, {self.bytes:,} bytes, format {self.format}, vizsla {self.vizsla}"]
        lines += [f"  {line}" for line in parameter_lines(self.parameters)]
        width = max(map(len, self.files))
        lines += [f"  {file:<{width}}  {size:>15,}" for file, size in self.files.items()]
        for child, parent in self.parents.items():
            lines += [f"  {line}" for line in parent._lines(child)]
        return lines


def inspect(path: str | Path) -> Pedigree:
    """Return an artefact's pedigree, sizes and parameters without opening anything but manifests.

    Raises
    ------
    FormatError
        If a manifest is missing or damaged. Other files may be: `check` looks at those.
    """
    return read_folder(path, lambda folder: _pedigree(folder, Loading(folder, False, False), (), None))


def _pedigree(folder: Folder, loading: Loading, place: Place, expected: ParentRecord | None) -> Pedigree:
    if len(place) > MAX_NESTING:
        raise FormatError(f"{folder.path}: nested more than {MAX_NESTING} deep.")
    manifest = loading.manifest(place, expected, folder)
    files = {name: record.bytes for name, record in manifest.files.items()}
    inside = {
        name: _pedigree(folder.inner(name), loading, (*place, name), record)
        if record.at is None
        else _told_elsewhere(loading, record)
        for name, record in manifest.parents.items()
    }
    return Pedigree(
        path=folder.path,
        kind=manifest.kind,
        format=manifest.format,
        vizsla=manifest.vizsla,
        parameters=manifest.parameters,
        files={**files, MANIFEST: folder.size(MANIFEST)},
        parents=inside,
    )


def _told_elsewhere(loading: Loading, record: ParentRecord) -> Pedigree:
    manifest = loading.shared(record)
    path = loading.root.path.joinpath(*(record.place or ()))
    return Pedigree(path, manifest.kind, manifest.format, manifest.vizsla, {}, {}, {}, record.at)
