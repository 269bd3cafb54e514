"""Vizsla: a catalog of texts and a log of clicks become a first-stage search engine.

Examples
--------
>>> import vizsla
>>> search = vizsla.bm25(["a fig tree", "an apple tree", "a pear"])
>>> search("fig")[0][0].id
'0'
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from vizsla.artifacts.artifact import load as load
    from vizsla.base.encoder import FunctionEncoder as FunctionEncoder
    from vizsla.base.queries import Queries as Queries
    from vizsla.base.recipe import Recipe as Recipe
    from vizsla.compose import parse as parse
    from vizsla.compose.budgeted import rerank as rerank
    from vizsla.compose.shards import shards as shards
    from vizsla.core.candidates import Candidates as Candidates
    from vizsla.core.catalog import Item as Item
    from vizsla.data.conditions import where as where
    from vizsla.data.dataset import Dataset as Dataset
    from vizsla.data.filter import Filter as Filter
    from vizsla.encoders.cache import EmbeddingCache as EmbeddingCache
    from vizsla.encoders.late import TokenVectors as TokenVectors
    from vizsla.encoders.late import WordEncoder as WordEncoder
    from vizsla.encoders.lsa import LsaEncoder as LsaEncoder
    from vizsla.encoders.onnx import OnnxEncoder as OnnxEncoder
    from vizsla.encoders.open import open_encoder as open_encoder
    from vizsla.encoders.precomputed import PrecomputedEncoder as PrecomputedEncoder
    from vizsla.encoders.sentence import SentenceEncoder as SentenceEncoder
    from vizsla.encoders.sidr import SidrEncoder as SidrEncoder
    from vizsla.encoders.vectors import Vectors as Vectors
    from vizsla.engine.engine import Engine as Engine
    from vizsla.evaluation.compare import compare as compare
    from vizsla.io.open import open_dataset as open_dataset
    from vizsla.methods.bm25 import Bm25 as Bm25
    from vizsla.methods.bm25 import bm25 as bm25
    from vizsla.methods.bm25_statistics import Statistics as Statistics
    from vizsla.methods.cold_items import cold_item_boost as cold_item_boost
    from vizsla.methods.cross_encoder import train_cross_encoder as train_cross_encoder
    from vizsla.methods.cur.adacur import adacur as adacur
    from vizsla.methods.cur.adacur import anncur as anncur
    from vizsla.methods.cur.anchors import AnchorScores as AnchorScores
    from vizsla.methods.cur.anchors import anchor_cost as anchor_cost
    from vizsla.methods.cur.anchors import anchor_queries as anchor_queries
    from vizsla.methods.cur.anchors import score_anchors as score_anchors
    from vizsla.methods.cur.residual import residual_cur as residual_cur
    from vizsla.methods.cur.residual import reused_anchors as reused_anchors
    from vizsla.methods.dense import Dense as Dense
    from vizsla.methods.dense import dense as dense
    from vizsla.methods.function import FunctionRetriever as FunctionRetriever
    from vizsla.methods.fusion import fuse as fuse
    from vizsla.methods.fusion import learn_fusion as learn_fusion
    from vizsla.methods.jpq.model import Jpq as Jpq
    from vizsla.methods.jpq.query_adapter import QueryModel as QueryModel
    from vizsla.methods.jpq.settings import JpqSettings as JpqSettings
    from vizsla.methods.jpq.train_jpq import jpq as jpq
    from vizsla.methods.jpq.train_jpq import train_jpq as train_jpq
    from vizsla.methods.late_interaction import LateInteraction as LateInteraction
    from vizsla.methods.late_interaction import late_interaction as late_interaction
    from vizsla.methods.pefa import pefa as pefa
    from vizsla.methods.pefa import pefa_max as pefa_max
    from vizsla.methods.pefa import pefa_xl as pefa_xl
    from vizsla.methods.pefa import pefa_xs as pefa_xs
    from vizsla.methods.pq import pq as pq
    from vizsla.methods.sidr.model import Sidr as Sidr
    from vizsla.methods.sidr.model import sidr as sidr
    from vizsla.methods.sidr.train_sidr import train_sidr as train_sidr
    from vizsla.methods.tfidf import Tfidf as Tfidf
    from vizsla.methods.tfidf import tfidf as tfidf
    from vizsla.methods.tokens.model import Bag as Bag
    from vizsla.methods.tokens.model import bag as bag
    from vizsla.methods.tokens.train_tokens import train_tokens as train_tokens
    from vizsla.methods.xrlinear.model import XrLinear as XrLinear
    from vizsla.methods.xrlinear.train_xrlinear import train_xrlinear as train_xrlinear
    from vizsla.methods.xrlinear.tree import LabelTree as LabelTree
    from vizsla.scorers.cache import ScoreCache as ScoreCache
    from vizsla.scorers.cross_encoder import CrossEncoder as CrossEncoder
    from vizsla.scorers.function import FunctionScorer as FunctionScorer
    from vizsla.scorers.http import HttpReranker as HttpReranker
    from vizsla.scorers.lazy_vectors import LateParametric as LateParametric
    from vizsla.scorers.text import TextScorer as TextScorer
    from vizsla.scorers.wrappers import Budget as Budget
    from vizsla.scorers.wrappers import Retrying as Retrying
    from vizsla.text.analyzers import Analyzer as Analyzer
    from vizsla.text.analyzers import AnyLanguage as AnyLanguage
    from vizsla.text.ngrams import NgramTfidf as NgramTfidf
    from vizsla.text.wordpiece import WordPiece as WordPiece

# Imported on first use, so that `import vizsla` costs little more than numpy.
_PUBLIC = {
    "Analyzer": "vizsla.text.analyzers",
    "AnyLanguage": "vizsla.text.analyzers",
    "Bag": "vizsla.methods.tokens.model",
    "Budget": "vizsla.scorers.wrappers",
    "Bm25": "vizsla.methods.bm25",
    "Candidates": "vizsla.core.candidates",
    "Dataset": "vizsla.data.dataset",
    "Dense": "vizsla.methods.dense",
    "EmbeddingCache": "vizsla.encoders.cache",
    "Engine": "vizsla.engine.engine",
    "Filter": "vizsla.data.filter",
    "FunctionEncoder": "vizsla.base.encoder",
    "Queries": "vizsla.base.queries",
    "FunctionRetriever": "vizsla.methods.function",
    "FunctionScorer": "vizsla.scorers.function",
    "Item": "vizsla.core.catalog",
    "Jpq": "vizsla.methods.jpq.model",
    "JpqSettings": "vizsla.methods.jpq.settings",
    "QueryModel": "vizsla.methods.jpq.query_adapter",
    "LabelTree": "vizsla.methods.xrlinear.tree",
    "LateParametric": "vizsla.scorers.lazy_vectors",
    "LsaEncoder": "vizsla.encoders.lsa",
    "NgramTfidf": "vizsla.text.ngrams",
    "XrLinear": "vizsla.methods.xrlinear.model",
    "WordPiece": "vizsla.text.wordpiece",
    "OnnxEncoder": "vizsla.encoders.onnx",
    "PrecomputedEncoder": "vizsla.encoders.precomputed",
    "ScoreCache": "vizsla.scorers.cache",
    "SentenceEncoder": "vizsla.encoders.sentence",
    "TextScorer": "vizsla.scorers.text",
    "Sidr": "vizsla.methods.sidr.model",
    "SidrEncoder": "vizsla.encoders.sidr",
    "Statistics": "vizsla.methods.bm25_statistics",
    "Tfidf": "vizsla.methods.tfidf",
    "Vectors": "vizsla.encoders.vectors",
    "TokenVectors": "vizsla.encoders.late",
    "WordEncoder": "vizsla.encoders.late",
    "LateInteraction": "vizsla.methods.late_interaction",
    "late_interaction": "vizsla.methods.late_interaction",
    "open_encoder": "vizsla.encoders.open",
    "bag": "vizsla.methods.tokens.model",
    "bm25": "vizsla.methods.bm25",
    "jpq": "vizsla.methods.jpq.train_jpq",
    "train_jpq": "vizsla.methods.jpq.train_jpq",
    "CrossEncoder": "vizsla.scorers.cross_encoder",
    "HttpReranker": "vizsla.scorers.http",
    "Retrying": "vizsla.scorers.wrappers",
    "train_cross_encoder": "vizsla.methods.cross_encoder",
    "compare": "vizsla.evaluation",
    "dense": "vizsla.methods.dense",
    "Recipe": "vizsla.base.recipe",
    "fuse": "vizsla.methods.fusion.fit",
    "learn_fusion": "vizsla.methods.fusion.fit",
    "load": "vizsla.artifacts.artifact",
    "open_dataset": "vizsla.io.open",
    "parse": "vizsla.compose",
    "pefa": "vizsla.methods.pefa.build",
    "pefa_max": "vizsla.methods.pefa.build",
    "pefa_xl": "vizsla.methods.pefa.build",
    "pefa_xs": "vizsla.methods.pefa.build",
    "pq": "vizsla.methods.pq",
    "shards": "vizsla.compose.shards",
    "sidr": "vizsla.methods.sidr.model",
    "train_sidr": "vizsla.methods.sidr.train_sidr",
    "train_tokens": "vizsla.methods.tokens.train_tokens",
    "tfidf": "vizsla.methods.tfidf",
    "cold_item_boost": "vizsla.methods.cold_items",
    "train_xrlinear": "vizsla.methods.xrlinear.train_xrlinear",
    "where": "vizsla.data.conditions",
    "AnchorScores": "vizsla.methods.cur.anchors",
    "adacur": "vizsla.methods.cur.adacur",
    "anchor_cost": "vizsla.methods.cur.anchors",
    "anchor_queries": "vizsla.methods.cur.anchors",
    "anncur": "vizsla.methods.cur.adacur",
    "rerank": "vizsla.compose.budgeted",
    "residual_cur": "vizsla.methods.cur.residual",
    "reused_anchors": "vizsla.methods.cur.residual",
    "score_anchors": "vizsla.methods.cur.anchors",
}

__all__ = ["__version__", *_PUBLIC]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'vizsla' has no attribute {name!r}")
    return getattr(importlib.import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
