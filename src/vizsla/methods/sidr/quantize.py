"""Int8 matrices for SiDR's model, after a look at what they cost beta search."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

from vizsla.core.validation import validate_args
from vizsla.encoders.sidr import SidrEncoder
from vizsla.errors import InputError, check_positive
from vizsla.export.checks import MAX_RECALL_LOSS, QuantizationCheck, recall_of
from vizsla.export.onnx import vocabulary_int8
from vizsla.learning.clicks import ClickLog
from vizsla.methods.tokens.model import TokenRetriever


@validate_args
def quantize_sidr(
    search: TokenRetriever,
    clicks: Any,
    *,
    queries: int = 500,
    depth: int = 10,
    max_loss: float = MAX_RECALL_LOSS,
    seed: int = 0,
) -> tuple[TokenRetriever, QuantizationCheck]:
    """Return beta search with an int8 model if recall holds, or as it was; and the check that says which.

    Parameters
    ----------
    search : TokenRetriever
        The result of `train_sidr`.
    clicks : Dataset or iterable
        Queries with their right items; best some that were held out.
    queries : int
        How many of them are asked, at most.
    depth : int
        Depth of the measured recall.
    max_loss : float
        Maximum loss of recall.
    seed : int
        Draws the queries.
    """
    if not isinstance(search.encoder, SidrEncoder):
        raise InputError(f"`search` must have SiDR's encoder. Got {search!r}: see `train_sidr`.")
    clicked = ClickLog.of(clicks, search.items)
    drawn = np.random.default_rng(seed).permutation(len(clicked))[: check_positive("queries", queries)]
    asked = clicked.take(np.sort(drawn))
    encoder = search.encoder
    small = search.with_table(
        SidrEncoder(encoder.table, vocabulary_int8(encoder.model), encoder.tokens, **encoder.settings)
    )
    before, slow = _best(search, asked, depth)
    after, fast = _best(small, asked, depth)
    right = np.split(asked.clicks.indices, asked.clicks.indptr[1:-1])
    check = QuantizationCheck(
        len(asked), len(search.items), recall_of(before, right), recall_of(after, right), recall_of(after, before),
        slow / fast, depth, max_loss,
    )  # fmt: skip
    return (small if check.accepted else search), check


def _best(search: TokenRetriever, asked: ClickLog, depth: int) -> tuple[list[Any], float]:
    search.encode(asked.texts[:1])  # the first call also loads the model
    start = perf_counter()
    rows = search.encode(asked.texts)
    seconds = perf_counter() - start
    found = search.search_encoded(rows, depth)
    return [found.row(number)[0] for number in range(len(found))], seconds
