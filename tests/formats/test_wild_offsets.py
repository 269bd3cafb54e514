"""Offsets whose differences wrap around and look harmless, in every file that has offsets: they ended in SIGSEGV."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import vizsla
from tests.contract.registry import INDEXES, RETRIEVERS
from tests.formats.hostile import npy
from tests.formats.signing import replace
from tests.fuzz.resigning import resign
from vizsla.errors import FormatError
from vizsla.offsets import are_offsets

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
def test_neighbours_are_compared_not_subtracted(wild):
    assert not are_offsets(np.array(wild, np.int64), 5)
    assert are_offsets(np.array([0, 2, 2, 5]), 5, rows=3) and not are_offsets(np.array([0, 2, 2, 5]), 5, rows=4)
