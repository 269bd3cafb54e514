"""NgramTfidf in plain Python, by its docstring: what is right."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

import xxhash

from vizsla.text.analyzers import Analyzer

KINDS = range(3)


def ngrams(text: str, kind: int, *, lower: bool = True) -> list[str]:
    """Unigrams, bigrams or trigrams of a text in their order."""
    words = Analyzer(lower=lower)(text)
    if kind == 0:
        return words
    if kind == 1:
        return [f"{first}#{second}" for first, second in pairwise(words)]
    marked = [f"#{word}#" for word in words]
    return [word[i : i + 3] for word in marked for i in range(len(word) - 2)]


class Twin:
    """The names and weights of all features, and rows as dicts."""

    def __init__(
        self,
        texts: Iterable[str],
        *,
        budgets: tuple[int, int, int],
        min_texts: int = 1,
        bins: int = 1,
        lower: bool = True,
        sublinear: bool = True,
        norm: str = "row",
        shares: Sequence[float] = (1, 1, 1),
        idf_power: float = 1.0,
        room: int = 10**9,
    ):
        texts = list(texts)
        self.lower, self.sublinear, self.norm, self.idf_power = lower, sublinear, norm, idf_power
        self.shares = shares
        self.bins = [bins if budget else 0 for budget in budgets]
        self.names: list[list[str]] = []
        self.weights: list[list[float]] = []
        for kind, budget in enumerate(budgets):
            counts, forgotten = self._count(texts, kind, room) if budget else (Counter(), [])
            ranked = sorted((name for name in counts if counts[name] >= min_texts), key=lambda name: -counts[name])
            chosen = ranked[:budget]
            others = forgotten + [(name, count) for name, count in counts.items() if name not in set(chosen)]
            shared = [0] * self.bins[kind]
            for name, count in others:
                if shared:
                    shared[self._bin(name, kind)] += count
            self.names.append(chosen)
            known = [self._idf(counts[name], len(texts)) for name in chosen]
            self.weights.append(known + [self._idf(min(n, len(texts)), len(texts)) if n else 0.0 for n in shared])

    def row(self, text: str) -> dict[int, float]:
        parts, first = [], 0
        for kind in KINDS:
            counts = Counter(self._features(text, kind))
            part = {f: self._tf(count) * self.weights[kind][f] for f, count in counts.items()}
            parts.append({first + f: value for f, value in part.items() if value > 0})
            first += len(self.weights[kind])
        if self.norm == "kinds":
            lengths = zip(parts, self.shares, strict=True)
            parts = [{f: value * share for f, value in scaled(part).items()} for part, share in lengths]
        return scaled({f: value for part in parts for f, value in sorted(part.items())})

    def _features(self, text: str, kind: int) -> Iterable[int]:
        known = {name: number for number, name in enumerate(self.names[kind])}
        for name in ngrams(text, kind, lower=self.lower):
            if name in known:
                yield known[name]
            elif self.bins[kind]:
                yield len(known) + self._bin(name, kind)

    def _count(self, texts: list[str], kind: int, room: int) -> tuple[Counter[str], list[tuple[str, int]]]:
        counts: Counter[str] = Counter()
        forgotten = []
        for text in texts:
            counts.update(dict.fromkeys(ngrams(text, kind, lower=self.lower), 1))
            if len(counts) > room:
                threshold = sorted(counts.values(), reverse=True)[room // 2]
                forgotten += [(name, count) for name, count in counts.items() if count <= threshold]
                counts = Counter({name: count for name, count in counts.items() if count > threshold})
        return counts, forgotten

    def _bin(self, name: str, kind: int) -> int:
        return xxhash.xxh64_intdigest(name.encode()) % self.bins[kind]

    def _tf(self, count: int) -> float:
        return 1 + math.log(count) if self.sublinear else count

    def _idf(self, texts: int, total: int) -> float:
        return (1 + math.log((1 + total) / (1 + texts))) ** self.idf_power


def scaled(part: dict[int, float]) -> dict[int, float]:
    length = math.sqrt(math.fsum(value * value for value in part.values()))
    return {f: value / length for f, value in part.items()}
