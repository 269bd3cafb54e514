"""Texts as the token ids that a BERT-like transformer reads."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vizsla.errors import InputError
from vizsla.text.wordpiece import WordPiece

Tokens = NDArray[np.int64]


def sequences(pieces: WordPiece, texts: Sequence[str], max_tokens: int) -> list[Tokens]:
    """Return each text's ids between [CLS] and [SEP], `max_tokens` at most.

    Examples
    --------
    >>> pieces = WordPiece(["[UNK]", "[CLS]", "[SEP]", "fig"])
    >>> [row.tolist() for row in sequences(pieces, ["fig fig fig", ""], 4)]
    [[1, 3, 3, 2], [1, 2]]
    """
    first, last = pieces.vocabulary.find_all(["[CLS]", "[SEP]"]).tolist()
    if first < 0 or last < 0:
        raise InputError("The vocabulary must have [CLS] and [SEP]. Got another: SiDR reads BERT's.")
    offsets, ids = pieces.ids(texts)
    ends = np.minimum(offsets[1:], offsets[:-1] + max_tokens - 2)
    spans = zip(offsets[:-1].tolist(), ends.tolist(), strict=True)
    return [np.concatenate([[first], ids[start:end], [last]]).astype(np.int64) for start, end in spans]
