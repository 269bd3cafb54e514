"""Every Encoder, by name. A new one is tested by adding a line here."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import vizsla
from tests.contract.catalog import ITEMS, QUERIES
from tests.contract.registry import sidr_encoder
from tests.encoders.minilm import minilm_folder
from vizsla.base.encoder import Encoder, FunctionEncoder
from vizsla.encoders.adapted import AdaptedEncoder, TwoSidedEncoder
from vizsla.encoders.cache import EmbeddingCache
from vizsla.encoders.late import WordEncoder
from vizsla.encoders.lsa import LsaEncoder
from vizsla.encoders.precomputed import PrecomputedEncoder
from vizsla.encoders.token_table import TokenTable
from vizsla.methods.bm25 import bm25
from vizsla.methods.dense import dense
from vizsla.methods.typo_tolerant import typo_tolerant
from vizsla.text.analyzers import Analyzer, AnyLanguage
from vizsla.text.bag_of_words import BagOfWords
from vizsla.text.ngrams import NgramTfidf

TEXTS = [*QUERIES, *list(ITEMS.values())[:12]]
"""What every encoder of the registry can encode; some come twice, one is empty, one is long."""

Make = Callable[[], Encoder]
Reload = Callable[[Encoder, Path], Encoder]


@dataclass(frozen=True)
class EncoderCase:
    """How to make an encoder, and what may be asked of it."""

    make: Make
    others: tuple[Make, ...]
    """The same kind with other settings: each encodes some text differently."""
    reload: Reload | None = None
    """Save it into a folder and bring it back; None for those that are remembered by name only."""
    away: float = 0.0
    """How far a row may lie from that of the same text in another batch."""
    half_pairs: bool = False
    """Half a surrogate pair is a separator like any other, as the page on analyzers says, and raises nothing."""


def letters(texts: list[str]) -> list[list[float]]:
    """Return how often a text has each of four letters."""
    return [[float(text.count(letter)) for letter in "aeip"] for text in texts]


def _function(name: str = "letters", width: int = 4) -> Encoder:
    return FunctionEncoder(lambda texts: np.array(letters(texts))[:, :width], dim=width, name=name)


def _precomputed(texts: list[str] = TEXTS, dtype: Any = np.float32, factor: float = 1.0) -> Encoder:
    rows = np.random.default_rng(0).standard_normal((len(texts), 6)) * factor
    return PrecomputedEncoder(texts, rows.astype(np.float32).view(dtype))


def _bag(**options: Any) -> Encoder:
    return BagOfWords.fit(ITEMS.values(), Analyzer(**options))[0]


def _tolerant(texts: list[str] = TEXTS, stem: str | None = None) -> Encoder:
    return typo_tolerant(bm25(texts, analyzer=Analyzer(stem=stem))).encoder


def _mixed(variant: str = "lucene", languages: tuple[str, ...] = ("english", "german")) -> Encoder:
    return bm25(ITEMS, analyzer=AnyLanguage(languages), variant=variant).encoder


def _ngrams(**options: Any) -> Encoder:
    return NgramTfidf.fit(ITEMS.values(), **options)


def _lsa(**options: Any) -> Encoder:
    return LsaEncoder.fit(ITEMS.values(), **{"dim": 24, **options})


def _adapted(factor: float = 1.5, **options: Any) -> Encoder:
    base = _lsa(**options)
    return AdaptedEncoder(base, np.eye(base.dim, k=1, dtype=np.float32) * factor + np.eye(base.dim, dtype=np.float32))


def _shifted() -> Encoder:
    """Return the adapted encoder with a constant for queries; items are encoded as without it."""
    plain: Any = _adapted()
    return AdaptedEncoder(plain.base, plain.adapter, np.full(plain.dim, 0.5, np.float32))


def _table(weight: float = 2.0, gain: float = 0.5) -> TokenTable:
    bag = BagOfWords.fit(ITEMS.values())[0]
    offsets = np.minimum(np.arange(bag.dim + 1), 1)
    weights = np.full(bag.dim, weight, np.float32)
    return TokenTable(bag, weights, offsets, np.array([1], np.int32), np.array([gain], np.float32))


@cache
def _sentence(**options: Any) -> Any:
    folder = minilm_folder()
    from vizsla.encoders.sentence import SentenceEncoder

    return SentenceEncoder(folder, **{"max_tokens": 64, **options})


@cache
def _exported() -> tempfile.TemporaryDirectory:
    from vizsla.export.onnx import export_onnx

    folder = tempfile.TemporaryDirectory(prefix="vizsla-contract-")
    export_onnx(_sentence(), Path(folder.name) / "model")
    return folder


@cache
def _onnx(**options: Any) -> Encoder:
    minilm_folder()
    from vizsla.encoders.onnx import OnnxEncoder

    return OnnxEncoder(Path(_exported().name) / "model", **options)


def _remembered(encoder: Encoder) -> Encoder:
    """Return what a loaded retriever holds instead of an encoder that cannot be saved."""
    with tempfile.TemporaryDirectory() as folder:
        return vizsla.load(dense(TEXTS, encoder).save(Path(folder) / "saved"), mmap=False).encoder


def _saved(encoder: Any, folder: Path) -> Encoder:
    return vizsla.load(encoder.save(folder))


def _opened(encoder: Any, _: Path) -> Encoder:
    return vizsla.encoders.open_encoder(encoder.reference["name"], **encoder.options)


def _settings(make: Callable[..., Encoder], *settings: dict[str, Any]) -> tuple[Make, ...]:
    return tuple(lambda given=given: make(**given) for given in settings)


NEURAL = [{"query_prompt": "query: "}, {"item_prompt": "item: "}, {"normalize": False}, {"max_tokens": 8}]


def _cached(**settings: Any) -> EmbeddingCache:
    return EmbeddingCache(_lsa(**settings), Path(tempfile.mkdtemp()) / "vectors.db")


ENCODERS: dict[str, EncoderCase] = {
    "function": EncoderCase(_function, _settings(_function, {"name": "other"}, {"width": 3})),
    "precomputed": EncoderCase(
        _precomputed, _settings(_precomputed, {"factor": 2.0}, {"texts": TEXTS[::-1]}, {"dtype": np.float16})
    ),
    "bag of words": EncoderCase(
        _bag, _settings(_bag, {"lower": False}, {"stop_words": ["fig"]}), _saved, half_pairs=True
    ),
    "bag of stems": EncoderCase(
        lambda: _bag(stem="english"), _settings(_bag, {}, {"stem": "german"}), _saved, half_pairs=True
    ),
    "words of several languages": EncoderCase(
        _mixed, _settings(_mixed, {"variant": "atire"}, {"languages": ("english", "french")}), half_pairs=True
    ),
    "words with typos": EncoderCase(
        _tolerant, _settings(_tolerant, {"stem": "english"}, {"texts": TEXTS[:-1]}), half_pairs=True
    ),
    "n-grams": EncoderCase(
        _ngrams,
        _settings(_ngrams, {"sublinear": False}, {"trigrams": 0}, {"unseen": "drop"}, {"idf_power": 2.0}),
        _saved,
        half_pairs=True,
    ),
    "n-grams by kinds": EncoderCase(lambda: _ngrams().with_shares([1, 0.5, 0.25]), (_ngrams,), _saved, half_pairs=True),
    "lsa": EncoderCase(_lsa, _settings(_lsa, {"dim": 12}, {"seed": 1}, {"trigrams": 0}), _saved, half_pairs=True),
    "cached": EncoderCase(_cached, _settings(_cached, {"dim": 12}, {"seed": 1})),
    "adapted": EncoderCase(
        _adapted, (*_settings(_adapted, {"factor": 2.0}, {"dim": 12}), _shifted), _saved, half_pairs=True
    ),
    "two-sided": EncoderCase(
        lambda: TwoSidedEncoder(_adapted(), _lsa()),
        (
            lambda: TwoSidedEncoder(_lsa(), _lsa()),
            lambda: TwoSidedEncoder(_adapted(), _lsa(seed=1)),
            lambda: TwoSidedEncoder(_lsa(), _adapted()),
        ),
        _saved,
        half_pairs=True,
    ),
    "grown n-grams": EncoderCase(
        lambda: _ngrams().grown(["an onion pie"]), (_ngrams, lambda: _ngrams().grown(["a quince"])), half_pairs=True
    ),
    "token table": EncoderCase(_table, _settings(_table, {"weight": 3.0}, {"gain": 0.25}), _saved, half_pairs=True),
    "words": EncoderCase(
        lambda: WordEncoder(_lsa()),
        (lambda: WordEncoder(_lsa(dim=12)), lambda: WordEncoder(_lsa(), Analyzer(stem="english"))),
        _saved,
        half_pairs=True,
    ),
    "sidr": EncoderCase(sidr_encoder, (lambda: sidr_encoder().with_forms(queries="tokens", items="full"),), _saved),
    "sentence": EncoderCase(_sentence, _settings(_sentence, *NEURAL), _opened, away=1e-6),
    "onnx": EncoderCase(_onnx, _settings(_onnx, *NEURAL, {"pooling": "cls"}), _opened, away=1e-6),
    "sentence, after a load": EncoderCase(
        lambda: _remembered(_sentence()), (lambda: _remembered(_sentence(query_prompt="query: ")),), away=1e-6
    ),
    "onnx, after a load": EncoderCase(
        lambda: _remembered(_onnx()), (lambda: _remembered(_onnx(query_prompt="query: ")),), away=1e-6
    ),
}
"""Each encodes TEXTS."""

ABSENT: dict[str, Make] = {"function": _function, "precomputed": _precomputed}
"""Encoders that a loaded retriever can only name."""


def absent(name: str) -> tuple[Encoder, Encoder]:
    """Return the encoder and what a loaded retriever holds in its place."""
    encoder = ABSENT[name]()
    return encoder, _remembered(encoder)
