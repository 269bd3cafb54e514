"""The native kernel against numpy, bit for bit, on every path."""

from __future__ import annotations

import numpy as np
import pytest

from vizsla import _native
from vizsla.errors import InputError
from vizsla.indexes.vectors import ItemVectors


def made(seed: int = 0, *, storage: str = "float16", dim: int = 37, items: int = 40):
    random = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(random.integers(0, 30, items))]).astype(np.int64)
    asked = np.array([0, 1, 17, 17, 50], np.int64)
    stored = ItemVectors.of(random.standard_normal((offsets[-1], dim)).astype(np.float32), storage=storage)
    queries = random.standard_normal((asked[-1], dim)).astype(np.float32)
    rows, numbers = np.repeat(np.arange(4), items), np.tile(np.arange(items, dtype=np.int32), 4)
    return queries, asked, stored, offsets, rows, numbers


def native(queries, asked, stored, offsets, rows, items, threads=1, portable=False):
    given = (queries, asked, stored.rows, stored.low, stored.step, offsets, rows, items, threads, portable)
    return np.frombuffer(_native.max_sims(*given), np.float32)


def twin(queries, asked, stored, offsets, rows, items):
    """Add up products in float64, rounded to float32 after every step: what a fused multiply-add does."""
    scores = []
    for query, item in zip(rows.tolist(), items.tolist(), strict=True):
        tokens = stored.take(slice(int(offsets[item]), int(offsets[item + 1])))
        own = queries[asked[query] : asked[query + 1]]
        sums = np.zeros((len(own), len(tokens)), np.float32)
        for at in range(queries.shape[1]):
            # Two floats' product is exact in a double; adding to it rounds twice, which differs only in rare ties.
            sums = (own[:, at, None].astype(np.float64) * tokens[None, :, at] + sums).astype(np.float32)
        scores.append(sums.max(axis=1).astype(np.float64).sum() if len(tokens) else 0.0)
    return np.array(scores, np.float32)


@pytest.mark.parametrize("storage", ["float32", "float16", "int8"])
def test_is_its_twin_on_every_instruction_set_and_with_two_threads(storage):
    case = made(storage=storage)
    scores = native(*case)
    assert np.allclose(scores, twin(*case), rtol=1e-6, atol=1e-6)
    assert (scores == twin(*case)).mean() > 0.99
    assert np.array_equal(scores, native(*case, portable=True))
    assert np.array_equal(scores, native(*case, threads=2))


def test_no_tokens_score_nothing():
    queries, asked, stored, offsets, rows, items = made()
    scores = native(queries, asked, stored, offsets, rows, items)
    empty = np.diff(offsets)[items] == 0
    assert empty.any() and not scores[empty].any()
    assert not scores[rows == 2].any()  # a query without tokens


def test_a_pair_does_not_depend_on_its_company():
    queries, asked, stored, offsets, rows, items = made(1)
    scores = native(queries, asked, stored, offsets, rows, items)
    for pair in range(0, len(items), 13):
        alone = native(queries, asked, stored, offsets, rows[pair : pair + 1], items[pair : pair + 1])
        assert alone[0] == scores[pair]


def test_hostile_numbers_are_refused():
    queries, asked, stored, offsets, rows, items = made()
    wild = offsets.copy()
    wild[3] = 10**12
    for bad in (wild, -offsets, offsets[:-1], offsets[:0]):
        with pytest.raises(InputError):
            native(queries, asked, stored, bad, rows, items)
    for bad in (asked + 1, asked * 10**9, asked[::-1].copy()):
        with pytest.raises(InputError):
            native(queries, bad, stored, offsets, rows, items)
    with pytest.raises(InputError, match="items must be below"):
        native(queries, asked, stored, offsets, rows, items - 1)
    with pytest.raises(InputError, match="as many columns"):
        native(queries[:, :5].copy(), asked, stored, offsets, rows, items)


def test_tokens_that_are_no_numbers_are_refused():
    queries, asked, stored, offsets, rows, items = made(storage="float32")
    stored.rows[:] = np.nan
    with pytest.raises(InputError, match="finite"):
        native(queries, asked, stored, offsets, rows, items)
