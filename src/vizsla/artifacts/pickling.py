"""How an artifact is pickled: by the path of its folder, or by its own files as bytes."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vizsla.artifacts.folder import Origin
from vizsla.artifacts.inspect import Pedigree, inspect
from vizsla.artifacts.kinds import BUILT_IN, check_saveable, class_of
from vizsla.artifacts.writer import ArtifactWriter, Saving
from vizsla.errors import FormatError

if TYPE_CHECKING:
    from vizsla.artifacts.artifact import Artifact

Classes = tuple[type, ...]


def reduced(artifact: Artifact, home: Origin | None) -> tuple[Any, ...]:
    """Return what `__reduce__` must: a function of this module and what it takes.

    Classes of the user's own go along by name, as in any pickle: another process imports their modules, and with that
    their kinds are known there.
    """
    check_saveable(artifact)
    if home is not None and home.stands():
        return from_folder, (*home, _foreign(artifact, inspect(home.path)))
    with tempfile.TemporaryDirectory(prefix="vizsla.") as scratch:
        folder = Path(scratch)
        ArtifactWriter(folder, artifact.kind, saving=Saving(folder, bundle_models=False, lasting=False)).write(artifact)
        files = {
            str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()
        }
        return from_files, (files, _foreign(artifact, inspect(folder)))


def from_folder(path: str, digest: str, classes: Classes) -> Artifact:
    """Load a pickled artifact from its folder, which must hold what it held then."""
    from vizsla.artifacts.artifact import load

    artifact = load(path)
    if artifact._home != Origin(path, digest):
        raise FormatError(f"{path}: the folder must hold the artifact that was pickled. Got another: pickle anew.")
    return artifact


def from_files(files: dict[str, bytes], classes: Classes) -> Artifact:
    """Make a pickled artifact again from its files; nothing stays on the disk."""
    from vizsla.artifacts.artifact import load

    with tempfile.TemporaryDirectory(prefix="vizsla.") as scratch:
        for name, data in files.items():
            file = Path(scratch) / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        artifact = load(scratch, mmap=False)
    object.__setattr__(artifact, "_home", None)
    return artifact


def _foreign(artifact: Artifact, pedigree: Pedigree) -> Classes:
    """Return the artifact's class and those of the kinds inside, each once, unless they are Vizsla's own."""
    kinds = {kind for kind in pedigree.kinds() if kind not in BUILT_IN}
    found = [class_of(kind) for kind in sorted(kinds)]
    # A composition of one's own has a built-in kind.
    classes = dict.fromkeys([type(artifact), *(kind for kind in found if kind is not None)])
    return tuple(kind for kind in classes if kind.__module__.partition(".")[0] != "vizsla")
