"""Encoders of queries and items, and how they are saved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vizsla._internal.lazy import lazy_attribute

if TYPE_CHECKING:
    from vizsla.base.encoder import FunctionEncoder as FunctionEncoder
    from vizsla.encoders.cache import EmbeddingCache as EmbeddingCache
    from vizsla.encoders.http import HttpEncoder as HttpEncoder
    from vizsla.encoders.late import TokenVectors as TokenVectors
    from vizsla.encoders.late import WordEncoder as WordEncoder
    from vizsla.encoders.lsa import LsaEncoder as LsaEncoder
    from vizsla.encoders.onnx import OnnxEncoder as OnnxEncoder
    from vizsla.encoders.open import open_encoder as open_encoder
    from vizsla.encoders.precomputed import PrecomputedEncoder as PrecomputedEncoder
    from vizsla.encoders.sentence import SentenceEncoder as SentenceEncoder
    from vizsla.encoders.sidr import SidrEncoder as SidrEncoder
    from vizsla.encoders.token_table import TokenTable as TokenTable
    from vizsla.encoders.vectors import Vectors as Vectors

_PUBLIC = {
    "EmbeddingCache": "vizsla.encoders.cache",
    "FunctionEncoder": "vizsla.base.encoder",
    "HttpEncoder": "vizsla.encoders.http",
    "LsaEncoder": "vizsla.encoders.lsa",
    "OnnxEncoder": "vizsla.encoders.onnx",
    "open_encoder": "vizsla.encoders.open",
    "PrecomputedEncoder": "vizsla.encoders.precomputed",
    "SentenceEncoder": "vizsla.encoders.sentence",
    "SidrEncoder": "vizsla.encoders.sidr",
    "TokenTable": "vizsla.encoders.token_table",
    "TokenVectors": "vizsla.encoders.late",
    "Vectors": "vizsla.encoders.vectors",
    "WordEncoder": "vizsla.encoders.late",
}

__all__ = list(_PUBLIC)


def __getattr__(name: str) -> Any:
    return lazy_attribute(__name__, _PUBLIC, name)
