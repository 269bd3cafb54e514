"""Codes are searched as plain numpy and Faiss would search them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.indexes.pq.made import made, twin_best, twin_scores, vectors
from vizsla import _native
from vizsla.core.candidates import Candidates
from vizsla.indexes._faiss import load_faiss
from vizsla.indexes.pq.codebook import Codebook, PqCodes, packed
from vizsla.indexes.pq.pq_index import PqIndex

KINDS = [(8, True), (8, False), (4, True), (4, False)]


def queries(count: int = 7, dim: int = 24) -> np.ndarray:
    return np.random.default_rng(9).standard_normal((count, dim)).astype(np.float32)


@pytest.mark.parametrize(("bits", "opq"), KINDS)
@pytest.mark.parametrize("k", [1, 10, 1500])
def test_the_answer_is_the_twins_to_the_last_bit(bits, opq, k):
    index = made(bits, opq=opq)
    scores = twin_scores(index, queries())
    found = index.search(queries(), k)
    assert found.items.reshape(7, k).tolist() == twin_best(scores, k)
    assert found.scores.tolist() == np.take_along_axis(scores, found.items.reshape(7, k), 1).reshape(-1).tolist()
    assert found.stats.exact


@pytest.mark.parametrize(("bits", "opq"), KINDS)
def test_scores_are_those_of_the_search_in_any_order(bits, opq):
    index = made(bits, opq=opq)
    scores = twin_scores(index, queries())
    asked = np.random.default_rng(1).permutation(1500)[:40].astype(np.int32)
    given = Candidates.from_rows([asked] * 7)
    assert index.scores(queries(), given).scores.reshape(7, 40).tolist() == scores[:, given.row(0)[0]].tolist()


@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize("share", [0.9, 0.1, 0.005])
def test_a_filter_only_removes(bits, share):
    index, allowed = made(bits), np.random.default_rng(3).random(1500) < share
    found = index.search(queries(), 5, filter=allowed)
    wanted = twin_best(twin_scores(index, queries()), 5, allowed)
    assert [found.row(row)[0].tolist() for row in range(7)] == wanted


def many(bits: int) -> PqIndex:
    """Return so many items that threads share a query: their codes are made up, as no training is needed here."""
    parts = 24 * 8 // bits
    codes = np.random.default_rng(2).integers(0, 1 << bits, (30_000, parts)).astype(np.uint8)
    centroids = np.random.default_rng(3).standard_normal((parts, 1 << bits, 1), dtype=np.float32)
    return PqIndex(PqCodes.of(codes, bits=bits), Codebook(centroids))


@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize("count", [1, 3, 20])
def test_threads_and_batches_change_nothing(bits, count):
    index = many(bits)
    asked = queries(count, index.dim)
    alone = [index.search(row[None], 9) for row in asked]
    for threads in (1, 2, 5):
        together = index.search(asked, 9, threads=threads)
        assert together.items.tolist() == [item for one in alone for item in one.items.tolist()]
        assert together.scores.tolist() == [score for one in alone for score in one.scores.tolist()]


INSTRUCTIONS = {"plain": 0, "avx2": 1, "avx512": 2}
"""What a search may use at most; without a limit it uses the best that the CPU has."""


def same_as_best(index: PqIndex, asked: np.ndarray, k: int, most: int) -> None:
    """Check that other instructions find the same bits, among all items and among some."""
    book = index.codebook
    for given in (None, np.arange(0, len(index), 7, dtype=np.int32), np.arange(70, 90, dtype=np.int32)):
        numbers = None if given is None else given[given < len(index)]
        parts = asked, book.rotation, book.transposed, index.stored_codes.stored, len(index), k, numbers, 2
        other, best = (_native.pq_search(*parts, instructions=instructions) for instructions in (most, 3))
        assert other[:3] == best[:3]  # only how many queries share a pass may differ


@pytest.mark.parametrize("most", INSTRUCTIONS.values(), ids=INSTRUCTIONS)
@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize("large", [False, True])
def test_all_instructions_answer_the_same(bits, large, most):
    index = many(bits) if large else made(bits)
    same_as_best(index, queries(7, index.dim), 6, most)


@pytest.mark.parametrize("most", INSTRUCTIONS.values(), ids=INSTRUCTIONS)
@pytest.mark.parametrize("seed", range(12))
def test_all_instructions_turn_and_add_alike_for_any_shape(seed, most):
    random = np.random.default_rng(seed)
    bits, dim = int(random.choice([4, 8])), int(random.integers(2, 90))
    parts = 2 * int(random.integers(1, dim // 2 + 1))
    wide = -(-dim // parts) * parts
    turn = np.linalg.qr(random.standard_normal((wide, wide)))[0][:, :dim].astype(np.float32)
    centroids = random.standard_normal((parts, 1 << bits, wide // parts)).astype(np.float32)
    codes = random.integers(0, 1 << bits, (random.integers(1, 1500), parts)).astype(np.uint8)
    index = PqIndex(PqCodes.of(codes, bits=bits), Codebook(centroids, turn))
    asked = random.standard_normal((3, dim)).astype(np.float32)
    same_as_best(index, asked, 7, most)
    k = min(7, len(index))
    found, scores = index.search(asked, k), twin_scores(index, asked)
    assert found.items.reshape(3, k).tolist() == twin_best(scores, k)
    assert found.scores.tolist() == np.take_along_axis(scores, found.items.reshape(3, k), 1).reshape(-1).tolist()


@pytest.mark.parametrize("most", [*INSTRUCTIONS.values(), 3])
@pytest.mark.parametrize("bytes", [1, 2, 3, 31, 33, 65, 512, 513])
def test_sums_of_bytes_never_run_over(bytes, most):
    """The best code of every sub-space at once: four of them fill a byte, and all of them 16 bits."""
    parts = 2 * bytes
    centroids = np.tile(np.linspace(0, 1, 16, dtype=np.float32)[None, :, None], (parts, 1, 1))
    codes = np.random.default_rng(bytes).integers(0, 15, (500, parts)).astype(np.uint8)
    codes[[3, 130, 499]] = 15
    index = PqIndex(PqCodes.of(codes, bits=4), Codebook(centroids))
    asked = np.ones((1, parts), np.float32)
    same_as_best(index, asked, 3, most)
    assert index.search(asked, 3).items.tolist() == [3, 130, 499]


@pytest.mark.parametrize("wrong", [-1, 4])
def test_instructions_that_are_none_are_refused(wrong):
    index, book = made(4), made(4).codebook
    parts = queries(), book.rotation, book.transposed, index.stored_codes.stored, len(index), 3, None, 1
    with pytest.raises(ValueError, match="instructions must be from 0 to 3"):
        _native.pq_search(*parts, instructions=wrong)


@pytest.mark.parametrize("scale", [1e-42, 1e-36, 1e-30, 1e30, 1e36])
@pytest.mark.parametrize("bits", [8, 4])
def test_tables_of_any_size_are_searched_exactly(bits, scale):
    index = made(bits, opq=False)
    asked = queries() * np.float32(scale)
    assert index.search(asked, 5).items.reshape(7, 5).tolist() == twin_best(twin_scores(index, asked), 5)


@pytest.mark.parametrize("parts", [1, 3, 25, 513])
def test_any_number_of_bytes_an_item(parts):
    random = np.random.default_rng(parts)
    codes = random.integers(0, 256, (333, parts)).astype(np.uint8)
    centroids = random.standard_normal((parts, 256, 1), dtype=np.float32)
    index = PqIndex(PqCodes.of(codes, bits=8), Codebook(centroids))
    assert np.array_equal(index.codes, codes) and np.array_equal(
        index.stored_codes.take(np.array([300, 64])), codes[[300, 64]]
    )
    asked = queries(2, parts)
    assert index.search(asked, 9).items.reshape(2, 9).tolist() == twin_best(twin_scores(index, asked), 9)


@pytest.mark.parametrize("bits", [8, 4])
def test_queries_that_are_no_numbers_break_nothing(bits):
    index, book = made(bits), made(bits).codebook
    for wrong in (np.nan, np.inf):
        asked = np.full((1, 24), wrong, np.float32)
        found = _native.pq_search(
            asked, book.rotation, book.transposed, index.stored_codes.stored, len(index), 3, None, 1
        )
        assert len(np.frombuffer(found[1], np.int32)) <= 3


@pytest.mark.parametrize(("bits", "opq"), KINDS)
def test_faiss_scores_the_same_codes_alike(bits, opq):
    faiss = load_faiss()
    index = made(bits, opq=opq)
    book = index.codebook
    theirs = faiss.IndexPQ(book.wide, book.subspaces, bits, faiss.METRIC_INNER_PRODUCT)
    faiss.copy_array_to_vector(book.centroids.reshape(-1), theirs.pq.centroids)
    theirs.is_trained = True
    theirs.add_sa_codes(np.ascontiguousarray(index.codes if bits == 8 else packed(index.codes)))
    scores, _ = theirs.search(book.rotated(queries()), 20)
    np.testing.assert_allclose(index.search(queries(), 20).scores.reshape(7, 20), scores, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("bits", [8, 4])
def test_tables_that_bytes_cannot_hold_are_read_as_they_are(bits):
    index = made(bits)
    huge = index.with_centroids(index.centroids * np.float32(1e30))
    asked = queries() * np.float32(1e20)  # scores overflow: nothing to rank by, but nothing may break
    assert len(huge.search(asked, 3).items) == 21
    wide = index.with_centroids(np.where(np.arange(1 << bits)[None, :, None] == 3, np.float32(1e6), index.centroids))
    assert wide.search(queries(), 5).items.reshape(7, 5).tolist() == twin_best(twin_scores(wide, queries()), 5)


def test_items_that_are_all_alike_come_by_number():
    index = PqIndex.build(np.ones((700, 8), np.float32), bytes=4, bits=4)
    assert index.search(np.ones((1, 8), np.float32), 5).items.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("bits", [8, 4])
def test_an_empty_index_answers_nothing(bits):
    index = PqIndex.build(np.zeros((0, 8), np.float32), bytes=2, bits=bits)
    assert len(index.search(np.ones((2, 8), np.float32), 5).items) == 0


def test_the_search_finds_what_flat_finds_mostly():
    index, exact = made(8, bytes=12), vectors() @ queries(30).T
    found = index.search(queries(30), 10).items.reshape(30, 10)
    best = np.argsort(-exact, axis=0)[:10].T
    assert np.mean([len(set(a) & set(b)) for a, b in zip(found, best, strict=True)]) > 6


@pytest.mark.parametrize("seed", range(40))
def test_codes_of_many_shapes_against_the_twin(seed):
    random = np.random.default_rng(seed)
    bits, count = int(random.choice([4, 8])), random.integers(1, 900)
    parts, width = 2 * random.integers(1, 20), random.integers(1, 4)
    centroids = random.standard_normal((parts, 1 << bits, width)).astype(np.float32)
    if seed % 3 == 0:  # one sub-space far above the others: bytes say little of these
        centroids *= np.geomspace(100, 0.01, parts)[:, None, None].astype(np.float32)
    if seed % 4 == 0:  # many ties
        centroids = np.round(centroids)
    codes = random.integers(0, 1 << bits, (count, parts)).astype(np.uint8)
    index = PqIndex(PqCodes.of(codes, bits=bits), Codebook(centroids))
    asked = np.round(random.standard_normal((3, index.dim))).astype(np.float32)
    scores, k = twin_scores(index, asked), int(random.integers(1, 40))
    for allowed in (None, random.random(count) < random.random()):
        found = index.search(asked, k, filter=allowed)
        assert [found.row(row)[0].tolist() for row in range(3)] == twin_best(scores, k, allowed)
