"""What callers may hand over by mistake is refused in words; some of it used to end the process."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from tests.indexes.pq.made import made, vectors
from vizsla.errors import InputError
from vizsla.indexes.factory import make_index
from vizsla.indexes.pq.codebook import Codebook
from vizsla.indexes.pq.pq_index import PqIndex

SMALL = {"bytes": 4, "rounds": 1}


@pytest.mark.parametrize("scale", [1e16, 1e30, 1e37])
@pytest.mark.parametrize("kind", ["pq", "hnswpq", "ivfpq"])
def test_numbers_whose_distances_overflow_are_not_coded(kind, scale):
    with pytest.raises(InputError, match="divide all vectors"):
        make_index(kind, vectors() * np.float32(scale), **SMALL)


def test_new_items_too_large_are_not_coded():
    with pytest.raises(InputError, match="divide all vectors"):
        made().with_items(vectors()[:2] * np.float32(1e30))


@pytest.mark.parametrize("storage", ["float32", "int8"])
def test_lists_of_large_vectors_are_those_of_their_directions(storage):
    """Their squared lengths overflow float32, at which Faiss's k-means ends the process."""
    scale = np.float32(2.0**118)
    plain, large = (make_index("ivf", rows, storage=storage, lists=6) for rows in (vectors(), vectors() * scale))
    found, same = plain.search(vectors()[:20], 5), large.search(vectors()[:20], 5)
    assert same.scores == pytest.approx(found.scores * scale, rel=1e-5)


@pytest.mark.parametrize("kind", ["pq", "ivfpq", "ivf"])
@pytest.mark.parametrize("seed", [2**31 - 1, 2**31, 2**62])
def test_a_seed_larger_than_faiss_takes_is_a_seed(kind, seed):
    options = {} if kind == "ivf" else SMALL
    once, again = (make_index(kind, vectors(), seed=seed, **options).search(vectors()[:5], 3) for _ in range(2))
    assert once == again


@pytest.mark.parametrize(
    ("option", "wrong"),
    [
        *(("seed", wrong) for wrong in (-1, 2**63, None, "x", 1.5, True)),
        *(("rounds", wrong) for wrong in (0, 2**40, 1.5)),
        *(("opq", wrong) for wrong in ("no", None, 0)),
        *(("memory_mb", wrong) for wrong in (0, 0.5, 2**70)),
        *(("bytes", wrong) for wrong in (0, 25, 2.5, True, "4", 2**70)),
        *(("bits", wrong) for wrong in (5, 8.0, None)),
        ("threads", 0),
    ],
)
def test_options_that_are_none(option, wrong):
    with pytest.raises(InputError, match=f"`{option}` must be"):
        PqIndex.build(vectors(), **{**SMALL, option: wrong})


@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize("wrong", [300, -1, 1.7, "a"])
def test_codes_that_no_byte_holds_do_not_become_others(bits, wrong):
    index = made(bits)
    with pytest.raises(InputError, match="`codes`"):
        index.with_codes(np.full((5, index.codebook.subspaces), wrong))


@pytest.mark.parametrize("shape", [(5,), (5, 0), (5, 3), (5, 3, 2)])
def test_codes_of_another_shape(shape):
    for bits in (8, 4):
        with pytest.raises(InputError, match="`codes`"):
            made(bits).with_codes(np.zeros(shape, np.uint8))


@pytest.mark.parametrize("wrong", [None, "x", [[1]], 1j, np.float64(1e200)])
def test_centroids_that_are_none(wrong):
    index = made()
    given = index.centroids * wrong if isinstance(wrong, complex | np.float64) else wrong
    with pytest.raises(InputError, match="`centroids`"):
        index.with_centroids(given)
    for name in ("centroids", "rotation", "lost"):
        with pytest.raises(InputError, match=f"`{name}` must be an array"):
            Codebook(**{"centroids": index.centroids, name: [[1.0]]})


@pytest.mark.parametrize("wrong", [[1500], [-1], [0.5], ["a"]])
def test_items_that_are_not_there_cannot_go(wrong):
    with pytest.raises(InputError, match="`items`"):
        made().without_items(wrong)
    assert len(made().without_items([])) == 1500
    assert len(made().without_items([3, 3])) == 1499


FEWER_VECTORS_THAN_DIMENSIONS = """
import numpy as np
from vizsla.indexes.pq.pq_index import PqIndex
for count, dim, bytes, bits in ((300, 384, 32, 8), (17, 24, 3, 4), (20, 21, 3, 4)):
    for seed in range(10):
        rows = np.random.default_rng(seed).normal(size=(count, dim)).astype(np.float32)
        turn = PqIndex.build(rows, bytes=bytes, bits=bits, rounds=1).codebook.rotation
        assert np.allclose(turn.T @ turn, np.eye(dim), atol=1e-3)
"""


def test_fewer_vectors_than_dimensions_are_learned_from():
    """Faiss wrote beyond its buffers then, and ended the process."""
    code = [sys.executable, "-c", FEWER_VECTORS_THAN_DIMENSIONS]
    ran = subprocess.run(code, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
