"""Exact search equals brute force, bit for bit, whatever the batch, k, threads, storage and mask."""

from __future__ import annotations

import numpy as np
import pytest

from vizsla import _native
from vizsla.core.candidates import Candidates, Stats
from vizsla.errors import InputError
from vizsla.indexes.factory import make_index
from vizsla.indexes.flat import FlatIndex


def brute(index: FlatIndex, queries: np.ndarray, k: int, allowed: np.ndarray | None = None) -> list[list[int]]:
    """Every item's product in float64, rounded once; best first, ties by number."""
    rows = np.asarray(index.vectors, np.float64)
    answers = []
    for query in queries.astype(np.float64):
        scores = (rows * query).sum(axis=1).astype(np.float32)
        order = [i for i in np.lexsort((np.arange(len(rows)), -scores)) if allowed is None or allowed[i]]
        answers.append(order[:k])
    return answers


def made(count: int = 3000, dim: int = 24, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    vectors = random.standard_normal((count, dim)).astype(np.float32)
    vectors[count // 2 :: 7] = vectors[0]  # many ties, far apart
    vectors[5] = 0
    return vectors, np.concatenate([vectors[:2], random.standard_normal((7, dim)).astype(np.float32)])


@pytest.mark.parametrize("storage", ["float32", "float16", "int8"])
def test_equals_brute_force(storage):
    vectors, queries = made()
    index = FlatIndex.build(vectors, storage=storage)
    allowed = np.arange(len(vectors)) % 5 == 2
    for k in (1, 10, 200, len(vectors)):
        assert [row.tolist() for row in np.split(index.search(queries, k).items, len(queries))] == brute(
            index, queries, k
        )
    found = index.search(queries, 30, filter=allowed)
    assert np.split(found.items, len(queries))[3].tolist() == brute(index, queries, 30, allowed)[3]


def test_batch_threads_and_k_change_no_bit():
    vectors, queries = made(seed=2)
    many = np.concatenate([queries] * 70)
    index = FlatIndex.build(vectors)
    together = index.search(many, 20)
    assert index.search(many, 20, threads=2) == together
    assert index.search(many, 500).top(20) == together
    assert index.score(many, together) == together
    for row in (0, 5, 600):
        alone = index.search(many[row : row + 1], 20)
        assert np.array_equal(alone.items, together.row(row)[0])
        assert np.array_equal(alone.scores, together.row(row)[1])


def test_lengths_of_every_size_lose_nobody():
    random = np.random.default_rng(3)
    vectors = random.standard_normal((2000, 8)) * 10.0 ** random.integers(-6, 6, (2000, 1))
    index = FlatIndex.build(vectors)
    queries = random.standard_normal((5, 8)).astype(np.float32)
    assert np.split(index.search(queries, 50).items, 5)[4].tolist() == brute(index, queries, 50)[4]


def test_int8_is_within_half_a_step():
    vectors, _ = made()
    decoded = FlatIndex.build(vectors, storage="int8").vectors
    steps = (vectors.max(axis=0) - vectors.min(axis=0)) / 255
    assert (np.abs(decoded - vectors) <= steps * 0.5001 + 1e-6).all()


def test_no_items_and_no_queries():
    index = FlatIndex.build(np.zeros((0, 3), np.float32))
    assert len(index.search(np.ones((2, 3), np.float32), 4).items) == 0
    assert len(FlatIndex.build(np.eye(3)).search(np.zeros((0, 3), np.float32), 4)) == 0


@pytest.mark.parametrize("bad", [[[np.nan]], [[np.inf]], [1.0], np.zeros((3, 0))])
def test_vectors_that_cannot_be_indexed_raise(bad):
    with pytest.raises(InputError, match="vectors|finite"):
        FlatIndex.build(np.asarray(bad))
    with pytest.raises(InputError, match="finite"):
        FlatIndex.build(np.eye(2)).search(np.full((1, 2), np.nan, np.float32), 1)


@pytest.mark.parametrize("kind", ["hnsw", "ivf"])
@pytest.mark.parametrize("storage", ["float32", "float16", "int8"])
def test_approximate_indexes_find_most_and_score_exactly(kind, storage):
    random = np.random.default_rng(4)
    vectors = random.standard_normal((4000, 16)).astype(np.float32)
    options = {"M": 16, "ef_construction": 60, "ef": 120} if kind == "hnsw" else {"lists": 40, "probes": 25}
    index = make_index(kind, vectors, storage=storage, **options)
    queries = random.standard_normal((40, 16)).astype(np.float32)
    found, exact = index.search(queries, 20), index.search(queries, 20, exact=True)
    assert exact == FlatIndex.build(vectors, storage=storage).search(queries, 20)
    shared = [len(np.intersect1d(found.row(q)[0], exact.row(q)[0])) for q in range(40)]
    assert np.mean(shared) / 20 > 0.9
    assert index.score(queries, found) == found
    for row in (0, 39):
        assert np.array_equal(index.search(queries[row : row + 1], 20).items, found.row(row)[0])


@pytest.mark.parametrize("kind", ["hnsw", "ivf"])
def test_a_narrow_mask_is_answered_in_full(kind):
    random = np.random.default_rng(5)
    vectors = random.standard_normal((3000, 8)).astype(np.float32)
    index = make_index(kind, vectors, **({"M": 4, "ef": 10} if kind == "hnsw" else {"lists": 100, "probes": 1}))
    for share in (3, 40, 1500):
        allowed = np.zeros(3000, bool)
        allowed[random.choice(3000, share, replace=False)] = True
        found = index.search(vectors[:9], 30, filter=allowed)
        assert np.diff(found.offsets).tolist() == [min(30, share)] * 9
        assert allowed[found.items].all()


@pytest.mark.parametrize("kind", ["hnsw", "ivf"])
def test_the_same_vectors_build_the_same_index(kind, tmp_path):
    vectors = np.random.default_rng(6).standard_normal((1500, 8)).astype(np.float32)
    one, two = (make_index(kind, vectors).save(tmp_path / name) for name in ("one", "two"))
    assert (one / "manifest.json").read_bytes() == (two / "manifest.json").read_bytes()


def test_score_of_foreign_rows_raises():
    index = FlatIndex.build(np.eye(2))
    with pytest.raises(InputError, match="item below 2"):
        index.score(np.ones((1, 2), np.float32), Candidates.from_rows([np.array([2], np.int32)]))


@pytest.mark.parametrize(("rows", "items"), [([5], [0]), ([-1], [0]), ([0], [3]), ([0], [-1]), ([0, 1], [0])])
def test_native_pair_dots_refuses_numbers_that_point_outside(rows, items):
    with pytest.raises(ValueError, match="must be"):
        _native.pair_dots(
            np.ones((5, 4), np.float32),
            np.array(rows),
            np.ones((3, 4), np.float32),
            None,
            None,
            np.array(items, np.int32),
        )


def test_numbers_that_overflow_float32_products_are_scored_in_float64():
    vectors = np.array([[3e38, 3e38], [3e38, -3e38], [1.0, 1.0]], np.float32)
    found = FlatIndex.build(vectors).search(np.array([[2.0, -2.0]], np.float32), 3)
    assert found.items.tolist() == [1, 0, 2] and found.scores.tolist() == [np.inf, 0.0, 0.0]


def test_search_counts_what_it_reads_and_scores_nothing():
    index = FlatIndex.build(np.ones((50, 4), np.float32))
    assert index.search(np.ones((3, 4), np.float32), 5).stats == Stats(exact=True, bytes=50 * 4 * 4)
    assert index.search(np.ones((300, 4), np.float32), 5).stats == Stats(exact=True, bytes=3 * 50 * 4 * 4)
    asked = Candidates.from_rows([np.arange(6, dtype=np.int32)])
    assert index.score(np.ones((1, 4), np.float32), asked).stats == Stats(scored=6, bytes=6 * 4 * 4)


@pytest.mark.parametrize("share", [0.9, 0.31, 0.29, 0.0])
@pytest.mark.parametrize("storage", ["float32", "float16", "int8"])
def test_one_query_under_any_filter_is_the_query_in_a_batch(storage, share):
    """Under a wide filter a single query reads all rows in a stream, a batch only the allowed ones."""
    random = np.random.default_rng(3)
    index = FlatIndex.build(random.standard_normal((500, 24)), storage=storage)
    queries, allowed = random.standard_normal((4, 24)).astype(np.float32), random.random(500) < share
    together = index.search(queries, 40, filter=allowed)
    for number in range(4):
        alone = index.search(queries[number : number + 1], 40, filter=allowed)
        assert [part.tolist() for part in alone.row(0)] == [part.tolist() for part in together.row(number)]
