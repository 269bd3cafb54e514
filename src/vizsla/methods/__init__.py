"""Retrieval methods, one module or package per method; the classes that the builders return."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vizsla._internal.lazy import lazy_attribute

if TYPE_CHECKING:
    from vizsla.methods.bm25 import Bm25 as Bm25
    from vizsla.methods.bm25_statistics import Statistics as Statistics
    from vizsla.methods.cold_items import cold_item_boost as cold_item_boost
    from vizsla.methods.cur.anchors import AnchorScores as AnchorScores
    from vizsla.methods.cur.anchors import anchor_cost as anchor_cost
    from vizsla.methods.cur.anchors import anchor_queries as anchor_queries
    from vizsla.methods.cur.anchors import score_anchors as score_anchors
    from vizsla.methods.cur.residual import reused_anchors as reused_anchors
    from vizsla.methods.dense import Dense as Dense
    from vizsla.methods.function import FunctionRetriever as FunctionRetriever
    from vizsla.methods.jpq.model import Jpq as Jpq
    from vizsla.methods.late_interaction import LateInteraction as LateInteraction
    from vizsla.methods.pefa.xl import PefaXl as PefaXl
    from vizsla.methods.pefa.xs import PefaXs as PefaXs
    from vizsla.methods.remembered_clicks import ClickMemory as ClickMemory
    from vizsla.methods.remembered_clicks import click_memory as click_memory
    from vizsla.methods.sidr.model import Sidr as Sidr
    from vizsla.methods.tfidf import Tfidf as Tfidf
    from vizsla.methods.tokens.model import TokenRetriever as TokenRetriever
    from vizsla.methods.typo_tolerant import TypoTolerant as TypoTolerant
    from vizsla.methods.xrlinear.model import XrLinear as XrLinear
    from vizsla.methods.xrlinear.tree import LabelTree as LabelTree

_PUBLIC = {
    "anchor_cost": "vizsla.methods.cur.anchors",
    "anchor_queries": "vizsla.methods.cur.anchors",
    "AnchorScores": "vizsla.methods.cur.anchors",
    "Bm25": "vizsla.methods.bm25",
    "click_memory": "vizsla.methods.remembered_clicks",
    "ClickMemory": "vizsla.methods.remembered_clicks",
    "cold_item_boost": "vizsla.methods.cold_items",
    "Dense": "vizsla.methods.dense",
    "FunctionRetriever": "vizsla.methods.function",
    "Jpq": "vizsla.methods.jpq.model",
    "LabelTree": "vizsla.methods.xrlinear.tree",
    "LateInteraction": "vizsla.methods.late_interaction",
    "PefaXl": "vizsla.methods.pefa.xl",
    "PefaXs": "vizsla.methods.pefa.xs",
    "reused_anchors": "vizsla.methods.cur.residual",
    "score_anchors": "vizsla.methods.cur.anchors",
    "Sidr": "vizsla.methods.sidr.model",
    "Statistics": "vizsla.methods.bm25_statistics",
    "Tfidf": "vizsla.methods.tfidf",
    "TokenRetriever": "vizsla.methods.tokens.model",
    "TypoTolerant": "vizsla.methods.typo_tolerant",
    "XrLinear": "vizsla.methods.xrlinear.model",
}

__all__ = list(_PUBLIC)


def __getattr__(name: str) -> Any:
    return lazy_attribute(__name__, _PUBLIC, name)
