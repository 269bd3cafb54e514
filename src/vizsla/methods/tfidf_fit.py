"""The n-grams of a catalogue and of what people asked of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from vizsla.dataset import Dataset
from vizsla.methods.xrlinear.feature_choice import default_encoder
from vizsla.text.ngrams import EQUAL, NgramTfidf


def fit_ngrams_of(items: Any, texts: list[str], kind_shares: Sequence[float] = EQUAL) -> NgramTfidf:
    """Fit XR-Linear's n-grams to a catalogue's texts and, where it is a Dataset with clicks, to the clicked queries.

    R@10 of 1,500 held-out queries, which were not counted: .476 so and .445 from the items' texts alone on tldr, .809
    and .793 on squad-sent.
    """
    encoder = default_encoder([*clicked_texts(items), *texts])
    return encoder if tuple(kind_shares) == EQUAL else encoder.with_shares(kind_shares)


def clicked_texts(items: Any) -> list[str]:
    """Return the texts of the queries that have clicks, of a Dataset; nothing of any other catalogue.

    Examples
    --------
    >>> log = Dataset.of({"f": "a fig"}, queries=["red", "green"], clicks=[("1", "f")])
    >>> clicked_texts(log), clicked_texts(["a fig"])
    (['green'], [])
    """
    if not isinstance(items, Dataset):
        return []
    clicked = np.diff(items.clicks.indptr) > 0
    return [query.text for row, query in enumerate(items.queries) if clicked[row]] if clicked.any() else []
