"""Vizsla: a catalogue of texts and a log of clicks become a first-stage search engine.

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
    from vizsla.artifact import load as load
    from vizsla.budget import Budget as Budget
    from vizsla.candidates import Candidates as Candidates
    from vizsla.compose import parse as parse
    from vizsla.compose.budgeted_rerank import rerank as rerank
    from vizsla.compose.shards import shards as shards
    from vizsla.cross_encoder import CrossEncoder as CrossEncoder
    from vizsla.dataset import Dataset as Dataset
    from vizsla.details.condition import where as where
    from vizsla.encoder import FunctionEncoder as FunctionEncoder
    from vizsla.encoders.lsa import LsaEncoder as LsaEncoder
    from vizsla.encoders.onnx import OnnxEncoder as OnnxEncoder
    from vizsla.encoders.open import open_encoder as open_encoder
    from vizsla.encoders.precomputed import PrecomputedEncoder as PrecomputedEncoder
    from vizsla.encoders.sentence import SentenceEncoder as SentenceEncoder
    from vizsla.encoders.sidr import SidrEncoder as SidrEncoder
    from vizsla.encoders.token_vectors import TokenVectors as TokenVectors
    from vizsla.encoders.vectors import Vectors as Vectors
    from vizsla.encoders.word_encoder import WordEncoder as WordEncoder
    from vizsla.evaluate.compare import compare as compare
    from vizsla.filter import Filter as Filter
    from vizsla.function_retriever import FunctionRetriever as FunctionRetriever
    from vizsla.function_scorer import FunctionScorer as FunctionScorer
    from vizsla.http_reranker import HttpReranker as HttpReranker
    from vizsla.io.open import open_dataset as open_dataset
    from vizsla.item import Item as Item
    from vizsla.late_parametric import LateParametric as LateParametric
    from vizsla.methods.bag.model import Bag as Bag
    from vizsla.methods.bag.model import bag as bag
    from vizsla.methods.bag.train import train_tokens as train_tokens
    from vizsla.methods.bm25 import Bm25 as Bm25
    from vizsla.methods.bm25 import bm25 as bm25
    from vizsla.methods.bm25_statistics import Statistics as Statistics
    from vizsla.methods.cross_encoder.train import train_cross_encoder as train_cross_encoder
    from vizsla.methods.cur.adacur import adacur as adacur
    from vizsla.methods.cur.adacur import anncur as anncur
    from vizsla.methods.cur.anchor_queries import anchor_queries as anchor_queries
    from vizsla.methods.cur.anchor_scores import AnchorScores as AnchorScores
    from vizsla.methods.cur.residual import residual_cur as residual_cur
    from vizsla.methods.cur.residual import reused_anchors as reused_anchors
    from vizsla.methods.cur.score_anchors import anchor_cost as anchor_cost
    from vizsla.methods.cur.score_anchors import score_anchors as score_anchors
    from vizsla.methods.dense import Dense as Dense
    from vizsla.methods.dense import dense as dense
    from vizsla.methods.fuse import fuse as fuse
    from vizsla.methods.fuse import learn_fusion as learn_fusion
    from vizsla.methods.jpq.model import Jpq as Jpq
    from vizsla.methods.jpq.query_model import QueryModel as QueryModel
    from vizsla.methods.jpq.settings import JpqSettings as JpqSettings
    from vizsla.methods.jpq.train import jpq as jpq
    from vizsla.methods.jpq.train import train_jpq as train_jpq
    from vizsla.methods.late_interaction import LateInteraction as LateInteraction
    from vizsla.methods.late_interaction import late_interaction as late_interaction
    from vizsla.methods.pefa import pefa as pefa
    from vizsla.methods.pefa import pefa_max as pefa_max
    from vizsla.methods.pefa import pefa_xl as pefa_xl
    from vizsla.methods.pefa import pefa_xs as pefa_xs
    from vizsla.methods.pq import pq as pq
    from vizsla.methods.sidr.model import Sidr as Sidr
    from vizsla.methods.sidr.model import sidr as sidr
    from vizsla.methods.sidr.train import train_sidr as train_sidr
    from vizsla.methods.tfidf import Tfidf as Tfidf
    from vizsla.methods.tfidf import tfidf as tfidf
    from vizsla.methods.unclicked import unclicked as unclicked
    from vizsla.methods.xrlinear.model import XrLinear as XrLinear
    from vizsla.methods.xrlinear.train import train_xrlinear as train_xrlinear
    from vizsla.methods.xrlinear.tree import LabelTree as LabelTree
    from vizsla.queries import Queries as Queries
    from vizsla.recipe import Recipe as Recipe
    from vizsla.retrying import Retrying as Retrying
    from vizsla.score_cache import ScoreCache as ScoreCache
    from vizsla.text.analyser import Analyser as Analyser
    from vizsla.text.any_language import AnyLanguage as AnyLanguage
    from vizsla.text.ngrams import NgramTfidf as NgramTfidf
    from vizsla.text.wordpiece import WordPiece as WordPiece
    from vizsla.text_scorer import TextScorer as TextScorer

# Imported on first use, so that `import vizsla` costs little more than numpy.
_PUBLIC = {
    "Analyser": "vizsla.text.analyser",
    "AnyLanguage": "vizsla.text.any_language",
    "Bag": "vizsla.methods.bag.model",
    "Budget": "vizsla.budget",
    "Bm25": "vizsla.methods.bm25",
    "Candidates": "vizsla.candidates",
    "Dataset": "vizsla.dataset",
    "Dense": "vizsla.methods.dense",
    "Filter": "vizsla.filter",
    "FunctionEncoder": "vizsla.encoder",
    "Queries": "vizsla.queries",
    "FunctionRetriever": "vizsla.function_retriever",
    "FunctionScorer": "vizsla.function_scorer",
    "Item": "vizsla.item",
    "Jpq": "vizsla.methods.jpq.model",
    "JpqSettings": "vizsla.methods.jpq.settings",
    "QueryModel": "vizsla.methods.jpq.query_model",
    "LabelTree": "vizsla.methods.xrlinear.tree",
    "LateParametric": "vizsla.late_parametric",
    "LsaEncoder": "vizsla.encoders.lsa",
    "NgramTfidf": "vizsla.text.ngrams",
    "XrLinear": "vizsla.methods.xrlinear.model",
    "WordPiece": "vizsla.text.wordpiece",
    "OnnxEncoder": "vizsla.encoders.onnx",
    "PrecomputedEncoder": "vizsla.encoders.precomputed",
    "ScoreCache": "vizsla.score_cache",
    "SentenceEncoder": "vizsla.encoders.sentence",
    "TextScorer": "vizsla.text_scorer",
    "Sidr": "vizsla.methods.sidr.model",
    "SidrEncoder": "vizsla.encoders.sidr",
    "Statistics": "vizsla.methods.bm25_statistics",
    "Tfidf": "vizsla.methods.tfidf",
    "Vectors": "vizsla.encoders.vectors",
    "TokenVectors": "vizsla.encoders.token_vectors",
    "WordEncoder": "vizsla.encoders.word_encoder",
    "LateInteraction": "vizsla.methods.late_interaction",
    "late_interaction": "vizsla.methods.late_interaction",
    "open_encoder": "vizsla.encoders.open",
    "bag": "vizsla.methods.bag.model",
    "bm25": "vizsla.methods.bm25",
    "jpq": "vizsla.methods.jpq.train",
    "train_jpq": "vizsla.methods.jpq.train",
    "CrossEncoder": "vizsla.cross_encoder",
    "HttpReranker": "vizsla.http_reranker",
    "Retrying": "vizsla.retrying",
    "train_cross_encoder": "vizsla.methods.cross_encoder.train",
    "compare": "vizsla.evaluate",
    "dense": "vizsla.methods.dense",
    "Recipe": "vizsla.recipe",
    "fuse": "vizsla.methods.fuse.learn",
    "learn_fusion": "vizsla.methods.fuse.learn",
    "load": "vizsla.artifact",
    "open_dataset": "vizsla.io.open",
    "parse": "vizsla.compose",
    "pefa": "vizsla.methods.pefa.build_xs",
    "pefa_max": "vizsla.methods.pefa.build_xs",
    "pefa_xl": "vizsla.methods.pefa.build_xl",
    "pefa_xs": "vizsla.methods.pefa.build_xs",
    "pq": "vizsla.methods.pq",
    "shards": "vizsla.compose.shards",
    "sidr": "vizsla.methods.sidr.model",
    "train_sidr": "vizsla.methods.sidr.train",
    "train_tokens": "vizsla.methods.bag.train",
    "tfidf": "vizsla.methods.tfidf",
    "unclicked": "vizsla.methods.unclicked",
    "train_xrlinear": "vizsla.methods.xrlinear.train",
    "where": "vizsla.details.condition",
    "AnchorScores": "vizsla.methods.cur.anchor_scores",
    "adacur": "vizsla.methods.cur.adacur",
    "anchor_cost": "vizsla.methods.cur.score_anchors",
    "anchor_queries": "vizsla.methods.cur.anchor_queries",
    "anncur": "vizsla.methods.cur.adacur",
    "rerank": "vizsla.compose.budgeted_rerank",
    "residual_cur": "vizsla.methods.cur.residual",
    "reused_anchors": "vizsla.methods.cur.residual",
    "score_anchors": "vizsla.methods.cur.score_anchors",
}

__all__ = ["__version__", *_PUBLIC]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'vizsla' has no attribute {name!r}")
    return getattr(importlib.import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
