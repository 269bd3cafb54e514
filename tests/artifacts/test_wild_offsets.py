"""Offsets whose differences wrap around and look harmless, in every file that has offsets: they ended in SIGSEGV."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import vizsla
from tests.artifacts.hostile import npy
from tests.artifacts.signing import replace
from tests.contract.registry import ENCODERS, INDEXES, RETRIEVERS, catalog_details
from tests.fuzz.resigning import resign
from vizsla.core.sparse import SparseRows, are_offsets, are_rising
from vizsla.errors import FormatError
from vizsla.scorers.lazy_vectors import VectorStore

ARTIFACTS = {name: RETRIEVERS[name].make for name in ("xrlinear", "bm25 lucene", "pefa-xs bm25", "pefa-xs", "pefa-xl")}
ARTIFACTS |= {name: (lambda make=INDEXES[name]: make()[0]) for name in ("tree", "inverted")}


def offset_files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*.npy") if "offsets" in file.name and np.load(file).size > 4)


@pytest.mark.parametrize("name", ARTIFACTS)
def test_wild_offsets_are_refused_in_every_file(name, tmp_path):
    saved = ARTIFACTS[name]().save(tmp_path / "saved")
    files = offset_files(saved)
    assert files
    for file in files:
        sound = file.read_bytes()
        values = np.load(file)
        values[1:3] = np.iinfo(values.dtype).max, -2
        replace(file, npy(values))
        resign(saved)
        for verify in (True, False):
            with pytest.raises(FormatError):
                vizsla.load(saved, verify=verify)
        replace(file, sound)
    resign(saved)
    vizsla.load(saved)


@pytest.mark.parametrize(
    "wild",
    [[0, 2**63 - 1, -2, 5], [0, -(2**63), 5], [0, 6, 5], [1, 5], [0, 4], [], [[0, 5]], [0, 2**62, 2**62 + 1, 5]],
)
def test_neighbors_are_compared_not_subtracted(wild):
    assert not are_offsets(np.array(wild, np.int64), 5)
    assert are_offsets(np.array([0, 2, 2, 5]), 5, rows=3) and not are_offsets(np.array([0, 2, 2, 5]), 5, rows=4)


WRAPPED = [0, 2**31 - 1, -(2**31), -1, 4]
"""Each seems larger than the one before it by its difference, which wraps around in int32."""


@pytest.mark.parametrize("wild", [WRAPPED, [-1, 2], [2, 2], [3, 1], [0, 5], [[0, 1]]])
def test_numbers_that_rise_are_compared_too(wild):
    assert not are_rising(np.array(wild, np.int32), 5)
    assert are_rising(np.array([0, 4]), 5) and are_rising(np.zeros(0, np.int32), 0)


def test_a_stored_vector_with_wild_columns_is_refused(tmp_path):
    store = VectorStore(tmp_path / "vectors.db", "mine", 5, sparse=True)
    columns = np.array(WRAPPED, np.int32)
    store.put(["fig"], SparseRows(np.array([0, 5]), columns, np.ones(5, np.float32), 5))
    with pytest.raises(FormatError, match="vector"):
        store.get(["fig"])


def test_wild_tokens_of_a_sidr_encoder_are_refused(tmp_path):
    saved = ENCODERS["sidr encoder"]().save(tmp_path / "saved")
    replace(saved / "tokens.npy", npy(np.array([3, 2**63 - 1, -(2**63), -1, 30], np.int64)))
    resign(saved)
    with pytest.raises(FormatError, match="tokens"):
        vizsla.load(saved)


@pytest.mark.parametrize("end", [2**63 - 1, 2**62, 2**40])
def test_texts_that_claim_to_be_endless_are_refused(end, tmp_path):
    saved = catalog_details().save(tmp_path / "saved")
    file = next(saved.rglob("text_ends.npy"))
    ends = np.load(file)
    ends[-1] = end
    replace(file, npy(ends))
    resign(saved)
    with pytest.raises(FormatError):
        vizsla.load(saved)
    with pytest.raises(FormatError):
        vizsla.load(saved, verify=False).text(2)
