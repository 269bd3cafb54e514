"""The modules of a sentence-transformers model: which folders it has, and that none of them is code of its own."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Any

from vizsla.artifacts import strict_json
from vizsla.errors import InputError

FILE = "modules.json"


def module_paths(folder: Path) -> list[str]:
    """Return the folders of a model's modules inside its own, without the folder itself; one outside raises."""
    paths = [str(path) for module in _modules(folder) if (path := PurePosixPath(module["path"])).parts]
    outside = [path for path in paths if path.startswith("/") or ".." in PurePosixPath(path).parts]
    if outside:
        raise InputError(f"{folder / FILE} must name folders inside the model's own. Got {outside[0]!r}.")
    return paths


def refuse_own_code(folder: Path) -> None:
    """Raise if a model names classes of its own, which sentence-transformers before 6.0 would import, or a way out."""
    modules = _modules(folder)
    foreign = [module["type"] for module in modules if not module["type"].startswith("sentence_transformers.")]
    if foreign:
        raise InputError(f"{folder / FILE} must name modules of sentence-transformers only. Got {foreign[0]!r}.")
    module_paths(folder)


def _modules(folder: Path) -> list[dict[str, Any]]:
    file = folder / FILE
    if not file.is_file():
        return []
    try:
        listed = strict_json.read(file)
        return [{"type": str(module["type"]), "path": str(module["path"])} for module in listed]
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{file} must list the model's modules. Got something else.") from None
