"""Check: a full audit of an artefact, every file of it and of the artefacts inside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from vizsla.artifact import load
from vizsla.artifacts.folder import read_folder
from vizsla.artifacts.manifest import MANIFEST
from vizsla.artifacts.reader import ArtifactReader
from vizsla.errors import FormatError

_SLOTS = ".slots.npy"


def check(path: str | Path) -> list[str]:
    """Audit an artefact and return what is wrong with it, a sentence per problem; an empty list when it is sound.

    Every file of it and of the artefacts inside it is read and compared with its checksum, arrays and string tables
    are looked into, files that no manifest lists are named, and the whole is loaded once.

    Parameters
    ----------
    path : path
        The artefact's folder.
    """
    try:
        reader = read_folder(path, ArtifactReader)
        problems = list(_audit(reader))
        if problems and reader.folder.replaced():
            return check(path)  # A new save took its place: what was seen is the old one being removed.
        if not problems:
            load(path)  # the kinds look for what checksums do not tell, such as NaN
    except FormatError as error:
        return [str(error)]
    return problems


def _audit(reader: ArtifactReader) -> Iterator[str]:
    inside = {name for name, record in reader.manifest.parents.items() if record.at is None}
    listed = {MANIFEST, *reader.manifest.files, *inside}
    for name in reader.folder.names():
        if name not in listed:
            yield f"{reader.path / name}: not a file of the artefact; move it away."
    damaged: set[str] = set()
    for name in reader.manifest.files:
        found = list(_problem(reader.verify_file, name))
        damaged |= {name} if found else set()
        yield from found
    tables = [name.removesuffix(_SLOTS) for name in reader.manifest.files if name.endswith(_SLOTS)]
    for name in tables:
        if any(f"{name}.{part}.npy" in damaged for part in ("bytes", "offsets", "slots")):
            continue  # said already
        yield from _problem(lambda table: reader.strings(table, findable=False).check_slots(), name)
    for name in reader.manifest.parents:
        yield from _audit_child(reader, name)


def _audit_child(reader: ArtifactReader, name: str) -> Iterator[str]:
    try:
        child = None if reader.is_shared(name) else reader.open_child(name)
    except FormatError as error:
        yield str(error)
    else:
        if child is not None:  # otherwise it is audited where it lies
            yield from _audit(child)


def _problem(action: Callable[[str], None], name: str) -> Iterator[str]:
    try:
        action(name)
    except FormatError as error:
        yield str(error)
