"""vizsla index dense: encode a catalog and index the vectors."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from vizsla._internal.terminal import working
from vizsla.artifacts.manifest import MANIFEST
from vizsla.cli.options import add_bundling, add_data, add_output, check_output, open_data, save_model
from vizsla.cli.signatures import SignatureOptions
from vizsla.encoders.lsa import LsaEncoder
from vizsla.encoders.open import open_encoder
from vizsla.encoders.resumable import remove_encoding, resumable_encode
from vizsla.encoders.sentence import SentenceEncoder
from vizsla.errors import InputError
from vizsla.indexes.factory import DENSE_MODULES
from vizsla.indexes.flat import FlatIndex
from vizsla.indexes.hnsw import HnswIndex
from vizsla.indexes.ivf import IvfIndex
from vizsla.indexes.pq.pq_index import PqIndex
from vizsla.methods.dense import Dense, dense

if TYPE_CHECKING:
    from vizsla.base.encoder import Encoder
    from vizsla.data.dataset import Dataset

LSA = SignatureOptions(LsaEncoder.fit, only=("dim", "seed"))
MODEL = SignatureOptions(SentenceEncoder, only=("query_prompt", "item_prompt", "normalize"))
KIND = SignatureOptions(dense, only=("index",), choices={"index": tuple(DENSE_MODULES)})
BUILDS: dict[str, Callable[..., Any]] = {
    "flat": FlatIndex.build,
    "hnsw": HnswIndex.build,
    "ivf": IvfIndex.build,
    "pq": PqIndex.build,
}
SKIPPED = ("rounds", "threads")
INDEXES = {kind: {*SignatureOptions(build, skip=SKIPPED).options} for kind, build in BUILDS.items()}
INDEXES |= {f"{kind}pq": (INDEXES[kind] | INDEXES["pq"]) - {"storage"} for kind in ("hnsw", "ivf")}
INDEX = SignatureOptions(
    *BUILDS.values(),
    skip=SKIPPED,
    prefixes={name: f"{', '.join(kind for kind in BUILDS if name in INDEXES[kind])}: "
              for names in INDEXES.values() for name in names},
)  # fmt: skip
"""The options of all kinds of index; `INDEXES` has the names of each kind's own."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the encoder's and the index's options."""
    add_data(parser)
    add_output(parser)
    add_bundling(parser)
    parser.add_argument("--encoder", default="lsa", help="lsa, a model's hub id, or its folder (default: lsa)")
    LSA.add_to(parser)
    MODEL.add_to(parser)
    KIND.add_to(parser)
    INDEX.add_to(parser)


def run(arguments: argparse.Namespace) -> None:
    """Encode, index, save."""
    start, options = perf_counter(), index_options(arguments)
    check_output(arguments)
    dataset = open_data(arguments)
    built = _lsa if arguments.encoder == "lsa" else _model
    built(dataset, arguments, options, start)


def _lsa(dataset: Dataset, arguments: argparse.Namespace, options: dict[str, Any], start: float) -> None:
    with working("building"):
        encoder = LsaEncoder.fit((item.default_text() for item in dataset.items), **LSA.given(arguments))
        built = dense(dataset, encoder, **options)
    _save(built, arguments, start)


def _model(dataset: Dataset, arguments: argparse.Namespace, options: dict[str, Any], start: float) -> None:
    """Encode with a model, which takes long: the same command continues where it was stopped."""
    folder = f"{arguments.output.rstrip('/')}.encoding"
    encoder = _encoder(arguments)
    storage = "float16" if options.get("storage") == "float16" else "float32"
    texts, count = (item.default_text() for item in dataset.items), len(dataset.items)
    with working("building"):
        rows = resumable_encode(encoder, texts, folder, storage=storage, count=count)
        built = dense(dataset, encoder, vectors=rows, **options)
    _save(built, arguments, start)
    remove_encoding(folder)


def _save(built: Dense, arguments: argparse.Namespace, start: float) -> None:
    save_model(built, arguments, start, f"{built.index.dim} dimensions, {built.nbytes / 1e6:.1f} MB")


def _encoder(arguments: argparse.Namespace) -> Encoder:
    stored = (Path(arguments.encoder) / MANIFEST).exists()
    return open_encoder(arguments.encoder, **({} if stored else MODEL.given(arguments)))


def index_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the kind of index and its options; an option of another kind raises."""
    kind, given = KIND.given(arguments).get("index", "flat"), INDEX.given(arguments)
    for name in given:
        if name == "storage" and "bytes" in INDEXES[kind]:
            raise InputError("`--storage` must be left out for codes. Got it: `--bytes` says how items are kept.")
        if name not in INDEXES[kind] and name != "seed":  # which LSA has, too
            raise InputError(f"`--{name.replace('_', '-')}` must be left out for --index {kind}. Got it.")
    return {"index": kind, **{name: value for name, value in given.items() if name in INDEXES[kind]}}
