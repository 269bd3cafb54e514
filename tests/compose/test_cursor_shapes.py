"""The native sum of native indexes against numpy, over all shapes: items, scores to the last bit, what is certain."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from tests.compose.cursor_shapes import keep_leaves_by_item, postings, queries, sides, tree
from tests.compose.cursor_twin import Side, by_numpy, natively
from vizsla.indexes.inverted import InvertedIndex

KS = (1, 3, 10, 16, 17, 32, 33, 60, 1000)
DEEPER = (1, 5, 25, 100, 127, 128, 300)


def check(chosen, taken, k):
    found, truth = natively(chosen, taken, k), by_numpy(chosen, taken, k)
    assert found._replace(scored=None) == truth
    assert natively(chosen, taken, k, threads=2)._replace(scored=None) == truth
    return found


@pytest.mark.parametrize("items", [1, 2, 7, 40, 150, 400, 700])
def test_sums_of_all_shapes(items):
    """Weights of 0, parts that renumber, ranks, trees of one layer, empty queries and lists of any length."""
    certain = 0
    for seed in range(25):
        pick = np.random.default_rng([items, seed])
        chosen = sides(pick, items, queries(pick, int(pick.choice([1, 3, 8]))))
        for _ in range(4):
            k = int(pick.choice(KS))
            certain += check(chosen, max(k, int(pick.choice(DEEPER))), k).certain
    assert certain > 0 or items == 1


@pytest.mark.parametrize("items", [9000, 65_536, 65_537])
@pytest.mark.parametrize("taken", [20, 127, 128])
def test_catalogs_of_several_windows(items, taken):
    """Above 65,536 items, and above 255 that are joined, other slots are used."""
    pick = np.random.default_rng([items, taken])
    rows = queries(pick, 3)
    indexes = {"minmax": postings(pick, items), "zscore": tree(pick, items), "none": postings(pick, items)}
    for how, index in indexes.items():
        check([Side(index, rows, 0.5, how, 50), Side(indexes["minmax"], rows, 0.7, "zscore", 50)], taken, 10)


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("transform", ["l3-hinge", "sigmoid", "none"])
def test_trees_tell_of_what_other_parts_found(layers, transform):
    """A narrow beam reads few leaves; of others the nodes above tell, before leaves are kept by item and after."""
    pick = np.random.default_rng([layers, len(transform)])
    rows = queries(pick, 8)
    index, words = tree(pick, 190, layers, transform).with_effort(1), postings(pick, 190)
    for _ in range(2):
        for how in ("none", "minmax", "zscore"):
            for taken in (1, 5, 30, 190):
                check([Side(words, rows, 0.3, how, 10), Side(index, rows, 1.0, how, 10)], taken, min(taken, 8))
                check([Side(index, rows, 1.0, how, 40), Side(words, rows, 0.3, "rank", 10)], taken, min(taken, 8))
        keep_leaves_by_item(index)


def test_a_window_tells_of_its_first_item_and_its_last_and_of_nobody_behind():
    """One window of postings is walked. The next, where nobody reaches the best, is not: its first item is scored."""
    walked, items = 8192, 8200
    often = np.full((items, 1), 0.5, np.float32)
    often[1:8] = 1.0
    seldom = np.zeros((items, 1), np.float32)
    seldom[[0, walked - 1, walked], 0] = 9.0, 8.0, 7.0
    rows = csr_array(np.ones((1, 1), np.float32))
    chosen = [Side(InvertedIndex.build(csr_array(own)), rows, 1.0) for own in (seldom, often)]
    found = check(chosen, 3, 3)
    assert (found.items, found.scores) == ([[0, walked - 1, walked]], [[9.5, 8.5, 7.5]])
    assert found.scored[1] == 1


@pytest.mark.parametrize(("parts", "taken"), [(2, 127), (2, 128), (3, 84), (3, 85), (3, 86), (2, 129)])
def test_lists_that_share_nobody_fill_all_slots(parts, taken):
    """Up to 255 joined items have small slots. All stand deeper in others' lists, so nobody is scored one by one."""
    items, rows = 600, csr_array(np.ones((1, 1), np.float32))
    impacts = [(items - (np.arange(items) - 200 * part) % items).astype(np.float32)[:, None] for part in range(parts)]
    chosen = [Side(InvertedIndex.build(csr_array(own)), rows, 1.0, "minmax", items) for own in impacts]
    found = check(chosen, taken, 1000)
    assert len(found.items[0]) == parts * taken
    assert found.scored == [0] * parts


def with_infinities(weight, how):
    """A tree that some of its items leave at minus infinity, and postings."""
    pick = np.random.default_rng(3)
    index, words, rows = tree(pick, 40, layers=2, transform="l3-hinge"), postings(pick, 40), queries(pick, 3) * 1e20
    assert np.isneginf(index.with_effort(1000).search(rows, 40).scores).any()
    return [Side(index.with_effort(1000), rows, weight, how, 40), Side(words, rows * 1e-20, 1.0, "none", 40)]


@pytest.mark.parametrize("how", ["minmax", "zscore"])
def test_infinite_scores_make_no_scale(how):
    with pytest.raises(ValueError, match="must be finite to be normalized"):
        natively(with_infinities(0.5, how), 40, 10)


def test_infinite_scores_that_do_not_add_up_are_refused():
    with pytest.raises(ValueError, match="must add up"):
        natively(with_infinities(0.0, "none"), 40, 10)


def test_infinite_scores_count_as_they_are():
    chosen = with_infinities(1.0, "none")
    found, places = natively(chosen, 40, 40), natively([chosen[0]._replace(how="rank"), chosen[1]], 40, 40)
    assert any(np.isneginf(score) for row in found.scores for score in row)
    assert np.isfinite(np.concatenate(places.scores)).all()
