"""MiniLM fine-tuned on a collection's clicks, against MiniLM as it comes: quality on seen and unseen items.

    python -m benchmarks.bi_encoder train tldr --folder FOLDER
    python -m benchmarks.bi_encoder compare tldr --folder FOLDER
    python -m benchmarks.bi_encoder methods tldr --folder FOLDER    # PEFA and JPQ over it

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
from benchmarks.pefa_collection import Collection
from vizsla.data.dataset import Dataset
from vizsla.learning.loop import TrainingProgress
from vizsla.typing import Float32Array

SETTINGS: dict[str, dict[str, Any]] = {
    "tldr": {
        "max_tokens": 40, "batch": 48, "frozen_layers": 3, "rate": 1e-4, "max_steps": 80, "every": 40,
        "held_out": 120, "pool": 500,
    },
    "squad-sent": {
        "max_tokens": 48, "batch": 48, "frozen_layers": 3, "rate": 5e-5, "max_steps": 100, "every": 50,
        "held_out": 120, "pool": 800,
    },
}  # fmt: skip
"""Chosen for two cores, before any test query was asked."""
DATA = ("tldr", "squad-sent")
SPLITS = ("test-seen", "test-unseen")
BYTES = 24
FLAT, OPQ, JPQ = "fine-tuned", f"OPQ, {BYTES} bytes", f"JPQ, {BYTES} bytes"
MAX_TOKENS = 128
"""What texts are cut to in the comparison, as those of the stored MiniLM vectors are."""


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

    given = {"bfloat16": True, **SETTINGS[name], **changes}
    train_bi_encoder(Dataset.open(data_folder() / name), minilm(), out, checkpoint=folder / f"{name}.state",
                     watch=watch, **given)  # fmt: skip
    return out


def vectors(data: Dataset, model: Path) -> Path:
    """Return a file with a model's vectors of all items and test queries, made once beside the model."""
    from vizsla.encoders.sentence import SentenceEncoder

    file = model.with_name(f"{model.name}-vectors.npz")
    if not file.exists():
        encoder = SentenceEncoder(str(model), max_tokens=MAX_TOKENS, download=False)
        items = encoder.items([item.default_text() for item in data.items])
        queries = encoder.queries(asked(data))
        np.savez(file, items=items.astype(np.float16), queries=queries.astype(np.float16))
    return file


def past_vectors(data: Dataset, model: Path) -> tuple[list[str], Float32Array]:
    """Return the training queries that no test asks, and their vectors, made once beside the model."""
    from vizsla.encoders.sentence import SentenceEncoder

    tested, file = set(asked(data)), model.with_name(f"{model.name}-past.npy")
    texts = [text for text in dict.fromkeys(data.query_texts("train")[1]) if text not in tested]
    if not file.exists():
        encoder = SentenceEncoder(str(model), max_tokens=MAX_TOKENS, download=False)
        np.save(file, encoder.queries(texts).astype(np.float16))
    return texts, np.load(file).astype(np.float32)


def asked(data: Dataset) -> list[str]:
    """Return the texts of all test queries, each once."""
    return list(dict.fromkeys(text for split in SPLITS for text in data.query_texts(split)[1]))


def tuned(data: Dataset, model: Path, *, past: bool = False) -> Any:
    """Return flat search over a trained model's vectors, for test queries or for past ones too."""
    from vizsla.encoders.precomputed import PrecomputedEncoder
    from vizsla.methods.dense import dense

    arrays, texts = np.load(vectors(data, model)), asked(data)
    queries = arrays["queries"].astype(np.float32)
    if past:
        more, rows = past_vectors(data, model)
        texts, queries = [*texts, *more], np.concatenate([queries, rows])
    return dense(data, PrecomputedEncoder(texts, queries), vectors=arrays["items"].astype(np.float32))


def over(data: Dataset, model: Path) -> dict[str, Any]:
    """Return PEFA and codes over a trained model's vectors."""
    from vizsla.indexes.pq.pq_index import PqIndex
    from vizsla.methods.dense import Dense
    from vizsla.methods.jpq.train_jpq import train_jpq
    from vizsla.methods.pefa import pefa_xl, pefa_xs

    flat = tuned(data, model, past=True)
    items = np.load(vectors(data, model))["items"].astype(np.float32)
    coded = Dense(flat.items, flat.encoder, PqIndex.build(items, bytes=BYTES, rounds=10))
    return {
        FLAT: flat,
        "PEFA-XS, Eq. 8 to the letter": pefa_xs(flat, data, paper=True),
        "PEFA-XL, Eq. 6 to the letter, λ 0.1": pefa_xl(flat, data, weight=0.1, paper=True),
        "PEFA-XS, default": pefa_xs(flat, data),
        "PEFA-XL, default": pefa_xl(flat, data),
        OPQ: coded,
        JPQ: train_jpq(coded, data, teacher=flat, clicked_margin="auto"),
    }


def report_methods(name: str, model: Path) -> None:
    """Print what PEFA and JPQ give over a trained model, with tests against it and of JPQ against OPQ."""
    from vizsla.evaluation import compare
    from vizsla.evaluation.compare import paired_tests

    data = Dataset.open(data_folder() / name)
    systems = over(data, model)
    for split in SPLITS:
        found = compare(systems, data, split, ("R@10", "RR@10", "R@100"), baseline=FLAT, latency_queries=0)
        print(f"{name} {split}\n{found.to_markdown()}")
        codes = {each: found.evaluations[each] for each in (JPQ, OPQ)}
        for test in [*found.tests, *paired_tests(codes)]:
            ends = f"{test.low:+.4f} to {test.high:+.4f}"
            print(f"{test.measure}: {test.a} − {test.b} {test.difference:+.4f} ({ends}), p = {test.p:.4f}")


def main() -> None:
    """Train, compare, or measure methods over the encoder."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bi_encoder")
    parser.add_argument("verb", choices=["train", "compare", "methods"])
    parser.add_argument("data", choices=DATA)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--model", type=Path, help="another encoder to compare")
    parser.add_argument("--options", type=json.loads, default={}, help="settings, as JSON")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    if arguments.verb == "train":
        print(train(arguments.data, arguments.folder, **arguments.options))
        return
    if arguments.verb == "methods":
        report_methods(arguments.data, arguments.model or arguments.folder / arguments.data)
        return
    from vizsla.evaluation import compare

    one, model = Collection(arguments.data), arguments.model or arguments.folder / arguments.data
    systems = {"MiniLM": one.base(), "fine-tuned": tuned(one.data, model)}
    for split in SPLITS:
        found = compare(systems, one.data, split, ("R@10", "R@100", "nDCG@10"), latency_queries=0)
        print(f"{arguments.data} {split}\n{found.to_markdown()}\n{found.tests_to_json()}")


if __name__ == "__main__":
    main()
