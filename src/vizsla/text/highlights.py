"""Highlights: where the words of a query stand in a text, by the analyzer's own terms; and snippets around them."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING

from vizsla import _native
from vizsla.core.hits import Snippet, Span
from vizsla.text.languages import listed

if TYPE_CHECKING:
    from vizsla.text.analyzers import Analyzer

Highlighter = Callable[[str], list[Span]]
"""Returns where words of the query stand in a text, ascending."""

CHARS = "chars"
MAX_CHARS = 200_000
"""Characters of a text that are looked at."""
_MARKS = ".,;:!?()\"'"
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u19e0-\u19ff\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc\U00020000-\U0003ffff]+"
)
"""Characters of scripts that put no spaces between words, which are read as single ones and as pairs."""


@cache
def _words() -> re.Pattern[str]:
    """Return what a word is: letters, numbers and underscores, with the marks that Python's own class leaves out."""
    marks = [code for code in range(0x300, 0xFFFF) if unicodedata.category(chr(code)).startswith("M")]
    runs = []
    for _, run in groupby(enumerate(marks), lambda pair: pair[1] - pair[0]):
        codes = [code for _, code in run]
        runs.append(f"{chr(codes[0])}-{chr(codes[-1])}")
    return re.compile(rf"[\w{''.join(runs)}]+")


class TermHighlighter:
    """Finds words that an analyzer turns into one of a query's terms: inflections and roots are found, too.

    Parameters
    ----------
    analyzer : Analyzer
        How texts become terms.
    query : str
        The query. Its stop words are left out, even where the analyzer keeps them, unless it has no other words.

    Examples
    --------
    >>> from vizsla.text.analyzers import AnyLanguage
    >>> TermHighlighter(AnyLanguage("english"), "Running shoes")("She runs in a red shoe.")
    [(4, 8), (18, 22)]
    """

    def __init__(self, analyzer: Analyzer, query: str):
        self._analyzer = analyzer
        told = analyzer.query_tokens(without_stop_words(analyzer, query))
        self._terms = frozenset(told or analyzer.query_tokens(query))
        runs = [found[0].lower() for found in _UNSPACED.finditer(query)]
        self._pieces = frozenset(term for term in self._terms if len(term) > 1 or term in runs)
        self._known: dict[str, bool] = {}

    def __call__(self, text: str) -> list[Span]:
        """Return where the words stand, ascending."""
        if not self._terms:
            return []
        found = [(word.start(), word[0]) for word in _words().finditer(text[:MAX_CHARS])]
        whole, spans = [], []
        for start, word in found:
            if self._analyzer.kind == CHARS:
                spans += self._covered(word, start)
            elif self._analyzer.rule[3] and _UNSPACED.search(word):  # each script is read in its own way
                at = 0
                for run in _UNSPACED.finditer(word):
                    whole += [(start + at, word[at : run.start()])] if run.start() > at else []
                    spans += self._covered(run[0], start + run.start())
                    at = run.end()
                whole += [(start + at, word[at:])] if at < len(word) else []
            else:
                whole.append((start, word))
        self._look_up({word for _, word in whole} - self._known.keys())
        spans += [(start, start + len(word)) for start, word in whole if self._known[word]]
        return sorted(spans)

    def _look_up(self, words: set[str]) -> None:
        """Find out, for many words at once, which of them stand for a term of the query."""
        cut = {word: _native.tokens(word, *self._analyzer.rule) for word in words}
        if self._analyzer.vocabulary is not None:
            self._known |= {word: not self._terms.isdisjoint(self._analyzer.query_tokens(word)) for word in words}
            return
        forms = list(dict.fromkeys(form for tokens in cut.values() for form in tokens))
        ways = self._analyzer.folded(forms) if self._analyzer.languages else [forms]
        meant = {form for way in ways for form, term in zip(forms, way, strict=True) if term in self._terms}
        self._known |= {word: not meant.isdisjoint(tokens) for word, tokens in cut.items()}

    def _covered(self, word: str, start: int) -> list[Span]:
        """Return the parts of a word that the query's pieces cover; a single character only if it was asked for."""
        lower = word.lower()
        if len(lower) != len(word):
            lower = word
        longest = max(map(len, self._pieces), default=0)
        marked = [False] * len(word)
        for size in range(1, min(longest, len(word)) + 1):
            if self._analyzer.kind == CHARS and size < min(self._analyzer.max_chars or 1, len(word)):
                continue  # n-grams that are part of longer ones are everywhere
            for at in range(len(word) - size + 1):
                if lower[at : at + size] in self._pieces:
                    marked[at : at + size] = [True] * size
        spans, at = [], 0
        for flag, run in groupby(marked):
            size = len(list(run))
            spans += [(start + at, start + at + size)] if flag else []
            at += size
        return spans


def without_stop_words(analyzer: Analyzer, query: str) -> str:
    """Return a query without the stop words of the analyzer's languages: they stand everywhere, and say little.

    Examples
    --------
    >>> from vizsla.text.analyzers import AnyLanguage
    >>> without_stop_words(AnyLanguage("english", drop=False), "Sort a list, with the out-of-the-box tools")
    'Sort list, out-of-the-box tools'
    """
    common = listed(analyzer.languages).difference(getattr(analyzer, "content", ()))
    return " ".join(part for part in query.split() if part.strip(_MARKS).lower() not in common)


def spans_as_written(text: str, words: str) -> list[Span]:
    """Return where words stand in a text one after another as they are written, in whatever case; a span per word.

    Examples
    --------
    >>> spans_as_written("To be, or not to be", "to be")
    [(0, 2), (3, 5), (14, 16), (17, 19)]
    """
    spans: list[Span] = []
    asked = [word.lower() for word in _words().findall(words)]
    found = [(each.start(), each.end(), each[0].lower()) for each in _words().finditer(text[:MAX_CHARS])]
    for at in range(len(found) - len(asked) + 1) if asked else ():
        if [word for _, _, word in found[at : at + len(asked)]] == asked:
            spans += [(start, end) for start, end, _ in found[at : at + len(asked)]]
    return sorted(set(spans))


def snippet_of(text: str, spans: Sequence[Span], chars: int) -> Snippet:
    """Return the part of a text, at most `chars` long, that shows most of the spans.

    Examples
    --------
    >>> snippet_of("All about apples, and in the end about figs.", [(39, 43)], 20)
    Snippet(text='the end about figs.', start=25, spans=[(14, 18)])
    """
    start, end = best_window(text, spans, chars)
    inside = [(low - start, high - start) for low, high in spans if start <= low and high <= end]
    return Snippet(text[start:end], start, inside)


def best_window(text: str, spans: Sequence[Span], chars: int) -> Span:
    """Return where to cut a text: the window with most different words of the query, then with most of them.

    Words are not cut where there is a space near the ends of the window.
    """
    if len(text) <= chars:
        return 0, len(text)
    first, last = _densest(text, spans, chars)
    room = chars - (last - first)
    start = max(0, min(first - room // 4, len(text) - chars))
    end = min(len(text), start + chars)
    if start > 0:
        space = text.find(" ", start - 1, max(start, first))
        start = space + 1 if space >= 0 else start
    if end < len(text):
        space = text.rfind(" ", max(last, start + 1), end + 1)
        end = space if space > start else end
    return start, end


def _densest(text: str, spans: Sequence[Span], chars: int) -> Span:
    """Return the first and last character of the spans that one window shows."""
    fitting = [span for span in spans if span[1] - span[0] <= chars]
    best, at, words = (0, 0, (0, 0)), 0, Counter[str]()
    for low, high in fitting:
        words[text[low:high].lower()] += 1
        while high - fitting[at][0] > chars:
            gone = text[fitting[at][0] : fitting[at][1]].lower()
            words[gone] -= 1
            if not words[gone]:
                del words[gone]
            at += 1
        value = len(words), words.total()
        if value > best[:2]:
            best = (*value, (fitting[at][0], high))
    return best[2]
