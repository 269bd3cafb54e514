"""zstd files (extra `zstd`), and standard input."""

from __future__ import annotations

import importlib
import io
import sys
from types import SimpleNamespace

import pytest

from tests.io.conftest import Put
from vizsla.data.dataset import Dataset
from vizsla.errors import DataError, MissingExtraError

MODULE = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
CSV = b"id,text\n1,a fig\n2,a pear\n"


def test_zstd_is_read_and_damage_is_named(put: Put) -> None:
    zstd = pytest.importorskip(MODULE)
    packed = zstd.compress(CSV)
    assert [item.text for item in Dataset.open(put("items.csv.zst", packed)).items] == ["a fig", "a pear"]
    with pytest.raises(DataError, match="the zstd stream is damaged"):
        Dataset.open(put("broken.csv.zst", packed[:-6]))


def test_without_the_extra_it_says_what_to_install(put: Put, monkeypatch) -> None:
    def absent(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(MissingExtraError, match=r"pip install 'vizsla\[zstd\]'"):
        Dataset.open(put("items.csv.zst", b"\x28\xb5\x2f\xfd"), format="csv")


def test_standard_input_is_read_more_than_once(monkeypatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(CSV)))
    dataset = Dataset.open("-")
    assert [item.text for item in dataset.items] == ["a fig", "a pear"] and dataset.text("2") == "a pear"
