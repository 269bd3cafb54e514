"""vizsla train cross-encoder: fine-tune a transformer to read a query and an item together."""

from __future__ import annotations

import argparse
import sys
from time import perf_counter
from typing import TYPE_CHECKING

from vizsla.cli.options import add_data, add_output, load_retriever, open_data, share
from vizsla.errors import InputError

if TYPE_CHECKING:
    from vizsla.learning.loop import TrainingProgress

SETTINGS = (
    "epochs", "most_steps", "batch", "negatives", "depth", "loss", "share", "rate", "every", "patience", "held_out",
    "cold", "seed",
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what is trained, on what, and how."""
    add_data(parser)
    parser.add_argument("--model", required=True, help="the transformer to begin with: a hub id or a folder")
    add_output(parser)
    parser.add_argument("--form", default="head", choices=("head", "dot"), help="dot: [EMB]-CE (default: head)")
    parser.add_argument("--layers", type=int, help="keep only so many of the model's first layers")
    parser.add_argument("--max-tokens", type=int, default=128, help="cut pairs there (default: 128)")
    parser.add_argument("--retriever", metavar="FOLDER", help="finds the hard negatives (default: BM25)")
    parser.add_argument("--teacher", metavar="FOLDER", help="a retriever to imitate, with --share below 1")
    parser.add_argument("--share", type=float, help="of the click loss, 0 to 1 (default: 1)")
    parser.add_argument("--epochs", type=int, help="passes over the queries (default: 1)")
    parser.add_argument("--most-steps", type=int, help="plan for so many steps at most")
    parser.add_argument("--batch", type=int, help="queries a step (default: 16)")
    parser.add_argument("--negatives", type=int, help="for each query of a step (default: 7)")
    parser.add_argument("--depth", type=int, help="how deep negatives are taken from (default: 50)")
    parser.add_argument("--loss", choices=("softmax", "lambdarank", "ranknet", "hinge"), help="default: softmax")
    parser.add_argument("--rate", type=float, help="learning rate (default: 5e-5)")
    parser.add_argument("--every", type=int, help="steps between looks at held-out queries (default: 100)")
    parser.add_argument("--patience", type=int, help="end after so many looks without gain (default: 5)")
    parser.add_argument("--held-out", type=int, help="how many queries to hold out (default: 100)")
    parser.add_argument("--cold", type=share, help="share of them about items without other clicks (default: 0.5)")
    parser.add_argument("--bfloat16", action="store_true", help="compute in bfloat16, where the CPU can")
    parser.add_argument("--checkpoint", metavar="FOLDER", help="keep the state there, and go on from it")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)


def run(arguments: argparse.Namespace) -> None:
    """Train, write the model, and say how it went; Ctrl-C keeps the best so far."""
    from vizsla.methods.cross_encoder import train_cross_encoder

    if arguments.overwrite:
        raise InputError("`--overwrite` must be left out: a trained model is written to a new folder. Got it.")
    start, line = perf_counter(), ProgressLine()
    settings = {name: getattr(arguments, name) for name in SETTINGS if getattr(arguments, name) is not None}
    parts = {name: load_retriever(path) for name in ("retriever", "teacher") if (path := getattr(arguments, name))}
    model = train_cross_encoder(
        open_data(arguments), arguments.model, arguments.output,
        form=arguments.form, layers=arguments.layers, max_tokens=arguments.max_tokens, bfloat16=arguments.bfloat16,
        checkpoint=arguments.checkpoint, threads=arguments.threads, watch=line, **parts, **settings,
    )  # fmt: skip
    size = sum(weight.numel() for weight in model.model.parameters()) / 1e6
    print(f"{arguments.output}: {size:.1f} million weights, form {model.form}, {perf_counter() - start:.1f} s")
    if line.held_out:
        print(f"held-out nDCG@10: {line.held_out[0]:.4f} to {max(line.held_out):.4f}")


class ProgressLine:
    """Follows a training: one live line on a terminal, otherwise a line a look at the held-out queries."""

    def __init__(self) -> None:
        self.held_out: list[float] = []

    def __call__(self, seen: TrainingProgress) -> None:
        """Show how far the training is."""
        new = len(seen.held_out) > len(self.held_out)
        self.held_out = list(seen.held_out)
        best = f", held-out nDCG@10 {max(self.held_out):.4f}" if self.held_out else ""
        text = f"step {seen.step}/{seen.steps}, loss {seen.loss:.4f}{best}"
        if sys.stderr.isatty():
            print(f"\r\x1b[2K{text}", end="\n" if seen.step == seen.steps else "", file=sys.stderr, flush=True)
        elif new:
            print(text, file=sys.stderr)
