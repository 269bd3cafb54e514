"""A cross-encoder on two cores: how many pairs a second, and what re-ranking BM25 with it gains.

    python -m benchmarks.cross_encoder --folder FOLDER

FOLDER holds the model of `benchmarks.cross_encoder_model`, which is trained first unless it is there. With --untrained
only speeds are measured, which do not depend on what the weights have learned.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from time import process_time

import numpy as np

from benchmarks.cross_encoder_model import squad, trained, untrained
from benchmarks.cross_encoder_onnx import exported, small_model
from benchmarks.pefa_collection import Collection
from benchmarks.rows import Row, arguments, median, report
from vizsla.base.retriever import Retriever
from vizsla.data.dataset import Dataset
from vizsla.methods.bm25 import bm25
from vizsla.scorers.cross_encoder import CrossEncoder
from vizsla.scorers.pair_models import PairModel

DEPTH, REPEATS = 100, 3


def main() -> None:
    """Train if need be, export, measure, report."""
    given = arguments("cross_encoder", own=_own)
    data, steps = squad(), 4 if given.quick else given.steps
    model = untrained(given.folder) if given.untrained else trained(given.folder, steps=steps)
    full = exported(model, given.folder)
    small = small_model(model, given.folder, data, queries=10 if given.quick else 100)
    pairs = 64 if given.quick else given.pairs
    speeds = {name: _pairs_a_second(each, data, pairs) for name, each in _named(model, full, small).items()}
    rows = [Row(f"{name}: pairs", speed, "torch", speeds["torch"], "a CPU second", lower_is_better=False)
            for name, speed in speeds.items()]  # fmt: skip
    quality = [] if given.untrained else _quality(data, small, queries=10 if given.quick else 200)
    report([*rows, *quality], given.json)


def _own(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--folder", type=Path, required=True, help="where the model is, or will be")
    parser.add_argument("--steps", type=int, default=500, help="of its training")
    parser.add_argument("--pairs", type=int, default=1024, help="that are timed, three times with each")
    parser.add_argument("--untrained", action="store_true", help="the same layers as they are, and speeds only")


def _named(model: PairModel, full: PairModel, small: PairModel) -> dict[str, PairModel]:
    return {"torch": model, "ONNX float32": full, "ONNX int8": small}


def _pairs_a_second(model: PairModel, data: Dataset, count: int) -> float | None:
    texts = [item.default_text() for item, _ in zip(data.items, range(count), strict=False)]
    queries = [query.text for query, _ in zip(data.queries, range(count), strict=False)]
    model.scores(queries[:8], texts[:8])
    return median([_timed(model, queries, texts) for _ in range(REPEATS)])


def _timed(model: PairModel, queries: Sequence[str], texts: Sequence[str]) -> float:
    start = process_time()
    model.scores(queries, texts)
    return len(texts) / (process_time() - start)


def _quality(data: Dataset, model: PairModel, *, queries: int) -> list[Row]:
    """Re-rank what BM25 found for some test queries; what training held out is in its own report."""
    first = bm25(data)
    systems = {"BM25": first, "MiniLM": Collection("squad-sent").base()}
    reranked = first.rerank(CrossEncoder(data, model), depth=DEPTH)
    rows = []
    for split in ("test-seen", "test-unseen"):
        texts, right = _asked(data, split, queries)
        ours = _measured(reranked, texts, right)
        for name, system in systems.items():
            theirs = _measured(system, texts, right)
            rows += [
                Row(f"{split}: re-ranked, {each}", ours[each], name, theirs[each], "mean", lower_is_better=False)
                for each in ours
            ]
    return rows


def _asked(data: Dataset, split: str, queries: int) -> tuple[list[str], list[set[str]]]:
    matrix = data.qrels(split)
    judged = np.flatnonzero(np.diff(matrix.indptr))
    chosen = np.sort(np.random.default_rng(0).permutation(judged)[:queries]).tolist()
    spans = [matrix.indices[matrix.indptr[at] : matrix.indptr[at + 1]] for at in chosen]
    right = [{data.item_ids[int(item)] for item in span} for span in spans]
    return [data.queries[at].text for at in chosen], right


def _measured(system: Retriever, texts: list[str], right: list[set[str]]) -> dict[str, float]:
    recalls, ranks = [], []
    for row, wanted in zip(system(texts, 10).ids, right, strict=True):
        hits = [rank for rank, item in enumerate(row, 1) if item in wanted]
        recalls.append(len(hits) / len(wanted))
        ranks.append(1 / hits[0] if hits else 0.0)
    return {"R@10": float(np.mean(recalls)), "MRR@10": float(np.mean(ranks))}


if __name__ == "__main__":
    main()
