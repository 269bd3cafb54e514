from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import ir_datasets
import pytest
from ir_datasets.formats import BaseDocs, BaseQueries, TrecQrels, TsvQueries
from ir_datasets.util import LocalDownload

from vizsla.core.catalog import Item, Query
from vizsla.core.validation import DatasetWarning
from vizsla.data.dataset import Dataset
from vizsla.errors import InputError
from vizsla.io.open import open_dataset


class TitledDoc(NamedTuple):
    doc_id: str
    title: str
    text: str
    year: int
    authors: tuple[str, ...]

    def default_text(self) -> str:
        return f"{self.title} {self.text}"


class AbstractDoc(NamedTuple):
    doc_id: str
    abstract: str

    def default_text(self) -> str:
        return self.abstract


class Docs(BaseDocs):
    def __init__(self, *docs: NamedTuple):
        self._docs = docs

    def docs_iter(self) -> Iterator[NamedTuple]:
        return iter(self._docs)


TITLED = Docs(TitledDoc("d1", "Fig", "A fruit.", 1999, ("x",)), TitledDoc("d2", "Pear", "Another.", 2001, ()))


@pytest.fixture
def name(tmp_path: Path) -> str:
    """Register a dataset with the package's own parts, under a name that no other test has."""
    (tmp_path / "queries.tsv").write_text("q1\tfruit\nq2\ttree\n")
    (tmp_path / "train.qrels").write_text("q1 0 d1 1\n")
    (tmp_path / "test.qrels").write_text("q2 0 d2 2\nq2 0 d1 0\nq2 0 d9 1\n")
    queries = TsvQueries(LocalDownload(tmp_path / "queries.tsv"))
    base = f"vizsla-{uuid.uuid4().hex}"
    ir_datasets.registry.register(base, ir_datasets.Dataset(TITLED, queries))
    for split in ("train", "test"):
        qrels = TrecQrels(LocalDownload(tmp_path / f"{split}.qrels"), {})
        ir_datasets.registry.register(f"{base}/{split}", ir_datasets.Dataset(TITLED, queries, qrels))
    return base


def test_one_split(name: str) -> None:
    dataset = open_dataset(f"{name}/train")
    expected = [Item("d1", "A fruit.", "Fig", {"year": 1999}), Item("d2", "Another.", "Pear", {"year": 2001})]
    assert list(dataset.items) == [dataset.items[0], dataset.items[1]] == expected
    assert list(dataset.queries) == [Query("q1", "fruit"), Query("q2", "tree")]
    assert dataset.qrels_dict("train") == {"q1": {"d1": 1}}


def test_all_splits_with_the_prefix(name: str) -> None:
    with pytest.warns(DatasetWarning, match="1 entries of .*/test left out: unknown item, for example 'd9'"):
        dataset = Dataset.open(f"ir_datasets:{name}")
    assert dataset.splits == ("test", "train")
    assert dataset.qrels_dict("test") == {"q2": {"d2": 2, "d1": 0}}


def test_documents_without_a_text_field() -> None:
    name = f"vizsla-{uuid.uuid4().hex}"
    ir_datasets.registry.register(name, ir_datasets.Dataset(Docs(AbstractDoc("d1", "The abstract."))))
    assert list(Dataset.open(name).items) == [Item("d1", "The abstract.", "", {"abstract": "The abstract."})]


def test_unknown_ids_and_datasets_without_documents_raise() -> None:
    with pytest.raises(InputError, match=r"must be an id that ir_datasets knows. Got 'no/such/set'"):
        Dataset.open("ir_datasets:no/such/set")
    with pytest.raises(InputError, match=r"or an id of ir_datasets that exists. Got 'no/such/set'"):
        Dataset.open("no/such/set")
    name = f"vizsla-{uuid.uuid4().hex}"
    ir_datasets.registry.register(name, ir_datasets.Dataset(BaseQueries()))
    with pytest.raises(InputError, match="must be a dataset with documents"):
        Dataset.open(name)


def test_published_ids_are_known_without_a_download() -> None:
    from vizsla.io.ir_datasets import is_ir_dataset

    assert is_ir_dataset("beir/scifact/test")
    assert not is_ir_dataset("beir/scifact/tset")


class Unreachable(Docs):
    """What a machine without a network sees; `requests` raises an OSError too."""

    def docs_iter(self) -> Iterator[NamedTuple]:
        raise ConnectionError("no route to host\nand much more")
        yield


def test_a_download_that_fails_says_what_to_put_where() -> None:
    base = f"vizsla-{uuid.uuid4().hex}"
    ir_datasets.registry.register(base, ir_datasets.Dataset(Unreachable()))
    wanted = (
        r"must be downloaded first, which failed: no route to host\. Without a network, copy .* or open a BEIR folder"
    )
    with pytest.raises(InputError, match=wanted):
        list(open_dataset(base).items)
