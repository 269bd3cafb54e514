"""What `vizsla demo --serve` does: a live engine over the documentation of the installed Python, and its page."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vizsla._internal.lazy import import_extra
from vizsla._internal.terminal import working
from vizsla.base.recipe import Recipe
from vizsla.demo.python_docs import python_docs
from vizsla.engine.engine import Engine

if TYPE_CHECKING:
    from vizsla.data.dataset import Dataset

MEMBERS: dict[str, Any] = {
    "words": Recipe.of("typo_tolerant", base=Recipe.of("bm25")),
    "clicks": Recipe.of("pefa", base=Recipe.of("bm25")),
    "best": "0.5*words.normalized() + 0.5*clicks.normalized()",
}


def demo_engine(folder: str | Path, dataset: Dataset) -> Engine:
    """Return a new engine with the dataset's items and training clicks.

    Parameters
    ----------
    folder : path
        Where the engine is made.
    dataset : Dataset
        The demo's; the first part of an item's id becomes the field `package`.
    """
    engine = Engine.create(folder, members=MEMBERS, default="best")
    rows = [
        {"id": item.id, "title": item.title, "text": item.text, **item.metadata, "package": item.id.partition(".")[0]}
        for item in dataset.items
    ]
    engine.add(rows, batch_size=5000)
    _, texts = dataset.query_texts()
    log, ids = dataset.clicks.tocoo(), dataset.item_ids
    found = zip(log.row.tolist(), log.col.tolist(), log.data.tolist(), strict=True)
    engine.clicks([(texts[query], ids[item], weight) for query, item, weight in found])
    engine.maintain()
    engine.rebuild()
    return engine


def serve_demo(*, port: int = 8080) -> None:
    """Build the engine in a temporary folder and serve it until Ctrl-C; the folder is removed then."""
    uvicorn = import_extra("uvicorn", "The service", "serve")
    from vizsla.serve import ServiceSettings, app
    from vizsla.serve.run import OPTIONS
    from vizsla.serve.telemetry import JsonLog

    with tempfile.TemporaryDirectory(prefix="vizsla-demo-") as folder:
        with working("reading the documentation of this Python, and building the engine"):
            dataset = python_docs()
            engine = demo_engine(Path(folder) / "python.engine", dataset)
        print(f"{len(dataset.items):,} items, 3 members. Open http://127.0.0.1:{port}/ and stop with Ctrl-C.")
        service = app(engine, settings=ServiceSettings(), judged=dataset, log=JsonLog(quiet=True))
        with engine:
            uvicorn.run(service, host="127.0.0.1", port=port, **OPTIONS)
