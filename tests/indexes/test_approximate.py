"""HNSW and IVF under masks, chosen probes, and Ctrl-C while they are built."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.interrupts import cpu_seconds, interrupted, started, wait_until
from vizsla.errors import InputError
from vizsla.indexes.approximate import ApproximateIndex
from vizsla.indexes.factory import make_index

ROOT = Path(__file__).resolve().parents[2]
COUNT, DIM = 900, 6


@cache
def narrow(kind: str) -> ApproximateIndex:
    """An index that alone would find little: hardly any links, hardly any probes."""
    vectors = np.random.default_rng(7).standard_normal((COUNT, DIM)).astype(np.float32)
    vectors[300:] *= 5  # what is allowed may be what the walk never meets
    options = {"M": 2, "ef_construction": 4, "ef": 1} if kind == "hnsw" else {"lists": 60, "probes": 1}
    return make_index(kind, vectors, **options)


@pytest.mark.parametrize("kind", ["hnsw", "ivf"])
@pytest.mark.parametrize("effort", [1, 5, 30])
def test_without_a_filter_an_answer_is_the_head_of_a_longer_one(kind, effort):
    """However many are asked for, as many lists are read, and as many items kept in view."""
    index, random = narrow(kind).with_effort(effort), np.random.default_rng(3)
    queries = random.standard_normal((5, DIM)).astype(np.float32)
    longest = index.search(queries, COUNT)
    assert len(longest.items) < 5 * COUNT
    for k in (1, 4, 10, 60, COUNT // 2):
        for threads in (1, 2):
            assert index.search(queries, k, threads=threads) == longest.top(k)


@pytest.mark.parametrize("kind", ["hnsw", "ivf"])
@settings(max_examples=60, deadline=None)
@given(share=st.floats(0, 1), k=st.integers(1, 60), seed=st.integers(0, 1000), first=st.booleans())
def test_k_hits_whenever_k_are_allowed(kind, share, k, seed, first):
    index, random = narrow(kind), np.random.default_rng(seed)
    allowed = np.arange(COUNT) < share * COUNT if first else random.random(COUNT) < share
    allowed[-1] = False  # a filter that allows everything is none
    queries = random.standard_normal((3, DIM)).astype(np.float32)
    found = index.search(queries, k, filter=allowed)
    sums = queries.astype(np.float64) @ index.vectors.T.astype(np.float64)
    for row in range(3):
        items, scores = found.row(row)
        assert len(items) == len(set(items.tolist())) == min(k, int(allowed.sum()))
        assert allowed[items].all()
        assert np.allclose(scores, sums[row, items], atol=1e-5) and (np.diff(scores) <= 0).all()
    exact = index.search(queries, k, filter=allowed, exact=True)
    best = np.where(allowed, sums, -np.inf)
    for row in range(3):
        wanted = np.sort(best[row])[::-1][: len(exact.row(row)[0])]
        assert np.allclose(exact.row(row)[1], wanted, atol=1e-5)


@pytest.mark.parametrize("kind", ["hnsw", "ivf"])
@pytest.mark.parametrize("share", [0.6, 0.2, 0.02])
def test_a_mask_costs_no_recall(kind, share):
    random = np.random.default_rng(8)
    vectors = random.standard_normal((6000, 24)).astype(np.float32)
    index = make_index(kind, vectors, **({"M": 16, "ef_construction": 80, "ef": 100} if kind == "hnsw" else {}))
    queries, allowed = random.standard_normal((40, 24)).astype(np.float32), random.random(6000) < share
    found, exact = (index.search(queries, 20, filter=allowed, exact=exact) for exact in (False, True))
    assert np.mean([np.isin(exact.row(q)[0], found.row(q)[0]).mean() for q in range(40)]) > 0.97


def test_probes_are_as_many_as_the_wanted_recall_needs():
    random = np.random.default_rng(9)
    centers = random.standard_normal((50, 12))
    vectors = (centers[random.integers(0, 50, 5000)] + 0.7 * random.standard_normal((5000, 12))).astype(np.float32)
    queries = vectors[random.permutation(5000)[:200]] + 0.1 * random.standard_normal((200, 12)).astype(np.float32)
    probes = []
    for wanted in (0.8, 0.99):
        index = make_index("ivf", vectors, recall=wanted)
        found, exact = (index.search(queries, 100, exact=exact) for exact in (False, True))
        recall = np.mean([np.isin(exact.row(q)[0], found.row(q)[0]).mean() for q in range(200)])
        assert abs(recall - wanted) < 0.04
        probes.append(index.probes)
    assert probes[0] < probes[1] <= len(index.centers)
    assert make_index("ivf", vectors, recall=0.99, probes=3).probes == 3
    with pytest.raises(InputError, match="`recall` must be between 0 and 1"):
        make_index("ivf", vectors, recall=2)


BUILD = """
import numpy as np
from vizsla.indexes.factory import make_index
vectors = np.random.default_rng(0).standard_normal((40_000, 384), dtype=np.float32)
print("ready", flush=True)
make_index({kind!r}, vectors)
"""


@pytest.mark.parametrize("kind", ["hnsw", "ivf"])
def test_ctrl_c_stops_a_build(kind):
    process = started([sys.executable, "-c", BUILD.format(kind=kind)], cwd=ROOT)
    process.stdout.readline()
    ready = cpu_seconds(process.pid)
    wait_until(lambda: cpu_seconds(process.pid) > ready + 1, process)
    error, seconds = interrupted(process)
    assert process.returncode != 0 and b"KeyboardInterrupt" in error
    assert seconds < 3  # the whole takes many times as long
