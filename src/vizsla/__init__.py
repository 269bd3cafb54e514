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
    from vizsla import base as base
    from vizsla import encoders as encoders
    from vizsla import errors as errors
    from vizsla import evaluation as evaluation
    from vizsla import indexes as indexes
    from vizsla import learning as learning
    from vizsla import methods as methods
    from vizsla import scale as scale
    from vizsla import scorers as scorers
    from vizsla import testing as testing
    from vizsla import text as text
    from vizsla.artifacts.artifact import Artifact as Artifact
    from vizsla.artifacts.artifact import load as load
    from vizsla.autopilot.learn import learn as learn
    from vizsla.base.encoder import Encoder as Encoder
    from vizsla.base.index import Index as Index
    from vizsla.base.recipe import Recipe as Recipe
    from vizsla.base.retriever import Retriever as Retriever
    from vizsla.base.scorer import Scorer as Scorer
    from vizsla.compose.adjustments import adjust as adjust
    from vizsla.compose.budgeted import rerank as rerank
    from vizsla.compose.parser import parse as parse
    from vizsla.compose.shards import shards as shards
    from vizsla.compose.signal import signal as signal
    from vizsla.core.candidates import Candidates as Candidates
    from vizsla.core.catalog import Item as Item
    from vizsla.data.conditions import where as where
    from vizsla.data.dataset import Dataset as Dataset
    from vizsla.data.filter import Filter as Filter
    from vizsla.engine.engine import Engine as Engine
    from vizsla.evaluation.compare import compare as compare
    from vizsla.evaluation.evaluate import evaluate as evaluate
    from vizsla.evaluation.sweep import sweep as sweep
    from vizsla.io.open import open_dataset as open_dataset
    from vizsla.methods.bm25 import bm25 as bm25
    from vizsla.methods.cur.adacur import adacur as adacur
    from vizsla.methods.cur.adacur import anncur as anncur
    from vizsla.methods.cur.residual import residual_cur as residual_cur
    from vizsla.methods.dense import dense as dense
    from vizsla.methods.fusion.fit import fuse as fuse
    from vizsla.methods.jpq.train_jpq import jpq as jpq
    from vizsla.methods.late_interaction import late_interaction as late_interaction
    from vizsla.methods.pefa.build import pefa as pefa
    from vizsla.methods.pq import pq as pq
    from vizsla.methods.sidr.model import sidr as sidr
    from vizsla.methods.tfidf import tfidf as tfidf
    from vizsla.methods.tokens.model import tokens as tokens
    from vizsla.methods.typo_tolerant import typo_tolerant as typo_tolerant
    from vizsla.methods.xrlinear.build import xrlinear as xrlinear
    from vizsla.scorers.cache import ScoreCache as ScoreCache
    from vizsla.scorers.cross_encoder import CrossEncoder as CrossEncoder
    from vizsla.scorers.http import HttpReranker as HttpReranker
    from vizsla.scorers.text import FunctionScorer as FunctionScorer
    from vizsla.scorers.wrappers import Budget as Budget
    from vizsla.scorers.wrappers import Retrying as Retrying
    from vizsla.serve.client import Client as Client
    from vizsla.text.completion import Completer as Completer

# Imported on first use, so that `import vizsla` costs little more than numpy.
_PUBLIC = {
    "adacur": "vizsla.methods.cur.adacur",
    "adjust": "vizsla.compose.adjustments",
    "anncur": "vizsla.methods.cur.adacur",
    "Artifact": "vizsla.artifacts.artifact",
    "bm25": "vizsla.methods.bm25",
    "Budget": "vizsla.scorers.wrappers",
    "Candidates": "vizsla.core.candidates",
    "Client": "vizsla.serve.client",
    "Completer": "vizsla.text.completion",
    "compare": "vizsla.evaluation.compare",
    "CrossEncoder": "vizsla.scorers.cross_encoder",
    "Dataset": "vizsla.data.dataset",
    "dense": "vizsla.methods.dense",
    "Encoder": "vizsla.base.encoder",
    "Engine": "vizsla.engine.engine",
    "evaluate": "vizsla.evaluation.evaluate",
    "Filter": "vizsla.data.filter",
    "FunctionScorer": "vizsla.scorers.text",
    "fuse": "vizsla.methods.fusion.fit",
    "HttpReranker": "vizsla.scorers.http",
    "Index": "vizsla.base.index",
    "Item": "vizsla.core.catalog",
    "jpq": "vizsla.methods.jpq.train_jpq",
    "late_interaction": "vizsla.methods.late_interaction",
    "learn": "vizsla.autopilot.learn",
    "load": "vizsla.artifacts.artifact",
    "open_dataset": "vizsla.io.open",
    "parse": "vizsla.compose.parser",
    "pefa": "vizsla.methods.pefa.build",
    "pq": "vizsla.methods.pq",
    "Recipe": "vizsla.base.recipe",
    "rerank": "vizsla.compose.budgeted",
    "residual_cur": "vizsla.methods.cur.residual",
    "Retriever": "vizsla.base.retriever",
    "Retrying": "vizsla.scorers.wrappers",
    "ScoreCache": "vizsla.scorers.cache",
    "Scorer": "vizsla.base.scorer",
    "shards": "vizsla.compose.shards",
    "sidr": "vizsla.methods.sidr.model",
    "signal": "vizsla.compose.signal",
    "sweep": "vizsla.evaluation.sweep",
    "tfidf": "vizsla.methods.tfidf",
    "tokens": "vizsla.methods.tokens.model",
    "typo_tolerant": "vizsla.methods.typo_tolerant",
    "where": "vizsla.data.conditions",
    "xrlinear": "vizsla.methods.xrlinear.build",
}
_MODULES = (
    "base",
    "encoders",
    "errors",
    "evaluation",
    "indexes",
    "learning",
    "methods",
    "scale",
    "scorers",
    "testing",
    "text",
)
"""Where the other public names are."""

__all__ = ["__version__", *_PUBLIC]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"vizsla.{name}")
    if name not in _PUBLIC:
        raise AttributeError(f"module 'vizsla' has no attribute {name!r}")
    return getattr(importlib.import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES])
