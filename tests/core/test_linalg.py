"""Linear algebra of fixed bits against numpy: products, factors, eigenvalues, singular vectors, largest entries."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from vizsla.core import linalg
from vizsla.core.linalg import (
    eigen,
    gram,
    inverse_of_triangle,
    largest_entries,
    pivoted_cholesky,
    right_singular_vectors,
    rotated_by,
    unit_rows,
)

SHAPES = st.tuples(st.integers(1, 7), st.integers(1, 5), st.integers(0, 10**6))


def matrix_of(rows, columns, seed):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal((rows, columns)) * 10.0 ** rng.integers(-3, 4, columns)).astype(np.float32)


@given(SHAPES, st.sampled_from([0.0, 1.0]))
def test_rows_get_length_1_if_they_are_longer_than_the_least(shape, least):
    rows = matrix_of(*shape)
    rows[0] = 0
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1)
    wanted = [row / length if length > least else 0 * row for row, length in zip(rows, lengths, strict=True)]
    assert unit_rows(rows, least=least) == pytest.approx(np.array(wanted), abs=1e-6)
    assert unit_rows([[0.0, 1.0]], least=1.0).tolist() == [[0.0, 0.0]]


@given(SHAPES)
def test_products_of_columns_are_numpys_in_any_blocks(shape):
    columns = matrix_of(*shape)
    exact = columns.astype(np.float64).T @ columns.astype(np.float64)
    lengths = np.sqrt(np.diag(exact))
    with pytest.MonkeyPatch.context() as patch:
        for rows in (1 << 12, 2):
            patch.setattr(linalg, "ROWS_PER_PRODUCT", rows)
            assert (np.abs(gram(columns) - exact) <= 1e-5 * np.outer(lengths, lengths) + 1e-30).all()
            turns = np.random.default_rng(shape[2]).standard_normal((columns.shape[1], 3))
            found, wanted = rotated_by(columns, turns), columns.astype(np.float64) @ turns
            assert found.dtype == np.float32 and found.shape == wanted.shape
            assert np.abs(found - wanted).max() <= 1e-5 * max(1e-30, (np.abs(columns) @ np.abs(turns)).max())


def semidefinite(rank, size, seed):
    half = np.random.default_rng(seed).standard_normal((rank, size))
    return half.T @ half


@settings(max_examples=60)
@given(st.integers(0, 5), st.integers(1, 6), st.integers(0, 10**6))
def test_factors_multiply_to_the_matrix_and_stand_in_the_order_of_their_pivots(rank, size, seed):
    matrix = semidefinite(rank, size, seed)
    factor, order = pivoted_cholesky(matrix, noise=1e-9)
    assert factor.T @ factor == pytest.approx(matrix, abs=1e-8 * max(1, np.abs(matrix).max()))
    assert len(order) == len(factor) == len(set(order.tolist())) <= min(rank, size)
    upper = factor[:, order]
    assert (np.tril(upper, -1) == 0).all() and (np.diff(np.diag(upper)) <= 1e-9).all()
    if len(order) and np.diag(upper).min() > 1e-3:
        assert inverse_of_triangle(upper) == pytest.approx(np.linalg.inv(upper), rel=1e-6, abs=1e-6)


@settings(max_examples=60)
@given(st.integers(0, 5), st.integers(1, 6), st.integers(0, 10**6))
def test_eigenvalues_are_numpys_largest_first(rank, size, seed):
    matrix = semidefinite(rank, size, seed)
    values, vectors = eigen(matrix, noise=1e-7)
    wanted = np.linalg.eigvalsh(matrix)[::-1]
    wanted = wanted[wanted > 1e-7 * max(wanted[0], 1e-30)] if rank else wanted[:0]
    assert values == pytest.approx(wanted, rel=1e-5) and vectors.shape == (size, len(values))
    assert matrix @ vectors == pytest.approx(vectors * values, abs=1e-5 * max(1, np.abs(matrix).max()))
    assert vectors.T @ vectors == pytest.approx(np.eye(len(values)), abs=1e-6)


@pytest.mark.parametrize(("rows", "columns"), [(30, 12), (12, 30), (5, 40), (40, 5)])
@pytest.mark.parametrize("batch", [1 << 20, 20])
def test_singular_vectors_are_numpys_up_to_a_sign_that_makes_the_largest_entry_positive(
    rows, columns, batch, monkeypatch
):
    monkeypatch.setattr(linalg, "ENTRIES_PER_PRODUCT", batch)
    rng = np.random.default_rng(rows)
    left, right = (np.linalg.qr(rng.standard_normal((size, 4)))[0] for size in (rows, columns))
    dense = left @ (np.array([[4.0], [3.0], [2.0], [1.0]]) * right.T)
    found = right_singular_vectors(csr_array(dense.astype(np.float32)), 3, rounds=3, seed=1)
    _, _, wanted = np.linalg.svd(dense)
    for at in range(3):
        sign = np.sign(wanted[at][np.abs(wanted[at]).argmax()])
        assert found[:, at] == pytest.approx(wanted[at] * sign, abs=1e-3)
    assert right_singular_vectors(csr_array(dense.astype(np.float32)), 99, rounds=3, seed=1).shape == (columns, 4)
    assert found.tolist() == right_singular_vectors(csr_array(dense.astype(np.float32)), 3, rounds=3, seed=1).tolist()


@given(st.integers(1, 4), st.integers(1, 6), st.integers(0, 10**6), st.booleans())
def test_the_largest_entries_of_each_row_are_kept_whatever_their_sign(rows, columns, seed, several):
    rng = np.random.default_rng(seed)
    dense = rng.integers(-3, 4, (rows, columns)).astype(np.float64)
    counts = rng.integers(0, columns + 1, rows) if several else int(rng.integers(0, columns + 1))
    found = largest_entries(csr_array(dense), counts)
    for row in range(rows):
        count = int(counts[row]) if several else counts
        kept = sorted(np.flatnonzero(dense[row]).tolist(), key=lambda at: (-abs(dense[row, at]), at))[:count]
        assert found[[row]].toarray()[0].tolist() == [dense[row, at] if at in kept else 0 for at in range(columns)]
    assert found.has_sorted_indices or found.nnz == np.count_nonzero(dense)
