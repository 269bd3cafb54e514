"""Layers are folders: a folder imports only itself and folders below it."""

from __future__ import annotations

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "vizsla"

LAYERS = [
    {"_native", "errors", "typing"},
    {"_internal"},
    {"core"},
    {"artifacts"},
    {"data", "io"},  # a data set reads its records again from their source; sources make data sets
    {"base", "text"},  # a recipe holds analyzers; what makes rows of texts is an encoder
    {"indexes"},
    {"encoders"},
    {"scorers"},
    {"learning"},
    {"compose"},
    {"export"},
    {"methods"},
    {"evaluation"},
    {"engine"},
    {"scale"},
    {"autopilot"},
    {"serve"},
    {"integrations"},
    {"testing"},
    {"demo"},
    {"cli"},
    {"__init__", "__main__"},
]
"""Lowest first; a module may import its own layer and those below."""

LATE = {
    ("artifacts", "data"): "a shared table of ids is read together with its items' metadata",
    ("base", "compose"): "operators make compositions, which are retrievers themselves",
    ("core", "io"): "a run is written by the module that knows its format",
    ("data", "learning"): "a split of a data set is a data set",
    ("learning", "evaluation"): "the curve of a selection is drawn by the module that draws",
}
"""Imported inside of functions only, never when a module is imported."""

ROOT_FILES = {"__init__.py", "__main__.py", "errors.py", "typing.py", "py.typed", "_native.pyi"}

LEVEL = {folder: level for level, folders in enumerate(LAYERS) for folder in folders}


def folder_of(path: Path) -> str:
    return path.relative_to(SOURCE).with_suffix("").parts[0]


def imports(path: Path) -> list[tuple[str, bool]]:
    """Return the folders that a module imports, and whether that happens when it is itself imported."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing = [node for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)]
    for_types = {id(inner) for node in typing for inner in ast.walk(node)}
    found = []
    for node in ast.walk(tree):
        if id(node) in for_types:
            continue
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{node.names[0].name}" if node.module == "vizsla" else node.module]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        ours = [name for name in names if name.startswith("vizsla.") and "__" not in name]
        found += [(name.split(".")[1], node in tree.body) for name in ours]
    return found


def test_every_folder_has_a_layer():
    folders = {folder_of(path) for path in SOURCE.rglob("*.py")}
    assert sorted(folders - LEVEL.keys()) == [], "say in LAYERS where these belong"


def test_no_module_imports_upwards():
    offenders = []
    for path in sorted(SOURCE.rglob("*.py")):
        folder = folder_of(path)
        for other, early in imports(path):
            if LEVEL[other] > LEVEL[folder] and (early or (folder, other) not in LATE):
                offenders.append(f"{path.relative_to(SOURCE)} imports {other}, which is above {folder}")
    assert offenders == []


def test_late_imports_are_listed_only_if_there_are_any():
    used = {(folder_of(path), other) for path in SOURCE.rglob("*.py") for other, early in imports(path) if not early}
    assert sorted(LATE.keys() - used) == []


def test_the_root_has_four_modules():
    assert {path.name for path in SOURCE.iterdir() if path.is_file() and path.suffix != ".so"} <= ROOT_FILES
