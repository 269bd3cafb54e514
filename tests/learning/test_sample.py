"""A sample of a log holds whole items, and holds out queries whose items others chose too."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from vizsla.learning import splits as sampling
from vizsla.learning.splits import draw_sample


@pytest.fixture
def clicks():
    """1,000 queries and 200 texts of items, over 200 items."""
    pick = np.random.default_rng(0)
    queries = (pick.random((1000, 200)) < 0.02) * pick.integers(1, 50, (1000, 200))
    return csr_array(np.concatenate([queries, np.eye(200)]).astype(np.float32))


def test_no_query_held_out_takes_an_item_along(clicks, monkeypatch):
    monkeypatch.setattr(sampling, "MAX_SAMPLE_ROWS", 500)
    drawn = draw_sample(clicks, 1000, seed=3)
    dense, sizes = clicks.toarray(), (clicks.toarray() > 0).sum(axis=0)
    assert 500 - sizes.max() < sizes[drawn.items].sum() <= 500
    assert np.array_equal(drawn.rows, np.flatnonzero(dense[:, drawn.items].sum(axis=1)))
    assert np.array_equal(drawn.clicks.toarray(), dense[np.ix_(drawn.rows, drawn.items)])
    assert (drawn.rows[drawn.held] < 1000).all() and len(drawn.held) > 50
    assert np.array_equal(np.flatnonzero(~drawn.learned), drawn.held)
    assert (drawn.clicks.toarray()[drawn.learned] > 0).any(axis=0).all()


def test_the_same_part_of_another_matrix(clicks, monkeypatch):
    monkeypatch.setattr(sampling, "MAX_SAMPLE_ROWS", 500)
    drawn = draw_sample(clicks, 1000, seed=3)
    assert np.array_equal(drawn.of(clicks * 2).toarray(), 2 * drawn.clicks.toarray())


def test_few_queries_are_too_few(clicks):
    assert draw_sample(clicks[:400], 400, seed=0).too_small
    assert not draw_sample(clicks, 1000, seed=0).too_small
