"""What the fusion benchmark measures: single methods by name, and which of them are fused. A line adds one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

from benchmarks.fusion_sets import FusionSet
from vizsla.base.retriever import Retriever
from vizsla.compose import Sum
from vizsla.methods.bm25 import bm25
from vizsla.methods.dense import Dense
from vizsla.methods.pefa import pefa, pefa_xs
from vizsla.methods.tfidf import tfidf
from vizsla.methods.xrlinear.build import xrlinear

Built = Mapping[str, Retriever]
Method = Callable[[FusionSet, Built], Retriever]
"""Builds a retriever over a set, perhaps from those built before it; it learns from the set's clicks, if at all."""

METHODS: dict[str, Method] = {
    "bm25": lambda one, built: bm25(one.data),
    "xrlinear": lambda one, built: xrlinear(one.data, beam=50),
    "minilm": lambda one, built: one.base(),
    "pefa": lambda one, built: pefa(cast(Dense, built["minilm"]), one.data),
    "tfidf": lambda one, built: tfidf(one.data),
    "tfidf-pefa": lambda one, built: pefa_xs(tfidf(one.data), one.data),
}
FUSED: dict[str, tuple[str, ...]] = {
    "bm25, xrlinear": ("bm25", "xrlinear"),
    "bm25, minilm, pefa": ("bm25", "minilm", "pefa"),
    "xrlinear, tfidf-pefa": ("xrlinear", "tfidf-pefa"),
    "bm25, xrlinear, tfidf-pefa, tfidf": ("bm25", "xrlinear", "tfidf-pefa", "tfidf"),
}
WITHOUT_VECTORS = tuple(name for name, parts in FUSED.items() if "minilm" not in parts)
EQUAL = {"equal minmax": "minmax", "equal zscore": "zscore", "rrf": "rank"}
"""Sums that learn nothing, by the normalization of their parts."""


def equal_sums(parts: Built) -> dict[str, Retriever]:
    """Return the sums of the parts with equal weights; reciprocal rank fusion is one of them."""
    share = 1 / len(parts)
    return {name: Sum([(share, part.normalized(how)) for part in parts.values()]) for name, how in EQUAL.items()}
