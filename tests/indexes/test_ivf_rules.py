"""Rules of inverted files by brute force: which list an item is in, how many are read, and what a filter changes."""

from __future__ import annotations

import numpy as np
import pytest

from vizsla.data.filter import Filter
from vizsla.errors import InputError
from vizsla.indexes.ivf import IvfIndex, assigned, enough_probes
from vizsla.indexes.vectors import ItemVectors

RNG = np.random.default_rng(3)
VECTORS = RNG.standard_normal((300, 6)).astype(np.float32)
CENTERS = RNG.standard_normal((12, 6)).astype(np.float32)


def test_an_item_is_in_the_list_of_its_nearest_center_by_inner_product():
    wanted = np.argmax(VECTORS @ CENTERS.T, axis=1)
    assert assigned(ItemVectors.of(VECTORS), CENTERS).tolist() == wanted.tolist()


@pytest.mark.parametrize("recall", [0.0, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("count", [1, 5, 80, 300])
def test_enough_lists_are_read_for_the_wanted_share_of_the_nearest(recall, count):
    vectors = VECTORS[:count]
    lists = np.argmax(vectors @ CENTERS.T, axis=1).astype(np.int32)
    needed = []
    for number, row in enumerate(vectors):
        best = np.argsort(-(vectors @ row), kind="stable")[: min(101, count)]
        order = np.argsort(-(CENTERS @ row), kind="stable").tolist()
        needed += [order.index(lists[item]) + 1 for item in best if item != number]
    found = enough_probes(ItemVectors.of(vectors), CENTERS, lists, recall=recall, seed=0)
    share = np.mean(np.array(needed) <= found) if needed else 1.0
    assert share >= recall and 1 <= found <= 12
    if recall and found > 1:  # no more than that
        assert np.mean(np.array(needed) <= found - 1) < recall


@pytest.mark.parametrize(
    ("items", "given", "lists"), [(300, None, 69), (300, 7, 7), (5, None, 5), (5, 9, 5), (1, None, 1), (300, 1, 1)]
)
def test_there_are_four_times_the_root_of_the_items_unless_told(items, given, lists):
    index = IvfIndex.build(VECTORS[:items], lists=given, probes=1, rounds=2)
    assert len(index.centers) == lists and index.options["lists"] == lists and index.options["probes"] == 1
    assert (index.lists == np.argmax(VECTORS[:items] @ index.centers.rows.T, axis=1)).all()


def test_under_a_filter_as_many_more_lists_are_read_as_items_are_fewer():
    index = IvfIndex.build(VECTORS, lists=12, probes=2, rounds=2)
    for reachable, probes in ((300, 2), (299, 3), (150, 4), (100, 6), (51, 12), (50, 12), (1, 12), (0, 12)):
        assert index._masked_probes(reachable) == probes, reachable
    assert not index._pays(10, 300) and not index._pays(400, 300)
    assert index._pays(100, 100) and not index._pays(99, 100) and index._pays(1, 50) and not index._pays(1, 60)


@pytest.mark.parametrize("storage", ["float32", "float16", "int8"])
def test_what_is_found_is_the_best_of_the_lists_that_are_read(storage):
    index = IvfIndex.build(VECTORS, lists=12, probes=3, rounds=2, storage=storage)
    queries = RNG.standard_normal((7, 6)).astype(np.float32)
    exact = index.search(queries, 300, exact=True)
    found = index.search(queries, 5)
    for row, query in enumerate(queries):
        near = np.argsort(-(index.centers.rows @ query), kind="stable")[:3]
        items, scores = exact.row(row)
        kept = np.isin(index.lists[items], near)
        assert found.row(row)[0].tolist() == items[kept][:5].tolist()
        assert found.row(row)[1].tolist() == scores[kept][:5].tolist()


def test_effort_is_the_number_of_lists_and_shares_everything():
    index = IvfIndex.build(VECTORS, lists=12, probes=3, rounds=2)
    more = index.with_effort(12)
    assert (index.effort, more.effort) == (3, 12) and more.lists is index.lists
    assert more.search(VECTORS[:5], 7) == index.search(VECTORS[:5], 7, exact=True)
    mask = np.arange(300) % 3 == 0
    allowed = Filter(mask)
    found = index.search(VECTORS[:5], 7, filter=allowed)
    assert mask[found.items].all()
    for wrong in (0, -1, 1.5):
        with pytest.raises(InputError, match="`effort`"):
            index.with_effort(wrong)


@pytest.mark.parametrize("change", ["short", "high", "low", "narrow", "none"])
def test_lists_that_do_not_fit_are_refused(change):
    lists = np.zeros(300, np.int32)
    centers = CENTERS
    if change == "short":
        lists = lists[:-1]
    elif change == "high":
        lists[-1] = 12
    elif change == "low":
        lists[0] = -1
    else:
        centers = CENTERS[:, :5] if change == "narrow" else CENTERS[:0]
    with pytest.raises(InputError, match="must be"):
        IvfIndex(ItemVectors.of(VECTORS), np.ascontiguousarray(centers), lists, probes=1)
    fine = np.zeros(300, np.int32)
    fine[-1] = 11
    assert len(IvfIndex(ItemVectors.of(VECTORS), CENTERS, fine, probes=1)) == 300
