"""MiniLM fine-tuned on a collection's clicks, against MiniLM as it comes: quality on seen and unseen items.

    python -m benchmarks.bi_encoder train tldr --folder FOLDER
    python -m benchmarks.bi_encoder compare tldr --folder FOLDER

Training goes on where it was stopped. Weights stay outside of the repository.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from time import process_time, time
from typing import Any

import numpy as np

from benchmarks.corpus import data_folder
from benchmarks.cross_encoder_model import minilm
from vizsla.data.dataset import Dataset
from vizsla.learning.loop import TrainingProgress

SETTINGS: dict[str, dict[str, Any]] = {
    "tldr": {"max_tokens": 48, "batch": 64, "negatives": 1, "frozen_layers": 2, "rate": 1e-4, "epochs": 1},
    "squad-sent": {"max_tokens": 64, "batch": 48, "negatives": 1, "frozen_layers": 3, "rate": 5e-5, "epochs": 1},
}
"""Chosen for two cores, before any test query was asked."""
DATA = ("tldr", "squad-sent")


def train(name: str, folder: Path, **changes: Any) -> Path:
    """Train, or go on, and return where the encoder is."""
    from vizsla.learning import train_bi_encoder

    out, start, used = folder / name, time(), process_time()
    if out.exists():
        return out

    def watch(seen: TrainingProgress) -> None:
        if seen.step % 10 == 0 or seen.step == 1:
            held = " ".join(f"{value:.4f}" for value in seen.held_out)
            passed = f"{(time() - start) / 60:.1f} min, {(process_time() - used) / 60:.1f} CPU min"
            print(
                f"{seen.step}/{seen.steps} loss {seen.loss:.3f} nDCG@10 {held}, {passed}", file=sys.stderr, flush=True
            )

    given = {"every": 50, "held_out": 200, "pool": 1000, "patience": 4, **SETTINGS[name], **changes}
    train_bi_encoder(Dataset.open(data_folder() / name), minilm(), out, checkpoint=folder / f"{name}.state",
                     watch=watch, **given)  # fmt: skip
    return out


def vectors(name: str, model: Path | None, folder: Path) -> Path:
    """Return a file with the vectors of all items and queries of a collection by a model, made once."""
    from vizsla.encoders.sentence import SentenceEncoder

    tokens = SETTINGS[name]["max_tokens"]
    file = folder / f"{name}-{'minilm' if model is None else model.name}-{tokens}.npz"
    if not file.exists():
        encoder = SentenceEncoder(str(model or minilm()), max_tokens=tokens, download=False)
        data = Dataset.open(data_folder() / name)
        items = encoder.items([item.default_text() for item in data.items])
        queries = encoder.queries([query.text for query in data.queries])
        np.savez(file, items=items.astype(np.float16), queries=queries.astype(np.float16))
    return file


def retriever(name: str, model: Path | None, folder: Path) -> tuple[Dataset, Any]:
    """Return the collection, and flat search over a model's vectors."""
    from vizsla.encoders.precomputed import PrecomputedEncoder
    from vizsla.methods.dense import dense

    data, arrays = Dataset.open(data_folder() / name), np.load(vectors(name, model, folder))
    told = [query.text for query in data.queries]
    encoder = PrecomputedEncoder(told, arrays["queries"].astype(np.float32))
    return data, dense(data, encoder, vectors=arrays["items"].astype(np.float32))


def main() -> None:
    """Train, or compare."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bi_encoder")
    parser.add_argument("verb", choices=["train", "compare"])
    parser.add_argument("data", choices=DATA)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--model", type=Path, help="another encoder to compare")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--options", type=json.loads, default={}, help="settings, as JSON")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    if arguments.verb == "train":
        print(train(arguments.data, arguments.folder, **arguments.options))
        return
    from vizsla.evaluation import compare

    model = arguments.model or arguments.folder / arguments.data
    data, base = retriever(arguments.data, None, arguments.folder)
    _, tuned = retriever(arguments.data, model, arguments.folder)
    for split in ("test-seen", "test-unseen"):
        found = compare(data, {"MiniLM": base, "fine-tuned": tuned}, split=split, latency_queries=0)
        print(f"{arguments.data} {split}\n{found.to_markdown()}\n{found.tests_to_json()}")


if __name__ == "__main__":
    main()
