"""vizsla train sidr: a transformer that weighs tokens, trained on clicks over a token index."""

from __future__ import annotations

import argparse
from time import perf_counter

from vizsla.cli.options import add_data, add_output, check_output, open_data

WHOLE = ("epochs", "most_steps", "batch", "vectors", "wrong", "retrieved", "table_epochs", "served_epochs",
         "masked_steps", "frozen_layers", "max_tokens")  # fmt: skip
SWITCHES = ("semi_parametric", "item_tokens", "whole_head", "leveled")
RATES = ("rate", "head_rate", "bias_rate", "dropout")
NUMBERS: dict[str, type] = {**dict.fromkeys(WHOLE, int), **dict.fromkeys(RATES, float)}
HELP = {
    "epochs": "passes over the clicks, at most",
    "most_steps": "stop after so many steps",
    "batch": "queries of a step",
    "vectors": "of them, those whose items go through the transformer too",
    "wrong": "found items that are wrong, which go through the transformer with each of these",
    "retrieved": "items that beta search finds to be told from the clicked one; 0 for none",
    "table_epochs": "how long tables beside the transformer learn in training; 0 for none",
    "served_epochs": "how long the table learns that serves in the end",
    "masked_steps": "steps of masked-language-model training first, for a model without a head",
    "frozen_layers": "lowest layers that stay as they are",
    "max_tokens": "texts are cut after so many",
    "rate": "the transformer's step",
    "head_rate": "the step of the head's matrix",
    "bias_rate": "the step of the head's biases and of scales",
    "dropout": "the share of activations left out",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the data, the model to begin with, and how to learn."""
    add_data(parser)
    add_output(parser)
    parser.add_argument("--model", required=True, metavar="FOLDER", help="a BERT-like model with its tokenizer")
    parser.add_argument("--checkpoint", metavar="FOLDER", help="keep the state here, and go on from it")
    parser.add_argument("--no-semi-parametric", dest="semi_parametric", action="store_false", help="ablation")
    alone = "items' vectors are what the model says alone, as in the paper, not added to their tokens"
    parser.add_argument("--no-item-tokens", dest="item_tokens", action="store_false", help=alone)
    whole = "compare learned items by all tokens, as in the paper, not by those of a step's texts"
    parser.add_argument("--whole-head", action="store_true", help=whole)
    plain = "a head that the model lacks begins without biases, as in the paper, not where no token stands out"
    parser.add_argument("--plain-head", dest="leveled", action="store_false", help=plain)
    parser.add_argument("--int8", action="store_true", help="store int8 matrices, if recall on the clicks holds")
    parser.add_argument("--seed", type=int, default=0)
    for name, kind in NUMBERS.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=kind, default=argparse.SUPPRESS, help=HELP[name])


def run(arguments: argparse.Namespace) -> None:
    """Train and save."""
    from vizsla.methods.sidr.quantize import quantize_sidr
    from vizsla.methods.sidr.train_sidr import train_sidr
    from vizsla.methods.tokens.model import tokens
    from vizsla.text.wordpiece import WordPiece

    check_output(arguments)
    start, dataset = perf_counter(), open_data(arguments)
    base = tokens(dataset, analyzer=WordPiece.open(arguments.model), epochs=0, seed=arguments.seed)
    given = [name for name in NUMBERS if hasattr(arguments, name)]
    options = {name: getattr(arguments, name) for name in (*SWITCHES, "seed", *given)}
    learned = train_sidr(base, dataset, arguments.model, checkpoint=arguments.checkpoint, **options)
    if arguments.int8:
        learned, check = quantize_sidr(learned, dataset, seed=arguments.seed)
        print(check)
    learned.save(arguments.output, overwrite=arguments.overwrite)
    seconds = perf_counter() - start
    print(f"{arguments.output}: {len(learned.items):,} items, {learned.nbytes / 1e6:.1f} MB, {seconds:.1f} s")
