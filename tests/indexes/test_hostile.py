"""Prepared files with right checksums: an index or an encoder raises or answers, and never crashes."""

from __future__ import annotations

import numpy as np
import pytest

import vizsla
from tests.artifacts.hostile import hostile
from tests.contract.catalog import QUERIES
from tests.contract.registry import INDEXES, RETRIEVERS
from vizsla.errors import VizslaError

NAMES = [name for name in INDEXES if name.split()[0] in ("flat", "hnsw", "ivf")]


@pytest.mark.parametrize("name", NAMES)
def test_prepared_index_files(name, tmp_path):
    index, queries = INDEXES[name]()
    tried = 0
    for prepared in hostile(index.save(tmp_path / "saved"), tmp_path / "prepared", step=2):
        tried += 1
        try:
            with np.errstate(all="ignore"):
                vizsla.load(prepared).search(queries, 5)
        except VizslaError:
            continue
    assert tried > 50


def test_prepared_retriever_files(tmp_path):
    saved = RETRIEVERS["dense flat"].make().save(tmp_path / "saved")
    for prepared in hostile(saved, tmp_path / "prepared", step=9):
        try:
            with np.errstate(all="ignore"):
                vizsla.load(prepared)(QUERIES, k=5)
        except VizslaError:
            continue
