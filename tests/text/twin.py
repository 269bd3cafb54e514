"""What the native tokenizer must do, in plain Python."""

from __future__ import annotations

import unicodedata
from collections import Counter
from itertools import groupby

from vizsla import _native
from vizsla.text.analyzers import Analyzer

SAME_UNICODE = unicodedata.unidata_version == _native.unicode_version


def is_word(character: str) -> bool:
    return unicodedata.category(character)[0] in "LMN" or character == "_"


def lower(character: str) -> str:
    return {"İ": "i", "ς": "σ"}.get(character, character.lower())


def words(text: str, *, lowered: bool = True) -> list[str]:
    runs = ["".join(run) for word, run in groupby(text, is_word) if word]
    return ["".join(map(lower, run)) for run in runs] if lowered else runs


def ngrams(word: str, shortest: int, longest: int) -> list[str]:
    found = [
        word[begin : begin + size]
        for begin in range(len(word))
        for size in range(shortest, longest + 1)
        if begin + size <= len(word)
    ]
    return found or [word]


def tokens(text: str, analyzer: Analyzer) -> list[str]:
    """Cut, drop stop words, and stem token by token."""
    found = words(text, lowered=analyzer.lower)
    if analyzer.kind == "chars":
        found = [gram for word in found for gram in ngrams(word, analyzer.min_chars or 0, analyzer.max_chars or 0)]
    found = [token for token in found if token not in analyzer.dropped]
    if analyzer.stem is None:
        return found
    import Stemmer

    stemmer = Stemmer.Stemmer(analyzer.stem)
    return [stemmer.stemWord(token) for token in found]


def bag(texts: list[str], analyzer: Analyzer) -> tuple[list[str], list[dict[int, int]]]:
    """Return the terms by first occurrence, and a dict of counts for each text, terms ascending."""
    numbers: dict[str, int] = {}
    rows = []
    for text in texts:
        counts = Counter(numbers.setdefault(token, len(numbers)) for token in tokens(text, analyzer))
        rows.append(dict(sorted(counts.items())))
    return list(numbers), rows
