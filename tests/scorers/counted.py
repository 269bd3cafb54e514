"""A scorer function that notes every call and every pair: the truth that bills are held against."""

from __future__ import annotations

from threading import Lock

from tests.contract.catalog import ITEMS
from vizsla.scorers.text import FunctionScorer


def overlap(query: str, text: str) -> float:
    """Shared words, with a share that float32 cannot hold exactly."""
    shared = set(query.split()) & set(text.split())
    return len(shared) + 0.1 / (1 + len(text))


class Counted:
    """Scores by overlap; knows the calls of the function and the pairs that came with each."""

    def __init__(self, takes: str = "pairs", *, fails_at: int | None = None):
        self.takes, self.fails_at = takes, fails_at
        self.calls: list[list[tuple[str, str]]] = []
        self._lock = Lock()

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """All pairs that came, in order."""
        return [pair for call in self.calls for pair in call]

    def __call__(self, *given):
        """Take what a function of this shape gets."""
        if self.takes == "pairs":
            return self._scored(given[0])
        if self.takes == "query":
            return self._scored([(given[0], text) for text in given[1]])
        rows = [[(query, text) for text in texts] for query, texts in zip(*given, strict=True)]
        scores = iter(self._scored([pair for row in rows for pair in row]))
        return [[next(scores) for _ in row] for row in rows]

    def _scored(self, pairs):
        with self._lock:
            if self.fails_at == len(self.calls):
                raise ConnectionError("the service is away")
            self.calls.append(list(pairs))
        return [overlap(query, text) for query, text in pairs]


def counted_scorer(takes: str = "pairs", *, fails_at: int | None = None, items=ITEMS, **options):
    """Return the function and a scorer of it."""
    function = Counted(takes, fails_at=fails_at)
    return function, FunctionScorer(function, items, takes=takes, **{"name": "overlap 1", **options})
