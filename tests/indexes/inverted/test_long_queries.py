"""Long queries stop reading lists once few items can still win; the answer is that of scoring everything."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from tests.indexes.inverted.twin import exhaustive, top
from vizsla.indexes.inverted import InvertedIndex


def make(seed: int, items: int, terms: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of length 1 in which frequent terms weigh little, as TF-IDF has them, and queries that name most."""
    random = np.random.default_rng(seed)
    density = random.choice([0.003, 0.02, 0.1, 0.4], terms)
    held = random.random((items, terms)) < density
    rows = np.where(held, random.gamma(1.5, 1.0, (items, terms)) * -np.log(density), 0)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
    queries = np.where(random.random((6, terms)) < 0.8, random.gamma(1.0, 1.0, (6, terms)) * -np.log(density), 0)
    return rows.astype(np.float32), queries.astype(np.float32)


@pytest.mark.parametrize("allowed", [None, 0.5, 0.01])
@pytest.mark.parametrize("k", [1, 10, 100, 5000])
@pytest.mark.parametrize("items", [100, 3000, 8192, 20_000])
def test_the_answer_is_that_of_scoring_everything(items, k, allowed):
    rows, queries = make(items + k, items)
    mask = None if allowed is None else np.random.default_rng(k).random(items) < allowed
    found = InvertedIndex.build(csr_array(rows)).search(csr_array(queries), k, filter=mask)
    for number, weights in enumerate(queries):
        expected, scores = top(*exhaustive(rows, weights), k, mask)
        assert found.row(number)[0].tolist() == expected.tolist()
        assert found.row(number)[1].tolist() == scores.tolist()


@pytest.mark.parametrize("items", [3000, 20_000])
def test_ties_go_to_the_lower_number(items):
    random = np.random.default_rng(items)
    rows = (random.random((items, 50)) < 0.3).astype(np.float32)
    queries = np.ones((2, 50), np.float32)
    found = InvertedIndex.build(csr_array(rows)).search(csr_array(queries), 25)
    expected, scores = top(*exhaustive(rows, queries[0]), 25)
    assert found.row(0)[0].tolist() == expected.tolist() and found.row(1)[1].tolist() == scores.tolist()


def test_what_every_item_gets_is_added_too():
    rows, queries = make(5, 3000)
    absent = np.random.default_rng(1).random(rows.shape[1])
    index = InvertedIndex.build(csr_array(rows), absent=absent)
    found = index.search(csr_array(queries), 10)
    for number, weights in enumerate(queries):
        base = np.float32(weights.astype(np.float64) @ absent)
        expected, scores = top(*exhaustive(rows, weights, base=base), 10)
        assert found.row(number)[0].tolist() == expected.tolist()
        np.testing.assert_allclose(found.row(number)[1], scores, rtol=1e-6)


def test_far_fewer_postings_are_read():
    rows, queries = make(2, 6000)
    index = InvertedIndex.build(csr_array(rows))
    everything = sum(int(np.diff(index._offsets)[weights > 0].sum()) for weights in queries)
    assert index.search(csr_array(queries), 10).stats.postings < 0.8 * everything
    assert index.search(csr_array(queries), 10, threads=2) == index.search(csr_array(queries), 10)
