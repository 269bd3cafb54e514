"""Scorers of (query, item) pairs, and wrappers around them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vizsla._internal.lazy import lazy_attribute

if TYPE_CHECKING:
    from vizsla.scorers.cache import ScoreCache as ScoreCache
    from vizsla.scorers.cross_encoder import CrossEncoder as CrossEncoder
    from vizsla.scorers.http import HttpReranker as HttpReranker
    from vizsla.scorers.lazy_vectors import LateParametric as LateParametric
    from vizsla.scorers.text import FunctionScorer as FunctionScorer
    from vizsla.scorers.text import TextScorer as TextScorer
    from vizsla.scorers.wrappers import Budget as Budget
    from vizsla.scorers.wrappers import Retrying as Retrying

_PUBLIC = {
    "Budget": "vizsla.scorers.wrappers",
    "CrossEncoder": "vizsla.scorers.cross_encoder",
    "FunctionScorer": "vizsla.scorers.text",
    "HttpReranker": "vizsla.scorers.http",
    "LateParametric": "vizsla.scorers.lazy_vectors",
    "Retrying": "vizsla.scorers.wrappers",
    "ScoreCache": "vizsla.scorers.cache",
    "TextScorer": "vizsla.scorers.text",
}

__all__ = list(_PUBLIC)


def __getattr__(name: str) -> Any:
    return lazy_attribute(__name__, _PUBLIC, name)
