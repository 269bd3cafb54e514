"""vizsla train xrlinear: a tree of items with a sparse linear matcher at every node."""

from __future__ import annotations

import argparse
from time import perf_counter

from vizsla.cli.options import add_data, add_half_life, add_output, check_output, chosen_half_life, open_data

OPTIONS = (
    "kind_shares", "branching", "max_leaf", "representation", "share", "negatives", "loss", "C", "bias", "transform",
    "threshold", "max_nonzeros", "weights", "click_weights", "item_texts", "cold_start", "beam", "seed", "threads",
)  # fmt: skip
"""Arguments of `xrlinear` that the command line has too."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the data, and how to learn."""
    add_data(parser)
    add_output(parser)
    parser.add_argument(
        "--kind-shares",
        type=float,
        nargs=3,
        metavar=("WORDS", "PAIRS", "TRIGRAMS"),
        help="how much words, pairs of words and character trigrams weigh (default: tried on held-out clicks)",
    )
    parser.add_argument("--branching", type=int, default=256, help="most children of a node (default: 256)")
    parser.add_argument("--max-leaf", type=int, default=100, help="most items of a leaf (default: 100)")
    parser.add_argument(
        "--representation",
        default="pifa",
        choices=("pifa", "text", "concat", "blend"),
        help="what makes items alike: queries that chose them, texts, or both (default: pifa)",
    )
    parser.add_argument("--share", type=float, default=0.5, help="of the queries in concat and blend (default: 0.5)")
    parser.add_argument("--negatives", default="tfn", choices=("tfn", "man", "tfn+man"), help="default: tfn")
    parser.add_argument("--loss", default="squared_hinge", choices=("squared_hinge", "hinge", "logistic"))
    parser.add_argument("--C", type=float, default=1.0, help="weight of the losses (default: 1)")
    parser.add_argument("--threshold", type=float, default=0.1, help="drop weights up to this size (default: 0.1)")
    parser.add_argument("--bias", type=float, default=1.0, help="a feature of every query (default: 1; 0: none)")
    parser.add_argument("--transform", default="l3-hinge", help="from margins to scores (default: l3-hinge)")
    parser.add_argument("--max-nonzeros", type=int, help="most weights of a matcher")
    parser.add_argument("--weights", default="float32", choices=("float32", "int16", "int8"), help="how to store them")
    parser.add_argument(
        "--click-weights",
        default="auto",
        choices=("auto", "none", "damped", "raw"),
        help="what a click counts: all the same, damped, or its weight (default: auto, tried on held-out clicks)",
    )
    parser.add_argument("--no-item-texts", dest="item_texts", action="store_false", help="learn from queries only")
    parser.add_argument("--no-cold-start", dest="cold_start", action="store_false", help="no path for new items")
    parser.add_argument("--beam", type=int, default=10, help="nodes followed unless a search says otherwise")
    add_half_life(parser)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)


def run(arguments: argparse.Namespace) -> None:
    """Train and save."""
    from vizsla.methods.xrlinear.build import xrlinear
    from vizsla.text.ngrams import KINDS, NgramTfidf

    check_output(arguments)
    start = perf_counter()
    options = {name: getattr(arguments, name) for name in OPTIONS}
    data = open_data(arguments)
    half_life = chosen_half_life(arguments, data, lambda part: xrlinear(part, **options))
    model = xrlinear(data, **options, half_life=half_life)
    model.save(arguments.output, overwrite=arguments.overwrite)
    seconds = perf_counter() - start
    print(f"{arguments.output}: {len(model.items):,} items, {model.nbytes / 1e6:.1f} MB, {seconds:.1f} s")
    if isinstance(model.encoder, NgramTfidf):
        shares = zip(KINDS, model.encoder.shares, strict=True)
        print("features: " + ", ".join(f"{kind}s {share:g}" for kind, share in shares if share))
    print(f"click weights: {model.training_queries.click_weights}")
