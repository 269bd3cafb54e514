"""Which questions are held out: most about items that keep another question, a few about items that do not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np


def hold_out(about: Mapping[str, Sequence[str]], *, warm: int, cold: int, seed: int) -> set[str]:
    """Choose questions to test with.

    Parameters
    ----------
    about : mapping
        The items that each question is about.
    warm : int
        At most so many questions, each of whose items keeps a question that is not held out.
    cold : int
        At most so many questions none of whose items keeps one.
    seed : int
        Equal seeds choose equally.

    Examples
    --------
    >>> about = {"average": ["mean"], "sum by count": ["mean"], "spread": ["var"]}
    >>> sorted(hold_out(about, warm=1, cold=1, seed=0))
    ['spread', 'sum by count']
    """
    left = Counter(item for items in about.values() for item in items)
    texts = sorted(about)
    order = [texts[place] for place in np.random.default_rng(seed).permutation(len(texts))]
    lonely = [text for text in order if all(left[item] == 1 for item in about[text])][:cold]
    chosen: list[str] = []
    for text in order:
        if len(chosen) < warm and all(left[item] > 1 for item in about[text]):
            chosen.append(text)
            left.subtract(about[text])
    return {*chosen, *lonely}
