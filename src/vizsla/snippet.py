"""Snippets: the part of a text that shows a query's words, and where they stand."""

from __future__ import annotations

import re

_WORD = re.compile(r"\w+")
_SPACED = re.compile(r"[\u0000-\u0dff\u1000-\u109f\u10a0-\u177f\u1800-\u2e7f]")
"""Scripts that put spaces between words, roughly; in others a word is found anywhere."""
LEAST_STEM = 4


def word_spans(text: str, query: str) -> list[tuple[int, int]]:
    """Return where words of the query stand in a text, whatever their case; longer words with their endings.

    Examples
    --------
    >>> word_spans("Figs and a fig tree.", "fig TREES")
    [(0, 4), (11, 14), (15, 19)]
    """
    words = {word.casefold() for word in _WORD.findall(query)}
    patterns = [_pattern(word) for word in sorted(words, key=lambda word: (-len(word), word))]
    if not patterns:
        return []
    return [found.span() for found in re.finditer("|".join(patterns), text, re.I)]


def snippet(text: str, query: str, *, width: int) -> str:
    """Return at most `width` characters of a text, on one line, from where most of the query's words stand close by.

    Examples
    --------
    >>> snippet("All about apples, pears and plums, and in the end about figs.", "figs", width=20)
    '…end about figs.'
    """
    line = " ".join(text.split())
    if len(line) <= width:
        return line
    starts = [start for start, _ in word_spans(line, query)]
    best = max(
        starts, key=lambda start: (sum(start <= other < start + width * 3 // 4 for other in starts), -start), default=0
    )
    if best + 8 <= width // 2 or width < 8:
        return line[: max(width - 1, 0)] + "…"
    begin = max(0, min(best - width // 4, len(line) - width + 1))
    begin = line.find(" ", begin, best) + 1 or begin
    piece = line[begin : begin + width - 1]
    return f"…{piece}" if begin + width - 1 >= len(line) else f"…{piece[:-1]}…"


def _pattern(word: str) -> str:
    if not _SPACED.match(word):
        return re.escape(word)
    stem = word[:-1] if len(word) > LEAST_STEM and word.endswith("s") else word
    ending = r"\w{0,2}" if len(word) >= LEAST_STEM else "s?"
    return rf"\b{re.escape(stem)}{ending}\b"
