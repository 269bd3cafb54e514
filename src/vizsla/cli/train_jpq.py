"""vizsla train jpq: train a coded index on clicks, on a teacher's scores, or on both."""

from __future__ import annotations

import argparse
from time import perf_counter
from typing import TYPE_CHECKING, Any

from vizsla._internal.terminal import working
from vizsla.cli.options import (
    add_bundling,
    add_output,
    add_reading,
    check_output,
    load_retriever,
    read_clicks,
    read_lines,
    save_model,
)
from vizsla.cli.signatures import SignatureOptions
from vizsla.cli.training_line import TrainingLine
from vizsla.errors import InputError
from vizsla.indexes.pq.pq_index import PqIndex
from vizsla.methods.dense import Dense
from vizsla.methods.jpq.query_adapter import QueryModel
from vizsla.methods.jpq.settings import JpqSettings
from vizsla.methods.jpq.train_jpq import prepared_run, train_jpq, trained_retriever

if TYPE_CHECKING:
    from vizsla.methods.jpq.model import Jpq

OPTIONS = SignatureOptions(
    train_jpq,
    JpqSettings,
    skip=("model",),
    notes={"clicked_margin": "default: 0; with --bytes: auto", "reassignments": "default: 0; with --bytes: auto"},
)
CODING = SignatureOptions(PqIndex.build, only=("bits", "seed", "threads"))
MODEL = SignatureOptions(QueryModel, names={"rate": "model_rate"})


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
    parser.add_argument("--bytes", type=int, metavar="N", help="compress INDEX first, to this number of bytes per item")
    CODING.add_to(parser)
    OPTIONS.add_to(parser)
    folder = "train the encoder's transformer; it is written there"
    parser.add_argument("--model", metavar="FOLDER", help=folder)
    MODEL.add_to(parser)


def run(arguments: argparse.Namespace) -> None:
    """Train, save, and say what was chosen; Ctrl-C keeps the best so far."""
    check_output(arguments)
    start = perf_counter()
    with working("training") as show:
        model, whole = _trained(arguments, TrainingLine(show, "MRR@10"))
    size = f"{model.index.bytes} bytes an item ({model.index.compression:.0f} times smaller)"
    save_model(model, arguments, start, size, "" if whole else ", interrupted: the best so far")
    if model.choice is not None:
        chosen, first = model.choice.chosen, model.choice.trials[0]
        said = ", ".join(f"{kind} {first[kind]:.4f} to {chosen[kind]:.4f}" for kind in ("warm", "cold"))
        epochs = f"{chosen['epochs']} epoch{'' if chosen['epochs'] == 1 else 's'}"
        numbers = (
            f"click loss weight {chosen['click_loss_weight']:g}, {epochs}, clicked margin {chosen['clicked_margin']:g}"
        )
        print(f"{numbers}; held-out {model.choice.measure}: {said}")


def _trained(arguments: argparse.Namespace, line: TrainingLine) -> tuple[Jpq, bool]:
    """Return the trained retriever, and whether training came to its end."""
    base, teacher = _coded(arguments)
    usual = {} if arguments.bytes is None else {"clicked_margin": "auto", "reassignments": "auto"}
    clicks = read_clicks(arguments) if arguments.clicks else None
    queries = read_lines(arguments.query_log) if arguments.query_log else None
    parts = {"queries": queries, "teacher": teacher, "model": _model(arguments)}
    training = prepared_run(base, clicks, **parts, watch=line, **usual | OPTIONS.given(arguments))
    try:
        return trained_retriever(base, training, training.run()), True
    except KeyboardInterrupt:
        if training.best is None:
            raise
        return trained_retriever(base, training, training.best), False


def _model(arguments: argparse.Namespace) -> Any:
    """Return the transformer that is to learn, if any."""
    options = MODEL.given(arguments)
    if arguments.model is None:
        if options:
            raise InputError("`--model` must be given with --model-rate or --device. Got none.")
        return None
    return QueryModel(arguments.model, **options)


def _coded(arguments: argparse.Namespace) -> tuple[Dense, Any]:
    """Return the coded retriever that is trained, and its teacher."""
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
    index = PqIndex.build(base.item_rows(), bytes=arguments.bytes, **CODING.given(arguments))
    return Dense(base.items, base.encoder, index), base if teacher is None else teacher
