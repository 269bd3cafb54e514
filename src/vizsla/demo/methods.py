"""The rows of the demo's table: a method is added by one line in `METHODS`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from vizsla.retriever import Retriever

if TYPE_CHECKING:
    from vizsla.dataset import Dataset

Method = Callable[["Dataset", Mapping[str, Retriever]], Retriever]
"""Builds a retriever over a dataset's items, perhaps from those built before it, which come by name.

It may learn from the split "train", never from "test".
"""


def _bm25(dataset: Dataset, built: Mapping[str, Retriever]) -> Retriever:
    from vizsla.methods.bm25 import bm25
    from vizsla.text.analyser import Analyser

    # Without them "is" and "that" would fill the explanations; the quality is the same within chance.
    return bm25(dataset, analyser=Analyser(stop_words="english"))


def _xrlinear(dataset: Dataset, built: Mapping[str, Retriever]) -> Retriever:
    from vizsla.methods.xrlinear.train import train_xrlinear

    return train_xrlinear(dataset, threads=2)


def _both(dataset: Dataset, built: Mapping[str, Retriever]) -> Retriever:
    return built["bm25"].normalised() + built["xrlinear"].normalised()


METHODS: dict[str, Method] = {"bm25": _bm25, "xrlinear": _xrlinear, "bm25 + xrlinear": _both}
