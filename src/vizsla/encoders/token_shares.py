"""Which tokens give a score: those that a query's vector and an item's have in common."""

from __future__ import annotations

import numpy as np

from vizsla.explanation import Explanation
from vizsla.sparse_rows import SparseRows
from vizsla.text.bag import BagOfWords


def token_shares(bag: BagOfWords, query: str, asked: SparseRows, given: SparseRows) -> list[Explanation]:
    """Return what each shared token gives, the most first; tokens that the query does not say are expansions.

    Parameters
    ----------
    bag : BagOfWords
        Whose tokens they are.
    query : str
        What was asked.
    asked, given : SparseRows
        The query's vector and the item's, one row each.
    """
    gives = dict(zip(given.columns.tolist(), given.values.tolist(), strict=True))
    own = set(bag.queries([query]).columns.tolist())
    parts = [
        _share(bag.terms[token], weight, gives[token], own=token in own)
        for token, weight in zip(asked.columns.tolist(), asked.values.tolist(), strict=True)
        if token in gives
    ]
    return sorted(parts, key=lambda part: -part.score)


def _share(token: str, asked: float, given: float, *, own: bool) -> Explanation:
    name = f"{token!r}{'' if own else ' (expansion)'}"
    return Explanation(float(np.float32(asked) * np.float32(given)), f"{name}: {asked:.4f} × {given:.4f}")
