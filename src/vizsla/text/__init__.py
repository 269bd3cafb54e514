"""Analyzers, vocabularies and text encoders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vizsla._internal.lazy import lazy_attribute

if TYPE_CHECKING:
    from vizsla.text.analyzers import Analyzer as Analyzer
    from vizsla.text.analyzers import AnyLanguage as AnyLanguage
    from vizsla.text.bag_of_words import BagOfWords as BagOfWords
    from vizsla.text.ngrams import NgramTfidf as NgramTfidf
    from vizsla.text.wordpiece import WordPiece as WordPiece

_PUBLIC = {
    "Analyzer": "vizsla.text.analyzers",
    "AnyLanguage": "vizsla.text.analyzers",
    "BagOfWords": "vizsla.text.bag_of_words",
    "NgramTfidf": "vizsla.text.ngrams",
    "WordPiece": "vizsla.text.wordpiece",
}

__all__ = list(_PUBLIC)


def __getattr__(name: str) -> Any:
    return lazy_attribute(__name__, _PUBLIC, name)
