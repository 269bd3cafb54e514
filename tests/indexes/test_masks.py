"""What a mask does to a search: how much is kept in view, when all allowed items are scanned, and that ties hold."""

from __future__ import annotations

import numpy as np
import pytest

from vizsla.indexes.factory import make_index
from vizsla.indexes.flat import FlatIndex
from vizsla.indexes.grouped import GroupedIndex
from vizsla.indexes.hnsw import HnswIndex

RANDOM = np.random.default_rng(11)
VECTORS = RANDOM.standard_normal((8000, 12)).astype(np.float32)
QUERIES = RANDOM.standard_normal((60, 12)).astype(np.float32)


@pytest.fixture(scope="module")
def walked() -> HnswIndex:
    """An index whose masks are wide enough for a walk: few links, a narrow view."""
    return HnswIndex.build(VECTORS, M=6, ef_construction=60, ef=80)


def recall(index: HnswIndex, allowed: np.ndarray | None, k: int = 20) -> float:
    found, exact = (index.search(QUERIES, k, filter=allowed, exact=exact) for exact in (False, True))
    return float(np.mean([np.isin(exact.row(q)[0], found.row(q)[0]).mean() for q in range(len(QUERIES))]))


@pytest.mark.parametrize("share", [0.5, 0.3])
def test_the_view_widens_as_the_mask_narrows(walked, share):
    allowed = np.random.default_rng(3).random(len(VECTORS)) < share
    reachable = int(allowed.sum())
    assert not walked._pays(20, reachable)  # a walk, not a scan: it is the view that is tested
    assert recall(walked, allowed) > recall(walked, None) - 0.03
    # With as many in view as without a mask, a walk finds less: the test would notice.
    narrow = walked.with_effort(80)
    narrow._view = lambda k, reachable: 80
    assert recall(narrow, allowed) < recall(walked, None) - 0.03


def test_how_many_are_in_view(walked):
    index = walked.with_effort(300)
    assert index._view(100, 8000) == 300
    assert index._view(100, 4000) == 420  # at half the items: less than 1.5 times the work
    assert index._view(100, 800) == 2820
    assert index._view(400, 8000) == 400 and index._view(400, 4000) == 800
    assert index._view(100, 1) == index._view(100, 0) == 8000


def test_few_allowed_items_are_scanned_exactly(walked):
    allowed = np.arange(len(VECTORS)) % 100 == 7
    assert walked._pays(20, int(allowed.sum()))
    assert walked.search(QUERIES, 20, filter=allowed) == walked.search(QUERIES, 20, filter=allowed, exact=True)


def test_ties_between_items_of_many_vectors_go_to_the_lower_number():
    """The last vector found ties with ones that were not: an item of a lower number may own them."""
    random = np.random.default_rng(5)
    for _ in range(200):
        items, k = int(random.integers(2, 9)), int(random.integers(1, 6))
        owners = np.concatenate([np.arange(items), random.integers(0, items, 30)]).astype(np.int32)
        random.shuffle(owners)
        vectors = random.integers(0, 3, (len(owners), 1)).astype(np.float32)  # nearly everything ties
        found = GroupedIndex(FlatIndex.build(vectors), owners).search(np.ones((1, 1), np.float32), k)
        best = np.array([vectors[owners == item].max() for item in range(items)])
        order = np.lexsort((np.arange(items), -best))[:k]
        assert found.items.tolist() == order.tolist() and found.scores.tolist() == best[order].tolist()


@pytest.mark.parametrize("storage", ["float32", "float16", "int8"])
def test_bytes_are_those_that_a_search_touches(storage):
    count, dim = VECTORS.shape
    rows = count * dim * {"float32": 4, "float16": 2, "int8": 1}[storage] + (8 * dim if storage == "int8" else 0)
    scale = 8 * dim if storage == "int8" else 0
    assert make_index("flat", VECTORS, storage=storage).nbytes == rows
    hnsw = make_index("hnsw", VECTORS, storage=storage, M=2, ef_construction=2)
    faiss = hnsw._faiss.hnsw
    graph = 4 * faiss.levels.size() + 4 * faiss.neighbors.size() + 8 * faiss.offsets.size()
    assert hnsw.nbytes == rows + graph
    ivf = make_index("ivf", VECTORS, storage=storage, lists=20, probes=2, rounds=1)
    lists = sum(ivf._faiss.invlists.list_size(number) for number in range(20)) * (8 + ivf._faiss.code_size)
    assert ivf.nbytes == rows + lists + 20 * dim * 4 and lists == rows - scale + 8 * count
