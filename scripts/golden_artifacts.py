"""Write the golden artifacts: one small artifact of every kind, with the answers that it must give.

Run `python -m scripts.golden_artifacts --all` when the format version changes, never to make a test pass. Without
`--all` it adds artifacts of new kinds, and leaves those that are there alone.
"""

from __future__ import annotations

import json
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from tests.contract import registry
from tests.contract.catalog import QUERIES
from vizsla.artifacts.artifact import Artifact
from vizsla.base.retriever import Retriever
from vizsla.text.completion import Completer

FOLDER = Path(__file__).resolve().parents[1] / "tests" / "artifacts" / "golden"
SEARCHED = (
    "bm25 with details",
    "tokens learned",
    "sidr",
    "tfidf",
    "xrlinear",
    "late interaction",
    "dense hnsw",
    "dense ivf",
)
SEARCHED += ("dense hnswpq", "dense ivfpq", "jpq", "pefa-xs", "pefa-max", "pefa-xl bm25", "sum that lifts", "shards")
SEARCHED += ("adacur", "residual cur", "typo-tolerant bm25", "signal", "click memory")
OTHERS = {
    "statistics": registry.statistics,
    "training-state": registry.training_state,
    "model": registry.bundled_model,
    "vectors": registry.item_vectors,
    "cross-encoder": registry.cross_encoder,
    "adapted": registry.ENCODERS["adapted"],
    "two-sided": registry.ENCODERS["two-sided"],
    "anchors": registry.anchors,
    "completer": lambda: Completer.from_weights({"green fig": 3.0, "fig tree": 2.0, "pear": 1.0}),
}
WHEN = (1980, 1, 1, 0, 0, 0)
K = 5


def answers(retriever: Retriever) -> list[dict[str, float]]:
    """Return the best items of each query with their scores, to six digits."""
    return [{hit.id: float(f"{hit.score:.6g}") for hit in hits} for hits in retriever(QUERIES, k=K)]


def made() -> dict[str, Artifact]:
    """Return an artifact of every kind, by name."""
    searched: dict[str, Any] = {name.replace(" ", "-"): registry.RETRIEVERS[name].make() for name in SEARCHED}
    return searched | {name: make() for name, make in OTHERS.items()}


def main() -> None:
    """Write a zip file per artifact, and the answers."""
    FOLDER.mkdir(exist_ok=True)
    anew = sys.argv[1:] == ["--all"]
    known = FOLDER / "answers.json"
    expected = {} if anew else json.loads(known.read_text(encoding="utf-8"))
    for name, artifact in made().items():
        if not anew and (FOLDER / f"{name}.zip").exists():
            continue
        with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(FOLDER / f"{name}.zip", "w") as packed:
            root = artifact.save(Path(folder) / name)
            for path in sorted(path for path in root.rglob("*") if path.is_file()):
                entry = zipfile.ZipInfo(str(path.relative_to(root)), WHEN)
                packed.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
        if isinstance(artifact, Retriever):
            expected[name] = answers(artifact)
    known.write_text(json.dumps(expected, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
