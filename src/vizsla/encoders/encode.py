"""Texts of a whole catalogue to one matrix, batch by batch."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from vizsla.encoder import Encoder, checked_rows
from vizsla.progress import progress
from vizsla.text.texts import batches


def encode_items(encoder: Encoder, texts: Iterable[str]) -> NDArray[np.float32]:
    """Encode item texts, read once, in batches; larger than memory is what `Vectors.encode` is for.

    Examples
    --------
    >>> from vizsla.encoder import FunctionEncoder
    >>> lengths = FunctionEncoder(lambda texts: [[len(t)] for t in texts], dim=1, name="length")
    >>> encode_items(lengths, ["fig", "apple"]).ravel().tolist()
    [3.0, 5.0]
    """
    parts = [np.zeros((0, encoder.dim), np.float32)]
    for batch in progress(batches(texts), what="encoding"):
        parts.append(checked_rows(encoder, encoder.items(batch), len(batch)))
    return np.concatenate(parts)
