"""Queries of many frequent tokens: bitmaps are added up digit by digit, and no answer changes by it."""

from __future__ import annotations

import numpy as np
import pytest

from tests.indexes import tokens_twin as twin
from vizsla.core.sparse import SparseRows
from vizsla.errors import InputError
from vizsla.indexes.tokens import TokenIndex, TokenSegment


def drawn(parts: list[int], tokens: int, least: float, seed: int = 0) -> tuple[TokenIndex, np.ndarray, np.ndarray]:
    """Return an index of segments of these sizes, which items hold which tokens, and norms."""
    rng = np.random.default_rng(seed)
    held = rng.random((sum(parts), tokens), np.float32) < np.linspace(0.5, least, tokens, dtype=np.float32)
    norms = (1 / (1.5 + rng.random(len(held)))).astype(np.float32)
    segments = [
        TokenSegment.of(SparseRows.of(part.astype(np.float32))) for part in np.split(held, np.cumsum(parts)[:-1])
    ]
    return TokenIndex(segments, norms, tokens), held, norms


def asked(tokens: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.where(rng.random(tokens) < 0.9, rng.random(tokens) ** 3 + 1e-4, 0).astype(np.float32)


def answer(index: TokenIndex, query: np.ndarray, k: int, allowed: np.ndarray | None = None) -> list[tuple[int, float]]:
    found = index.search(query[None], k, filter=allowed)
    return list(zip(found.items.tolist(), found.scores.tolist(), strict=True))


@pytest.mark.parametrize("parts", [[40_000], [5_003, 9_001, 17, 21_000], [2_048, 2_049, 511, 513, 12_345]])
@pytest.mark.parametrize("k", [1, 30, 3_000])
def test_blocks_of_any_size_answer_as_the_twin_does(parts, k):
    index, held, norms = drawn(parts, 90, least=0.02)
    allowed = np.random.default_rng(1).random(len(held)) < 0.01
    for seed in range(3):
        query = asked(90, seed)
        assert answer(index, query, k) == twin.best(held, norms, query, k)
        assert answer(index, query, k, allowed) == twin.best(held, norms, query, k, allowed)


@pytest.mark.parametrize("scale", [1e-38, 1e-20, 1e25])
def test_weights_and_norms_of_any_size_change_nothing(scale):
    index, held, _ = drawn([6_000], 40, least=0.1)
    for size in (1e-42, 1e-30, 1e6):
        norms = np.full(len(held), size, np.float32) * np.linspace(0.5, 1, len(held), dtype=np.float32)
        query = asked(40, 2) * np.float32(scale)
        found = dict(answer(index.with_norms(norms), query, 20))
        assert list(found.items()) == twin.best(held, norms, query, 20)


def test_more_bitmaps_than_are_added_up_at_once():
    index, held, norms = drawn([3_500], 2_300, least=0.1)
    query = asked(2_300, 3)
    assert np.count_nonzero(query) > 2_048
    assert answer(index, query, 10) == twin.best(held, norms, query, 10)


def test_frequent_tokens_get_bitmaps_where_two_bytes_a_posting_have_room():
    bitmap = 40_000 // 16 + 32
    items = [np.arange(0, 40_000, step, dtype=np.int64) for step in (24, 2)]
    alone = SparseRows.of_entries(items[0], np.zeros(len(items[0]), np.int64), (40_000, 1))
    both = np.concatenate(items), np.repeat([0, 1], [len(one) for one in items])
    assert TokenSegment.of(alone).arrays["starts"].tolist() == [0, len(items[0])]
    joined = TokenSegment.of(SparseRows.of_entries(*both, (40_000, 2)))
    assert joined.arrays["starts"].tolist() == [
        0,
        bitmap,
        2 * bitmap,
    ]


def test_nothing_lies_beyond_a_bitmap():
    every = np.arange(20_000)
    sound = TokenSegment.of(SparseRows.of_entries(every, np.zeros(20_000, np.int64), (20_000, 1)))
    data = sound.arrays["data"].copy()
    assert len(data) == 20_000 // 16 + 32
    assert np.array_equal(sound.rows().offsets, np.arange(20_001))
    data[-1] = 1
    with pytest.raises(InputError, match="beyond its block"):
        TokenSegment(sound.arrays | {"data": data}, 1)
