from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import coo_array, csc_matrix, csr_array, csr_matrix, dia_array, save_npz

from vizsla.data.dataset import Dataset
from vizsla.errors import DataError, InputError

Y = np.array([[1, 0, 2.5], [0, 1, 0]], dtype=np.float32)
X = np.array([[0.5, 0, 0, 1], [0, 2, 0, 0]], dtype=np.float32)


@pytest.mark.parametrize("kind", [csr_array, csr_matrix, csc_matrix, coo_array])
def test_one_pair_of_matrices(tmp_path: Path, kind: type) -> None:
    save_npz(tmp_path / "X.npz", kind(X))
    save_npz(tmp_path / "Y.npz", kind(Y))
    dataset = Dataset.open(tmp_path)
    assert dataset.clicks.toarray().tolist() == Y.tolist()
    assert dataset.query_features is not None
    assert dataset.query_features.toarray().tolist() == X.tolist()
    assert (list(dataset.item_ids), list(dataset.query_ids)) == (["0", "1", "2"], ["0", "1"])
    assert [item.text for item in dataset.items] == ["", "", ""]
    assert dataset.items[2].id == "2"
    assert (dataset.splits, dataset.warnings) == (("train",), ())


def test_train_and_test_with_texts(tmp_path: Path) -> None:
    for name, rows in ((".trn", slice(0, 2)), (".tst", slice(1, 2))):
        save_npz(tmp_path / f"X{name}.npz", csr_array(X[rows]))
        save_npz(tmp_path / f"Y{name}.npz", csr_array(Y[rows]))
    (tmp_path / "output-items.txt").write_text("fig\npear\nplum\n")
    (tmp_path / "X.trn.txt").write_text("first\nsecond\n")
    (tmp_path / "X.tst.txt").write_text("third\n")
    dataset = Dataset.open(tmp_path)
    assert dataset.clicks.toarray().tolist() == [*Y.tolist(), [0, 0, 0]]
    assert dataset.qrels_dict("test") == {"2": {"1": 1}}
    assert dataset.query_texts() == (["0", "1", "2"], ["first", "second", "third"])
    assert dataset.text("2") == "plum"
    assert dataset.query_features is not None
    assert dataset.query_features.toarray().tolist() == [*X.tolist(), X[1].tolist()]


def test_features_are_kept_by_a_split(tmp_path: Path) -> None:
    save_npz(tmp_path / "X.npz", csr_array(np.eye(8, dtype=np.float32)))
    save_npz(tmp_path / "Y.npz", csr_array(np.ones((8, 1), dtype=np.float32)))
    train, held = Dataset.open(tmp_path).split(held_out=0.5, cold=0)
    assert train.query_features is held.query_features is not None


def test_what_does_not_fit_raises(tmp_path: Path) -> None:
    save_npz(tmp_path / "Y.npz", csr_array(Y))
    save_npz(tmp_path / "X.npz", csr_array(X[:1]))
    with pytest.raises(DataError, match=r"X\.npz must have a row for each of the 2 rows of Y\.npz. Got 1"):
        Dataset.open(tmp_path)
    (tmp_path / "X.npz").unlink()
    (tmp_path / "output-items.txt").write_text("one\ntwo\n")
    with pytest.raises(DataError, match=r"there must be 3 texts, one a line. Got 2"):
        Dataset.open(tmp_path)
    save_npz(tmp_path / "Y.tst.npz", csr_array(Y))
    with pytest.raises(DataError, match=r"there must be Y\.npz, or Y\.trn\.npz with Y\.tst\.npz"):
        Dataset.open(tmp_path)
    (tmp_path / "Y.npz").rename(tmp_path / "Y.trn.npz")
    save_npz(tmp_path / "Y.tst.npz", csr_array(Y[:, :2]))
    with pytest.raises(DataError, match="all Y files must be there and have the same columns"):
        Dataset.open(tmp_path)


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf])
def test_wrong_weights_raise(tmp_path: Path, weight: float) -> None:
    save_npz(tmp_path / "Y.npz", csr_array(np.array([[1.0, weight]])))
    with pytest.raises(DataError, match=r"Y\.npz: a weight is negative or not a number"):
        Dataset.open(tmp_path)


def hostile(path: Path, **changes: object) -> None:
    matrix = csr_array(Y)
    arrays = {"indices": matrix.indices, "indptr": matrix.indptr, "data": matrix.data}
    np.savez(path, **{**arrays, "shape": matrix.shape, "format": b"csr", **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "changes",
    [
        {"indices": np.array([0, 2**30, 1])},
        {"indices": np.array([0, -5, 1])},
        {"indptr": np.array([0, 99, 3])},
        {"indptr": np.array([0, 3, 2])},
        {"shape": (-1, 3)},
        {"shape": (2, 2)},
        {"data": np.array([object()] * 3, dtype=object)},
        {"format": b"dia"},
        {"format": b"nonsense"},
    ],
)
def test_hostile_matrices_raise(tmp_path: Path, changes: dict[str, object]) -> None:
    hostile(tmp_path / "Y.npz", **changes)
    with pytest.raises(DataError, match=r"Y\.npz: this is no SciPy sparse matrix"):
        Dataset.open(tmp_path)


@pytest.mark.parametrize("shape", [(37, 6_000_000), (3_000_000, 600)])
def test_rows_that_a_small_file_only_claims_to_have_raise(tmp_path: Path, shape: tuple[int, int]) -> None:
    save_npz(tmp_path / "Y.npz", coo_array(([1.0], ([0], [0])), shape=shape))
    with pytest.raises(DataError, match="more than so few bytes can hold"):
        Dataset.open(tmp_path)


def test_other_files_raise(tmp_path: Path) -> None:
    for content in (b"", b"PK\x03\x04 not a zip", b"\x93NUMPY"):
        (tmp_path / "Y.npz").write_bytes(content)
        with pytest.raises(DataError, match="this is no SciPy sparse matrix"):
            Dataset.open(tmp_path)
    save_npz(tmp_path / "Y.npz", dia_array(np.eye(3)))
    with pytest.raises(DataError, match="format dia"):
        Dataset.open(tmp_path)
    with pytest.raises(InputError, match="must be left out for a PECOS folder"):
        Dataset.open(tmp_path, queries="q.tsv")
