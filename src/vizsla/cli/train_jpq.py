"""vizsla train jpq: train a coded index on clicks, on a teacher's scores, or on both."""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress
from time import perf_counter
from typing import TYPE_CHECKING, Any

from vizsla.cli.options import (
    add_bundling,
    add_output,
    add_reading,
    bundling,
    check_output,
    load_retriever,
    read_clicks,
    read_lines,
    share,
)
from vizsla.errors import InputError

if TYPE_CHECKING:
    from vizsla.learning.loop import TrainingProgress
    from vizsla.methods.dense import Dense
    from vizsla.methods.jpq.model import Jpq

SETTINGS = (
    "epochs", "stop", "loss", "stage", "batch", "negatives", "depth", "adapter_rate", "centroid_rate", "sharpness",
    "imagined", "seed",
)  # fmt: skip
EVERY = 0.2
"""Seconds between two updates of the live line."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what is trained, on what, and how."""
    parser.add_argument("index", metavar="INDEX", help="a dense retriever's folder: over codes, or with --bytes any")
    parser.add_argument("--clicks", metavar="FILE", help="query, item, weight; or a whole dataset")
    parser.add_argument("--queries", metavar="FILE", help="query texts, when the clicks name queries by id")
    parser.add_argument("--query-log", metavar="FILE", help="more queries, a line each, without clicks")
    parser.add_argument("--teacher", metavar="FOLDER", help="a retriever over the same items to imitate")
    add_output(parser)
    add_reading(parser)
    add_bundling(parser)
    parser.add_argument("--bytes", type=int, help="compress INDEX first: so many bytes an item")
    parser.add_argument("--bits", type=int, default=8, choices=(8, 4), help="bits of a code, with --bytes (default: 8)")
    parser.add_argument("--share", type=_auto, default="auto", help="of the click loss, 0 to 1 (default: auto)")
    parser.add_argument("--handicap", type=_auto, help="what clicked items must be better by (with --bytes: auto)")
    parser.add_argument("--cold", type=share, default=0.5, help="share of queries about items without clicks")
    parser.add_argument("--paper", action="store_true", help="begin with the numbers of the JPQ paper instead of ours")
    parser.add_argument("--epochs", type=int, help="passes over the queries that are planned")
    parser.add_argument("--stop", type=int, help="end after so many, and hold no clicks out to choose by")
    parser.add_argument("--loss", choices=("lambdarank", "ranknet", "hinge", "softmax"), help="default: softmax")
    parser.add_argument("--stage", choices=("negatives", "loss", "centroids", "distillation"), help="for ablations")
    parser.add_argument("--batch", type=int, help="queries a step")
    parser.add_argument("--negatives", type=int, help="best irrelevant items a step looks at")
    parser.add_argument("--depth", type=int, help="best items whose shares are distilled")
    parser.add_argument("--adapter-rate", type=float, help="learning rate of the query side")
    parser.add_argument("--centroid-rate", type=float, help="learning rate of the centroids")
    parser.add_argument("--sharpness", type=float, help="how much the top counts")
    parser.add_argument("--imagined", type=float, help="imagined queries for each real one (default: 1)")
    parser.add_argument("--recodings", type=_auto, help="of clicked items, one an epoch (with --bytes: auto)")
    parser.add_argument("--model", metavar="FOLDER", help="train the encoder's transformer; it is written there")
    parser.add_argument("--model-rate", type=float, help="learning rate of the transformer, with --model")
    parser.add_argument("--device", help="where the transformer is trained, such as cpu or cuda, with --model")
    parser.add_argument("--checkpoint", metavar="FOLDER", help="keep the state there, and go on from it")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)


def run(arguments: argparse.Namespace) -> None:
    """Train, save, and say what was chosen; Ctrl-C keeps the best so far."""
    check_output(arguments)
    start = perf_counter()
    model, whole = _trained(arguments)
    model.save(arguments.output, overwrite=arguments.overwrite, bundle_models=bundling(arguments))
    size = f"{model.index.bytes} bytes an item ({model.index.compression:.0f} times smaller)"
    ended = "" if whole else ", interrupted: the best so far"
    print(f"{arguments.output}: {len(model.items):,} items, {size}, {perf_counter() - start:.1f} s{ended}")
    if model.choice is not None:
        chosen, first = model.choice.chosen, model.choice.trials[0]
        said = ", ".join(f"{kind} {first[kind]:.4f} to {chosen[kind]:.4f}" for kind in ("warm", "cold"))
        epochs = f"{chosen['epochs']} epoch{'' if chosen['epochs'] == 1 else 's'}"
        numbers = f"share {chosen['share']:g}, {epochs}, handicap {chosen['handicap']:g}"
        print(f"{numbers}; held-out {model.choice.measure}: {said}")


def _trained(arguments: argparse.Namespace) -> tuple[Jpq, bool]:
    """Return the trained retriever, and whether training came to its end."""
    from vizsla.methods.jpq.train_jpq import prepared_run, trained_retriever

    base, teacher = _coded(arguments)
    usual = dict.fromkeys(("handicap", "recodings"), 0 if arguments.bytes is None else "auto")
    chosen = {name: getattr(arguments, name) for name in usual if getattr(arguments, name) is not None}
    settings = {name: getattr(arguments, name) for name in SETTINGS if getattr(arguments, name) is not None}
    line = LiveLine()
    training = prepared_run(
        base,
        read_clicks(arguments) if arguments.clicks else None,
        queries=read_lines(arguments.query_log) if arguments.query_log else None,
        teacher=teacher, model=_model(arguments), share=arguments.share,
        cold=arguments.cold, paper=arguments.paper, checkpoint=arguments.checkpoint, watch=line,
        threads=arguments.threads, **usual | chosen, **settings,
    )  # fmt: skip
    try:
        return trained_retriever(base, training, training.run()), True
    except KeyboardInterrupt:
        if training.best is None:
            raise
        return trained_retriever(base, training, training.best), False
    finally:
        line.end()


def _model(arguments: argparse.Namespace) -> Any:
    """Return the transformer that is to learn, if any."""
    given = {"rate": arguments.model_rate, "device": arguments.device}
    options = {name: value for name, value in given.items() if value is not None}
    if arguments.model is None:
        if options:
            raise InputError("`--model` must be given with --model-rate or --device. Got none.")
        return None
    from vizsla.methods.jpq.query_adapter import QueryModel

    return QueryModel(arguments.model, **options)


def _coded(arguments: argparse.Namespace) -> tuple[Dense, Any]:
    """Return the coded retriever that is trained, and its teacher."""
    from vizsla.indexes.pq.pq_index import PqIndex
    from vizsla.methods.dense import Dense

    base = load_retriever(arguments.index)
    teacher = load_retriever(arguments.teacher) if arguments.teacher else None
    if not isinstance(base, Dense):
        raise InputError(f"INDEX must be a dense retriever. Got kind {base.kind!r} in {arguments.index}.")
    if isinstance(base.index, PqIndex):
        if arguments.bytes is not None:
            raise InputError(f"`--bytes` must be left out for an index of codes. Got {arguments.bytes}.")
        return base, teacher
    if arguments.bytes is None:
        raise InputError("`--bytes` must be given for an index that is not compressed yet. Got none.")
    options = {"bytes": arguments.bytes, "bits": arguments.bits, "seed": arguments.seed, "threads": arguments.threads}
    index = PqIndex.build(base.item_rows(), **options)
    return Dense(base.items, base.encoder, index), base if teacher is None else teacher


class LiveLine:
    """One line on a terminal that follows the training; without a terminal, a line a phase's evaluation."""

    def __init__(self) -> None:
        self.terminal, self.last, self.said = sys.stderr.isatty(), 0.0, ""

    def __call__(self, seen: TrainingProgress) -> None:
        """Show how far the training is."""
        held = ", ".join(f"{kind} {value:.4f}" for kind, value in seen.kinds.items())
        if not self.terminal:
            if held and held != self.said:
                print(f"{seen.phase}: held-out MRR@10 {held}", file=sys.stderr)
            self.said = held
            return
        now = perf_counter()
        if now - self.last >= EVERY or held != self.said:
            self.said = held
            self.last = now
            text = f"{seen.phase}: step {seen.step}/{seen.steps}, loss {seen.loss:.4f}"
            print(f"\r\x1b[2K{text}{', held-out MRR@10 ' + held if held else ''}", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Leave the line."""
        if self.terminal:
            print(file=sys.stderr)


def _auto(value: str) -> Any:
    """Read "auto" or a number."""
    if value == "auto":
        return value
    for kind in (int, float):
        with suppress(ValueError):
            return kind(value)
    raise argparse.ArgumentTypeError(f'must be a number or "auto". Got {value!r}')
