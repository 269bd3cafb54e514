"""Where a save may go: to a new folder or an artefact's, but never inside another artefact."""

from __future__ import annotations

import os
from pathlib import Path

from vizsla.artifacts import strict_json
from vizsla.artifacts.folder import Folder
from vizsla.artifacts.manifest import MANIFEST, MAX_BYTES
from vizsla.errors import FormatError, InputError

_ATTEMPTS = 100


def check_outside(path: Path) -> None:
    """Raise if the path lies inside an artefact, whose manifest would not know what is there."""
    around = next((folder for folder in path.parents if _listed(folder) is not None), None)
    if around is not None:
        raise InputError(
            f"`path` must be outside of other artefacts. Got {path}, inside of {around}: choose another path, or save "
            "the outer artefact anew."
        )


def check_replaceable(path: Path, *, overwrite: bool) -> bool:
    """Return whether something is at the path; raise unless a save may go there."""
    listed, strays = None, list[str]()
    for _ in range(_ATTEMPTS):
        if not os.path.lexists(path):
            return False
        folder = _opened(path)
        listed = None if folder is None else _listed_in(folder)
        strays = [] if folder is None or listed is None else [name for name in folder.names() if name not in listed]
        if listed is not None and not strays:
            break
        # Another writer may have put its artefact there meanwhile, and be removing the one that was looked at.
        if not (path.is_dir() if folder is None else folder.replaced()):
            break
    if listed is None:
        raise InputError(
            f"`path` must be new or an artefact. Got {path}, which is something else: choose another path."
        )
    if not overwrite:
        raise InputError(f"`path` must be new. Got {path}, which exists: choose another, or pass overwrite=True.")
    if strays:
        raise InputError(
            f"`path` must hold nothing but an artefact. Got {path}, which also holds {strays[0]!r}: move it away."
        )
    return True


def _opened(path: Path) -> Folder | None:
    try:
        return Folder(path)
    except FormatError:
        return None


def _listed(path: Path) -> set[str] | None:
    folder = _opened(path)
    return None if folder is None else _listed_in(folder)


def _listed_in(folder: Folder) -> set[str] | None:
    # Many programs have a manifest.json: only one with our keys counts. A damaged artefact may still be replaced.
    try:
        if folder.size(MANIFEST) > MAX_BYTES:
            return None
        value = strict_json.parse(folder.read(MANIFEST, mmap=False).tobytes())
    except (FormatError, ValueError):
        return None
    if not isinstance(value, dict) or not {"kind", "format", "vizsla", "files", "parents"} <= value.keys():
        return None
    if not isinstance(value["files"], dict) or not isinstance(value["parents"], dict):
        return None
    # What a record points to elsewhere has no folder here: one of its name is somebody's own.
    inside = [name for name, record in value["parents"].items() if not (isinstance(record, dict) and "at" in record)]
    return {MANIFEST, *value["files"], *inside}
