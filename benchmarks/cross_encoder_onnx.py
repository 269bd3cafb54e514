"""The benchmarks' cross-encoder on ONNX Runtime: float32, and int8 that was checked on train queries."""

from __future__ import annotations

import sys
from pathlib import Path

from vizsla.data.dataset import Dataset
from vizsla.export.checks import check_sample
from vizsla.export.pairs import export_pair_model, quantize_pair_model
from vizsla.methods.bm25 import bm25
from vizsla.scorers.pair_models import OnnxPairModel, PairModel


def exported(model: PairModel, folder: Path) -> OnnxPairModel:
    """Return the model in float32, exported first unless it is there."""
    path = folder / "onnx"
    return OnnxPairModel(path) if path.exists() else export_pair_model(model, path)


def small_model(model: PairModel, folder: Path, data: Dataset, *, queries: int) -> OnnxPairModel:
    """Return the int8 model, checked on train queries; the float32 one where the check refuses."""
    full, path = exported(model, folder), folder / "int8"
    if path.exists():
        return OnnxPairModel(path)
    sample = check_sample(data, split="train", queries=queries, items=2000)
    found = bm25(sample.items)(sample.queries, 30)
    lists = [found.items[found.offsets[at] : found.offsets[at + 1]].tolist() for at in range(len(found))]
    joined = [list(dict.fromkeys([*right, *row])) for right, row in zip(sample.relevant or [], lists, strict=True)]
    relevant = [list(range(len(right))) for right in sample.relevant or []]
    texts = [[sample.items[number] for number in row] for row in joined]
    small, check = quantize_pair_model(full, path, sample.queries, texts, relevant=relevant)
    print(check, file=sys.stderr)
    return small
