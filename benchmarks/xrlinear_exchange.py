"""What both contestants of the XR-Linear benchmark read: the same instances, clicks and judged queries, as files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from vizsla import Dataset
from vizsla.methods.xrlinear.instances import training_instances


def write_exchange(source: Path, folder: Path, splits: tuple[str, ...]) -> str:
    """Write a data set's instances and the judged queries of `splits` into `folder`; return the folder's name."""
    folder.mkdir(parents=True, exist_ok=True)
    dataset = Dataset.open(source)
    (folder / "source.json").write_text(json.dumps(str(source)))
    for kind in (False, True):
        instances = training_instances(dataset, item_texts=kind)
        _write(folder, "with-items" if kind else "queries", instances.texts, instances.costs("none"))
    for split in splits:
        judged = dataset.qrels(split)
        relevant = judged[np.flatnonzero(np.diff(judged.indptr))]
        _write(folder, split, dataset.query_texts(split)[1], relevant)
    return str(folder)


def _write(folder: Path, name: str, texts: list[str], matrix: Any) -> None:
    from scipy.sparse import csr_matrix, save_npz

    (folder / f"{name}.json").write_text(json.dumps(texts))
    save_npz(folder / f"{name}.npz", csr_matrix(matrix, dtype=np.float32), compressed=False)
