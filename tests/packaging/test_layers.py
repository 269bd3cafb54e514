"""No module imports upwards: the layers of ARCHITECTURE.md, read from the imports themselves."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "vizsla"

LAYERS = [
    {"_native", "errors", "printable", "extra", "progress", "tables", "offsets", "stats", "short_text", "snippet"},
    {"cached_property", "forking"},
    {"arguments", "checked", "number_range"},
    {"explanation", "dataset_warning"},
    {"strings", "sparse_rows", "item", "query", "linalg", "scored", "catalogue", "excerpt", "click_events"},
    {"candidates", "answers", "blocks", "chosen_pairs", "own_kinds"},
    {"artifacts", "artifact", "details"},
    {"io", "dataset"},
    {"encoder", "queries", "filter"},
    {"index", "pair_memory", "scorer", "text"},
    {"retriever", "recipe", "composable", "indexes", "encoders"},
    {"clicks", "encoded", "text_scorer"},
    {"function_scorer", "function_retriever", "movable", "spending", "wrapped_scorer", "score_file", "score_store"},
    {"pairs"},
    {"vector_store", "late_parametric"},
    {"http_post"},
    {"compose", "export", "budget", "score_cache", "training", "cross_encoder", "retrying", "http_reranker"},
    {"methods"},
    {"evaluate"},
    {"demo"},
    {"cli"},
    {"__init__", "__main__"},
]
"""Lowest first; a module may import its own layer and those below."""

LATE = {
    ("candidates", "io"): "a run is written by the room that knows its format",
    ("composable", "compose"): "operators make compositions, which are retrievers themselves",
    ("dataset", "clicks"): "a split is a dataset",
    ("clicks", "evaluate"): "a curve is drawn by the room that draws",
}
"""Bound when they are called, never when a module is imported."""

LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}


def room_of(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return parts[0]


def imports(path: Path) -> list[tuple[str, bool]]:
    """Return the rooms that a module imports, and whether that happens when it is itself imported."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing = [node for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)]
    for_types = {id(inner) for node in typing for inner in ast.walk(node)}
    found = []
    for node in ast.walk(tree):
        if id(node) in for_types:
            continue
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            deep = f"{node.module}.{node.names[0].name}" if node.module == "vizsla" else node.module
            names = [deep]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        ours = [name for name in names if name.startswith("vizsla.") and "__" not in name]
        found += [(name.split(".")[1], node in tree.body) for name in ours]
    return found


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_module_imports_upwards(path):
    room = room_of(path)
    assert room in LEVEL, f"{room} has no layer yet: say in LAYERS where it belongs"
    for other, early in imports(path):
        assert other in LEVEL, f"{other} has no layer yet"
        allowed = LEVEL[other] <= LEVEL[room] or ((room, other) in LATE and not early)
        assert allowed, f"{path.name} imports {other}, which is above {room}"
