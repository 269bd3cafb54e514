"""What can be done with artifacts that are parts of others: anchors, factors, vectors, texts, counts, checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

import vizsla
from tests.contract.catalog import ITEMS, QUERIES
from vizsla.core.candidates import Candidates
from vizsla.core.catalog import Catalog
from vizsla.core.strings import Strings
from vizsla.data.metadata import ItemMetadata
from vizsla.encoders.late import TokenVectors, WordEncoder
from vizsla.encoders.vectors import Vectors
from vizsla.learning.loop import TrainingState
from vizsla.methods.bm25_statistics import Statistics
from vizsla.methods.cur import AnchorScores, adacur, anncur, residual_cur
from vizsla.methods.cur.factors import Factors
from vizsla.methods.late_interaction import LateInteraction
from vizsla.scorers.cross_encoder import CrossEncoder

Use = tuple[str, Callable[[], Any]]
ASKED = QUERIES[:3]


@cache
def _searches() -> tuple[Any, Any, Any]:
    lsa = vizsla.encoders.LsaEncoder.fit(ITEMS.values(), dim=24)
    return vizsla.bm25(ITEMS), vizsla.dense(ITEMS, lsa), lsa


def part_uses(artifact: Any) -> Iterator[Use]:
    """Yield what can be done with the artifact, by name; nothing for one that is used as a whole."""
    for kind, uses in USES.items():
        if isinstance(artifact, kind):
            yield from uses(artifact)


def _statistics(artifact: Statistics) -> Iterator[Use]:
    yield "merged", lambda: artifact.merged(artifact)
    yield "bm25 with statistics", lambda: vizsla.bm25(ITEMS, statistics=artifact)("fig tree")


def _anchors(anchors: AnchorScores) -> Iterator[Use]:
    words, dense, _ = _searches()
    yield "adacur", lambda: adacur(dense, anchors, first=words, budget=8, rounds=2)(ASKED, k=5)
    yield "adacur as published", lambda: adacur(dense, anchors, budget=8, rounds=2, ridge=0.0)(ASKED, k=5)
    yield "anncur", lambda: anncur(dense, anchors, budget=8)(ASKED, k=5)
    yield "residual cur", lambda: residual_cur(dense, anchors, [words], budget=8, rounds=2)(ASKED, k=5)
    yield "with_items", lambda: anchors.with_items(dense, list(ITEMS)[:3]).scores()
    yield "without_items", lambda: anchors.without_items([anchors.items[0]]).scores()
    yield "with_queries", lambda: anchors.with_queries(["new"], np.ones((1, len(anchors.items)), np.float32)).scores()


def _factors(factors: Factors) -> Iterator[Use]:
    weights = np.ones((2, min(factors.dim, 1000)), np.float32)
    yield "products", lambda: factors.products(weights, threads=2)
    yield "best", lambda: factors.best(weights, np.ones((2, factors.count), np.bool_), 3)
    yield "columns", lambda: factors.columns(np.array([0, factors.count - 1])) if factors.count else None
    yield "pools", lambda: factors.pools([np.arange(min(2, factors.count)), np.arange(0)])


TESTS = ("=1", "<3", "!=x", "=1..2", " contains x", " startswith a", " is null", ">=2024-05")


def _details(details: ItemMetadata) -> Iterator[Use]:
    numbers = [str(number) for number in range(min(details.count, 1000))]
    for asked in [f"{field}{test}" for field in details.fields[:10] for test in TESTS]:
        yield "condition", lambda asked=asked: vizsla.where(asked).mask(Catalog(Strings.of(numbers), details))
    yield "fields", lambda: [(details.of(n), details.text(n)) for n in range(min(details.count, 20))]


def _vectors(vectors: Vectors) -> Iterator[Use]:
    _, _, lsa = _searches()
    for index, options in {"flat": {}, "pq": {"bytes": 4, "rounds": 1}, "ivf": {"lists": 4}}.items():
        how = {"index": index, **options}
        yield f"dense {index}", lambda how=how: vizsla.dense(ITEMS, lsa, vectors=vectors.rows, **how)(ASKED, k=3)


def _tokens(tokens: TokenVectors) -> Iterator[Use]:
    _, _, lsa = _searches()
    yield "items", lambda: [tokens.item(number) for number in range(min(len(tokens), 20))]
    yield "late interaction", lambda: LateInteraction(WordEncoder(lsa), tokens)(ASKED, k=3)


def _cross_encoder(scorer: CrossEncoder) -> Iterator[Use]:
    words, _, _ = _searches()
    everything = Candidates.from_rows([np.arange(len(scorer.items), dtype=np.int32)], catalog=scorer.items)
    yield "score", lambda: scorer.score("fig", everything)
    yield "rerank", lambda: (words >> scorer)("fig", k=3)


def _state(state: TrainingState) -> Iterator[Use]:
    yield "arrays", lambda: [state.array(name, values.shape) for name, values in state.arrays.items()]
    yield "another shape", lambda: [state.array(name, (2, 2**40)) for name in state.arrays]


USES: dict[type, Callable[[Any], Iterator[Use]]] = {
    Statistics: _statistics,
    AnchorScores: _anchors,
    Factors: _factors,
    ItemMetadata: _details,
    Vectors: _vectors,
    TokenVectors: _tokens,
    CrossEncoder: _cross_encoder,
    TrainingState: _state,
}
