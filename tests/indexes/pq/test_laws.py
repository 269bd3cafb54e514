"""Law 9, and what may come and go without training."""

from __future__ import annotations

import numpy as np
import pytest

from tests.indexes.pq.made import made, twin_best, twin_scores, vectors
from vizsla.errors import InputError
from vizsla.indexes._memory import aligned, release_pages, zeros_in_lines
from vizsla.indexes.flat import FlatIndex
from vizsla.indexes.pq.pq_index import PqIndex


@pytest.mark.parametrize(("bits", "count"), [(8, 200), (8, 256), (4, 16), (4, 9)])
def test_law_9_one_centroid_an_item_is_flat(bits, count):
    rows = vectors()[:count]
    coded, flat = PqIndex.build(rows, bytes=6, bits=bits), FlatIndex.build(rows)
    assert coded.take(slice(None)).tolist() == rows.tolist()
    mine, exact = coded.search(rows, 5), flat.search(rows, 5)
    assert mine.items.tolist() == exact.items.tolist()
    np.testing.assert_allclose(mine.scores, exact.scores, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("bits", [8, 4])
def test_law_9_other_centroids_leave_the_codes_untouched(bits):
    index = made(bits)
    trained = index.with_centroids(index.centroids + np.float32(0.25))
    assert trained.stored_codes is index.stored_codes
    assert trained.coder is index.codebook
    asked = vectors()[:5]
    assert trained.search(asked, 6).items.reshape(5, 6).tolist() == twin_best(twin_scores(trained, asked), 6)


@pytest.mark.parametrize("bits", [8, 4])
def test_new_items_are_coded_as_the_old_were_also_after_training(bits, tmp_path):
    whole, index = made(bits), made(bits).without_items(np.arange(1000, 1500))
    trained = index.with_centroids(index.centroids * np.float32(2))
    trained.save(tmp_path / "trained")
    for part in (index, trained, PqIndex.load(tmp_path / "trained")):
        grown = part.with_items(vectors()[1000:])
        assert np.mean(grown.codes == whole.codes) > 0.999  # a tie may fall the other way in another batch
        assert grown.without_items(np.arange(1000, 1500)).codes.tolist() == part.codes.tolist()


@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize("mmap", [True, False])
def test_saved_and_loaded_it_answers_the_same(bits, mmap, tmp_path):
    index = made(bits).with_centroids(made(bits).centroids * np.float32(1.5))
    index.save(tmp_path / "index")
    loaded = PqIndex.load(tmp_path / "index", mmap=mmap)
    assert loaded.search(vectors()[:9], 7) == index.search(vectors()[:9], 7)
    assert loaded.coder.centroids.tolist() == made(bits).centroids.tolist()
    assert loaded.coder.lost.tolist() == made(bits).codebook.lost.tolist()


@pytest.mark.parametrize("bits", [8, 4])
def test_a_dimension_that_no_number_of_pieces_divides_is_widened(bits):
    for opq in (True, False):
        index = PqIndex.build(vectors(dim=23), bytes=5, bits=bits, opq=opq, rounds=2)
        assert index.codebook.wide % index.codebook.subspaces == 0
        assert index.dim == 23
        asked = vectors(dim=23)[:4]
        assert index.search(asked, 5).items.reshape(4, 5).tolist() == twin_best(twin_scores(index, asked), 5)


def test_threads_memory_and_mapped_files_do_not_change_the_codes(tmp_path):
    np.save(tmp_path / "rows.npy", vectors())
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    one = PqIndex.build(vectors(), bytes=4, rounds=1)
    assert PqIndex.build(mapped, bytes=4, rounds=1).codes.tolist() == one.codes.tolist()
    assert PqIndex.build(vectors(), bytes=4, rounds=1, threads=2).codes.shape == one.codes.shape


def test_pages_that_were_read_are_let_go_and_nothing_else_is_touched(tmp_path):
    np.save(tmp_path / "rows.npy", vectors())
    for mode in ("r", "r+", "c"):
        mapped = np.load(tmp_path / "rows.npy", mmap_mode=mode)
        if mode == "c":
            mapped[0] = 7
        release_pages(mapped[3:])
        assert mapped[1:].tolist() == vectors()[1:].tolist()
        assert mapped[0].tolist() == ([7] * 24 if mode == "c" else vectors()[0].tolist())
    release_pages(vectors())
    release_pages([1, 2])


def test_a_small_memory_takes_a_small_sample():
    from vizsla.indexes.pq.training import _sample

    rows = np.zeros((100_000, 64), np.float32)
    assert _sample(rows, 256, 64, 0, 1 << 30).shape == (65_536, 64)
    assert _sample(rows, 256, 64, 0, 8 << 20).shape == (4096, 64)


def test_numbers_that_make_no_codes_are_refused():
    for options, message in [
        ({"bytes": 25}, "at most 24"),
        ({"bytes": 13, "bits": 4}, "at most 12"),
        ({"bytes": 0}, "bytes"),
        ({"bits": 6}, "bits"),
        ({"memory_mb": 0}, "memory_mb"),
        ({"rounds": 0}, "rounds"),
    ]:
        with pytest.raises(InputError, match=message):
            PqIndex.build(vectors(), **options)
    with pytest.raises(InputError, match="finite"):
        PqIndex.build(np.full((300, 8), np.nan, np.float32), bytes=4)
    with pytest.raises(InputError, match="finite"):
        made().with_items(np.full((2, 24), np.inf, np.float32))
    with pytest.raises(InputError, match="24 columns"):
        made().with_items(np.zeros((2, 23), np.float32))


def test_what_a_search_reads_begins_with_a_line_of_the_cache():
    index = made(4)
    arrays = (index.stored_codes.stored, index.codebook.rotation, index.codebook.transposed)
    assert [array.ctypes.data % 64 for array in arrays] == [0, 0, 0]
    across = np.frombuffer(bytearray(33 * 4 + 1), np.uint8)[1:].view(np.float32).reshape(3, 11)
    assert np.array_equal(aligned(across), across) and aligned(across).ctypes.data % 64 == 0
    assert aligned(zeros_in_lines((0, 5), np.float32)).shape == (0, 5)
