"""vizsla index dense: encode a catalog and index the vectors."""

from __future__ import annotations

import argparse
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from vizsla.cli.index_pq import CODING, add_coding
from vizsla.cli.options import add_bundling, add_data, add_output, bundling, check_output, open_data
from vizsla.errors import InputError

if TYPE_CHECKING:
    from vizsla.base.encoder import Encoder
    from vizsla.data.dataset import Dataset
    from vizsla.methods.dense import Dense

OPTIONS = {
    "flat": ("guarded",),
    "hnsw": ("M", "ef_construction", "ef"),
    "ivf": ("lists", "probes", "recall"),
    "pq": CODING,
    "hnswpq": (*CODING, "M", "ef_construction", "ef"),
    "ivfpq": (*CODING, "lists", "probes", "recall"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the encoder's and the index's options."""
    add_data(parser)
    add_output(parser)
    add_bundling(parser)
    parser.add_argument("--encoder", default="lsa", help="lsa, a model's hub id, or its folder (default: lsa)")
    parser.add_argument("--dim", type=int, default=256, help="dimensions of lsa (default: 256)")
    parser.add_argument("--query-prompt", metavar="TEXT", help="put before every query")
    parser.add_argument("--item-prompt", metavar="TEXT", help="put before every item")
    parser.add_argument("--not-normalized", action="store_true", help="keep the lengths of a model's vectors")
    parser.add_argument("--index", default="flat", choices=list(OPTIONS), help="default: flat, which is exact")
    parser.add_argument("--storage", choices=["float32", "float16", "int8"], help="how vectors are kept")
    parser.add_argument("--m", dest="M", type=int, help="hnsw: neighbors of an item (default: 32)")
    parser.add_argument("--ef-construction", type=int, metavar="N", help="hnsw: items in view to build (default: 500)")
    parser.add_argument("--ef", type=int, metavar="N", help="hnsw: items in view to search (default: 300)")
    parser.add_argument("--lists", type=int, metavar="N", help="ivf: lists (default: 4 √items)")
    parser.add_argument("--probes", type=int, metavar="N", help="ivf: lists to read (default: what --recall needs)")
    parser.add_argument("--recall", type=float, metavar="X", help="ivf: share of the best 100 to find (default: 0.99)")
    parser.add_argument("--guarded", action="store_true", default=None, help="flat: scan bytes first, same answers")
    add_coding(parser, "pq: ")
    parser.add_argument("--seed", type=int, default=0, help="fixes what is random in lsa, ivf and pq (default: 0)")


def run(arguments: argparse.Namespace) -> None:
    """Encode, index, save."""
    start, options = perf_counter(), _index_options(arguments)
    check_output(arguments)
    dataset = open_data(arguments)
    built = _lsa(dataset, arguments, options) if arguments.encoder == "lsa" else _model(dataset, arguments, options)
    seconds = perf_counter() - start
    what = f"{built.index.dim} dimensions, {built.nbytes / 1e6:.1f} MB"
    print(f"{arguments.output}: {len(built.items):,} items, {what}, {seconds:.1f} s")


def _lsa(dataset: Dataset, arguments: argparse.Namespace, options: dict[str, Any]) -> Dense:
    from vizsla.encoders.lsa import LsaEncoder
    from vizsla.methods.dense import Dense

    texts = (item.default_text() for item in dataset.items)
    encoder = LsaEncoder.fit(texts, dim=arguments.dim, seed=arguments.seed)
    built = Dense.build(dataset, encoder, index=arguments.index, **options)
    built.save(arguments.output, overwrite=arguments.overwrite, bundle_models=bundling(arguments))
    return built


def _model(dataset: Dataset, arguments: argparse.Namespace, options: dict[str, Any]) -> Dense:
    """Encode with a model, which takes long: the same command continues where it was stopped."""
    from vizsla.encoders.resumable import remove_encoding, resumable_encode
    from vizsla.methods.dense import Dense

    working = f"{arguments.output.rstrip('/')}.encoding"
    encoder = _encoder(arguments)
    storage = "float16" if arguments.storage == "float16" else "float32"
    texts, count = (item.default_text() for item in dataset.items), len(dataset.items)
    rows = resumable_encode(encoder, texts, working, storage=storage, count=count)
    built = Dense.build(dataset, encoder, index=arguments.index, vectors=rows, **options)
    built.save(arguments.output, overwrite=arguments.overwrite, bundle_models=bundling(arguments))
    remove_encoding(working)
    return built


def _encoder(arguments: argparse.Namespace) -> Encoder:
    from vizsla.artifacts.manifest import MANIFEST
    from vizsla.encoders.open import open_encoder

    if (Path(arguments.encoder) / MANIFEST).exists():
        return open_encoder(arguments.encoder)
    names = ("query_prompt", "item_prompt")
    options: dict[str, Any] = {n: getattr(arguments, n) for n in names if getattr(arguments, n) is not None}
    if arguments.not_normalized:
        options["normalize"] = False
    return open_encoder(arguments.encoder, **options)


def _index_options(arguments: argparse.Namespace) -> dict[str, Any]:
    names = {name for own in OPTIONS.values() for name in own}
    given = {name: getattr(arguments, name) for name in sorted(names) if getattr(arguments, name) is not None}
    foreign = [name for name in given if name not in OPTIONS[arguments.index]]
    if foreign:
        flag = foreign[0].lower().replace("_", "-")
        raise InputError(f"`--{flag}` must be left out for --index {arguments.index}. Got it.")
    coded = "bytes" in OPTIONS[arguments.index]
    if coded or arguments.index == "ivf":
        given["seed"] = arguments.seed
    if coded and arguments.storage is not None:
        raise InputError("`--storage` must be left out for codes. Got it: `--bytes` says how items are kept.")
    return given if coded else {**given, "storage": arguments.storage}
