from __future__ import annotations

import sys

import pytest

from tests.io.conftest import Put
from vizsla.data.dataset import Dataset
from vizsla.errors import InputError, MissingExtraError
from vizsla.io.write import write_dataset


def test_parquet_without_its_extra(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put("items.parquet", b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'vizsla\[parquet\]'"):
        Dataset.open(path)
    with pytest.raises(MissingExtraError, match=r"pip install 'vizsla\[parquet\]'"):
        write_dataset(Dataset.of(["x"]), path.with_name("out"), format="parquet")
    assert [file.name for file in path.parent.iterdir()] == ["items.parquet"]


def test_ir_datasets_without_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'vizsla\[datasets\]'"):
        Dataset.open("ir_datasets:beir/scifact/test")
    with pytest.raises(InputError, match="that exists"):
        Dataset.open("no/such/folder")
