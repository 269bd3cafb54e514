"""Every implementation of a noun, by name. A new method is tested by adding a line here."""

from __future__ import annotations

import atexit
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from tests.contract.catalog import CLICKED, CLICKS, ITEMS, QUERIES, titled_items
from vizsla.base.encoder import Encoder
from vizsla.base.index import Index
from vizsla.base.retriever import Retriever
from vizsla.base.scorer import Scorer
from vizsla.compose.adjustments import adjust
from vizsla.compose.budgeted import rerank
from vizsla.compose.shards import shards
from vizsla.compose.signal import signal
from vizsla.core.catalog import Item
from vizsla.core.strings import Strings
from vizsla.data.dataset import Dataset
from vizsla.data.metadata import ItemMetadata
from vizsla.data.metadata_builder import DetailsCollector
from vizsla.encoders.adapted import AdaptedEncoder, TwoSidedEncoder
from vizsla.encoders.late import TokenVectors, WordEncoder
from vizsla.encoders.lsa import LsaEncoder
from vizsla.encoders.persistence import BundledModel
from vizsla.encoders.sidr import SidrEncoder
from vizsla.encoders.vectors import Vectors
from vizsla.indexes.factory import make_index
from vizsla.indexes.grouped import GroupedIndex
from vizsla.indexes.inverted import InvertedIndex
from vizsla.indexes.tokens import TokenIndex
from vizsla.learning.loop import TrainingState
from vizsla.methods.bm25 import bm25
from vizsla.methods.bm25_statistics import Statistics
from vizsla.methods.cold_items import cold_item_boost
from vizsla.methods.cur import AnchorScores, adacur, anncur, residual_cur, score_anchors
from vizsla.methods.dense import dense
from vizsla.methods.jpq.train_jpq import jpq
from vizsla.methods.late_interaction import late_interaction
from vizsla.methods.pefa import pefa_max, pefa_xl, pefa_xs
from vizsla.methods.pq import pq
from vizsla.methods.remembered_clicks import click_memory
from vizsla.methods.sidr.model import sidr
from vizsla.methods.tfidf import tfidf
from vizsla.methods.tokens.model import tokens
from vizsla.methods.tokens.train_tokens import train_tokens
from vizsla.methods.typo_tolerant import typo_tolerant
from vizsla.methods.xrlinear.build import xrlinear
from vizsla.methods.xrlinear.model import XrLinear
from vizsla.scorers.cache import ScoreCache
from vizsla.scorers.cross_encoder import CrossEncoder
from vizsla.scorers.lazy_vectors import LateParametric
from vizsla.scorers.pair_models import PairModel, StoredPairModel
from vizsla.scorers.text import FunctionScorer
from vizsla.scorers.wrappers import Budget, Retrying
from vizsla.text.analyzers import Analyzer, AnyLanguage
from vizsla.text.bag_of_words import BagOfWords
from vizsla.text.ngrams import NgramTfidf
from vizsla.text.wordpiece import WordPiece


@dataclass(frozen=True)
class RetrieverCase:
    """How to make a retriever over ITEMS, and what may be asked of it."""

    make: Callable[[], Retriever]
    exact: bool = True
    """Its answer is the head of scoring every item (laws 1 and 2)."""
    scored: bool = True
    """Its answers carry scores."""
    always: bool = False
    """It finds something for every query, because it scores items that share no word with it."""
    hashed: bool = False
    """It may find something for unknown words, because their hashes are those of known ones."""
    head: int = 40
    """At equal effort an answer is the head of one that is as long as this (law 1)."""


def _overlap(query: str, texts: list[str]) -> list[float]:
    return [float(len(set(query.split()) & set(text.split()))) for text in texts]


@cache
def catalog_details() -> ItemMetadata:
    """Metadata of every kind, and texts, of three items."""
    known = {
        "a": {"price": 3.5, "brand": "Ace", "sold": True, "tags": ["x", "y"], "day": "2024-05-01", "size": "n/a"},
        "b": {"price": 4, "tags": ["y"], "size": "$1,234.50"},
        "c": {"brand": "Bo", "sold": False, "day": "soon"},
    }
    items = [Item(id, f"the text of {id}", f"Item {id}", metadata) for id, metadata in known.items()]
    collector = DetailsCollector(keep_texts=True, kinds={"day": "date", "size": "number"})
    collector.add_all(items)
    details = collector.details()
    assert details is not None
    return details


@cache
def _described() -> Retriever:
    items = [Item(id, text, metadata={"length": len(text), "first": text[:1]}) for id, text in ITEMS.items()]
    with warnings.catch_warnings(action="ignore"):  # one item has no text
        return bm25(Dataset.of(items, keep_texts=True))


ADJUSTMENTS = {
    "synonyms": ["fig, quince^0.5", "leaf => tree"],
    "signals": [{"field": "words", "weight": 0.1}],
    "rules": [
        {"pattern": "plum", "boost": "words > 5", "by": 0.5},
        {"query": "fig", "pin": ["twin 2"], "ban": ["twin 1"]},
    ],
}


@cache
def _fielded() -> Dataset:
    return Dataset.of(titled_items())


@cache
def _bm25(variant: str = "lucene") -> Retriever:
    return bm25(ITEMS, variant=variant)


@cache
def _xrlinear() -> XrLinear:
    with warnings.catch_warnings(action="ignore"):  # one item has no text
        log = Dataset.of(ITEMS, queries=CLICKED, clicks=CLICKS)
    return xrlinear(log, branching=3, max_leaf=6, click_weights="raw", beam=2)


@cache
def _lsa() -> LsaEncoder:
    return LsaEncoder.fit(ITEMS.values(), dim=24)


@cache
def _log() -> Dataset:
    with warnings.catch_warnings(action="ignore"):  # one item has no text
        return Dataset.of(ITEMS, queries=CLICKED, clicks=CLICKS)


def pieces() -> WordPiece:
    """Return a WordPiece analyzer that cuts the words of ITEMS: whole words for some, letters for all."""
    words = sorted({word for text in ITEMS.values() for word in text.lower().split() if word.isascii()})
    letters = [chr(code) for code in range(33, 127)]
    tokens = dict.fromkeys(["[UNK]", *letters, *(f"##{letter}" for letter in letters), *words[::2]])
    return WordPiece(list(tokens))


def sidr_encoder() -> SidrEncoder:
    """Return an encoder whose texts stay token sets, so that its model of a few bytes never runs."""
    table = tokens(ITEMS, analyzer=pieces()).encoder
    known = np.arange(3, 40, dtype=np.int64)
    return SidrEncoder(table, np.arange(64, dtype=np.uint8), known, query_form="tokens", item_form="tokens")


@cache
def _learned_tokens() -> Retriever:
    return train_tokens(tokens(ITEMS), _log(), epochs=2)


@cache
def _jpq(bits: int = 8, clicked_margin: float = 0.0) -> Retriever:
    how: dict[str, Any] = {"bytes": 4, "bits": bits, "click_loss_weight": 0.5, "epochs": 2, "batch": 16, "stop": 2}
    return jpq(dense(ITEMS, _lsa()), _log(), clicked_margin=clicked_margin, **how)


def training_state() -> TrainingState:
    """Return a checkpoint of two steps."""
    arrays = {"adapter": np.arange(4, dtype=np.float32), "centroids": np.ones(3, np.float32)}
    return TrainingState("a key", 2, arrays, np.full((1, 2), 0.5))


def statistics() -> Statistics:
    """Return the counts of ITEMS, as an artifact."""
    return Statistics.of(ITEMS)


@cache
def _lsa_search() -> Retriever:
    return dense(ITEMS, _lsa())


def anchors(storage: str = "int8") -> AnchorScores:
    """Return the scores of all items for a few anchor queries, as an artifact."""
    return score_anchors(_lsa_search(), ["fig pear", "apple", "river stone", "leaf tree"], storage=storage)


def _thirds() -> list[dict[str, str]]:
    pairs, third = list(ITEMS.items()), len(ITEMS) // 3
    return [dict(pairs[:third]), dict(pairs[third : third + 5]), dict(pairs[third + 5 :])]


def _pefa_xl(base: Retriever) -> Retriever:
    return pefa_xl(base, _log(), encoder=_lsa(), weight=0.4, neighbors=5, votes="mean", near=0.0, threshold=0.0)


def _click_memory() -> Retriever:
    """Return clicks of the very QUERIES, on items that share words with them."""
    shared = {(query, item): _overlap(query, [text])[0] for query in QUERIES for item, text in ITEMS.items()}
    return click_memory(ITEMS, [(*pair, words) for pair, words in shared.items() if words])


RETRIEVERS: dict[str, RetrieverCase] = {
    **{f"bm25 {v}": RetrieverCase(lambda v=v: _bm25(v)) for v in ("lucene", "robertson", "atire", "bm25l", "bm25+")},
    "bm25 stemmed": RetrieverCase(lambda: bm25(ITEMS, analyzer=Analyzer(stem="english", stop_words="english"))),
    "bm25 of two languages": RetrieverCase(lambda: bm25(ITEMS, analyzer=AnyLanguage(["english", "german"]))),
    "bm25 of fields": RetrieverCase(lambda: bm25(_fielded(), fields={"title": 3, "text": 1})),
    "bm25 of fields, bm25+": RetrieverCase(
        lambda: bm25(_fielded(), fields={"title": 3, "text": 1}, variant="bm25+", analyzer=Analyzer())
    ),
    "bm25 characters": RetrieverCase(lambda: bm25(ITEMS, analyzer=Analyzer(kind="chars"))),
    "bm25 with details": RetrieverCase(_described),
    "typo-tolerant bm25": RetrieverCase(lambda: typo_tolerant(_bm25())),
    "typo-tolerant bm25 of two languages": RetrieverCase(
        lambda: typo_tolerant(bm25(ITEMS, analyzer=AnyLanguage(["english", "german"])))
    ),
    "tokens": RetrieverCase(lambda: tokens(ITEMS)),
    "tokens of fields": RetrieverCase(lambda: tokens(_fielded(), fields={"title": 3, "text": 1})),
    "token pieces": RetrieverCase(lambda: tokens(ITEMS, analyzer=pieces())),
    "sidr overlap": RetrieverCase(lambda: tokens(ITEMS, analyzer=pieces()).with_table(sidr_encoder())),
    "sidr": RetrieverCase(lambda: sidr(ITEMS, sidr_encoder())),
    "tokens learned": RetrieverCase(_learned_tokens),
    "tfidf": RetrieverCase(lambda: tfidf(ITEMS)),
    "tfidf of fields": RetrieverCase(lambda: tfidf(_fielded(), fields={"title": 3, "text": 1})),
    "tfidf cut": RetrieverCase(lambda: tfidf(ITEMS, kind_shares=(1, 0.5, 0.5), entries=20)),
    "xrlinear": RetrieverCase(_xrlinear, exact=False),
    "xrlinear exhaustive": RetrieverCase(lambda: _xrlinear().exhaustive()),
    "late interaction": RetrieverCase(lambda: late_interaction(ITEMS, WordEncoder(_lsa()))),
    "late interaction int8": RetrieverCase(lambda: late_interaction(ITEMS, WordEncoder(_lsa()), storage="int8")),
    "dense flat": RetrieverCase(lambda: dense(ITEMS, _lsa())),
    "pefa-xs": RetrieverCase(lambda: pefa_xs(dense(ITEMS, _lsa()), _log(), weight=0.5, calibrated=True)),
    "pefa-xs bm25": RetrieverCase(lambda: pefa_xs(_bm25(), _log(), weight=0.5)),
    "pefa-xs tfidf": RetrieverCase(lambda: pefa_xs(tfidf(ITEMS), _log(), weight=0.4)),
    "pefa-xs tfidf cut": RetrieverCase(lambda: pefa_xs(tfidf(ITEMS, entries=30), _log(), weight=0.4)),
    "pefa-max": RetrieverCase(lambda: pefa_max(dense(ITEMS, _lsa()), _log(), weight=0.7, margin=0.5)),
    "pefa-xl": RetrieverCase(lambda: _pefa_xl(dense(ITEMS, _lsa())), exact=False),
    "pefa-xl bm25": RetrieverCase(lambda: _pefa_xl(_bm25()), exact=False),
    "jpq": RetrieverCase(lambda: _jpq()),
    "jpq 4 bits": RetrieverCase(lambda: _jpq(bits=4)),
    "jpq held back": RetrieverCase(lambda: _jpq(clicked_margin=0.5)),
    "pefa-xl jpq": RetrieverCase(lambda: _pefa_xl(_jpq()), exact=False),
    "dense hnsw": RetrieverCase(lambda: dense(ITEMS, _lsa(), index="hnsw", M=4, ef=12), exact=False),
    "dense guarded": RetrieverCase(lambda: dense(ITEMS, _lsa(), guarded=True)),
    "dense pq": RetrieverCase(lambda: dense(ITEMS, _lsa(), index="pq", bytes=8)),
    "dense pq 4 bits": RetrieverCase(lambda: dense(ITEMS, _lsa(), index="pq", bytes=8, bits=4, rounds=3)),
    "dense hnswpq": RetrieverCase(lambda: dense(ITEMS, _lsa(), index="hnswpq", bytes=6, M=4, ef=12), exact=False),
    "dense ivfpq": RetrieverCase(lambda: dense(ITEMS, _lsa(), index="ivfpq", bytes=6, lists=6, probes=3), exact=False),
    "pefa-xs coded": RetrieverCase(lambda: pq(pefa_xs(dense(ITEMS, _lsa()), _log(), weight=0.5), bytes=5)),
    "pefa-xl pq": RetrieverCase(lambda: _pefa_xl(dense(ITEMS, _lsa(), index="pq", bytes=8)), exact=False),
    "dense ivf": RetrieverCase(lambda: dense(ITEMS, _lsa(), index="ivf", lists=6), exact=False),
    "click memory": RetrieverCase(_click_memory),
    "cold items": RetrieverCase(lambda: cold_item_boost(_log()), always=True),
    "signal": RetrieverCase(lambda: signal(_fielded(), "words", shape="log"), always=True),
    "adjusted": RetrieverCase(lambda: adjust(bm25(_fielded()), ADJUSTMENTS), exact=False),
    "sum that lifts": RetrieverCase(lambda: _bm25().scaled() + 0.5 * cold_item_boost(_log()), exact=False),
    "sum": RetrieverCase(lambda: 0.7 * _bm25() + 0.3 * bm25(ITEMS, b=0.0), exact=False),
    "normalized": RetrieverCase(lambda: _bm25().normalized("minmax"), exact=False),
    "scaled": RetrieverCase(lambda: _bm25().scaled("exp", slope=0.1)),
    "fusion": RetrieverCase(lambda: _bm25().normalized("rank") + _bm25("bm25+").normalized("rank"), exact=False),
    "union": RetrieverCase(lambda: _bm25() | bm25(ITEMS, analyzer=Analyzer(kind="chars")), exact=False, scored=False),
    "rerank": RetrieverCase(lambda: _bm25().rerank(_bm25("atire"), depth=20), exact=False, head=20),
    "budgeted rerank": RetrieverCase(lambda: rerank(_bm25(), _lsa_search(), budget=20), exact=False),
    "sum under a budget": RetrieverCase(
        lambda: adacur(_lsa_search(), anchors(), budget=9, rounds=3).normalized() + _bm25().normalized(),
        exact=False,
        always=True,
    ),
    "cut": RetrieverCase(lambda: _bm25() % 5, exact=False),
    "confident": RetrieverCase(lambda: _bm25().with_confidence(_log())),
    "confident sum": RetrieverCase(
        lambda: (_bm25().normalized() + _lsa_search().normalized()).with_confidence(_log()), exact=False
    ),
    "shards": RetrieverCase(lambda: shards([bm25(part, statistics=statistics()) for part in _thirds()])),
    "adacur": RetrieverCase(
        lambda: adacur(_lsa_search(), anchors(), first=_bm25(), budget=20, rounds=4, epsilon=0.2),
        exact=False,
        always=True,
    ),
    "adacur exhaustive": RetrieverCase(lambda: adacur(_lsa_search(), anchors(), budget=100), exact=False, always=True),
    "anncur": RetrieverCase(lambda: anncur(_lsa_search(), anchors(), budget=30), exact=False, always=True),
    "residual cur": RetrieverCase(
        lambda: residual_cur(_lsa_search(), anchors(), [_bm25(), tfidf(ITEMS)], budget=20, rank=4, ridge=0.1),
        exact=False,
        always=True,
    ),
    "residual cur of vectors": RetrieverCase(
        lambda: residual_cur(_bm25(), priors=tfidf(ITEMS), vectors=_lsa_search(), budget=20),
        exact=False,
        always=True,
    ),
}


def _cached() -> ScoreCache:
    folder = Path(mkdtemp(prefix="vizsla-contract-"))
    atexit.register(rmtree, folder, ignore_errors=True)
    return ScoreCache(FunctionScorer(_overlap, ITEMS, name="overlap 1"), folder / "scores.db", chunk=10)


def _late() -> LateParametric:
    folder = Path(mkdtemp(prefix="vizsla-contract-"))
    atexit.register(rmtree, folder, ignore_errors=True)
    return LateParametric(_lsa(), ITEMS, folder / "vectors.db", chunk=10)


class OverlapPairs(PairModel):
    """A cross-encoder that needs no library."""

    batch, fingerprint, reference = 7, "overlap pairs", {}

    def score_batch(self, queries, texts):
        return np.array([_overlap(query, [text])[0] for query, text in zip(queries, texts, strict=True)], np.float32)


SCORERS: dict[str, Callable[[], Scorer]] = {
    "function": lambda: FunctionScorer(_overlap, ITEMS),
    "budget": lambda: Budget(FunctionScorer(_overlap, ITEMS), calls=10_000, per_query=100),
    "budget of arithmetic": lambda: Budget(_bm25(), calls=10_000),
    "cache": _cached,
    "cross-encoder": lambda: CrossEncoder(ITEMS, OverlapPairs()),
    "retrying": lambda: Retrying(FunctionScorer(_overlap, ITEMS)),
    "late parametric": _late,
    "budget of a cache": lambda: Budget(_cached(), calls=10_000),
    **{name: case.make for name, case in RETRIEVERS.items() if case.scored},
}


def _counts() -> tuple[csr_array, csr_array]:
    bag, _ = BagOfWords.fit(ITEMS.values(), Analyzer())
    return bag.items(list(ITEMS.values())).to_scipy(), bag.queries(QUERIES).to_scipy()


def _tree() -> tuple[Index, csr_array]:
    model = _xrlinear().exhaustive()
    return model.index, model.encoder.queries(QUERIES).to_scipy()


def _dense_index(kind: str, **options: object) -> tuple[Index, np.ndarray]:
    return make_index(kind, _lsa().items(list(ITEMS.values())), **options), _lsa().queries(QUERIES)


def _trained() -> tuple[Index, np.ndarray]:
    """Return codes that are searched with other centroids than those that made them."""
    index, queries = _dense_index("pq", bytes=6)
    return index.with_centroids(index.centroids * np.float32(1.5)), queries


def _grouped() -> tuple[Index, np.ndarray]:
    rows = _lsa().items(list(ITEMS.values()))
    owners = np.concatenate([np.arange(len(rows)), np.arange(0, len(rows), 2)]).astype(np.int32)
    return GroupedIndex(make_index("flat", np.concatenate([rows, rows[::-1][::2]])), owners), _lsa().queries(QUERIES)


INDEXES: dict[str, Callable[[], tuple[Index, csr_array | np.ndarray]]] = {
    "tree": _tree,
    "grouped": _grouped,
    "token lists": lambda: (TokenIndex.build(_counts()[0]), _counts()[1]),
    "inverted": lambda: (InvertedIndex.build(_counts()[0]), _counts()[1]),
    **{f"flat {s}": lambda s=s: _dense_index("flat", storage=s) for s in ("float32", "float16", "int8")},
    **{f"hnsw {s}": lambda s=s: _dense_index("hnsw", storage=s, M=4, ef=12) for s in ("float32", "float16", "int8")},
    "flat guarded": lambda: _dense_index("flat", guarded=True),
    "pq": lambda: _dense_index("pq", bytes=6),
    "pq 4 bits": lambda: _dense_index("pq", bytes=10, bits=4, rounds=3),
    "pq trained": _trained,
    "hnswpq": lambda: _dense_index("hnswpq", bytes=6, M=4, ef=12),
    "ivfpq": lambda: _dense_index("ivfpq", bytes=6, lists=6, probes=3),
    **{f"ivf {s}": lambda s=s: _dense_index("ivf", storage=s, lists=6) for s in ("float32", "float16", "int8")},
}
"""Each makes an index over ITEMS and the encoded QUERIES."""

ENCODERS: dict[str, Callable[[], Encoder]] = {
    "lsa": _lsa,
    "adapted": lambda: AdaptedEncoder(_lsa(), np.eye(24, k=1, dtype=np.float32)),
    "adapted, wider": lambda: AdaptedEncoder(_lsa(), np.eye(25, 24, dtype=np.float32), np.full(25, 0.5, np.float32)),
    "two-sided": lambda: TwoSidedEncoder(AdaptedEncoder(_lsa(), 2 * np.eye(24, dtype=np.float32)), _lsa()),
    "bag": lambda: BagOfWords.fit(ITEMS.values())[0],
    "bag of two languages": lambda: BagOfWords.fit(ITEMS.values(), AnyLanguage(["english", "german"]))[0],
    "bag stemmed": lambda: BagOfWords.fit(ITEMS.values(), Analyzer(stem="english"))[0],
    "bag wordpiece": lambda: BagOfWords.fit(ITEMS.values(), pieces())[0],
    "sidr encoder": sidr_encoder,
    "token table": lambda: _learned_tokens().encoder,
    "ngrams": lambda: NgramTfidf.fit(ITEMS.values()),
    "words": lambda: WordEncoder(_lsa()),
}
"""Encoders that can be saved, fitted on ITEMS."""


def bundled_model() -> BundledModel:
    """Return a model inside an artifact whose files are none: it can be saved and described, not asked."""
    description = {"kind": "onnx", "dim": 3, "fingerprint": "onnx:0123456789abcdef", "options": {"pooling": "mean"}}
    files = {"model.onnx": b"weights", "tokenizer.json": b"{}", "deeper/vocab.txt": b"fig"}
    return BundledModel(description, {path: np.frombuffer(data, np.uint8) for path, data in files.items()})


def item_vectors() -> Vectors:
    """Return the encoded ITEMS as an artifact."""
    return Vectors(Strings.of(ITEMS), _lsa().items(list(ITEMS.values())), _lsa().fingerprint)


def token_vectors() -> TokenVectors:
    """Return the words of ITEMS as vectors, as an artifact."""
    return TokenVectors.build(ITEMS, WordEncoder(_lsa()))


def cross_encoder() -> CrossEncoder:
    """Return a cross-encoder over ITEMS whose model's files are none: it can be saved and described, not asked."""
    described = {"kind": "onnx", "name": "", "options": {"max_tokens": 64}, "fingerprint": "onnx-pairs:0123456789ab"}
    files = {"model.onnx": b"weights", "tokenizer.json": b"{}", "pairs.json": b"{}"}
    model = StoredPairModel(described, {path: np.frombuffer(data, np.uint8) for path, data in files.items()})
    return CrossEncoder(ITEMS, model)
