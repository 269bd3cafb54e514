"""Encoders of the core tier, and how a retriever remembers its encoder."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

import vizsla
from tests.contract.catalog import ITEMS, QUERIES
from vizsla.base.encoder import FunctionEncoder
from vizsla.core.linalg import eigen, gram, right_singular_vectors, rotated_by
from vizsla.encoders.lsa import LsaEncoder
from vizsla.encoders.onnx import OnnxEncoder
from vizsla.encoders.precomputed import PrecomputedEncoder
from vizsla.encoders.sentence import SentenceEncoder
from vizsla.errors import InputError, MissingExtraError
from vizsla.methods.dense import dense


def _lengths(name: str = "length") -> FunctionEncoder:
    return FunctionEncoder(lambda texts: [[len(t), t.count("e")] for t in texts], dim=2, name=name)


@pytest.mark.parametrize("shape", [(60, 200), (200, 60)])
def test_singular_vectors_are_those_of_numpy(shape):
    low = np.random.default_rng(0).standard_normal((shape[0], 6)) @ np.random.default_rng(1).standard_normal(
        (6, shape[1])
    )
    truth = np.linalg.svd(low)[2][:5].T
    found = right_singular_vectors(csr_array(low.astype(np.float32)), 5, rounds=4, seed=0)
    assert np.abs(np.abs((found * truth).sum(axis=0)) - 1).max() < 1e-3


def test_singular_vectors_catch_nearly_all_of_a_sparse_matrix():
    matrix = csr_array(random_array((300, 900), density=0.05, rng=np.random.default_rng(0), dtype=np.float32))
    found = right_singular_vectors(matrix, 10, rounds=6, seed=0)
    assert np.abs(found.T @ found - np.eye(10)).max() < 1e-5
    strengths = np.linalg.svd(matrix.toarray(), compute_uv=False)[:10]
    assert (np.linalg.norm(matrix @ found, axis=0) > 0.98 * strengths).all()


def test_lsa_is_seeded_normalized_and_silent_about_unknown_words():
    one, two = (LsaEncoder.fit(ITEMS.values(), dim=12, seed=3) for _ in range(2))
    assert one.fingerprint == two.fingerprint and one.dim == 12
    rows = one.queries(QUERIES)
    lengths = np.linalg.norm(rows, axis=1)
    assert np.allclose(lengths[[0, 1, 2, 3, 6, 7]], 1, atol=1e-6)
    assert not rows[[4, 5]].any()
    assert np.array_equal(one.queries(QUERIES[1:2])[0], rows[1])


LSA = """
import numpy as np
from vizsla.encoders.lsa import LsaEncoder
random = np.random.default_rng(0)
texts = [" ".join(f"w{n}" for n in random.zipf(1.4, 30) % 4000) for _ in range(1500)]
print(LsaEncoder.fit(texts, dim=150).fingerprint)
"""


def test_lsa_is_the_same_with_any_number_of_threads():
    """OpenBLAS and LAPACK would add in another order with another number of threads."""
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    prints = set()
    for threads in ("1", "2", "3"):
        environment = os.environ | dict.fromkeys(names, threads)
        done = subprocess.run([sys.executable, "-c", LSA], env=environment, capture_output=True, text=True, check=True)
        prints.add(done.stdout)
    assert len(prints) == 1 and prints.pop().startswith("lsa:")


@pytest.mark.parametrize("size", [1, 2, 3, 40])
def test_eigenvectors_are_those_of_lapack(size):
    random = np.random.default_rng(size)
    columns = random.standard_normal((3 * size, size)) * np.exp2(-np.arange(size) / 4)
    matrix = columns.T @ columns
    values, vectors = eigen(matrix, noise=1e-12)
    assert np.allclose(values, np.linalg.eigvalsh(matrix)[::-1], atol=1e-12 * values[0])
    assert np.abs(matrix @ vectors - vectors * values).max() < 1e-8 * values[0]
    assert np.abs(vectors.T @ vectors - np.eye(size)).max() < 1e-8
    low = columns[:, :1] @ columns[:1, :]  # rank 1: the rest is rounding, and left out
    assert eigen(low.T @ low, noise=1e-9)[0].shape == (1,)


def test_exact_products_are_near_the_plain_ones():
    random = np.random.default_rng(2)
    columns = (random.standard_normal((9000, 30)) * np.exp2(random.integers(-9, 9, 30))).astype(np.float32)
    turns = random.standard_normal((30, 7))
    lengths = np.linalg.norm(columns.astype(np.float64), axis=0)
    truth = columns.T.astype(np.float64) @ columns
    assert (np.abs(gram(columns) - truth) < 1e-6 * lengths[:, None] * lengths).all()
    plain = columns.astype(np.float64) @ turns
    assert np.abs(rotated_by(columns, turns) - plain).max() < 1e-5 * np.abs(plain).max()


def test_the_encoder_must_come_back_as_it_was(tmp_path):
    built = dense(ITEMS, _lengths())
    loaded = vizsla.load(built.save(tmp_path / "saved"))
    assert len(loaded.items) == len(ITEMS)
    with pytest.raises(InputError, match="with_encoder"):
        loaded("fig")
    with pytest.raises(InputError, match="must be the one"):
        loaded.with_encoder(_lengths("other"))
    assert loaded.with_encoder(_lengths())("fig", k=5) == built("fig", k=5)
    again = vizsla.load(loaded.save(tmp_path / "again"))
    assert again.with_encoder(_lengths())("fig", k=5) == built("fig", k=5)


def test_vectors_may_be_given():
    rows = np.random.default_rng(0).standard_normal((len(ITEMS), 2)).astype(np.float32)
    given = dense(ITEMS, _lengths(), vectors=rows)
    assert np.array_equal(given.index.vectors, rows)
    table = PrecomputedEncoder(QUERIES, rows[: len(QUERIES)])
    found = dense(ITEMS, table, vectors=rows)(QUERIES[2], k=1)
    assert found.items[0] == np.argmax(rows @ rows[2])


def test_without_their_extras(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(MissingExtraError, match=r"vizsla\[neural\]"):
        SentenceEncoder("any/model")
    with pytest.raises(MissingExtraError, match=r"vizsla\[onnx\]"):
        OnnxEncoder(tmp_path)
