"""Pseudo-queries: pieces of item texts, where nobody's queries are there to learn from."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

SHORTEST, LONGEST = 3, 12
"""Words of a piece: about what people type."""


def pseudo_queries(texts: Iterable[str], *, seed: int = 0) -> list[str]:
    """Return one run of words out of every text that has any, each different one once.

    Examples
    --------
    >>> pseudo_queries(["fig tree", "", "a very long walk down to the river and back home again before night"])
    ['fig tree', 'very long walk down to the river and']
    """
    pick = np.random.default_rng(seed)
    pieces = (_piece(text.split(), pick) for text in texts)
    return list(dict.fromkeys(piece for piece in pieces if piece))


def _piece(words: list[str], pick: np.random.Generator) -> str:
    length = int(pick.integers(SHORTEST, LONGEST + 1))
    first = int(pick.integers(0, max(1, len(words) - length + 1)))
    return " ".join(words[first : first + length])
