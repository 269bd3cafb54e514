"""A guarded flat index answers as the plain one does, to the last bit, and looks at few vectors."""

from __future__ import annotations

import numpy as np
import pytest

from tests.indexes.pq.made import vectors
from vizsla import _native
from vizsla.errors import InputError
from vizsla.indexes.flat import FlatIndex, Int8Prefilter
from vizsla.indexes.vectors import ItemVectors


def pair(rows, **options):
    return FlatIndex.build(rows, **options), FlatIndex.build(rows, guarded=True, **options)


def asked(count, dim, seed=5):
    return np.random.default_rng(seed).standard_normal((count, dim)).astype(np.float32)


@pytest.mark.parametrize("storage", ["float32", "float16"])
@pytest.mark.parametrize("dim", [1, 7, 16, 24, 50])
@pytest.mark.parametrize("k", [1, 10, 2000])
def test_the_same_bits_as_flat(storage, dim, k):
    plain, guarded = pair(vectors(2000, dim, seed=dim), storage=storage)
    for row in asked(6, dim):
        for allowed in (None, np.arange(2000) % 3 == 0):
            one = guarded.search(row[None], k, filter=allowed)
            assert one == plain.search(row[None], k, filter=allowed)
            assert one.stats.exact


def test_threads_change_nothing():
    plain, guarded = pair(vectors(60_000, 24))
    row = asked(1, 24)
    assert guarded.search(row, 20, threads=2) == plain.search(row, 20) == guarded.search(row, 20, threads=1)


def test_few_vectors_are_scored_in_full():
    guarded = FlatIndex.build(vectors(20_000, 24), guarded=True)
    assert guarded.search(asked(1, 24), 10).stats.scored < 400


@pytest.mark.parametrize("scale", [1e-38, 1e-30, 1e-10, 1e10, 1e18])
def test_numbers_at_the_ends_of_the_scale(scale):
    rows = (vectors(500, 24).astype(np.float64) * scale).astype(np.float32)
    plain, guarded = pair(rows)
    for row in asked(4, 24) * np.float32(min(scale, 1e18)):
        assert guarded.search(row[None], 9) == plain.search(row[None], 9)


def test_rows_that_are_alike_or_nothing():
    for rows in (np.zeros((300, 24), np.float32), np.ones((300, 24), np.float32)):
        plain, guarded = pair(rows)
        assert guarded.search(asked(1, 24), 7) == plain.search(asked(1, 24), 7)
        assert guarded.search(np.zeros((1, 24), np.float32), 7) == plain.search(np.zeros((1, 24), np.float32), 7)


def test_one_number_far_above_the_others_costs_time_and_no_answer():
    rows = vectors(800, 24).copy()
    rows[::3, 0] += 5000
    plain, guarded = pair(rows)
    for row in asked(5, 24):
        assert guarded.search(row[None], 5) == plain.search(row[None], 5)


def test_the_portable_kernel_answers_the_same():
    stored = ItemVectors.of(vectors(900, 24))
    guard = Int8Prefilter.of(stored)
    parts = asked(2, 24), stored.rows, guard.codes, guard.scales, guard.errors, stored.longest, 5, None, 1
    assert _native.search_int8_bounded(*parts, portable=True) == _native.search_int8_bounded(*parts)


def test_bounds_hold_for_every_row():
    stored = ItemVectors.of(vectors(900, 24))
    guard = Int8Prefilter.of(stored)
    about = guard.codes[:, :24].astype(np.float64) * guard.scales[:, None].astype(np.float64)
    assert (np.linalg.norm(stored.rows - about, axis=1) <= guard.errors).all()


def test_it_is_saved_and_its_options_are_kept(tmp_path):
    guarded = FlatIndex.build(vectors(500, 24), guarded=True)
    guarded.save(tmp_path / "index")
    loaded = FlatIndex.load(tmp_path / "index")
    assert loaded.options == guarded.options == {"storage": "float32", "guarded": True}
    assert loaded.nbytes == guarded.nbytes > FlatIndex.build(vectors(500, 24)).nbytes
    assert loaded.search(asked(1, 24), 5) == guarded.search(asked(1, 24), 5)


def test_bytes_need_no_guard():
    with pytest.raises(InputError, match="int8"):
        FlatIndex.build(vectors(500, 24), storage="int8", guarded=True)
