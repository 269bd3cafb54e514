"""What each part of SiDR's training is worth, in the shape of the paper's Table 4.

Every row is trained under equal conditions, without a table beside it and with items' vectors that the transformer says
alone, as in the paper, so that the model alone shows. Run it with `python -m benchmarks.sidr_ablations [--quick]
[--full] [--only NAME ...] [--set NAME] [--model FOLDER] [--max-steps N] [--queries N] [--saved FOLDER] [--json FILE]`.
`--full` measures full parametric search too, which encodes every item; `--saved` keeps each trained model there, and
takes it from there.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from time import process_time
from typing import Any

from benchmarks.corpus import data_folder
from benchmarks.rows import Row
from benchmarks.sidr_command import run_command
from benchmarks.sidr_train import SETTINGS, SPLITS, measured, minilm_vectors
from vizsla import Dataset, dense, load, sidr, tokens
from vizsla.learning import train_sidr
from vizsla.methods import TokenRetriever
from vizsla.text import WordPiece

PAPER: dict[str, Any] = {**SETTINGS, "table_epochs": 0, "item_tokens": False}
"""SiDR as the paper has it."""
FAR: dict[str, Any] = {"rate": 4e-4, "head_rate": 1.6e-3, "bias_rate": 1.6e-2}
"""Steps eight times as long: they lead further from where the model began."""
STILL: dict[str, Any] = {"rate": 0.0, "head_rate": 0.0, "bias_rate": 0.0, "max_steps": 1}
"""One step that moves nothing."""
PLAIN: dict[str, Any] = {"center_bias": False}
"""A head that begins without centered biases, as in the paper."""
ABLATIONS: dict[str, dict[str, Any]] = {
    "before training": {**STILL, "semi_parametric": False, "retrieved": 0},
    "sidr": {},
    "w/o SP objective": {"semi_parametric": False},
    "w/o neg": {"retrieved": 0},
    "w/o retrieved neg": {"static_negatives": True},
    "retrieved neg (m=1)": {"retrieved": 1},
    "retrieved neg (m=100)": {"retrieved": 100},
    "w/o expand at item, training": {"expand_items": False},
    "the paper's preset": {"paper": True, "whole_head": True, "vectors": 32, "negatives": 1, **PLAIN},
    "masked words first": {"masked_steps": 60},
    "minilm as teacher": {},
    "item tokens": {"item_tokens": True},
    "far": FAR,
    "far, w/o neg": {**FAR, "retrieved": 0},
    "far, minilm as teacher": FAR,
    "far, w/o SP objective": {**FAR, "semi_parametric": False},
    "far, w/o SP objective, w/o neg": {**FAR, "semi_parametric": False, "retrieved": 0},
    "far, whole head": {**FAR, "whole_head": True},
    "far, w/o SP objective, whole head": {**FAR, "semi_parametric": False, "whole_head": True},
    "far, as VDR": {**FAR, "semi_parametric": False, "retrieved": 0, "whole_head": True},
    "plain head, before training": {**PLAIN, **STILL, "semi_parametric": False, "retrieved": 0},
    "plain head": PLAIN,
    "plain head, w/o SP objective": {**PLAIN, "semi_parametric": False},
    "plain head, w/o neg": {**PLAIN, "retrieved": 0},
    "plain head, as VDR": {**PLAIN, "semi_parametric": False, "retrieved": 0, "whole_head": True},
    "plain head, far": {**PLAIN, **FAR},
    "plain head, far, w/o SP objective": {**PLAIN, **FAR, "semi_parametric": False},
    "plain head, far, as VDR": {**PLAIN, **FAR, "semi_parametric": False, "retrieved": 0, "whole_head": True},
}


def main() -> None:
    quick = {"queries": 20, "only": ["sidr", "w/o SP objective"]}
    run_command("sidr_ablations", _rows, _own, steps=100, quick=quick, trials=ABLATIONS)


def _own(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--queries", type=int, help="evaluate so many of each split (default: all)")
    parser.add_argument("--saved", metavar="FOLDER", help="keep the trained models here, and take them from here")


def _rows(options: argparse.Namespace, model: str) -> Iterator[Row]:
    dataset = Dataset.open(data_folder() / options.set)
    base = tokens(dataset, analyzer=WordPiece.open(model), epochs=0)
    for name in options.only or ABLATIONS:
        start = process_time()
        beta = _trained(options, name, base, dataset, model)
        yield Row(f"{name}: training", process_time() - start, "none", None, "CPU s")
        systems: dict[str, Any] = {f"{name}, beta": beta}
        if options.full:
            systems[f"{name}, full"] = sidr(dataset, beta.encoder)
        for split in SPLITS:
            yield from measured(dataset, split, systems, options.queries)


def _trained(
    options: argparse.Namespace, name: str, base: TokenRetriever, dataset: Dataset, model: str
) -> TokenRetriever:
    """Train one of the ablations, or take it from where it was kept."""
    path = Path(options.saved) / "".join(each if each.isalnum() else "-" for each in name) if options.saved else None
    if path is not None and (path / "model").exists():
        return load(path / "model")  # type: ignore[return-value]
    settings = {"max_steps": options.max_steps, **PAPER, **ABLATIONS[name]}
    if name.endswith("minilm as teacher"):
        settings["teacher"] = dense(dataset, minilm_vectors(options.set, dataset)["minilm"])
    made = train_sidr(base, dataset, model, checkpoint=None if path is None else path / "state", **settings)
    if path is not None:
        made.save(path / "model")
    return made


if __name__ == "__main__":
    main()
