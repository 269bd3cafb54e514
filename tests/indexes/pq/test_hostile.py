"""Codes and codebooks that are not what they say are refused with a reason, and never crash."""

from __future__ import annotations

import numpy as np
import pytest

import vizsla
from tests.artifacts.hostile import hostile
from tests.contract.registry import INDEXES
from tests.indexes.pq.made import made
from vizsla import _native
from vizsla.errors import InputError, VizslaError
from vizsla.indexes.flat import Int8Prefilter
from vizsla.indexes.pq.codebook import Codebook, PqCodes
from vizsla.indexes.pq.pq_index import PqIndex


@pytest.mark.parametrize("name", [name for name in INDEXES if name.startswith("pq") or name == "flat guarded"])
def test_prepared_index_files(name, tmp_path):
    index, queries = INDEXES[name]()
    tried = 0
    for prepared in hostile(index.save(tmp_path / "saved"), tmp_path / "prepared", step=3):
        tried += 1
        try:
            with np.errstate(all="ignore"):
                vizsla.load(prepared).search(queries, 5)
        except VizslaError:
            continue
    assert tried > 30


def centroids(shape=(2, 16, 3), dtype=np.float32, fill=1.0):
    return np.full(shape, fill, dtype)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"centroids": centroids((2, 17, 3))}, "16 or 256"),
        ({"centroids": centroids((2, 16))}, "16 or 256"),
        ({"centroids": centroids((0, 16, 3))}, "16 or 256"),
        ({"centroids": centroids(dtype=np.float64)}, "float32"),
        ({"centroids": centroids((3, 16, 3))}, "even number"),
        ({"centroids": centroids(fill=np.nan)}, "finite"),
        ({"centroids": centroids(fill=np.inf)}, "finite"),
        ({"centroids": centroids(), "dim": 2}, "`dim` must be from 3 to 6"),
        ({"centroids": centroids(), "dim": 7}, "`dim` must be from 3 to 6"),
        ({"centroids": centroids(), "rotation": np.eye(5, dtype=np.float32)}, "rotation"),
        ({"centroids": centroids(), "rotation": np.eye(6)}, "rotation"),
        ({"centroids": centroids(), "rotation": np.full((6, 6), np.nan, np.float32)}, "finite"),
        ({"centroids": centroids(), "rotation": 2 * np.eye(6, dtype=np.float32)}, "orthonormal"),
        ({"centroids": centroids(), "rotation": np.ones((6, 6), np.float32)}, "orthonormal"),
        ({"centroids": centroids(), "lost": np.ones(3, np.float32)}, "lost"),
    ],
)
def test_codebooks_that_are_none(arguments, message):
    with pytest.raises(InputError, match=message):
        Codebook(**arguments)


def test_codes_that_are_none():
    with pytest.raises(InputError, match="at most 15"):
        PqCodes.of(np.full((2, 4), 16, np.uint8), bits=4)
    for shape, dtype, count in [((1, 3, 64), np.int8, 2), ((2, 3), np.uint8, 2), ((1, 3, 64), np.uint8, 65)]:
        with pytest.raises(InputError, match="codes"):
            PqCodes(np.zeros(shape, dtype), count, bits=8)
    with pytest.raises(InputError, match="blocks"):
        PqCodes(np.zeros((1, 2, 32), np.uint8), 20, bits=4)
    with pytest.raises(InputError, match="`bits` must be 8 or 4. Got 5"):
        PqCodes(np.zeros((1, 2, 64), np.uint8), 20, bits=5)


def test_parts_that_do_not_belong_together():
    eight, four = made(8), made(4)
    with pytest.raises(InputError, match="codes of 4 bits"):
        PqIndex(eight.stored_codes, four.codebook)
    with pytest.raises(InputError, match="coder"):
        PqIndex(eight.stored_codes, eight.codebook, coder=four.codebook)
    with pytest.raises(InputError, match="shape"):
        eight.with_centroids(four.centroids)
    with pytest.raises(InputError, match="finite"):
        eight.with_centroids(np.full_like(eight.centroids, np.nan))


def test_the_native_border_trusts_nobody():
    index, book = made(8), made(8).codebook
    right = {
        "queries": np.zeros((1, 24), np.float32),
        "rotation": book.rotation,
        "centroids": book.transposed,
        "codes": index.stored_codes.stored,
        "count": len(index),
    }
    wrong = [
        {"count": len(index) + 64},
        {"count": 2**40},
        {"codes": index.stored_codes.stored[:, :-1].copy()},
        {"centroids": book.transposed[:, :, :17].copy()},
        {"rotation": book.rotation[:-1].copy()},
        {"queries": np.zeros((1, 25), np.float32)},
    ]
    for one in wrong:
        with pytest.raises(ValueError):
            _native.pq_search(**(right | one), k=3, numbers=None, threads=1)
    for numbers in ([-1], [1500], [3, 3], [4, 2]):
        with pytest.raises(ValueError):
            _native.pq_search(**right, k=3, numbers=np.array(numbers, np.int32), threads=1)
    with pytest.raises(ValueError):
        _native.pq_pairs(**right, rows=np.array([1]), items=np.array([0], np.int32))
    with pytest.raises(ValueError):
        _native.pq_pairs(**right, rows=np.array([0]), items=np.array([1500], np.int32))


def test_guards_that_are_none():
    fine = {"codes": np.zeros((2, 16), np.int8), "scales": np.ones(2, np.float32), "errors": np.ones(2, np.float32)}
    Int8Prefilter(**fine)
    for name, value in [
        ("codes", np.zeros((2, 15), np.int8)),
        ("codes", np.zeros((3, 16), np.int8)),
        ("scales", np.array([1, np.nan], np.float32)),
        ("errors", np.array([1, -1], np.float32)),
    ]:
        with pytest.raises(InputError):
            Int8Prefilter(**(fine | {name: value}))
