"""Scores of given items: the search's own bits, however often and in whatever order they are asked for."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from tests.indexes.tree.trees import DIM, make_matchers, make_queries, make_tree, twin_scores
from tests.support.interrupts import seconds_until_stopped
from vizsla.core.candidates import Candidates
from vizsla.core.sparse import SparseRows
from vizsla.errors import InputError
from vizsla.indexes.tree import NodeWeights, TreeIndex


def make_index(seed, fanouts, **options):
    pick = np.random.default_rng(seed)
    layers, items = make_tree(pick, fanouts)
    matchers = make_matchers(pick, layers)
    return TreeIndex.build(layers, items, matchers, dim=DIM, **options), layers, items, matchers, pick


@pytest.mark.parametrize("weights", ["float32", "int16", "int8"])
@pytest.mark.parametrize("fanouts", [(30,), (9, 30), (4, 5, 30)])
def test_scores_are_the_searchs_before_and_after_rows_by_item_are_made(fanouts, weights):
    index, _, _, _, pick = make_index(1, fanouts, weights=weights)
    queries = make_queries(pick, 20)
    everything = index.with_effort(len(index)).search(queries, len(index)).to_csr(items=len(index)).toarray()
    for round in range(60):  # rows by item are made on the way
        chosen = [pick.choice(len(index), 1 + round % 7) for _ in range(20)]  # some items twice
        scored = index.scores(queries, Candidates.from_rows(chosen))
        assert scored.scores.tolist() == [s for row, some in enumerate(chosen) for s in everything[row, some].tolist()]


def test_features_that_share_their_lower_bits_are_told_apart():
    pick, count = np.random.default_rng(6), 200
    numbers = np.arange(count + 1) // 50 * 2**16 + np.arange(count + 1) % 50 * 2**10
    layers, items = make_tree(pick, (6, 30))
    shapes = [(int(offsets[-1]), count + 1) for offsets in layers]
    rows = [csr_array(pick.normal(size=shape) * (pick.random(shape) < 0.6)) for shape in shapes]
    queries = csr_array((pick.normal(size=(20, count)) * (pick.random((20, count)) < 0.3)).astype(np.float32))

    def made(names):
        of = [NodeWeights(m.indptr.astype(np.int64), names[m.indices], m.data.astype(np.float32)) for m in rows]
        asked = SparseRows(queries.indptr.astype(np.int64), names[queries.indices], queries.data, int(names[-1]))
        return TreeIndex.build(layers, items, of, dim=int(names[-1])), asked

    near, near_queries = made(np.arange(count + 1, dtype=np.int32))
    far, far_queries = made(numbers.astype(np.int32))
    truth = near.with_effort(len(near)).search(near_queries, len(near)).to_csr(items=len(near)).toarray()
    for _ in range(60):  # rows by item are made on the way
        chosen = [pick.choice(len(far), 5) for _ in range(20)]
        scored = far.scores(far_queries, Candidates.from_rows(chosen))
        assert scored.scores.tolist() == [s for row, some in enumerate(chosen) for s in truth[row, some].tolist()]


def test_scores_are_the_twins():
    index, layers, items, matchers, pick = make_index(2, (5, 6, 20), transform="l2-hinge")
    queries = make_queries(pick, 30)
    truth = twin_scores(layers, items, matchers, queries, "l2-hinge")
    for _ in range(20):
        chosen = [pick.permutation(len(index))[:5].astype(np.int32) for _ in range(30)]
        scores = index.scores(queries, Candidates.from_rows(chosen)).scores.reshape(30, 5)
        assert scores == pytest.approx(np.take_along_axis(truth, np.array(chosen), axis=1), rel=1e-4, abs=1e-4)


def test_features_in_any_order_are_added_as_they_come():
    index, *_ = make_index(3, (6, 30))
    columns, values = np.array([9, 2, 17, 2], np.int32), np.array([0.3, -0.7, 1.1, 0.2], np.float32)
    rows = (np.array([0, 4]), columns, values)
    starts, items, scores, *_ = index._tree.search(*rows, len(index), len(index), None, 1)
    items = np.frombuffer(items, np.int32)
    for _ in range(300):
        again, _ = index._tree.score(*rows, np.frombuffer(starts, np.int64), items, 1)
        assert again == scores


def test_threads_change_no_score():
    index, _, _, _, pick = make_index(4, (6, 40))
    queries = make_queries(pick, 200)
    chosen = Candidates.from_rows([pick.permutation(len(index))[: row % 9].astype(np.int32) for row in range(200)])
    for _ in range(5):
        one, two = index.scores(queries, chosen), index.scores(queries, chosen, threads=2)
        assert one.scores.tolist() == two.scores.tolist() and two.stats.scored == len(chosen.items)


def test_wrong_candidates_are_refused():
    index, _, _, _, pick = make_index(5, (3, 4))
    queries = make_queries(pick, 2)
    two = Candidates.from_rows([np.array([0], np.int32), np.array([len(index)], np.int32)])
    with pytest.raises(InputError, match="must be an item below"):
        index.scores(queries, two)
    with pytest.raises(InputError, match="a row for each of 1 queries"):
        index.scores(queries[[0]], two)
    with pytest.raises(InputError, match="threads"):
        index.scores(queries[[0]], Candidates.from_rows([np.array([0], np.int32)]), threads=0)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("what", ["search", "filtered", "scores"])
def test_an_interrupt_stops_a_long_batch(what, threads):
    index, _, _, _, pick = make_index(6, (40, 60))
    some, times = make_queries(pick, 500), 2000
    queries = SparseRows.of(csr_array(some))
    offsets = np.concatenate([queries.offsets[:-1] + n * queries.offsets[-1] for n in range(times)])
    batch = SparseRows(
        np.append(offsets, times * queries.offsets[-1]),
        np.tile(queries.columns, times),
        np.tile(queries.values, times),
        queries.width,
    )
    count = len(batch)
    chosen = Candidates(np.arange(count + 1) * 3, np.tile(np.array([1, 2, 5], np.int32), count), None)
    mask = pick.random(len(index)) < 0.5
    work = {
        "search": lambda: index.with_effort(len(index)).search(batch, 2, threads=threads),
        "filtered": lambda: index.with_effort(len(index)).search(batch, 2, filter=mask, threads=threads),
        "scores": lambda: index.scores(batch, chosen, threads=threads),
    }[what]
    assert seconds_until_stopped(work, 0.3) < 5  # the whole would take minutes
