"""Products with all items: numpy's numbers, the same bits in any company, and the best of them."""

from __future__ import annotations

import numpy as np
import pytest

from vizsla import _native
from vizsla.methods.cur.factors import Factors, Own
from vizsla.methods.cur.plan import best_places

PICK = np.random.default_rng(11)


def _own(queries: int, features: int, items: int) -> Own:
    shapes = [(queries, features, items), (queries, features), (queries,)]
    return Own(*(PICK.normal(size=shape).astype(np.float32) for shape in shapes))


def _twin(factors: Factors, weights: np.ndarray, own: Own) -> np.ndarray:
    wide = factors.values.astype(np.float64) * factors.steps[:, None]
    return weights @ wide + np.einsum("qf,qfi->qi", own.weights, own.features) + own.bias[:, None]


@pytest.mark.parametrize("storage", ["float32", "float16", "int8"])
@pytest.mark.parametrize(
    ("queries", "dim", "items"), [(1, 7, 1), (9, 33, 47), (17, 5, 6400), (3, 1100, 200), (2, 0, 9)]
)
def test_products_are_numpys_whatever_the_storage(storage, queries, dim, items):
    factors = Factors.of(PICK.normal(size=(dim, items)), storage)
    weights, own = PICK.normal(size=(queries, dim)).astype(np.float32), _own(queries, 2, items)
    expected = _twin(factors, weights, own)
    found = factors.products(weights, own)
    assert np.abs(found - expected).max() <= 1e-5 * max(1, np.abs(expected).max())
    assert np.array_equal(found, factors.products(weights, own, threads=3))
    alone = Own(*(part[-1:] for part in own))
    assert np.array_equal(found[-1:], factors.products(weights[-1:], alone))


@pytest.mark.parametrize("storage", ["float32", "float16", "int8"])
@pytest.mark.parametrize("kernels", ["plain", "avx2", "avx512"])
@pytest.mark.parametrize(
    ("queries", "dim", "items"), [(1, 7, 1), (9, 33, 47), (17, 100, 1585), (90, 5, 800), (2, 0, 9)]
)
def test_products_have_the_same_bits_by_every_instruction_set(kernels, storage, queries, dim, items):
    factors = Factors.of(PICK.normal(size=(dim, items)), storage)
    weights, own = PICK.normal(size=(queries, dim)).astype(np.float32), _own(queries, 1, items)
    try:
        found = np.frombuffer(_native.column_sums(*factors._given(weights, own), 1, kernels=kernels), np.float32)
    except ValueError as refused:  # what this CPU lacks is refused, and nothing else is
        assert kernels != "plain" and "such as this CPU can run" in str(refused)
        return
    assert np.array_equal(found.reshape(queries, items), factors.products(weights, own))


def test_unknown_kernels_are_refused():
    factors = Factors.of(np.ones((1, 1)))
    with pytest.raises(ValueError, match="kernels must be"):
        _native.column_sums(*factors._given(np.ones((1, 1), np.float32), None), 1, kernels="fast")


def test_what_is_no_number_comes_last_wherever_it_stands():
    factors = Factors.of(np.arange(400.0)[None])
    own = Own(np.zeros((1, 1, 400), np.float32), np.ones((1, 1), np.float32), np.zeros(1, np.float32))
    own.features[0, 0, [0, 200, 399]] = np.nan
    [(items, sums)] = factors.best(np.ones((1, 1), np.float32), np.ones((1, 400), np.bool_), 399, own)
    assert items.tolist() == [*range(398, 200, -1), *range(199, 0, -1), 0, 200] and np.isnan(sums[-2:]).all()


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("count", [1, 50, 20_000])
def test_the_best_are_those_of_all_products(threads, count):
    factors = Factors.of(PICK.integers(-2, 3, size=(3, 13_000)))  # many are equal
    weights, own = PICK.integers(-2, 3, size=(11, 3)).astype(np.float32), Own.none(11, 13_000)
    free = PICK.random((11, 13_000)) < 0.7
    free[4] = False
    every = factors.products(weights, own)
    for row, (items, sums) in enumerate(factors.best(weights, free, count, own, threads=threads)):
        wanted = best_places(np.where(free[row], every[row], -np.inf), min(count, int(free[row].sum())))
        assert items.tolist() == wanted.tolist() and np.array_equal(sums, every[row, items])


@pytest.mark.parametrize("storage", ["float32", "float16", "int8"])
@pytest.mark.parametrize("dim", [0, 1, 16, 37])
def test_columns_are_numpys(storage, dim):
    factors = Factors.of(PICK.normal(size=(dim, 50)), storage)
    items = PICK.integers(0, 50, 33)
    assert np.array_equal(
        factors.columns(items), (factors.values.astype(np.float32) * factors.steps[:, None])[:, items].T
    )
    assert factors.columns(np.zeros(0, np.int64)).shape == (0, dim)


@pytest.mark.parametrize("wrong", [[-1], [5], [0, 2**62]])
def test_columns_of_unknown_items_are_refused(wrong):
    with pytest.raises(ValueError, match="among those"):
        Factors.of(np.ones((2, 5))).columns(np.array(wrong))
    with pytest.raises(ValueError, match="step"):
        _native.gather_columns(np.ones((2, 5), np.float32), np.ones(3, np.float32), np.zeros(1, np.int64))


@pytest.mark.parametrize("by_item", [False, True])
@pytest.mark.parametrize("storage", ["float32", "float16", "int8"])
def test_pools_are_the_columns_of_each_querys_items(storage, by_item):
    factors = Factors.of(PICK.normal(size=(7, 50)), storage)
    numbers = [np.array([3, 3, 49]), np.zeros(0, np.int64), np.arange(50)]
    for part, some in zip(factors.pools(numbers, by_item=by_item), numbers, strict=True):
        assert part.storage == "float32" and np.array_equal(part.values, factors.columns(some).T)
    assert factors.pools([], by_item=by_item) == []


@pytest.mark.parametrize("storage", ["float32", "float16", "int8"])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("by_item", [False, True])
def test_pools_of_rows_that_are_longer_than_a_cache(storage, threads, by_item):
    """Dense and sparse segments, in any order, with repeats; a row of 70,000 numbers has three segments."""
    factors = Factors.of(PICK.normal(size=(3, 70_000)), storage)
    many, few = PICK.permutation(70_000)[:9_000], np.array([69_999, 0, 32_768, 32_767, 32_768])
    for numbers in ([np.sort(many), many, few], [few], [few[:0], few]):
        for part, some in zip(factors.pools(numbers, threads=threads, by_item=by_item), numbers, strict=True):
            assert np.array_equal(part.values, factors.columns(some).T)


@pytest.mark.parametrize(
    ("items", "offsets", "said"),
    [
        ([5], [0, 1], "among"),
        ([-1], [0, 1], "among"),
        ([1], [0], "rise"),
        ([1], [], "rise"),
        ([1, 2], [0, 2, 1, 2], "rise"),
    ],
)
@pytest.mark.parametrize("by_item", [False, True])
def test_pools_that_cannot_be_are_refused(items, offsets, said, by_item):
    values, steps = np.ones((5, 2) if by_item else (2, 5), np.float32), np.ones(2, np.float32)
    with pytest.raises(ValueError, match=said):
        _native.gather_pools(values, steps, np.array(items), np.array(offsets, np.int64), 1, by_item)


def test_what_does_not_belong_together_is_refused():
    values, weights, bias = np.zeros((3, 5), np.float32), np.zeros((2, 3), np.float32), np.zeros(2, np.float32)
    own, own_weights = np.zeros((2, 1, 5), np.float32), np.zeros((2, 1), np.float32)
    for wrong in (
        (values, weights[:, :2].copy(), bias, own, own_weights),
        (values, weights, bias[:1], own, own_weights),
        (values, weights, bias, own[:, :, :4].copy(), own_weights),
        (values, weights, bias, own, own_weights[:1]),
        (values.astype(np.uint8), weights, bias, own, own_weights),
    ):
        with pytest.raises((ValueError, TypeError)):
            _native.column_sums(*wrong, 1)
        with pytest.raises((ValueError, TypeError)):
            _native.best_columns(*wrong, np.ones((2, 5), np.bool_), 1, 1)
    right = (values, weights, bias, own, own_weights)
    with pytest.raises(ValueError, match="free must be"):
        _native.best_columns(*right, np.ones((2, 4), np.bool_), 1, 1)
    with pytest.raises(ValueError, match="above 0"):
        _native.best_columns(*right, np.ones((2, 5), np.bool_), 0, 1)
