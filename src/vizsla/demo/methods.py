"""The rows of the demo's table: a method is added by one line in `METHODS`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from vizsla.base.retriever import Retriever

if TYPE_CHECKING:
    from vizsla.data.dataset import Dataset

Method = Callable[["Dataset", Mapping[str, Retriever]], Retriever]
"""Builds a retriever over a dataset's items, perhaps from those built before it, which come by name.

It may learn from the split "train", never from "test".
"""


def _bm25(dataset: Dataset, built: Mapping[str, Retriever]) -> Retriever:
    from vizsla.methods.bm25 import bm25
    from vizsla.text.analyzers import Analyzer

    # Without them "is" and "that" would fill the explanations; the quality is the same within chance.
    return bm25(dataset, analyzer=Analyzer(stop_words="english"))


def _tokens(dataset: Dataset, built: Mapping[str, Retriever]) -> Retriever:
    from vizsla.methods.tokens.model import tokens

    return tokens(dataset, epochs=0)


def _learned_tokens(dataset: Dataset, built: Mapping[str, Retriever]) -> Retriever:
    from vizsla.methods.tokens.model import TokenRetriever
    from vizsla.methods.tokens.train_tokens import train_tokens

    base = built["tokens"]
    return train_tokens(base, dataset, epochs=3) if isinstance(base, TokenRetriever) else base


def _lsa(dataset: Dataset, built: Mapping[str, Retriever]) -> Retriever:
    from vizsla.encoders.lsa import LsaEncoder
    from vizsla.methods.dense import dense

    return dense(dataset, LsaEncoder.fit(item.default_text() for item in dataset.items))


def _xrlinear(dataset: Dataset, built: Mapping[str, Retriever]) -> Retriever:
    from vizsla.methods.xrlinear.build import xrlinear

    return xrlinear(dataset, threads=2)


def _tfidf(dataset: Dataset, built: Mapping[str, Retriever]) -> Retriever:
    from vizsla.methods.tfidf import tfidf

    return tfidf(dataset)


def _tfidf_pefa(dataset: Dataset, built: Mapping[str, Retriever]) -> Retriever:
    from vizsla.methods.pefa import pefa_xs
    from vizsla.methods.tfidf import Tfidf

    base = built["tfidf"]
    return pefa_xs(base, dataset) if isinstance(base, Tfidf) else base


def _both(dataset: Dataset, built: Mapping[str, Retriever]) -> Retriever:
    return built["bm25"].normalized() + built["xrlinear"].normalized()


def _pefa_xs(dataset: Dataset, built: Mapping[str, Retriever]) -> Retriever:
    from vizsla.methods.dense import Dense
    from vizsla.methods.pefa import pefa_xs

    base = built["lsa"]
    return pefa_xs(base, dataset) if isinstance(base, Dense) else base


def _pefa_xl(dataset: Dataset, built: Mapping[str, Retriever]) -> Retriever:
    from vizsla.methods.pefa import pefa_xl

    return pefa_xl(built["lsa"], dataset)


def _fused(dataset: Dataset, built: Mapping[str, Retriever]) -> Retriever:
    from vizsla.methods.fusion import fuse

    return fuse({name: built[name] for name in ("bm25", "xrlinear", "tfidf + pefa-xs")}, dataset, threads=2)


def _jpq(dataset: Dataset, built: Mapping[str, Retriever]) -> Retriever:
    from vizsla.methods.dense import Dense
    from vizsla.methods.jpq.train_jpq import jpq

    base = built["lsa"]
    if not isinstance(base, Dense):
        return base
    size = min(16, base.index.dim)
    # Whatever is not given would be tried on held-out clicks, which takes a minute.
    return jpq(base, dataset, bytes=size, rounds=5, share=0.5, epochs=2, stop=2, recodings=1, handicap=0.0)


METHODS: dict[str, Method] = {
    "bm25": _bm25,
    "tokens": _tokens,
    "learned tokens": _learned_tokens,
    "tfidf": _tfidf,
    "tfidf + pefa-xs": _tfidf_pefa,
    "lsa": _lsa,
    "lsa + pefa-xs": _pefa_xs,
    "lsa + pefa-xl": _pefa_xl,
    "lsa + jpq": _jpq,
    "xrlinear": _xrlinear,
    "bm25 + xrlinear": _both,
    "fused": _fused,
}
